"""Bodies of requests and answers: what the OpenAPI document says of each."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tallywise.serve import store_writes

# In JSON 7 and 7.0 are the same integer.
Number = Annotated[
    int, Field(ge=1, le=2**53), BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)
]
Label = Annotated[str, Field(min_length=1, max_length=store_writes.LONGEST_LABEL, pattern=store_writes.LABEL_PATTERN)]


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
