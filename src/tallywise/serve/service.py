"""The service: guard first, then the hot path by hand, then everything else by FastAPI."""

import asyncio
import contextlib
import functools
import gc
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tallywise.errors import ModelFileError, TallywiseError
from tallywise.serve import changes, queries
from tallywise.serve.answers import ServiceError, send_error
from tallywise.serve.classify import classify
from tallywise.serve.gather import Gatherer
from tallywise.serve.guard import PAGE_HEADERS, Guard, header
from tallywise.serve.metrics import Metrics
from tallywise.serve.models import Models, NoModelError, UnknownClassError, UnknownVersionError
from tallywise.serve.settings import Settings
from tallywise.serve.store import QueueFullError, Store, StoreError, StoreFullError
from tallywise.serve.training import Trainer

T = TypeVar("T")
_WORKERS = 4
_HTML = "text/html"
_JSON_PATHS = frozenset({"/explain", "/flip", "/forget"})


class Service:
    """An ASGI application over one store and its models.

    Parameters
    ----------
    store : Store
        Texts, labels and versions.
    settings : Settings
        Address, tokens, limits.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.models = Models(store)
        self.models.start()
        self.trainer = Trainer(store, self.models, settings.model, settings.time_limit)
        self.guard = Guard(settings, _secret(store))
        self.metrics = Metrics()
        self.began = time.monotonic()  # not the clock, which people and networks set
        self.stopping = False
        self.reading = ""  # what is being read in, for the page
        self.loop: asyncio.AbstractEventLoop | None = None
        self.gather = Gatherer(self.models)
        self._pool = ThreadPoolExecutor(_WORKERS, "serve")
        self._app: Any = None
        self._app_loading: asyncio.Future[Any] | None = None
        self._under_way = 0
        self._background: set[asyncio.Task[Any]] = set()

    async def work(self, job: Callable[..., T], *arguments: Any) -> T:
        """Run a job on a worker thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, functools.partial(job, *arguments))

    async def read(self, job: Callable[[Any], T]) -> T:
        """Ask the store."""
        return await self.work(self.store.read, job)

    async def overview(self, job: Callable[[Any], T]) -> T:
        """Ask the store for what is the same until something changes."""
        return await self.work(self.store.overview, job)

    async def write(self, job: Callable[[Any], T]) -> T:
        """Change the store; returns once it is on the disk."""
        return await asyncio.wrap_future(self.store.write(job))

    def spawn(self, job: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run something in the background; it is kept until it ends."""
        task = asyncio.ensure_future(job)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def app(self) -> Any:
        """FastAPI's part, imported while the first verdicts go out already."""
        if self._app is None:
            if self._app_loading is None:
                self._app_loading = asyncio.ensure_future(self.work(_load_app, self))
            self._app = await asyncio.shield(self._app_loading)
        return self._app

    # --- ASGI ---

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _lifespan(self, receive: Any, send: Any) -> None:
        await receive()
        self.loop = asyncio.get_running_loop()
        self.trainer.start()
        loading = asyncio.ensure_future(self.app())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.stopping = True
        with contextlib.suppress(Exception):
            await loading
        await self.trainer.stop()
        self.gather.close()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.store.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Any, receive: Any, send: Any) -> None:
        began = time.perf_counter()
        path, status, started = scope["path"], 500, False

        async def answer(message: Any) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
            await send(message)

        try:
            who = self.guard.check(scope)
            scope["tally.who"] = who
            if path == "/classify" and scope["method"] == "POST":
                await classify(self, scope, receive, answer, who)
            elif path == "/learn" and scope["method"] == "POST":
                await (await self.app()).state.learn(self, scope, receive, answer, who)
            else:
                await self._rest(scope, receive, answer)
        except Exception as error:
            found = told(error)
            if found.status == 500:
                traceback.print_exception(error, file=sys.stderr)
            if started:
                raise
            if found.status == 401 and scope["method"] == "GET" and _HTML in header(scope, b"accept"):
                await _go_to_login(answer, path)
            else:
                await send_error(answer, found.status, found.message, found.code)
        finally:
            self.metrics.request(_route(path), status, time.perf_counter() - began)

    async def _rest(self, scope: Any, receive: Any, send: Any) -> None:
        if self._under_way >= self.settings.max_waiting:
            raise ServiceError(429, "Too many requests are under way. Try again in a moment.")
        # Bodies must say that they are JSON: forms of other pages cannot, so they cannot act in a person's name.
        kind = header(scope, b"content-type").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and scope["path"] in _JSON_PATHS and kind != "application/json":
            raise ServiceError(415, "Send application/json.")
        limit = self.settings.max_upload if scope["path"] == "/data/upload" else self.settings.max_body
        length = header(scope, b"content-length")
        if length.isdigit() and int(length) > limit:
            raise ServiceError(413, f"A request may have {limit:,} bytes. Got {int(length):,}.")
        size, started = 0, False

        async def counted() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                raise ServiceError(413, f"A request may have {limit:,} bytes.")
            return message

        async def hardened(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", []), *PAGE_HEADERS]
            await send(message)

        self._under_way += 1
        try:
            app = await self.app()
            async with asyncio.timeout(self.settings.timeout):
                await app(scope, counted, hardened)
        except TimeoutError:
            if started:
                raise
            seconds = self.settings.timeout
            raise ServiceError(503, f"The request took more than {seconds:g} s.", "took_too_long") from None
        finally:
            self._under_way -= 1

    # --- what it knows of itself ---

    def gauges(self) -> dict[str, float]:
        """Numbers for /metrics."""
        totals = self.store.overview(queries.totals)
        live = self.models.live
        return {
            "texts": totals["texts"],
            "labelled_texts": totals["labelled"],
            "model_version": live.number if live else 0,
            "changes_waiting": self.store.waiting,
            "commits": self.store.commits,
            "requests_under_way": self._under_way,
            "fitting": float(self.trainer.progress.state == "fitting"),
            "fits": self.trainer.fits,
            "failed_fits": self.trainer.failures,
            "uptime_seconds": time.monotonic() - self.began,
        }


def told(error: BaseException) -> ServiceError:
    """What a client is told of an error; never more than it needs."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, NoModelError):
        return ServiceError(503, str(error), "no_model")
    if isinstance(error, StoreFullError):
        return ServiceError(507, "The disk of the service is full; nothing of the change was kept.")
    if isinstance(error, QueueFullError):
        return ServiceError(429, str(error))
    if isinstance(error, StoreError):
        return ServiceError(503, "The store cannot be used now; nothing of the change was kept.", "store_not_ready")
    if isinstance(error, (changes.UnknownTextError, UnknownClassError, UnknownVersionError)):
        return ServiceError(404, str(error))
    if isinstance(error, (changes.NothingToUndoError, changes.KeyReusedError)):
        return ServiceError(409, str(error))
    if isinstance(error, ModelFileError):
        return ServiceError(409, "The file of that model is gone or damaged.", "model_damaged")
    if isinstance(error, TallywiseError) or type(error) is ValueError:
        return ServiceError(422, str(error))
    return ServiceError(500, "Something went wrong in the service; its log says what.")


def _route(path: str) -> str:
    """The path with its numbers left out, for counting; unknown ones are one."""
    known = ("classify", "explain", "flip", "learn", "forget", "texts", "models", "health", "metrics", "static",
             "try", "label", "history", "model", "topics", "data", "login", "docs", "openapi.json")  # fmt: skip
    first = path.split("/", 2)[1] if path.startswith("/") else ""
    return f"/{first}" if first in known else "/" if path == "/" else "other"


async def _go_to_login(send: Any, path: str) -> None:
    from urllib.parse import quote

    target = f"/login?then={quote(path)}".encode()
    headers = [(b"location", target), (b"content-length", b"0"), *PAGE_HEADERS]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _secret(store: Store) -> bytes:
    """The key of signatures; kept, so that sessions survive a restart."""

    def get(db: Any) -> str:
        found = queries.value(db, "secret")
        if found is None:
            found = secrets.token_hex(32)
            changes.set_value(db, "secret", found)
        return str(found)

    return store.write(get).result().encode()


def _load_app(service: Service) -> Any:
    from tallywise.serve.api import make_app

    app = make_app(service)
    # What was imported stays: without this the collector goes through all of it now and then, while requests wait.
    gc.collect()
    gc.freeze()
    return app
