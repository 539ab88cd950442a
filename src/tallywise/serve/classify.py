"""``POST /classify``: one text, a batch, or a stream of lines. The hot path, in plain ASGI."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from tallywise.serve import changes
from tallywise.serve.answers import ServiceError, encode, error_body, send_body
from tallywise.serve.gather import Scored
from tallywise.serve.guard import Who, header
from tallywise.serve.models import Live, Verdict
from tallywise.serve.store import StoreError

if TYPE_CHECKING:
    from tallywise.serve.service import Service

_SHORT = 1 << 16  # characters of a text that is scored together with others
_LINES = 512  # of a stream, scored together at most
_FIELDS = frozenset({"text", "texts", "probabilities", "record"})
STREAM = "application/x-ndjson"


async def read_body(receive: Any, limit: int) -> bytes:
    """The whole body, or an error once it is longer than allowed."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > limit:
            raise _too_large(limit)
        return body
    parts, size = [body], len(body)
    while message.get("more_body", False):
        if size > limit:
            raise _too_large(limit)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ServiceError(400, "The request ended before its body did.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    if size > limit:
        raise _too_large(limit)
    return b"".join(parts)


def _too_large(limit: int) -> ServiceError:
    return ServiceError(413, f"A request may have {limit:,} bytes. Send less, or a stream of lines ({STREAM}).")


def parse(body: bytes | bytearray) -> Any:
    """JSON, or a clear error; lone surrogates are no text."""
    try:
        found = json.loads(body)
        if b"\\ud" in body or b"\\uD" in body:  # only escapes can bring lone surrogates in
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ServiceError(422, "A text holds half of a surrogate pair: it is not Unicode text.") from None
    except (ValueError, RecursionError):
        raise ServiceError(400, "The body is not JSON in UTF-8.", "not_json") from None
    return found


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
    if not sends_json(scope):
        if _content_type(scope) == STREAM:
            return await _stream(service, receive, send)
        raise ServiceError(415, f"Send application/json, or {STREAM} for a stream of lines.")
    document = parse(await read_body(receive, service.settings.max_body))
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


def sends_json(scope: Any) -> bool:
    """Whether a request says that its body is JSON."""
    return _content_type(scope) == "application/json"


def _content_type(scope: Any) -> str:
    return header(scope, b"content-type").partition(";")[0].strip().lower()


def plain_text(service: "Service", scope: Any, body: bytearray) -> str | None:
    """The one short text of a JSON body that asks for its verdict and nothing else; None for every other request."""
    if service.settings.record or not body.startswith(b"{") or service.models.live is None:
        return None
    try:
        service.guard.check(scope)
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
    """Lines in, lines out, in order; verdicts are sent while lines still come. A bad line gets an error line."""
    service.models.current()
    headers = [(b"content-type", STREAM.encode()), (b"x-content-type-options", b"nosniff")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    number = 0
    try:
        async for lines in _lines(receive, service.settings.max_body):
            for start in range(0, len(lines), _LINES):
                part = lines[start : start + _LINES]
                body = await service.work(_answer_lines, service.models.current(), part, number)
                number += len(part)
                service.metrics.counters["classifications"] += len(part)
                await send({"type": "http.response.body", "body": body, "more_body": True})
    except ServiceError as error:  # the status is out already: the last line says what happened
        line = encode({"line": number + 1, **error_body(error.status, error.message, error.code)}) + b"\n"
        await send({"type": "http.response.body", "body": line, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
    return 200


async def _lines(receive: Any, limit: int) -> AsyncIterator[list[bytes]]:
    rest = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        *whole, rest = (rest + message.get("body", b"")).split(b"\n")
        if len(rest) > limit or any(len(line) > limit for line in whole):
            raise ServiceError(413, f"A line may have {limit:,} bytes.")
        if not message.get("more_body", False):
            whole = [*whole, rest] if rest.strip() else whole
            if whole:
                yield whole
            return
        if whole:
            yield whole


def _answer_lines(live: Live, lines: list[bytes], before: int) -> bytes:
    texts: list[str] = []
    extra: list[dict[str, Any]] = []
    for number, line in enumerate(lines, before + 1):
        found: dict[str, Any] = {}
        text = ""
        try:
            document = parse(line)
            if isinstance(document, str):
                text = document
            elif isinstance(document, dict) and isinstance(document.get("text"), str):
                text = document["text"]
                if "id" in document:
                    found["id"] = document["id"]
            else:
                raise ServiceError(422, "A line must be a string, or an object with 'text'.")
        except ServiceError as error:
            found = {"line": number, **error_body(error.status, error.message, error.code)}
        texts.append(text)
        extra.append(found)
    answers = []
    for verdict, found in zip(live.verdicts(texts), extra, strict=True):
        own = {} if "error" in found else as_json(live, verdict, False) | {"version": live.version}
        answers.append(encode(found | own) + b"\n")
    return b"".join(answers)
