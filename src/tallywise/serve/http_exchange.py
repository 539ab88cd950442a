"""One request and its answer, as ASGI has them."""

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httptools

from tallywise.serve.answers import Headers

if TYPE_CHECKING:
    from tallywise.serve.http_connection import Connection

_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}


class Exchange:
    """A request whose body comes, and the answer that goes.

    Parameters
    ----------
    connection : Connection
        What it came by.
    method, target, headers : str, bytes, list
        The request line and the fields, names in lower case.
    """

    def __init__(self, connection: "Connection", method: str, target: bytes, headers: Headers) -> None:
        self.connection = connection
        self.method, self.target, self.headers = method, target, headers
        self.version, self.keep_alive = "1.1", True
        self.body: bytes | bytearray = b""  # what has come and is not taken; most bodies come in one piece
        self.more = True  # whether more of the body is to come
        self.gone = False  # whether the client hung up
        self.streamed = False  # whether the application keeps nothing of a piece of the body that it has taken
        self.held = 0  # bytes of the service's budget
        self.started = self.answered = False
        self.refusal: Exception | None = None  # why it may not be answered, where that is known already
        self.task: asyncio.Task[None] | None = None
        self._told = False  # the end of the body
        self._wake: asyncio.Event | None = None
        self._head = b""
        self._chunked = self._bare = False

    def announces_body(self) -> bool:
        """Whether a body follows."""
        return any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        )

    def plain_json(self) -> bool:
        """Whether it says that its body is JSON, and waits for no word before it sends it."""
        found = False
        for name, value in self.headers:
            if name == b"content-type":
                found = value.partition(b";")[0].strip().lower() == b"application/json"
            elif name == b"expect":
                return False
        return found

    def scope(self) -> dict[str, Any]:
        """The request as ASGI has it."""
        parsed = httptools.parse_url(self.target)
        raw: bytes = parsed.path or b"/"
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": self.version,
            "method": self.method,
            "scheme": "http",
            "path": unquote(raw.decode("utf-8", "replace")),
            "raw_path": raw,
            "query_string": parsed.query or b"",
            "root_path": "",
            "headers": self.headers,
            "client": self.connection.client,
            "server": None,
            "tally.exchange": self,
        }

    # --- the body ---

    def add(self, piece: bytes) -> None:
        """A piece of the body has come; its bytes are taken from the budget already."""
        self.held += len(piece)
        if not self.body:
            self.body = piece
        else:
            if isinstance(self.body, bytes):
                self.body = bytearray(self.body)
            self.body += piece
        self.wake()

    def wake(self) -> None:
        """Tell who waits for the body that something has happened."""
        if self._wake is not None:
            self._wake.set()

    async def receive(self) -> dict[str, Any]:
        """The next piece of the body, in the words of ASGI."""
        if not self.started and self.more and self._expects():
            self.connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not (self.gone or self.answered or self.body or (not self.more and not self._told)):
            self._wake = asyncio.Event()
            await self._wake.wait()
        if self.gone or self.answered:
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), b""
        self._told = not self.more
        if self.streamed:
            self._give_back(len(body))
        self.connection.flow()
        return {"type": "http.request", "body": body, "more_body": self.more}

    def _expects(self) -> bool:
        """Whether the client waits for a word before it sends the body; it is given once."""
        for k, (name, value) in enumerate(self.headers):
            if name == b"expect" and value.lower() == b"100-continue":
                del self.headers[k]
                return not self.body
        return False

    def _give_back(self, size: int) -> None:
        self.held -= size
        self.connection.server.budget.give_back(size)

    # --- the answer ---

    async def send(self, message: Any) -> None:
        """A piece of the answer, in the words of ASGI."""
        connection = self.connection
        while connection.writable is not None and not self.gone:
            await connection.writable.wait()
        if self.gone or self.answered:
            return
        if message["type"] == "http.response.start":
            self._head = self._start(message["status"], message.get("headers", []))
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._bare:
            body = b""
        elif self._chunked:
            body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + (b"" if more else b"0\r\n\r\n")
        self.started = True
        connection.transport.write(self._head + body)
        self._head = b""
        if not more:
            connection.finished(self)

    def _start(self, status: int, headers: Headers) -> bytes:
        """Status line and fields."""
        self._bare = self.method == "HEAD" or status in (204, 304)
        named = {name for name, _ in headers}
        own: Headers = [*self.connection.server.date_field()] if b"date" not in named else []
        if b"content-length" not in named and not self._bare:
            if self.version == "1.1":
                self._chunked = True
                own.append((b"transfer-encoding", b"chunked"))
            else:
                self.keep_alive = False
        if not self.keep_alive:
            own.append((b"connection", b"close"))
        lines = b"".join(b"%s: %s\r\n" % pair for pair in (*own, *headers))
        return b"%s%s\r\n" % (_LINES.get(status, b"HTTP/1.1 %d \r\n" % status), lines)

    def close(self) -> None:
        """The answer is out: nothing of the request is kept."""
        self.answered = True
        self.body = b""
        self._give_back(self.held)
        self.wake()

    def hang_up(self) -> None:
        """The client is gone: what is done for it ends."""
        self.gone = True
        self.body = b""
        self._give_back(self.held)
        self.wake()
        if self.task is not None:
            self.task.cancel()
