"""One client's connection: HTTP/1.1 by httptools, with bounds on bytes and time, around an ASGI application.

The request that comes most, one short text for ``POST /classify``, is answered by a callback: a task and its coroutines
cost more than the prediction. Every other request, errors included, is a task of the application.
"""

import asyncio
import sys
import traceback
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import httptools

from tallywise.serve.answers import JSON_HEADERS, Headers, encode, error_body
from tallywise.serve.http_exchange import Exchange

if TYPE_CHECKING:
    from tallywise.serve.server import Server

QUICK_BYTES = 1 << 16  # of a body that is waited for before it is decided how the request is answered
LONGEST_HEAD = 1 << 18  # bytes of a header after the packet it begins in; the parser itself would gather without end
_MOST_BESIDE = 1 << 20  # bytes behind a header that are neither body nor what chunks of it are wrapped in
_WRAPPED = 6  # bytes that a chunk of one byte takes
_BUFFERED = 1 << 16  # bytes of a body that the application has not taken, after which reading pauses
_HEAD_SECONDS = 20.0  # for a header, once its first byte is there
_IDLE_SECONDS = 30.0  # between requests
# For so many seconds the rest of a body is read and thrown away after its answer: clients that send all of it before
# they read find a reset connection otherwise.
_DRAIN_SECONDS = 5.0


class Connection(asyncio.Protocol):
    """Bytes to requests, and answers to bytes; requests of one client are answered in their order.

    Parameters
    ----------
    server : Server
        The application, its budget of bytes, and all connections.
    """

    def __init__(self, server: "Server") -> None:
        self.server = server
        self.transport: asyncio.Transport = cast(Any, None)
        self.client: tuple[str, int] | None = None
        self.since = 0.0  # when the present state began
        self.touched = 0.0  # when the last bytes of a body came
        self._parser = httptools.HttpRequestParser(self)
        self._target, self._headers = b"", list[tuple[bytes, bytes]]()
        self._head: int | None = 0  # bytes that have come of a header; None while there is none to wait for
        self._beside = 0  # bytes since the end of a header, less those that its body so far may have taken
        self._receiving: Exchange | None = None  # the request whose body comes
        self._answering: Exchange | None = None
        self._waiting: deque[Exchange] = deque()  # pipelined behind the one that is answered
        self._held: Exchange | None = None  # may be answered by a callback once its body is there
        self._paused = False
        self._last = False  # no request after this one
        self.writable: asyncio.Event | None = None  # while the client takes no more bytes

    # --- asyncio ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self.transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.client = (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else None
        self.since = self.server.now()
        if not self.server.admit(self):
            self.refuse(503, "All connections are in use. Try again in a moment.")

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone: work for it stops."""
        self.server.leave(self)
        for exchange in (self._answering, self._receiving, *self._waiting):
            if exchange is not None:
                exchange.hang_up()
        self._answering = self._receiving = self._held = None
        self._waiting.clear()
        if self.writable is not None:
            self.writable.set()

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self.writable = asyncio.Event()
        self.since = self.server.now()

    def resume_writing(self) -> None:
        """It has read."""
        if self.writable is not None:
            self.writable.set()
            self.writable = None

    def data_received(self, data: bytes) -> None:
        """Bytes of requests."""
        if self._head is not None:
            if not self._head and self._answering is None:
                self.since = self.server.now()
            self._head += len(data)
        else:
            self._beside += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # not taken up: the request is answered, and what follows it is read as HTTP or refused
        except httptools.HttpParserError:
            self.refuse(400, "This is not HTTP.")
            return
        if self._head is not None and self._head > LONGEST_HEAD:
            self.refuse(431, f"A header may have {LONGEST_HEAD:,} bytes.")
        elif self._head is None and self._beside > _MOST_BESIDE:
            self.transport.abort()

    # --- the parser ---

    def on_message_begin(self) -> None:
        """A request begins."""
        self._head, self._target, self._headers = self._head or 0, b"", []

    def on_url(self, url: bytes) -> None:
        """Its address, or a piece of it."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field; one that stands behind the body must not pass for one of those that were looked at."""
        if self._head is not None:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """All but the body."""
        parser = self._parser
        self._head, self._beside = None, 0
        exchange = Exchange(self, parser.get_method().decode(), self._target, self._headers)
        if parser.should_upgrade() and exchange.announces_body():  # the parser stops here, and the body would be lost
            self.refuse(400, "Send a request with a body as HTTP/1.1, without Upgrade.")
            return
        exchange.version = parser.get_http_version()
        exchange.keep_alive = parser.should_keep_alive() and not self._last
        self._receiving = exchange
        if self._answering is None:
            self._begin(exchange)
        else:
            self._waiting.append(exchange)
            self.flow()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._beside -= _WRAPPED * len(body)
        exchange = self._receiving
        if exchange is None or exchange.answered:
            return  # thrown away
        if not self.server.take(self, len(body)):
            self.answer_error(exchange, 429, "Too many bytes of requests are under way. Try again in a moment.")
            return
        exchange.add(body)
        if exchange is self._held and len(exchange.body) > QUICK_BYTES:
            self._held = None
            self._run(exchange)
        self.flow()

    def on_message_complete(self) -> None:
        """A whole request."""
        exchange, self._receiving, self._head = self._receiving, None, 0
        if exchange is None:
            return
        exchange.more = False
        exchange.wake()
        if exchange is self._held:
            self._held = None
            self._answer_quickly(exchange)
        elif exchange.answered:
            self._next()

    # --- answers ---

    def _begin(self, exchange: Exchange) -> None:
        """Answer a request, or wait for its body."""
        self._answering = exchange
        self.since = self.server.now()
        if not self.server.application.may_be_quick(exchange):
            self._run(exchange)
        elif exchange.more:
            self._held = exchange
        else:
            self._answer_quickly(exchange)

    def _answer_quickly(self, exchange: Exchange) -> None:
        if self.writable is not None or not self.server.application.answer_quickly(exchange, self._quick_answer):
            self._run(exchange)

    def _quick_answer(self, exchange: Exchange, body: bytes | None) -> None:
        """Write an answer to JSON; None: it has to be asked for as all others are."""
        if body is None:
            if not exchange.gone:
                self._run(exchange)
            return
        if exchange.gone or exchange.answered:
            return
        close = b"" if exchange.keep_alive else b"connection: close\r\n"
        head = b"%scontent-length: %d\r\n%s\r\n" % (self.server.json_head(), len(body), close)
        exchange.started = True
        self.transport.write(head + body)
        self.finished(exchange)

    def _run(self, exchange: Exchange) -> None:
        exchange.task = self.server.loop.create_task(self._application(exchange))

    async def _application(self, exchange: Exchange) -> None:
        try:
            try:
                scope = exchange.scope()
            except httptools.HttpParserInvalidURLError:
                self.answer_error(exchange, 400, "The address cannot be read.")
                return
            await self.server.application(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:
            if not exchange.gone:
                self.transport.abort()
            return
        except Exception as error:
            if not exchange.gone:
                traceback.print_exception(error, file=sys.stderr)
        if not exchange.answered and not exchange.gone:  # it raised, or ended without an answer
            if exchange.started:
                self.transport.abort()
            else:
                self.answer_error(exchange, 500, "Something went wrong in the service; its log says what.")

    def answer_error(self, exchange: Exchange, status: int, message: str) -> None:
        """Answer a request with an error in place of the application."""
        if exchange.started or exchange.answered:
            self.transport.abort()
            return
        exchange.started = True
        self.transport.write(_error(status, message, exchange.keep_alive))
        self.finished(exchange)
        if exchange.task is not None and exchange.task is not asyncio.current_task(self.server.loop):
            exchange.task.cancel()

    def refuse(self, status: int, message: str) -> None:
        """Answer with an error where there is no request, or none that can be read; nothing more is read."""
        if not self.transport.is_closing():
            self.transport.write(_error(status, message, False))
            self.transport.close()

    def finished(self, exchange: Exchange) -> None:
        """Go on after an answer."""
        exchange.close()
        if exchange is self._held:
            self._held = None
        self.since = self.server.now()
        if not exchange.keep_alive and not exchange.more:
            self.transport.close()
        elif not exchange.more:
            self._next()
        else:
            self.flow()  # what is left of its body is thrown away

    def _next(self) -> None:
        """The next request, if it is there already."""
        done = self._answering
        self._answering = None
        if (done is not None and not done.keep_alive) or (self._last and not self._waiting):
            self.transport.close()
            return
        if self._waiting:
            self._begin(self._waiting.popleft())
        self.flow()

    def flow(self) -> None:
        """Read on, or wait until what has come is taken."""
        exchange = self._receiving
        full = bool(self._waiting) or (exchange is not None and len(exchange.body) > _BUFFERED)
        if full != self._paused and not self.transport.is_closing():
            self._paused = full
            if full:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    # --- bounds in time ---

    @property
    def idle(self) -> bool:
        """Whether no request is under way; half a header is none."""
        return self._answering is None

    @property
    def half(self) -> bool:
        """Whether it holds bytes of a request whose rest is to come."""
        return self._receiving is not None and self._receiving.held > 0 and not self._receiving.answered

    def give_up_half(self) -> None:
        """Make room for others: refuse the request whose rest is to come."""
        if self._receiving is not None:
            self.answer_error(self._receiving, 429, "Others needed the memory of this half request. Send it again.")

    def end(self) -> None:
        """The service ends: no request after the present one."""
        self._last = True
        for exchange in (self._answering, *self._waiting):
            if exchange is not None:
                exchange.keep_alive = False
        if self.idle:
            self.transport.close()

    def sweep(self, now: float, timeout: float) -> None:
        """Let go of a client that is too slow."""
        waited = now - self.since
        exchange = self._answering
        if exchange is None:
            if self._head and waited > _HEAD_SECONDS:
                self.refuse(408, f"A header must arrive within {_HEAD_SECONDS:g} s.")
            elif waited > _IDLE_SECONDS:
                self.transport.close()
        elif exchange.answered:
            if waited > _DRAIN_SECONDS:
                self.transport.abort()
        elif exchange is self._held:
            if waited > timeout:
                self.answer_error(exchange, 408, f"A request must arrive within {timeout:g} s.")
                self.transport.close()
        elif self.writable is not None and waited > timeout:
            self.transport.abort()


def _error(status: int, message: str, keep_alive: bool) -> bytes:
    """A whole answer of the one shape of errors."""
    body = encode(error_body(status, message))
    fields: Headers = [*JSON_HEADERS, (b"content-length", b"%d" % len(body))]
    if status in (429, 503):
        fields.append((b"retry-after", b"1"))
    if not keep_alive:
        fields.append((b"connection", b"close"))
    lines = b"".join(b"%s: %s\r\n" % pair for pair in fields)
    return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (status, HTTPStatus(status).phrase.encode(), lines, body)
