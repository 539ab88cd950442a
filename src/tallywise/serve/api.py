"""The JSON interface, by FastAPI; its OpenAPI document is the contract."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException

import tallywise
from tallywise._prometheus import CONTENT_TYPE
from tallywise.serve import near_repeats, queries, store_writes
from tallywise.serve.access import Who, header
from tallywise.serve.answers import ServiceError, encode, error_body, send_json
from tallywise.serve.application import STREAM, explainable, read_body, told
from tallywise.serve.classify_requests import classify as hot_classify
from tallywise.serve.schemas import (
    ActiveBody,
    BatchBody,
    ClassifyMany,
    ClassifyOne,
    ErrorBody,
    Example,
    Examples,
    ExplanationBody,
    FlipBody,
    FlipText,
    ForgetNumber,
    ForgetText,
    HealthBody,
    LearnedBody,
    LearnedManyBody,
    ModelsBody,
    OneText,
    TextsBody,
    VerdictBody,
)
from tallywise.serve.service import Service

_LONGEST_KEY = 200


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose references to its own definitions are replaced by them."""
    definitions = schema.pop("$defs", {})

    def resolve(part: Any) -> Any:
        if isinstance(part, dict):
            if "$ref" in part:
                return resolve(definitions[part["$ref"].rpartition("/")[2]])
            return {key: resolve(value) for key, value in part.items()}
        return [resolve(value) for value in part] if isinstance(part, list) else part

    found: dict[str, Any] = resolve(schema)
    return found


_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": text}
    for status, text in {
        400: "Not JSON, or not for this host",
        401: "No token, or a wrong one",
        403: "Not allowed to this token, or from another origin",
        404: "No such text or version",
        405: "No such method",
        409: "Not possible in the present state",
        413: "Too large",
        415: "Wrong content type",
        422: "Not what was required",
        429: "Too many requests under way",
        500: "A fault in the service",
        503: "Not now: no model, or the store is locked",
        507: "No room left on the disk",
    }.items()
}
_CLASSIFY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "oneOf": [ClassifyOne.model_json_schema(), ClassifyMany.model_json_schema()],
                }
            },
            STREAM: {"schema": {"type": "string", "description": "A JSON string, or {text, id}, on each line"}},
        },
    }
}


_LEARN = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"oneOf": [Example.model_json_schema(), _inlined(Examples.model_json_schema())]}
            }
        },
    },
    "parameters": [
        {"name": "Idempotency-Key", "in": "header", "required": False, "schema": {"type": "string", "maxLength": 200}}
    ],
}
# What an answer is good for next, for those who read the document and for tests that follow it.
_FORGET_IT = {
    "operationId": "forget",
    "description": "Take the label back",
    "requestBody": {"id": "$response.body#/id", "erase": False},
    "x-schemathesis": {"merge_body": False},
}
_FORGET_FIRST = {**_FORGET_IT, "requestBody": {"id": "$response.body#/texts/0/id", "erase": True}}
_NEXT_PAGE = {
    "operationId": "texts",
    "description": "The next page",
    "parameters": {"before": "$response.body#/before"},
}
_ACTIVATE_LATEST = {
    "operationId": "activate",
    "description": "Put the latest version in place",
    "parameters": {"number": "$response.body#/models/0/version"},
}
_ROLL_BACK = {"operationId": "rollback", "description": "Go back"}
_EXAMPLES: TypeAdapter[Example | Examples] = TypeAdapter(Example | Examples)


async def learn(service: Service, scope: Any, receive: Any, send: Any, who: Who) -> int:
    """Answer ``POST /learn``, without FastAPI between: a thousand a second is asked of it."""
    key = header(scope, b"idempotency-key") or None
    if key is not None and len(key) > _LONGEST_KEY:
        raise ServiceError(422, f"An Idempotency-Key may have {_LONGEST_KEY} characters.")
    content = await read_body(receive)
    try:
        body = _EXAMPLES.validate_json(content)
    except ValidationError as error:
        raise _invalid(error.errors()[0]) from None
    examples = [body] if isinstance(body, Example) else body.examples
    if len(examples) > service.settings.max_batch:
        raise ServiceError(413, f"A batch may have {service.settings.max_batch:,} examples. Got {len(examples):,}.")

    def job(db: Any) -> dict[str, Any]:
        done = [store_writes.learn(db, e.text, e.label, who=e.who or who.name) for e in examples]
        if isinstance(body, Example):
            return {"id": done[0].id, "changed": done[0].changed, "old": done[0].old}
        return {"learned": len(done), "changed": sum(one.changed for one in done)}

    request = b"" if key is None else near_repeats.digest(content.hex())
    answer = await service.write(lambda db: store_writes.once(db, key, request, lambda: job(db)))
    service.metrics.counters["learns"] += len(examples)
    service.trainer.changed()
    await send_json(send, 200, answer)
    return 200


def _invalid(first: Any) -> ServiceError:
    """What validation found first, in our shape."""
    if first["type"] == "json_invalid":
        return ServiceError(400, "The body is not JSON in UTF-8.", "not_json")
    where = ".".join(str(part) for part in first["loc"]) or "the body"
    return ServiceError(422, f"{where[:100]}: {first['msg']}.")


class _Hot(Response):
    """Hands a request on to a handler in plain ASGI."""

    def __init__(self, service: Service, handler: Callable[..., Awaitable[int]]) -> None:
        super().__init__()
        self._service, self._handler = service, handler

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._handler(self._service, scope, receive, send, scope["tally.who"])


def make_app(service: Service) -> FastAPI:
    """FastAPI with the JSON interface and the pages."""
    app = FastAPI(
        title="tallywise",
        version=tallywise.__version__,
        description="Classify, explain, learn and forget texts.",
        responses=_ERRORS,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        servers=[{"url": service.settings.root_path}] if service.settings.root_path else None,
    )
    app.state.learn = learn
    _errors(app)
    _verdict_routes(app, service)
    _label_routes(app, service)
    _model_routes(app, service)
    from tallywise.serve.pages import add_pages

    add_pages(app, service)
    return app


def _errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        found = _invalid({**first, "loc": first["loc"][1:]})
        return _error(found.status, found.message, found.code)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        messages = {404: "There is nothing here.", 405: "This address does not take that method."}
        response = _error(error.status_code, messages.get(error.status_code, str(error.detail)))
        response.headers.update(error.headers or {})
        return response

    async def ours(request: Request, error: Exception) -> Response:
        found = told(error)
        return _error(found.status, found.message, found.code)

    for kind in (ServiceError, tallywise.TallywiseError, ValueError):
        app.add_exception_handler(kind, ours)


def _error(status: int, message: str, code: str | None = None) -> Response:
    headers = {"retry-after": "1"} if status in (429, 503) else {}
    return Response(encode(error_body(status, message, code)), status, headers, "application/json")


def _verdict_routes(app: FastAPI, service: Service) -> None:
    @app.post(
        "/classify",
        summary="Verdicts on one text, a batch, or a stream of lines",
        openapi_extra=_CLASSIFY,
        response_class=JSONResponse,
        responses={200: {"model": VerdictBody | BatchBody, "content": {STREAM: {}}}},
    )
    async def classify() -> Response:
        return _Hot(service, hot_classify)

    @app.post("/explain", summary="What each word adds to the score", response_model=ExplanationBody)
    async def explain(body: OneText) -> dict[str, Any]:
        live = service.models.current()
        label = None if body.label is None else live.label(body.label)
        found = await service.work_long(live.model.explain, explainable(body.text), label)
        return {
            "label": str(found.label),
            "probability": found.probability,
            "score": found.score,
            "bias": found.bias,
            "words": [word._asdict() for word in found.words],
            "version": live.version,
        }

    @app.post("/flip", summary="The smallest change that would flip the verdict", response_model=FlipBody)
    async def flip(body: FlipText) -> dict[str, Any]:
        live = service.models.current()
        found = await service.work_long(live.model.flip, explainable(body.text))
        if found is None:
            (verdict,) = await service.work(live.predictions, [body.text])
            nothing: dict[str, Any] = {"becomes": None, "remove": [], "add": [], "distance": None}
            return {"label": verdict.label, "version": live.version, **nothing}
        distance = found.distance if found.distance < float("inf") else None
        return {
            "label": str(found.label),
            "becomes": str(found.becomes),
            "remove": found.remove,
            "add": found.add,
            "distance": distance,
            "version": live.version,
        }

    @app.get("/health", summary="Whether the service is up", response_model=HealthBody)
    async def health() -> dict[str, Any]:
        live = service.models.live
        return {
            "status": "ok" if live else "no model",
            "version": live.version if live else None,
            "tallywise": tallywise.__version__,
        }

    @app.get("/metrics", summary="Figures for Prometheus", response_class=PlainTextResponse)
    async def metrics() -> Response:
        gauges = await service.work(service.gauges)
        return PlainTextResponse(service.metrics.text(gauges), media_type=CONTENT_TYPE)


def _label_routes(app: FastAPI, service: Service) -> None:
    @app.post(
        "/learn",
        summary="Learn one or several examples; answered once they are on the disk",
        openapi_extra=_LEARN,
        response_class=JSONResponse,
        responses={200: {"model": LearnedBody | LearnedManyBody, "links": {"forget": _FORGET_IT}}},
        operation_id="learn",
    )
    async def learn_route() -> Response:
        return _Hot(service, learn)

    @app.post(
        "/forget", summary="Take a label back, or erase a text", response_model=LearnedBody, operation_id="forget"
    )
    async def forget(request: Request, body: ForgetNumber | ForgetText) -> dict[str, Any]:
        who = request.scope["tally.who"].name

        def job(db: Any) -> dict[str, Any]:
            number = body.id if isinstance(body, ForgetNumber) else store_writes.find(db, body.text)
            if number is None:
                return {"id": None, "changed": False, "old": None}
            done = store_writes.forget(db, number, who)
            if body.erase:
                store_writes.erase(db, [number])
            return {"id": number, "changed": done.changed or body.erase, "old": done.old}

        answer = await service.write(job)
        service.trainer.changed()
        return answer

    @app.get(
        "/texts",
        summary="Search and page through the stored texts",
        response_model=TextsBody,
        responses={200: {"links": {"next": _NEXT_PAGE, "erase": _FORGET_FIRST}}},
        operation_id="texts",
    )
    async def texts(
        q: Annotated[str, Query(max_length=500)] = "",
        label: Annotated[str | None, Query(max_length=store_writes.LONGEST_LABEL)] = None,
        verdict: Annotated[str | None, Query(max_length=store_writes.LONGEST_LABEL)] = None,
        state: Literal["labelled", "unlabelled", "unsure", "skipped", "corrected"] | None = None,
        before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> dict[str, Any]:
        which = queries.Filter(q=q, label=label, verdict=verdict, state=state)
        items, then = await service.read(lambda db: queries.page(db, which, before, limit))
        return {"texts": [item._asdict() for item in items], "before": then}


def _model_routes(app: FastAPI, service: Service) -> None:
    @app.get(
        "/models",
        summary="Model versions, latest first",
        response_model=ModelsBody,
        responses={200: {"links": {"activate": _ACTIVATE_LATEST}}},
        operation_id="models",
    )
    async def models() -> dict[str, Any]:
        versions = await service.read(queries.versions)
        live = service.models.live
        return {
            "models": [
                {
                    "version": v.version,
                    "name": v.name,
                    "title": v.title,
                    "made": v.made,
                    "texts": v.texts,
                    "active": live is not None and live.number == v.version,
                    "figures": v.facts.get("figures", {}),
                }
                for v in versions
            ],
            "pinned": await service.work(lambda: service.models.pinned),
            "fitting": service.trainer.progress.line,
        }

    @app.post(
        "/models/{number}/activate",
        summary="Put a version in place",
        response_model=ActiveBody,
        responses={200: {"links": {"rollback": _ROLL_BACK}}},
        operation_id="activate",
    )
    async def activate(number: Annotated[int, Path(ge=1, le=2**53)]) -> dict[str, Any]:
        versions = await service.read(queries.versions)
        pin = bool(versions) and versions[0].version != number  # an older one is meant to stay
        live = await service.work(service.models.activate, number, pin)
        return {"version": live.version}

    @app.post(
        "/models/rollback",
        summary="Go back to the version before",
        response_model=ActiveBody,
        operation_id="rollback",
    )
    async def roll_back() -> dict[str, Any]:
        live = await service.work(service.models.roll_back)
        return {"version": live.version}

    @app.post("/models/fit", summary="Fit anew on the store's labels, in the background", status_code=202)
    async def fit() -> dict[str, str]:
        counts = await service.read(queries.label_counts)
        if len(counts) < 2:
            raise ServiceError(409, "Labels of two classes are needed to learn a difference.")
        service.trainer.ask()
        return {"status": "started"}
