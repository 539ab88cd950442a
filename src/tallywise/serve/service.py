"""The service of text models: classification by hand, everything else by FastAPI."""

import asyncio
import contextlib
import gc
import secrets
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tallywise.serve import queries, store_writes
from tallywise.serve.access import PAGE_HEADERS, AccessControl, Who, content_type
from tallywise.serve.answers import ServiceError
from tallywise.serve.application import Application
from tallywise.serve.batching import Gatherer, ScoredText
from tallywise.serve.claims import Claims
from tallywise.serve.classify_requests import classify, plain_text
from tallywise.serve.file_jobs import FileJobs
from tallywise.serve.http_exchange import Exchange
from tallywise.serve.model_versions import Models
from tallywise.serve.settings import Settings
from tallywise.serve.text_store import Store
from tallywise.serve.training import Trainer

T = TypeVar("T")
_JSON_PATHS = frozenset({"/explain", "/flip", "/forget", "/learn"})
_QUICK = "/classify"


class Service(Application):
    """An ASGI application over one store and its models.

    Parameters
    ----------
    store : Store
        Texts, labels and versions.
    settings : Settings
        Address, tokens, limits.
    """

    routes = frozenset(
        "classify explain flip learn forget texts models health metrics static try label history model topics data "
        "login logout status docs openapi.json file undo views classes theme".split()
    )

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__(settings, AccessControl(settings, _secret(store), _ended_sessions(store)))
        self.store = store
        self.models = Models(store)
        self.models.start()
        self.trainer = Trainer(store, self.models, settings.model, settings.time_limit)
        self.reading: dict[str, Any] | None = None  # the file that is being read: name, texts so far, share of it
        self.claims = Claims()
        self.jobs = FileJobs(store.folder / "answers")
        self.loop: asyncio.AbstractEventLoop | None = None
        self.gather = Gatherer(self.models)
        self._quick_targets = frozenset({_QUICK.encode(), f"{settings.root_path}{_QUICK}".encode()})
        self._app: Any = None
        self._app_loading: asyncio.Future[Any] | None = None
        self._background: set[asyncio.Task[Any]] = set()

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

    def notice(self) -> None:
        """Let the trainer look at the labels; from any thread, and once the service runs."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.trainer.changed)

    async def app(self) -> Any:
        """FastAPI's part, imported while the first verdicts go out already."""
        if self._app is None:
            if self._app_loading is None:
                self._app_loading = asyncio.ensure_future(self.work(_load_app, self))
            self._app = await asyncio.shield(self._app_loading)
        return self._app

    async def start(self) -> None:
        """Begin to look after the model."""
        self.loop = asyncio.get_running_loop()
        self.trainer.start()
        self.spawn(self.app())

    async def stop(self) -> None:
        """End what runs in the background, then the store."""
        if self._app_loading is not None:
            with contextlib.suppress(Exception):
                await self._app_loading
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self.trainer.stop()
        self.gather.close()
        await super().stop()
        self.store.close()

    # --- ASGI ---

    async def route(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request that may be answered."""
        path, post = scope["path"], scope["method"] == "POST"
        if path == _QUICK and post:
            await classify(self, scope, receive, send, scope["tally.who"])
            return
        # Bodies must say that they are JSON: forms of other pages cannot, so they cannot act in a person's name.
        if post and path in _JSON_PATHS and content_type(scope) != "application/json":
            raise ServiceError(415, "Send application/json.")
        app = await self.app()
        if path == "/learn" and post:
            await app.state.learn(self, scope, receive, send, scope["tally.who"])
            return

        async def hardened(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *PAGE_HEADERS]
            await send(message)

        await app(scope, receive, hardened)

    def may_be_quick(self, exchange: Exchange) -> bool:
        """Whether a request may be one short text for a prediction."""
        return exchange.target in self._quick_targets and exchange.method == "POST" and exchange.plain_json()

    def answer_quickly(self, exchange: Exchange, done: Callable[[Exchange, bytes | None], None]) -> bool:
        """Answer a request for one prediction, together with others that have come by now."""
        began = time.perf_counter()
        text = plain_text(self, exchange)
        if text is None:
            return False

        def answer(found: ScoredText | Exception) -> None:
            if isinstance(found, Exception):
                done(exchange, None)  # the usual way says what is wrong
                return
            self.metrics.counters["classifications"] += 1
            self.metrics.request(_QUICK, 200, time.perf_counter() - began)
            fields = found.live.fields(found.position, found.probabilities)
            done(exchange, b"{%s,%s}" % (fields, found.live.version_field))

        self.gather.submit(text, answer)
        return True

    async def log_out(self, who: Who) -> None:
        """End a session for good."""
        self.guard.end_session(who)
        ended = dict(self.guard.ended)
        await self.write(lambda db: store_writes.set_value(db, "ended sessions", ended))

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
            "fitting": float(self.trainer.progress.state == "fitting"),
            "fits": self.trainer.fits,
            "failed_fits": self.trainer.failures,
            **super().gauges(),
        }


def _secret(store: Store) -> bytes:
    """The key of signatures; kept, so that sessions survive a restart."""

    def get(db: Any) -> str:
        found = queries.value(db, "secret")
        if found is None:
            found = secrets.token_hex(32)
            store_writes.set_value(db, "secret", found)
        return str(found)

    return store.write(get).result().encode()


def _ended_sessions(store: Store) -> dict[str, int]:
    found: dict[str, int] = store.read(lambda db: queries.value(db, "ended sessions", {}))
    return found


def _load_app(service: Service) -> Any:
    from tallywise.serve.api import make_app

    app = make_app(service)
    # What was imported stays: without this the collector goes through all of it now and then, while requests wait.
    gc.collect()
    gc.freeze()
    return app
