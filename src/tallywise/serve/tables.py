"""A service over one model of a table: verdicts and reasons in JSON, and a page with a form of its columns.

It has no store: rows are answered and forgotten. What answers is the model that the service was started with.
"""

import asyncio
import math
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import tallywise
from tallywise.serve.answers import Headers, ServiceError, encode, send_body, send_error
from tallywise.serve.classify import flag, parse, read_body
from tallywise.serve.guard import PAGE_HEADERS, Guard, header
from tallywise.serve.metrics import Metrics
from tallywise.serve.service import told
from tallywise.serve.settings import Settings
from tallywise.serve.table_page import page
from tallywise.table import TableRuntime

T = TypeVar("T")
_STATIC = {
    "/static/report.css": ("tallywise.evaluation.report", "page.css", b"text/css"),
    "/static/page.css": ("tallywise.serve.static", "page.css", b"text/css"),
    "/static/icon.svg": ("tallywise.serve.static", "icon.svg", b"image/svg+xml"),
}
_HTML = [(b"content-type", b"text/html; charset=utf-8"), *PAGE_HEADERS]
_FORM = "application/x-www-form-urlencoded"


class TableService:
    """An ASGI application over one model of a table.

    Parameters
    ----------
    model : TableRuntime
        What answers.
    settings : Settings
        Address, tokens, limits.
    """

    def __init__(self, model: TableRuntime, settings: Settings) -> None:
        self.model, self.settings = model, settings
        self.guard = Guard(settings, secrets.token_bytes(32))
        self.metrics = Metrics()
        self._under_way, self._began = 0, time.monotonic()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer."""
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Any, receive: Any, send: Any) -> None:
        began, status = time.perf_counter(), 200
        try:
            self.guard.check(scope)
            if self._under_way >= self.settings.max_waiting:
                raise ServiceError(429, "Too many requests are under way. Try again in a moment.")
            self._under_way += 1
            try:
                async with asyncio.timeout(self.settings.timeout):
                    kind, body = await self._answer(scope, receive)
            finally:
                self._under_way -= 1
            await _send(send, kind, body)
        except Exception as error:
            found = told(error)
            if isinstance(error, TimeoutError):
                seconds = self.settings.timeout
                found = ServiceError(503, f"The request took more than {seconds:g} s.", "took_too_long")
            elif found.status == 500:
                traceback.print_exception(error, file=sys.stderr)
            status = found.status
            await send_error(send, found.status, found.message, found.code)
        finally:
            known = scope["path"] if scope["path"] in ("/classify", "/explain", "/try", "/health") else "other"
            self.metrics.request(known, status, time.perf_counter() - began)

    async def _answer(self, scope: Any, receive: Any) -> tuple[Headers, bytes]:
        """Headers and body of the answer."""
        method, path = scope["method"], scope["path"]
        posts: dict[str, Callable[[Any], Any]] = {"/classify": self._classify, "/explain": self._explain}
        if path in posts and method == "POST":
            if _content_type(scope) != "application/json":
                raise ServiceError(415, "Send application/json.")
            document = parse(await read_body(receive, self.settings.max_body))
            if not isinstance(document, dict):
                raise ServiceError(422, "Send an object with 'record' or 'records'.")
            return [], encode(await asyncio.to_thread(posts[path], document))
        if path == "/try" and method == "POST":
            if _content_type(scope) != _FORM:
                raise ServiceError(415, "A form is wanted here.")
            body = await read_body(receive, self.settings.max_body)
            return _HTML, await asyncio.to_thread(self._try, body)
        if method not in ("GET", "HEAD"):
            raise ServiceError(404 if path not in posts else 405, f"There is no {method} {path[:60]}.")
        if path in ("/", "/try"):
            return _HTML, page(self.model, {}, None).encode()
        if path == "/health":
            return [], encode({"status": "ok", "tallywise": tallywise.__version__})
        if path == "/model":
            return [], encode(_about(self.model))
        if path == "/metrics":
            gauges = {"requests_under_way": self._under_way, "uptime_seconds": time.monotonic() - self._began}
            return [(b"content-type", b"text/plain; version=0.0.4")], self.metrics.text(gauges).encode()
        if path in _STATIC:
            package, name, kind = _STATIC[path]
            return [(b"content-type", kind), *PAGE_HEADERS], (files(package) / name).read_bytes()
        raise ServiceError(404, f"There is no {path[:60]}.")

    # --- verdicts and reasons ---

    def _classify(self, document: dict[str, Any]) -> Any:
        _known(document, {"record", "records", "probabilities"})
        everything = flag(document, "probabilities", False)
        if ("record" in document) == ("records" in document):
            raise ServiceError(422, "Send either 'record' or 'records'.")
        if "record" in document:
            return self._verdicts([_record(document["record"])], everything)[0]
        records = document["records"]
        if not isinstance(records, list):
            raise ServiceError(422, f"'records' must be a list of objects. Got {type(records).__name__}.")
        if len(records) > self.settings.max_batch:
            raise ServiceError(413, f"A batch may have {self.settings.max_batch:,} records. Got {len(records):,}.")
        return {"verdicts": self._verdicts([_record(record) for record in records], everything)}

    def _verdicts(self, records: list[dict[str, Any]], everything: bool) -> list[dict[str, Any]]:
        self.metrics.counters["classifications"] += len(records)
        if not records:
            return []
        model = self.model
        if model.task == "numbers":
            values, ends = model.predict(records).tolist(), model.predict_interval(records).tolist()
            return [{"value": v, "interval": [_finite(end) for end in e]} for v, e in zip(values, ends, strict=True)]
        P = model.predict_proba(records)
        found = []
        for k, row in zip(model.decide(P).tolist(), P.tolist(), strict=True):
            verdict: dict[str, Any] = {"label": model.classes[k], "probability": row[k]}
            if everything:
                verdict["probabilities"] = {str(name): p for name, p in zip(model.classes, row, strict=True)}
            found.append(verdict)
        return found

    def _explain(self, document: dict[str, Any]) -> Any:
        _known(document, {"record", "label"})
        if "record" not in document:
            raise ServiceError(422, "Send a 'record'.")
        record = _record(document["record"])
        label = document.get("label")
        chosen = next((name for name in self.model.classes if str(name) == str(label)), label)
        found, flip = self.model.explain(record, chosen), self.model.flip(record)
        return {
            "label": found.label,
            "probability": found.probability,
            "score": found.score,
            "bias": found.bias,
            "columns": [{**c._asdict(), "words": [[w.term, w.contribution] for w in c.words]} for c in found.columns],
            "flip": None if flip is None else {"becomes": flip.becomes, "changes": flip.changes},
        }

    def _try(self, body: bytes) -> bytes:
        """The page with the verdict on what its form sent."""
        try:
            fields = dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=2000))
        except (ValueError, UnicodeDecodeError):
            raise ServiceError(400, "The form cannot be read.") from None
        sent = {column.name: fields.get(f"c{k}", "") for k, column in enumerate(self.model.columns)}
        record = {name: value.strip() or None for name, value in sent.items()}
        reasons = self._explain({"record": record})
        return page(self.model, sent, {**self._verdicts([record], True)[0], **reasons}).encode("utf-8", "replace")


async def _send(send: Any, headers: Headers, body: bytes) -> None:
    if not headers:
        await send_body(send, 200, body)
        return
    own = [*headers, (b"content-length", b"%d" % len(body)), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": own})
    await send({"type": "http.response.body", "body": body})


def _content_type(scope: Any) -> str:
    return header(scope, b"content-type").partition(";")[0].strip().lower()


def _known(document: Mapping[str, Any], fields: set[str]) -> None:
    unknown = sorted(document.keys() - fields)
    if unknown:
        raise ServiceError(422, f"There is no field {unknown[0][:40]!r}. Known: {', '.join(sorted(fields))}.")


def _record(record: Any) -> dict[str, Any]:
    """A row as JSON has it: strings, numbers, true, false or null by column name."""
    if not isinstance(record, dict):
        raise ServiceError(422, f"A record must be an object of values by column name. Got {type(record).__name__}.")
    for name, value in record.items():
        if isinstance(value, list | dict):
            raise ServiceError(422, f"The value of {name[:40]!r} must be a string, a number, true, false or null.")
    return record


def _finite(x: float) -> float | None:
    """None for an end of an interval that there were too few rows to tell."""
    return x if math.isfinite(x) else None


def _about(model: TableRuntime) -> dict[str, Any]:
    return {
        "title": model.meta.get("title", ""),
        "task": model.task,
        "target": model.target,
        "classes": model.classes,
        "columns": [{"name": column.name, "kind": column.kind} for column in model.columns],
        "figures": model.meta.get("figures", {}),
    }
