"""Connections to IMAP servers that may be broken or hostile: every reply is bounded in time, bytes and lines.

`imaplib` waits for each piece of a reply anew, so a server that sends a byte now and then holds it for ever, and takes
literals of any size into memory.
"""

import imaplib
import re
import socket
import ssl
import time
from typing import Any, ClassVar, NoReturn

LARGEST_MESSAGE = 32 << 20
_LITERAL = re.compile(rb"\{(\d+)\+?\}\r?\n\Z")


class _Bounded(imaplib.IMAP4):
    """What the plain connection and that over TLS have in common.

    A reply, from a command to its completion, may take `seconds`, and longer at `bytes_a_second` or more; it has at
    most `most_bytes` and `most_lines`.
    """

    seconds: ClassVar[float] = 60.0
    bytes_a_second: ClassVar[int] = 1 << 14  # 128 kbit/s
    most_bytes: ClassVar[int] = LARGEST_MESSAGE + (1 << 20)  # a message and what is said about it
    most_line: ClassVar[int] = 8 << 20  # the numbers of a million messages
    most_lines: ClassVar[int] = 100_000

    _of: socket.socket | None = None

    def _begin(self) -> None:
        self._bytes = self._lines = 0
        self._start = time.monotonic()
        self.untagged_responses: dict[str, list[Any]] = {}  # what nobody asked for must not gather

    def _create_socket(self, timeout: float | None) -> socket.socket:
        """Called by imaplib to connect; the greeting is a reply, too."""
        self._begin()
        made: socket.socket = super()._create_socket(timeout)  # type: ignore[misc]
        return made

    def _new_tag(self) -> bytes:
        """Called by imaplib once for each command."""
        self._begin()
        self.sock.settimeout(self.seconds)
        tag: bytes = super()._new_tag()  # type: ignore[misc]
        return tag

    def _more(self) -> bytes:
        """The next bytes of the reply."""
        allowed = self.seconds + self._bytes / self.bytes_a_second
        left = self._start + allowed - time.monotonic()
        if left <= 0:
            self._fail(f"no whole reply in {allowed:.0f} s")
        self.sock.settimeout(left)
        try:
            data = self.sock.recv(1 << 16)
        except TimeoutError:
            self._fail(f"no whole reply in {allowed:.0f} s")
        self._bytes += len(data)
        if self._bytes > self.most_bytes:
            self._fail(f"a reply of more than {self.most_bytes} bytes")
        return data

    def _fail(self, why: str) -> NoReturn:
        self.sock.close()  # whatever comes next is not the answer to anything
        msg = f"the server gave {why}"
        raise self.abort(msg)

    def _held(self) -> bytearray:
        """Bytes that came and were not asked for yet; none that came before TLS are taken for replies behind it."""
        if self._of is not self.sock:
            self._of, self._buffer = self.sock, bytearray()
        return self._buffer

    def read(self, size: int) -> bytes:
        """A literal."""
        held = self._held()
        while len(held) < size:
            data = self._more()
            if not data:
                break
            held += data
        found = bytes(held[:size])
        del held[:size]
        return found

    def readline(self) -> bytes:
        """A line; a literal that it announces must not be too large."""
        held = self._held()
        self._lines += 1
        if self._lines > self.most_lines:
            self._fail(f"a reply of more than {self.most_lines} lines")
        searched = 0
        while (end := held.find(b"\n", searched)) < 0:
            searched = len(held)
            if searched > self.most_line:
                self._fail(f"a line of more than {self.most_line} bytes")
            data = self._more()
            if not data:
                return b""
            held += data
        line = bytes(held[: end + 1])
        del held[: end + 1]
        literal = _LITERAL.search(line[-30:])
        if literal is not None and int(literal[1]) > self.most_bytes:
            self._fail(f"a literal of {literal[1].decode()} bytes, {self.most_bytes} at most are read")
        return line


class PlainConnection(_Bounded):
    """Plain at first; `starttls` turns to TLS."""


class TlsConnection(_Bounded, imaplib.IMAP4_SSL):
    """Over TLS from the start."""


def connect(host: str, port: int | None = None, *, starttls: bool = False, plain: bool = False) -> imaplib.IMAP4:
    """A connection that is not logged in yet.

    Parameters
    ----------
    host : str
        The server.
    port : int, optional
        993, or 143 without TLS from the start.
    starttls : bool
        Whether to begin plain and turn to TLS.
    plain : bool
        Whether to do without TLS.
    """
    if not plain and not starttls:
        context = ssl.create_default_context()
        return TlsConnection(host, port or 993, ssl_context=context, timeout=_Bounded.seconds)
    connection: Any = PlainConnection(host, port or 143, timeout=_Bounded.seconds)
    if starttls:
        connection.starttls(ssl.create_default_context())
    return connection  # type: ignore[no-any-return]
