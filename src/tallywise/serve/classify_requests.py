"""``POST /classify``: one text, a batch, or a stream of lines. The hot path, in plain ASGI."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from tallywise.serve import store_writes
from tallywise.serve.access import Who, content_type
from tallywise.serve.answers import ServiceError, encode, error_body, send_body
from tallywise.serve.application import STREAM, read_body
from tallywise.serve.http_exchange import Exchange
from tallywise.serve.model_versions import Live, Prediction
from tallywise.serve.text_store import StoreError

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
    one = "text" in document
    texts = [document["text"]] if one else document["texts"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ServiceError(422, "'text' must be a string." if one else "'texts' must be a list of strings.")
    if len(texts) > service.settings.max_batch:
        raise ServiceError(413, f"A batch may have {service.settings.max_batch:,} texts. Got {len(texts):,}.")
    predictions = await service.work(live.predictions, texts)
    service.metrics.counters["classifications"] += len(texts)
    numbers: list[int] = []
    if record or service.settings.record:
        numbers = await _record(service, live, texts, predictions, record)
    await send_body(send, 200, await service.work(_body, live, predictions, numbers, one, everything))
    return 200


def _body(live: Live, predictions: list[Prediction], numbers: list[int], one: bool, everything: bool) -> bytes:
    """The answer for one text, with its number in the store, or for a batch."""
    rows = [live.fields(p.position, p.probabilities, everything) for p in predictions]
    if not one:
        return b'{%s,"verdicts":[%s]}' % (live.version_field, b",".join(b"{%s}" % row for row in rows))
    number = b',"id":%d' % numbers[0] if numbers else b""
    return b"{%s,%s%s}" % (rows[0], live.version_field, number)


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


async def _record(
    service: "Service", live: Live, texts: list[str], predictions: list[Prediction], wait: bool
) -> list[int]:
    """Keep texts and predictions: waited for when the client asks, done in time when the service was told to."""
    rows = [(text, p.label, p.probability, p.margin) for text, p in zip(texts, predictions, strict=True)]
    try:
        future = service.store.write(lambda db: store_writes.record(db, rows, live.version, "service"))
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
    good: list[tuple[int, str, bytes]] = []  # place, text, and the id that comes back
    answers = [b""] * len(lines)
    for k, line in enumerate(lines):
        try:
            if line is None:
                raise ServiceError(413, f"A line may have {service.settings.max_body:,} bytes.")
            good.append((k, *_line(line)))
        except ServiceError as error:
            answers[k] = _error_line(before + k + 1, error)
    live = service.models.current()
    for (k, _, name), p in zip(good, live.predictions([text for _, text, _ in good]), strict=True):
        answers[k] = b"{%s%s,%s}\n" % (name, live.fields(p.position, p.probabilities), live.version_field)
    return b"".join(answers)


def _line(line: bytes) -> tuple[str, bytes]:
    """The text of a line, and its id as it comes back."""
    document = parse(line)
    if isinstance(document, str):
        return document, b""
    if not isinstance(document, dict) or not isinstance(document.get("text"), str):
        raise ServiceError(422, "A line must be a string, or an object with 'text'.")
    if "id" not in document:
        return document["text"], b""
    name = document["id"]
    if isinstance(name, dict | list) or (isinstance(name, float) and not math.isfinite(name)):
        raise ServiceError(422, "An 'id' must be a string, a number, true, false or null.")
    return document["text"], b'"id":%s,' % encode(name)


def _error_line(number: int, error: ServiceError) -> bytes:
    return encode({"line": number, **error_body(error.status, error.message, error.code)}) + b"\n"
