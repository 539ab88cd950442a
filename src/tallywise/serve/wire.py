"""uvicorn's protocol with bounds on what surrounds a body, and a shorter way for the request that comes most.

That is ``POST /classify`` with one text.
A task, its coroutines and two writes a request cost more than the rest of the service does. A request whose body is one
short text is answered without them; every other one, errors included, goes by the application as all requests do.
"""

import time
from typing import TYPE_CHECKING, Any

from tallywise.serve.answers import JSON_HEADERS, encode, error_body
from tallywise.serve.classify import one_answer, plain_text, sends_json
from tallywise.serve.gather import Scored

if TYPE_CHECKING:
    from tallywise.serve.service import Service

_PATH = "/classify"
_SHORT = 1 << 16  # bytes of a body that is waited for; uvicorn stops reading at as many
_LONGEST_HEAD = 1 << 18  # bytes of a header after the packet it begins in; the parser itself would gather without end
_MOST_BESIDE = (
    1 << 20
)  # bytes of a request behind its header that are neither body nor what chunks of it are wrapped in
_WRAPPED = 6  # bytes that a chunk of one byte takes


def protocol(service: "Service | None") -> Any:
    """What uvicorn's option ``http`` takes: the protocol of a service, or "auto" where httptools is not there.

    None is for an application that has no short way.
    """
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "auto"
    if not hasattr(HttpToolsProtocol, "_start_asgi_task"):  # an older uvicorn
        return "auto"
    bounded = _bounded(HttpToolsProtocol)
    return bounded if service is None else _short_way(bounded, service)


def _bounded(base: Any) -> Any:
    """The protocol of uvicorn with bounds on headers and on what else is no body."""

    class Bounded(base):
        """One connection; `cycle` is uvicorn's state of a request, from its header to the end of its answer."""

        _head: int | None = 0  # bytes that have come of a header; None while there is none to wait for
        _beside = 0  # bytes since the end of a header, less those that its body so far may have taken

        def data_received(self, data: bytes) -> None:
            if self._head is not None:
                self._head += len(data)
            else:
                self._beside += len(data)
            super().data_received(data)
            if self.transport.is_closing():
                return
            if self._head is not None and self._head > _LONGEST_HEAD:
                self._refuse(431, "Request Header Fields Too Large", f"A header may have {_LONGEST_HEAD:,} bytes.")
            elif self._head is None and self._beside > _MOST_BESIDE:
                self.transport.close()

        def on_message_begin(self) -> None:
            self._head = 0
            super().on_message_begin()

        def on_header(self, name: bytes, value: bytes) -> None:
            if self._head is not None:  # else it stands behind the body: nobody asks for it, and it must not pass for
                super().on_header(name, value)  # one of those that were looked at

        def on_headers_complete(self) -> None:
            self._head, self._beside = None, 0
            if self.parser.should_upgrade() and any(
                name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
                for name, value in self.headers
            ):  # the parser stops here, and the body would be lost
                self._refuse(400, "Bad Request", "Send a request with a body as HTTP/1.1, without Upgrade.")
                return
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._beside -= _WRAPPED * len(body)
            super().on_body(body)

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, "Bad Request", "This is not HTTP.")

        def _refuse(self, status: int, reason: str, message: str) -> None:
            """An error before there is a request; nothing more is read."""
            if self.transport.is_closing():
                return
            body = encode(error_body(status, message))
            fields = [*JSON_HEADERS, (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
            lines = b"".join(b"%s: %s\r\n" % pair for pair in fields)
            self.transport.write(b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (status, reason.encode(), lines, body))
            self.transport.close()

    return Bounded


def _short_way(base: Any, service: "Service") -> Any:
    """A protocol with the shorter way to the verdicts of a service."""
    heads = _Heads()

    class ShortWay(base):
        """The same, with the shorter way."""

        _held: Any = None  # the cycle whose body is waited for

        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            scope = cycle.scope
            fits = scope["path"] == _PATH and scope["method"] == "POST" and sends_json(scope)
            if not fits or app is not self.app or cycle.waiting_for_100_continue:
                super()._start_asgi_task(cycle, app)
            elif cycle.more_body:
                self._held = cycle
            else:  # pipelined: it came while the one before was answered
                self._begin(cycle)

        def on_body(self, body: bytes) -> None:
            super().on_body(body)
            held = self._held
            if held is not None and len(held.body) > _SHORT:
                self._held = None
                super()._start_asgi_task(held, self.app)

        def on_message_complete(self) -> None:
            super().on_message_complete()
            held, self._held = self._held, None
            if held is not None:
                self._begin(held)

        def _begin(self, cycle: Any) -> None:
            began = time.perf_counter()
            text = plain_text(service, cycle.scope, cycle.body)
            if text is None or self.flow.write_paused:
                super()._start_asgi_task(cycle, self.app)
                return

            def done(found: Scored | Exception) -> None:
                if isinstance(found, Exception):
                    super(ShortWay, self)._start_asgi_task(cycle, self.app)  # it says what went wrong
                    return
                service.metrics.counters["classifications"] += 1
                service.metrics.request(_PATH, 200, time.perf_counter() - began)
                self._finish(cycle, one_answer(found))

            service.gather.submit(text, done)

        def _finish(self, cycle: Any, body: bytes) -> None:
            if cycle.disconnected or self.transport.is_closing():
                return
            cycle.response_started = cycle.response_complete = True
            self.transport.write(heads.of(self.server_state.default_headers, len(body), cycle.keep_alive) + body)
            if not cycle.keep_alive:
                self.transport.close()
            self.on_response_complete()

    return ShortWay


class _Heads:
    """Status line and header fields of an answer; those that all answers have change once a second, with the date."""

    def __init__(self) -> None:
        self._defaults: Any = None
        self._start = b""

    def of(self, defaults: list[tuple[bytes, bytes]], length: int, keep_alive: bool) -> bytes:
        """The head of an answer of so many bytes."""
        if defaults is not self._defaults:
            lines = [b"%s: %s\r\n" % pair for pair in (*defaults, *JSON_HEADERS)]
            self._defaults, self._start = defaults, b"HTTP/1.1 200 OK\r\n" + b"".join(lines)
        close = b"" if keep_alive else b"connection: close\r\n"
        return b"%scontent-length: %d\r\n%s\r\n" % (self._start, length, close)
