"""The JSON interface, by FastAPI; its OpenAPI document is the contract."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

import tallywise
from tallywise.serve import changes, queries, sketch
from tallywise.serve.answers import ServiceError, encode, error_body
from tallywise.serve.classify import STREAM
from tallywise.serve.service import Service, told

Number = Annotated[int, Field(ge=1, le=2**53)]
Label = Annotated[str, Field(min_length=1, max_length=changes.LONGEST_LABEL, pattern=changes.LABEL_PATTERN)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class OneText(_Body):
    """A text, and the class to speak for (the verdict by default)."""

    text: str
    label: Label | None = None


class FlipText(_Body):
    """A text whose verdict is to be changed by a few words."""

    text: str


class ClassifyOne(_Body):
    """One text."""

    text: str
    probabilities: bool = False
    record: bool = False


class ClassifyMany(_Body):
    """A batch."""

    texts: list[str]
    probabilities: bool = False
    record: bool = False


class Example(_Body):
    """A text and its label."""

    text: str
    label: Label
    who: Annotated[str, Field(max_length=60)] | None = None


class Examples(_Body):
    """Several examples."""

    examples: Annotated[list[Example], Field(max_length=10_000)]


class ForgetNumber(_Body):
    """A stored text by its number; `erase` removes the text itself."""

    id: Number
    erase: bool = False


class ForgetText(_Body):
    """A text, if it is stored; `erase` removes the text itself."""

    text: str
    erase: bool = False


class ErrorText(BaseModel):
    """What went wrong."""

    status: int
    code: str
    message: str


class ErrorBody(BaseModel):
    """The one shape of errors."""

    error: ErrorText


class VerdictBody(BaseModel):
    """A verdict."""

    label: str
    probability: float
    version: str
    probabilities: dict[str, float] | None = None
    id: int | None = None


class BatchBody(BaseModel):
    """Verdicts of a batch."""

    version: str
    verdicts: list[dict[str, Any]]


class WordBody(BaseModel):
    """A word, what it adds to the score, and where it stands."""

    term: str
    contribution: float
    spans: list[tuple[int, int]]


class ExplanationBody(BaseModel):
    """bias + the contributions of all words = score."""

    label: str
    probability: float
    score: float
    bias: float
    words: list[WordBody]
    version: str


class FlipBody(BaseModel):
    """The fewest words found whose removal or addition changes the verdict; all empty where none was found."""

    label: str
    becomes: str | None
    remove: list[str]
    add: list[str]
    distance: float | None
    version: str


class LearnedBody(BaseModel):
    """What a learn or forget did."""

    id: int | None
    changed: bool
    old: str | None


class LearnedManyBody(BaseModel):
    """What learning several examples did."""

    learned: int
    changed: int


class TextBody(BaseModel):
    """A stored text."""

    id: int
    text: str
    source: str
    added: float
    label: str | None
    labelled_by: str | None
    labelled_at: float | None
    state: str
    verdict: str | None
    probability: float | None
    margin: float | None
    version: str | None


class TextsBody(BaseModel):
    """A page of texts; ask for the next one with `before`."""

    texts: list[TextBody]
    before: int | None


class ModelBody(BaseModel):
    """A model version."""

    version: int
    name: str
    title: str
    made: float
    texts: int
    active: bool
    figures: dict[str, Any]


class ModelsBody(BaseModel):
    """All versions, latest first."""

    models: list[ModelBody]
    pinned: bool
    fitting: str


class ActiveBody(BaseModel):
    """The version in place."""

    version: str


class HealthBody(BaseModel):
    """Whether all is well."""

    status: Literal["ok", "no model"]
    version: str | None
    tallywise: str


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


class _Hot(Response):
    """Hands a request on to the hot path."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from tallywise.serve.classify import classify

        await classify(self._service, scope, receive, send, scope["tally.who"])


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
    )
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
        if first["type"] == "json_invalid":
            return _error(400, "The body is not JSON in UTF-8.", "not_json")
        where = ".".join(str(part) for part in first["loc"][1:]) or "the body"
        return _error(422, f"{where[:100]}: {first['msg']}.")

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

    # Bodies must say that they are JSON: forms of other pages cannot, so they cannot act in a person's name.
    @app.middleware("http")
    async def only_json(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        path = request.url.path
        if (
            request.method == "POST"
            and path in ("/explain", "/flip", "/learn", "/forget")
            and kind != "application/json"
        ):
            return _error(415, "Send application/json.")
        return await call(request)


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
        return _Hot(service)

    @app.post("/explain", summary="What each word adds to the score", response_model=ExplanationBody)
    async def explain(body: OneText) -> dict[str, Any]:
        live = service.models.current()
        label = None if body.label is None else live.label(body.label)
        found = await service.work(live.model.explain, body.text, label)
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
        found = await service.work(live.model.flip, body.text)
        if found is None:
            (verdict,) = await service.work(live.verdicts, [body.text])
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
        return PlainTextResponse(service.metrics.text(gauges), media_type="text/plain; version=0.0.4")


def _label_routes(app: FastAPI, service: Service) -> None:
    @app.post("/learn", summary="Learn one or several examples; answered once they are on the disk")
    async def learn(
        request: Request,
        body: Example | Examples,
        key: Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)] = None,
    ) -> LearnedBody | LearnedManyBody:
        examples = [body] if isinstance(body, Example) else body.examples
        if len(examples) > service.settings.max_batch:
            raise ServiceError(413, f"A batch may have {service.settings.max_batch:,} examples. Got {len(examples):,}.")
        default = request.scope["tally.who"].name
        for example in examples:
            changes.clean_label(example.label)

        def job(db: Any) -> dict[str, Any]:
            done = [changes.learn(db, e.text, e.label, who=e.who or default) for e in examples]
            if isinstance(body, Example):
                return {"id": done[0].id, "changed": done[0].changed, "old": done[0].old}
            return {"learned": len(done), "changed": sum(one.changed for one in done)}

        request_digest = sketch.digest(body.model_dump_json())
        answer = await service.write(lambda db: changes.once(db, key, request_digest, lambda: job(db)))
        service.metrics.counters["learns"] += len(examples)
        service.trainer.changed()
        return LearnedBody(**answer) if isinstance(body, Example) else LearnedManyBody(**answer)

    @app.post("/forget", summary="Take a label back, or erase a text", response_model=LearnedBody)
    async def forget(request: Request, body: ForgetNumber | ForgetText) -> dict[str, Any]:
        who = request.scope["tally.who"].name

        def job(db: Any) -> dict[str, Any]:
            number = body.id if isinstance(body, ForgetNumber) else changes.find(db, body.text)
            if number is None:
                return {"id": None, "changed": False, "old": None}
            done = changes.forget(db, number, who)
            if body.erase:
                changes.erase(db, [number])
            return {"id": number, "changed": done.changed or body.erase, "old": done.old}

        answer = await service.write(job)
        service.trainer.changed()
        return answer

    @app.get("/texts", summary="Search and page through the stored texts", response_model=TextsBody)
    async def texts(
        q: Annotated[str, Query(max_length=500)] = "",
        label: Annotated[str | None, Query(max_length=changes.LONGEST_LABEL)] = None,
        verdict: Annotated[str | None, Query(max_length=changes.LONGEST_LABEL)] = None,
        state: Literal["labelled", "unlabelled", "unsure", "skipped", "corrected"] | None = None,
        before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> dict[str, Any]:
        which = queries.Filter(q=q, label=label, verdict=verdict, state=state)
        items, then = await service.read(lambda db: queries.page(db, which, before, limit))
        return {"texts": [item._asdict() for item in items], "before": then}


def _model_routes(app: FastAPI, service: Service) -> None:
    @app.get("/models", summary="Model versions, latest first", response_model=ModelsBody)
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

    @app.post("/models/{number}/activate", summary="Put a version in place", response_model=ActiveBody)
    async def activate(number: Annotated[int, Path(ge=1, le=2**53)]) -> dict[str, Any]:
        versions = await service.read(queries.versions)
        pin = bool(versions) and versions[0].version != number  # an older one is meant to stay
        live = await service.work(service.models.activate, number, pin)
        return {"version": live.version}

    @app.post("/models/rollback", summary="Go back to the version before", response_model=ActiveBody)
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
