"""``POST /classify``: one text, a batch, or a stream of lines. The hot path, in plain ASGI."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from tallywise.serve import changes
from tallywise.serve.answers import ServiceError, encode, error_body, send_body
from tallywise.serve.application import STREAM, read_body
from tallywise.serve.exchange import Exchange
from tallywise.serve.gather import Scored
from tallywise.serve.guard import Who, content_type
from tallywise.serve.models import Live, Verdict
from tallywise.serve.store import StoreError

if TYPE_CHECKING:
    from tallywise.serve.service import Service

_SHORT = 1 << 16  # characters of a text that is scored together with others
_LINES = 512  # of a stream, scored together at most
_FIELDS = frozenset({"text", "texts", "probabilities", "record"})


def parse(body: bytes | bytearray) -> Any:
    """JSON, or a clear error; lone surrogates are no text."""
    try:
        found = json.loads(body, parse_constant=_no_number)
        if b"\\ud" in body or b"\\uD" in body:  # only escapes can bring lone surrogates in
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ServiceError(422, "A text holds half of a surrogate pair: it is not Unicode text.") from None
    except (ValueError, RecursionError):
        raise ServiceError(400, "The body is not JSON in UTF-8.", "not_json") from None
    return found


def _no_number(name: str) -> None:
    """NaN and Infinity, which Python reads and JSON has not."""
    raise ValueError(name)


def flag(document: dict[str, Any], name: str, default: bool) -> bool:
    """A field that is true or false."""
    value = document.get(name, default)
    if not isinstance(value, bool):
        raise ServiceError(422, f"'{name}' must be true or false. Got {type(value).__name__}.")
    return value


def as_json(live: Live, verdict: Verdict, everything: bool) -> dict[str, Any]:
    """A verdict as the client sees it."""
    found: dict[str, Any] = {"label": verdict.label, "probability": round(verdict.probability, 9)}
    if everything:
        found["probabilities"] = {name: round(p, 9) for name, p in zip(live.names, verdict.probabilities, strict=True)}
    return found


async def classify(service: "Service", scope: Any, receive: Any, send: Any, who: Who) -> int:
    """Answer ``POST /classify``; returns the status."""
    kind = content_type(scope)
    if kind == STREAM:
        return await _stream(service, receive, send)
    if kind != "application/json":
        raise ServiceError(415, f"Send application/json, or {STREAM} for a stream of lines.")
    document = parse(await read_body(receive))
    live = service.models.current()
    if not isinstance(document, dict):
        raise ServiceError(422, "Send an object with 'text' or 'texts'.")
    if not document.keys() <= _FIELDS:
        unknown = sorted(document.keys() - _FIELDS)[0]
        raise ServiceError(422, f"There is no field {unknown[:40]!r}. Known: {', '.join(sorted(_FIELDS))}.")
    everything = flag(document, "probabilities", False)
    record = flag(document, "record", False)
    if record and not who.may_change:
        raise ServiceError(403, "The reader's token may not record texts.")
    if ("text" in document) == ("texts" in document):
        raise ServiceError(422, "Send either 'text' or 'texts'.")
    if "text" in document:
        return await _one(service, live, document["text"], everything, record, send)
    texts = document["texts"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ServiceError(422, "'texts' must be a list of strings.")
    if len(texts) > service.settings.max_batch:
        raise ServiceError(413, f"A batch may have {service.settings.max_batch:,} texts. Got {len(texts):,}.")
    body = await service.work(_batch_body, live, texts, everything)
    service.metrics.counters["classifications"] += len(texts)
    if record or service.settings.record:
        await _record(service, live, texts, record)
    await send_body(send, 200, body)
    return 200


async def _one(service: "Service", live: Live, text: Any, everything: bool, record: bool, send: Any) -> int:
    if not isinstance(text, str):
        raise ServiceError(422, f"'text' must be a string. Got {type(text).__name__}.")
    service.metrics.counters["classifications"] += 1
    if not (everything or record or service.settings.record) and len(text) <= _SHORT:
        await send_body(send, 200, one_answer(await service.gather.score(text)))
        return 200
    (verdict,) = await service.work(live.verdicts, [text])
    answer = as_json(live, verdict, everything) | {"version": live.version}
    if record or service.settings.record:
        numbers = await _record(service, live, [text], record)
        if numbers:
            answer["id"] = numbers[0]
    await send_body(send, 200, encode(answer))
    return 200


def plain_text(service: "Service", exchange: Exchange) -> str | None:
    """The one short text of a JSON body that asks for its prediction and nothing else; None for every other request."""
    body = exchange.body
    if service.settings.record or not body.startswith(b"{") or service.models.live is None:
        return None
    try:
        service.guard.check(exchange.method, "/classify", exchange.headers, exchange.connection.client)
    except ServiceError as error:
        exchange.refusal = error  # not asked again: a wrong token counts once
        return None
    try:
        document = parse(body)
    except ServiceError:
        return None
    text = document.get("text")
    plain = len(document) == 1 and isinstance(text, str) and len(text) <= _SHORT
    return text if plain and len(body) <= service.settings.max_body else None


def one_answer(found: Scored) -> bytes:
    """The answer to who asked for a verdict alone."""
    live, k, p = found
    return b'{"label":%s,"probability":%.9g,"version":"%s"}' % (live.encoded[k], p, live.version.encode())


def _batch_body(live: Live, texts: list[str], everything: bool) -> bytes:
    """The answer to a batch; without all probabilities it is put together from pieces made once."""
    if everything:
        verdicts = [as_json(live, verdict, True) for verdict in live.verdicts(texts)]
        return encode({"version": live.version, "verdicts": verdicts})
    P = live.model.predict_proba(texts)
    chosen = live.model.decide(P).tolist() if texts else []
    rows = [b'{"label":%s,"probability":%.9g}' % (live.encoded[k], P[i, k]) for i, k in enumerate(chosen)]
    return b'{"version":"%s","verdicts":[%s]}' % (live.version.encode(), b",".join(rows))


async def _record(service: "Service", live: Live, texts: list[str], wait: bool) -> list[int]:
    """Keep texts and verdicts: waited for when the client asks, done in time when the service was told to."""
    verdicts = await service.work(live.verdicts, texts)
    rows = [(text, v.label, v.probability, v.margin) for text, v in zip(texts, verdicts, strict=True)]
    try:
        future = service.store.write(lambda db: changes.record(db, rows, live.version, "service"))
    except StoreError:
        if wait:
            raise
        service.metrics.counters["unrecorded"] += len(texts)
        return []
    return await asyncio.wrap_future(future) if wait else []


# --- a stream of lines ---


async def _stream(service: "Service", receive: Any, send: Any) -> int:
    """Lines in, lines out, in order, one for each; answers are sent while lines still come."""
    service.models.current()
    headers = [(b"content-type", STREAM.encode()), (b"x-content-type-options", b"nosniff")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    number = 0
    try:
        async for lines in _lines(service, receive):
            for start in range(0, len(lines), _LINES):
                part = lines[start : start + _LINES]
                body = await service.work(_answer_lines, service, part, number)
                number += len(part)
                service.metrics.counters["classifications"] += len(part)
                await send({"type": "http.response.body", "body": body, "more_body": True})
    except ServiceError as error:  # the status is out already: the last line says what happened
        line = _error_line(number + 1, error)
        await send({"type": "http.response.body", "body": line, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
    return 200


async def _lines(service: "Service", receive: Any) -> AsyncIterator[list[bytes | None]]:
    """Lines as they come; None for one that is too long, of which nothing is kept."""
    limit, budget = service.settings.max_body, service.budget
    rest, skipping, held = b"", False, 0
    try:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            more = message.get("more_body", False)
            *whole, rest = (rest + message.get("body", b"")).split(b"\n")
            lines: list[bytes | None] = [line if len(line) <= limit else None for line in whole]
            if skipping and lines:
                lines[0], skipping = None, False
            if skipping or len(rest) > limit:
                rest, skipping = b"", True
            if not more and (skipping or rest.strip()):
                lines.append(None if skipping else rest)
            budget.give_back(held)
            held = 0
            if not budget.take(len(rest)):
                raise ServiceError(429, "Too many bytes of requests are under way. Try again in a moment.")
            held = len(rest)
            if lines:
                yield lines
    finally:
        budget.give_back(held)


def _answer_lines(service: "Service", lines: list[bytes | None], before: int) -> bytes:
    """One line of JSON for each line."""
    texts: list[str] = []
    extra: list[dict[str, Any] | bytes] = []  # what a good line brings along, or the answer to a bad one
    for number, line in enumerate(lines, before + 1):
        try:
            if line is None:
                raise ServiceError(413, f"A line may have {service.settings.max_body:,} bytes.")
            text, found = _line(line)
            texts.append(text)
            extra.append(found)
        except ServiceError as error:
            extra.append(_error_line(number, error))
    live = service.models.current()
    try:
        verdicts = iter(live.verdicts(texts))
    except ValueError as error:
        failed = ServiceError(422, str(error))
        return b"".join(
            found if isinstance(found, bytes) else _error_line(number, failed)
            for number, found in enumerate(extra, before + 1)
        )
    return b"".join(
        found
        if isinstance(found, bytes)
        else encode(found | as_json(live, next(verdicts), False) | {"version": live.version}) + b"\n"
        for found in extra
    )


def _line(line: bytes) -> tuple[str, dict[str, Any]]:
    """The text of a line, and its id."""
    document = parse(line)
    if isinstance(document, str):
        return document, {}
    if not isinstance(document, dict) or not isinstance(document.get("text"), str):
        raise ServiceError(422, "A line must be a string, or an object with 'text'.")
    if "id" not in document:
        return document["text"], {}
    name = document["id"]
    if isinstance(name, dict | list) or (isinstance(name, float) and not math.isfinite(name)):
        raise ServiceError(422, "An 'id' must be a string, a number, true, false or null.")
    return document["text"], {"id": name}


def _error_line(number: int, error: ServiceError) -> bytes:
    return encode({"line": number, **error_body(error.status, error.message, error.code)}) + b"\n"
