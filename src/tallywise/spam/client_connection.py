"""One client of the server: its bytes in, one request, one answer out.

A protocol of asyncio rather than its streams, whose tasks and buffers took more time than the verdict.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

from tallywise.spam import rspamd, spamd
from tallywise.spam.spamd import Refused

Request = spamd.Request | rspamd.Request

_READ_OUT = 1.0  # seconds for which bytes of a client that was refused are still taken
_LEAST = 1 << 14  # bytes of an answer that a client takes a second, or is let go
_OVERHEAD = 1 << 12  # bytes that a request takes up beside its message
_NO_ROOM = "too many bytes under way: try again"


class Reader:
    r"""A request, as far as its bytes have come.

    Parameters
    ----------
    most : int
        Largest message.

    Examples
    --------
    >>> from tallywise.spam.client_connection import Reader
    >>> reader = Reader(1000)
    >>> reader.feed(b"CHECK SPAMC/1.5\r\nContent-le")
    >>> reader.feed(b"ngth: 5\r\n\r\nhel")
    >>> reader.feed(b"lo").message
    b'hello'
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes: bytes | bytearray = b""  # most requests come in one piece, which is not copied
        self._place = 0  # where the line or the message begins that is read now
        self._request: Request | None = None
        self._in_message = False
        self._length: int | None = None
        self.left_over = False  # whether more came than the request

    @property
    def size(self) -> int:
        """Bytes that came."""
        return len(self._bytes)

    def no_room(self) -> Refused:
        """The refusal of a request that there is no room for, in the words of its protocol."""
        if isinstance(self._request, rspamd.Request):
            return rspamd.HttpError(503, _NO_ROOM)
        return spamd.our_failure(_NO_ROOM)

    def feed(self, data: bytes, end: bool = False) -> Request | None:
        """The request, when it is whole; `end` says that no more will come."""
        if not self._bytes:
            self._bytes = data
        elif data:
            if isinstance(self._bytes, bytes):
                self._bytes = bytearray(self._bytes)
            self._bytes += data
        while not self._in_message:
            line = self._line(end)
            if line is None:
                return None
            self._take(line)
        return self._message(end)

    def _line(self, end: bool) -> bytes | None:
        found = self._bytes.find(b"\n", self._place)
        if found < 0 and not end and len(self._bytes) - self._place <= spamd.LONGEST_LINE:
            return None
        stop = found + 1 if found >= 0 else len(self._bytes)
        if stop - self._place > spamd.LONGEST_LINE:
            raise spamd.ProtocolError(76, "EX_PROTOCOL", "a header line is too long")
        line, self._place = bytes(self._bytes[self._place : stop]), stop
        return line

    def _take(self, line: bytes) -> None:
        if self._request is None:
            http = line.rstrip().endswith((b"HTTP/1.1", b"HTTP/1.0"))
            self._request = rspamd.first_line(line) if http else spamd.first_line(line)
        elif line.strip():
            self._request.take(line)
        else:
            self._length = self._request.length(self._most)
            self._in_message = True

    def _message(self, end: bool) -> Request | None:
        size = len(self._bytes) - self._place
        if size > self._most and self._length is None:
            raise spamd.too_large(self._most)
        if not end and (self._length is None or size < self._length):
            return None
        if self._length is not None and size < self._length:
            why = f"Content-length says {self._length} bytes, {size} came"
            raise spamd.ProtocolError(76, "EX_PROTOCOL", why)
        assert self._request is not None
        stop = len(self._bytes) if self._length is None else self._place + self._length
        self.left_over = stop < len(self._bytes)
        self._request.put(bytes(self._bytes[self._place : stop]), self._most)
        return self._request


class Host(Protocol):
    """What a connection needs of its server."""

    most: int
    time_limit: float

    def admitted(self, connection: "ClientConnection") -> bool:
        """Whether there is room for one more client, which is counted from now on."""

    def answer(self, request: Request, done: Callable[[bytes], None]) -> None:
        """Answer a request, now or later."""

    def holds(self, connection: "ClientConnection", size: int) -> bool:
        """Whether a client may hold `size` bytes from now on; larger half requests of others make room for it."""

    def failed(self, kind: str) -> None:
        """Count a request that got no answer, or an error for one."""

    def gone(self, connection: "ClientConnection") -> None:
        """A client that was counted is gone."""


class ClientConnection(asyncio.Protocol):
    """One client; `held` is what it takes of the server's budget of bytes."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._reader: Reader | None = Reader(host.most)
        self._ended = self._answered = self._waiting = False
        self.held = 0

    @property
    def silent(self) -> bool:
        """Whether the request is not whole yet."""
        return self._reader is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._host.time_limit, self.drop)
        if not self._host.admitted(self):
            self._refuse(spamd.our_failure("too many connections"))

    def data_received(self, data: bytes) -> None:
        """Bytes came; those behind a request are thrown away."""
        if self._reader is not None:
            self._read(data, False)

    def eof_received(self) -> bool:
        """The client will send no more; the answer may still be on its way."""
        self._ended = True
        if self._reader is not None:
            self._read(b"", True)
        elif self._answered:
            self._transport.close()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """The client is gone."""
        self._timer.cancel()
        if not self._answered:
            self._host.failed("client")
        self._reader = None
        if not self._waiting:  # a request that was taken on stays in memory until it is done
            self._host.holds(self, 0)
        self._host.gone(self)

    def drop(self) -> None:
        """Let go of the client at once."""
        self._reader = None
        self._transport.abort()

    def put_off(self) -> None:
        """Refuse a request that is not whole yet, as there is no room for it."""
        if self._reader is not None:
            self._refuse(self._reader.no_room())

    def _read(self, data: bytes, end: bool) -> None:
        reader = self._reader
        assert reader is not None
        try:
            if not self._host.holds(self, reader.size + len(data)):
                raise reader.no_room()
            request = reader.feed(data, end)
            # A compressed message has grown; it stays in memory until it is learned.
            if request is not None and not self._host.holds(self, len(request.message) + _OVERHEAD):
                raise reader.no_room()
        except Refused as error:
            self._host.failed("protocol")
            self._refuse(error)
            return
        if request is not None:
            self._reader, self._waiting, left_over = None, True, reader.left_over
            self._timer.cancel()  # from here on the time is ours
            self._host.answer(request, lambda answer: self._finish(answer, linger=left_over))

    def _refuse(self, error: Refused) -> None:
        self._reader = None
        self._finish(error.answer, linger=True)

    def _finish(self, answer: bytes, *, linger: bool) -> None:
        self._waiting = False
        if self._transport.is_closing():
            self._host.holds(self, 0)
            return
        if not self._host.holds(self, len(answer)):
            answer = spamd.our_failure(_NO_ROOM).answer
            self._host.holds(self, 0)
        self._answered = True
        self._transport.write(answer)
        left = self._transport.get_write_buffer_size()
        self._timer.cancel()
        if self._ended or not linger or not self._transport.can_write_eof():
            self._transport.close()
        else:  # closing while bytes come in resets the connection, and may take the answer back
            self._transport.write_eof()
            self._timer = self._loop.call_later(_READ_OUT, self.drop)
        if left:
            self._timer.cancel()
            self._timer = self._loop.call_later(self._host.time_limit, self._look, left)

    def _look(self, before: int) -> None:
        """Let go of a client that does not take its answer: marked mail may be large, and must not be cut."""
        left = self._transport.get_write_buffer_size()
        if not left or before - left < _LEAST * self._host.time_limit:
            self.drop()
        else:
            self._timer = self._loop.call_later(self._host.time_limit, self._look, left)
