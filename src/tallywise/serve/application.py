"""What every request passes: who asks, how much is under way, how long it takes, and what is told of errors."""

import asyncio
import functools
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import quote

from tallywise._byte_budget import ByteBudget
from tallywise._stopping import StoppedError, stopped_by
from tallywise.errors import ModelFileError, TallywiseError
from tallywise.serve import store_writes
from tallywise.serve.access import PAGE_HEADERS, AccessControl, content_type, header
from tallywise.serve.answers import ServiceError, send_error
from tallywise.serve.http_exchange import Exchange
from tallywise.serve.model_versions import NoModelError, UnknownClassError, UnknownVersionError
from tallywise.serve.prometheus_metrics import Metrics
from tallywise.serve.settings import Settings
from tallywise.serve.text_store import QueueFullError, StoreError, StoreFullError

T = TypeVar("T")
STREAM = "application/x-ndjson"
LONGEST_EXPLAINED = 1 << 20  # characters: some seconds of one thread
_BUDGET = 64 << 20  # bytes of bodies under way; as Python objects they take some four times as much
_WORKERS, _SLOW_WORKERS = 4, 2


class Application:
    """An ASGI application's common part; who derives from it gives `route`.

    Parameters
    ----------
    settings : Settings
        Address, tokens, limits.
    guard : AccessControl
        Who may do what.
    """

    routes: frozenset[str] = frozenset()  # first parts of paths that are counted by name

    def __init__(self, settings: Settings, guard: AccessControl) -> None:
        self.settings, self.guard = settings, guard
        self.metrics = Metrics()
        self.budget = ByteBudget(max(_BUDGET, 2 * settings.max_body))
        self.under_way = 0
        self._began = time.monotonic()  # not the clock, which people and networks set
        self._pool = ThreadPoolExecutor(_WORKERS, "serve")
        self._slow = ThreadPoolExecutor(_SLOW_WORKERS, "explain")
        self._given_up: set[threading.Event] = set()

    # --- work on threads ---

    async def work(self, job: Callable[..., T], *arguments: Any) -> T:
        """Run a job on a worker thread; it is given up when nobody waits for it any more."""
        return await self._on(self._pool, job, *arguments)

    async def work_long(self, job: Callable[..., T], *arguments: Any) -> T:
        """The same for jobs that take seconds, on threads of their own, so that others need not wait for them."""
        return await self._on(self._slow, job, *arguments)

    async def _on(self, pool: ThreadPoolExecutor, job: Callable[..., T], *arguments: Any) -> T:
        gone = threading.Event()
        self._given_up.add(gone)
        try:
            return await asyncio.get_running_loop().run_in_executor(
                pool, functools.partial(_stoppable, gone, job, arguments)
            )
        finally:
            gone.set()
            self._given_up.discard(gone)

    async def start(self) -> None:
        """Begin to serve."""

    async def stop(self) -> None:
        """End: what is under way on threads is given up."""
        for gone in self._given_up:
            gone.set()
        for pool in (self._pool, self._slow):
            pool.shutdown(wait=True, cancel_futures=True)

    # --- requests that a callback answers ---

    def may_be_quick(self, exchange: Exchange) -> bool:
        """Whether a request may be answered by a callback once its body is there."""
        return False

    def answer_quickly(self, exchange: Exchange, done: Callable[[Exchange, bytes | None], None]) -> bool:
        """Answer a whole request by a callback, now or later; False where it has to go the usual way."""
        return False

    # --- ASGI ---

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer."""
        if scope["type"] == "lifespan":  # under a server that is not ours
            await receive()
            await self.start()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self.stop()
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def route(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request that may be answered."""
        raise NotImplementedError

    async def _http(self, scope: Any, receive: Any, send: Any) -> None:
        began = time.perf_counter()
        path = scope["path"] = self.settings.own_path(scope["path"])
        status, started = 500, False

        async def answer(message: Any) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
            await send(message)

        exchange: Exchange | None = scope.get("tally.exchange")
        try:
            if exchange is not None and exchange.refusal is not None:
                raise exchange.refusal
            scope["tally.who"] = self.guard.check(scope["method"], path, scope["headers"], scope["client"])
            await self._bounded(scope, receive, answer)
        except Exception as error:
            found = told(error)
            if found.status == 500:
                traceback.print_exception(error, file=sys.stderr)
            if started:
                raise
            if found.status == 401 and scope["method"] == "GET" and "text/html" in header(scope, b"accept"):
                await self._go_to_login(answer, path)
            else:
                await send_error(answer, found.status, found.message, found.code)
        finally:
            self.metrics.request(self._counted_as(path), status, time.perf_counter() - began)

    async def _bounded(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer within the limits on requests, bytes and seconds; a stream has its seconds for each piece."""
        if self.under_way >= self.settings.max_waiting:
            raise ServiceError(429, "Too many requests are under way. Try again in a moment.")
        upload = scope["path"] in ("/data/upload", "/file")
        stream = content_type(scope) == STREAM and scope["path"] == "/classify"
        limit = self.settings.max_upload if upload else self.settings.max_body
        length = header(scope, b"content-length")
        if not stream and length.isdecimal() and int(length) > limit:
            raise ServiceError(413, f"A request may have {limit:,} bytes. Got {int(length):,}.")
        exchange: Exchange | None = scope.get("tally.exchange")
        if exchange is not None:
            exchange.streamed = upload or stream
        seconds, size = self.settings.timeout, 0

        async def counted() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit and not stream:
                raise ServiceError(
                    413, f"A request may have {limit:,} bytes. Send less, or a stream of lines ({STREAM})."
                )
            if stream:
                timeout.reschedule(asyncio.get_running_loop().time() + seconds)
            return message

        self.under_way += 1
        try:
            async with asyncio.timeout(seconds) as timeout:
                await self.route(scope, counted, send)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise ServiceError(503, f"The request took more than {seconds:g} s.", "took_too_long") from None
        finally:
            self.under_way -= 1

    async def _go_to_login(self, send: Any, path: str) -> None:
        target = f"{self.settings.root_path}/login?then={quote(path)}".encode()
        headers = [(b"location", target), (b"content-length", b"0"), *PAGE_HEADERS]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _counted_as(self, path: str) -> str:
        """The path with its numbers left out; unknown ones are one."""
        first = path.split("/", 2)[1] if path.startswith("/") else ""
        return f"/{first}" if first in self.routes else "/" if path == "/" else "other"

    def gauges(self) -> dict[str, float]:
        """Numbers for /metrics."""
        return {
            "requests_under_way": self.under_way,
            "bytes_under_way": self.budget.taken,
            "uptime_seconds": time.monotonic() - self._began,
        }


def _stoppable(gone: threading.Event, job: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    with stopped_by(gone):
        return job(*arguments)


async def read_body(receive: Any) -> bytes:
    """The whole body; the application bounds what `receive` gives."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.request" and not message.get("more_body", False):
        return body
    parts = [body]
    while message.get("more_body", False):
        message = await receive()
        parts.append(message.get("body", b""))
    if message["type"] == "http.disconnect":
        raise ServiceError(400, "The request ended before its body did.")
    return b"".join(parts)


def explainable(text: str) -> str:
    """A text that is short enough to be explained."""
    if len(text) > LONGEST_EXPLAINED:
        raise ServiceError(413, f"A text to explain may have {LONGEST_EXPLAINED:,} characters. Got {len(text):,}.")
    return text


def told(error: BaseException) -> ServiceError:
    """What a client is told of an error; never more than it needs."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, NoModelError):
        return ServiceError(503, str(error), "no_model")
    if isinstance(error, StoppedError):
        return ServiceError(503, "The service is about to end. Try again in a moment.")
    if isinstance(error, StoreFullError):
        return ServiceError(507, "The disk of the service is full; nothing of the change was kept.")
    if isinstance(error, QueueFullError):
        return ServiceError(429, str(error))
    if isinstance(error, StoreError):
        return ServiceError(503, "The store cannot be used now; nothing of the change was kept.", "store_not_ready")
    if isinstance(error, (store_writes.UnknownTextError, UnknownClassError, UnknownVersionError)):
        return ServiceError(404, str(error))
    if isinstance(error, (store_writes.NothingToUndoError, store_writes.KeyReusedError)):
        return ServiceError(409, str(error))
    if isinstance(error, ModelFileError):
        return ServiceError(409, "The file of that model is gone or damaged.", "model_damaged")
    if isinstance(error, TallywiseError) or type(error) is ValueError:
        return ServiceError(422, str(error))
    return ServiceError(500, "Something went wrong in the service; its log says what.")
