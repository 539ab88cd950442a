"""A service over one model of a table: verdicts and reasons in JSON, and a page with a form of its columns.

It has no store: rows are answered and forgotten. What answers is the model that the service was started with.
"""

import math
import secrets
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

import tallywise
from tallywise._prometheus import CONTENT_TYPE
from tallywise.serve.access import PAGE_HEADERS, AccessControl, content_type
from tallywise.serve.answers import Headers, ServiceError, encode, send_body
from tallywise.serve.application import Application, read_body
from tallywise.serve.classify_requests import flag, parse
from tallywise.serve.settings import Settings
from tallywise.serve.table_page import page, unlike
from tallywise.table_model import TableRuntime

_STATIC = {
    "/static/report.css": ("tallywise.report", "templates/page.css", b"text/css"),
    "/static/page.css": ("tallywise.serve.static", "page.css", b"text/css"),
    "/static/icon.svg": ("tallywise.serve.static", "icon.svg", b"image/svg+xml"),
}
_HTML = [(b"content-type", b"text/html; charset=utf-8"), *PAGE_HEADERS]
_FORM = "application/x-www-form-urlencoded"


class TableService(Application):
    """An ASGI application over one model of a table.

    Parameters
    ----------
    model : TableRuntime
        What answers.
    settings : Settings
        Address, tokens, limits.
    """

    routes = frozenset({"classify", "explain", "try", "health", "model", "metrics", "static"})

    def __init__(self, model: TableRuntime, settings: Settings) -> None:
        super().__init__(settings, AccessControl(settings, secrets.token_bytes(32)))
        self.model = model

    async def route(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request that may be answered."""
        headers, body = await self._answer(scope, receive)
        await _send(send, headers, body)

    async def _answer(self, scope: Any, receive: Any) -> tuple[Headers, bytes]:
        """Headers and body of the answer."""
        method, path = scope["method"], scope["path"]
        posts: dict[str, Callable[[Any], Any]] = {"/classify": self._classify, "/explain": self._explain}
        if path in posts and method == "POST":
            if content_type(scope) != "application/json":
                raise ServiceError(415, "Send application/json.")
            document = parse(await read_body(receive))
            if not isinstance(document, dict):
                raise ServiceError(422, "Send an object with 'record' or 'records'.")
            return [], encode(await self.work_long(posts[path], document))
        if path == "/try" and method == "POST":
            if content_type(scope) != _FORM:
                raise ServiceError(415, "A form is wanted here.")
            body = await read_body(receive)
            return _HTML, await self.work_long(self._try, body)
        if method not in ("GET", "HEAD"):
            raise ServiceError(404 if path not in posts else 405, f"There is no {method} {path[:60]}.")
        if path in ("/", "/try"):
            return _HTML, page(self.model, {}, None, self.settings.root_path).encode()
        if path == "/health":
            return [], encode({"status": "ok", "tallywise": tallywise.__version__})
        if path == "/model":
            return [], encode(_about(self.model))
        if path == "/metrics":
            return [(b"content-type", CONTENT_TYPE.encode())], self.metrics.text(self.gauges()).encode()
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
            return self._verdicts([self._record(document["record"])], everything)[0]
        records = document["records"]
        if not isinstance(records, list):
            raise ServiceError(422, f"'records' must be a list of objects. Got {type(records).__name__}.")
        if len(records) > self.settings.max_batch:
            raise ServiceError(413, f"A batch may have {self.settings.max_batch:,} records. Got {len(records):,}.")
        return {"verdicts": self._verdicts([self._record(record, k) for k, record in enumerate(records)], everything)}

    def _record(self, record: Any, number: int | None = None) -> dict[str, Any]:
        """A row as JSON has it, every cell of which can be read: strings, numbers, true, false or null by column."""
        where = "" if number is None else f" (record {number + 1})"
        if not isinstance(record, dict):
            got = type(record).__name__
            raise ServiceError(422, f"A record must be an object of values by column name. Got {got}{where}.")
        known = [column.name for column in self.model.columns]
        reads = f"The model reads: {', '.join(known[:20])}."
        if unknown := [name for name in record if name not in known and name not in self.model.other_columns]:
            raise ServiceError(422, f"There is no column {unknown[0][:40]!r}{where}. {reads}")
        if not any(name in record for name in known):
            raise ServiceError(422, f"A record must have one of the columns at least{where}. {reads}")
        for name, value in record.items():
            if isinstance(value, list | dict):
                what = f"The value of {name[:40]!r} must be a string, a number, true, false or null{where}."
                raise ServiceError(422, what)
        for one in self.model.unread([record]):
            _, _, cell = one.first[0]
            raise ServiceError(422, f"The value {cell[:40]!r} of {one.column[:40]!r} is not a {one.what}{where}.")
        return record

    def _verdicts(self, records: list[dict[str, Any]], everything: bool) -> list[dict[str, Any]]:
        self.metrics.counters["classifications"] += len(records)
        if not records:
            return []
        model = self.model
        if model.task == "numbers":
            values, ends = model.predict(records).tolist(), model.predict_interval(records).tolist()
            return [{"value": v, "interval": _interval(e)} for v, e in zip(values, ends, strict=True)]
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
        record = self._record(document["record"])
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
        wrong = {one.column: f"{one.first[0][2][:40]!r} is not a {one.what}" for one in self.model.unread([record])}
        if wrong:
            return page(self.model, sent, {"wrong": wrong}, self.settings.root_path).encode("utf-8", "replace")
        try:
            reasons = self._explain({"record": record})
            found = {**self._verdicts([record], True)[0], **reasons, "unlike": unlike(self.model, record)}
        except ServiceError as error:
            found = {"problem": error.message}
        return page(self.model, sent, found, self.settings.root_path).encode("utf-8", "replace")


async def _send(send: Any, headers: Headers, body: bytes) -> None:
    if not headers:
        await send_body(send, 200, body)
        return
    own = [*headers, (b"content-length", b"%d" % len(body)), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": own})
    await send({"type": "http.response.body", "body": body})


def _known(document: Mapping[str, Any], fields: set[str]) -> None:
    unknown = sorted(document.keys() - fields)
    if unknown:
        raise ServiceError(422, f"There is no field {unknown[0][:40]!r}. Known: {', '.join(sorted(fields))}.")


def _interval(ends: list[float]) -> list[float] | None:
    """None where there were too few rows like this one to tell."""
    return ends if all(map(math.isfinite, ends)) else None


def _about(model: TableRuntime) -> dict[str, Any]:
    return {
        "title": model.meta.get("title", ""),
        "task": model.task,
        "target": model.target,
        "classes": model.classes,
        "columns": [{"name": column.name, "kind": column.kind} for column in model.columns],
        "figures": model.meta.get("figures", {}),
    }
