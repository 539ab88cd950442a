"""Contents of a report, as plain data."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise._highlight import Span
from tallywise.evaluation.classes import ClassFigures
from tallywise.evaluation.intervals import Figure
from tallywise.evaluation.report.columns import ColumnEffect


class Rival(NamedTuple):
    """A row of the comparison."""

    name: str
    error: Figure
    log_loss: float
    seconds: float
    kept: bool


class Mistake(NamedTuple):
    """A text, or the cells of a row, wrongly judged while held out, with the contribution of each part."""

    text: str
    true: str
    predicted: str
    probability: float | None  # none of numbers
    spans: list[Span]


@dataclass
class ReportData:
    """Everything on the page. `codes` and `probabilities` are of held-out rows."""

    title: str
    source: str
    classes: list[str]
    codes: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    verdicts: NDArray[np.intp]
    figures: dict[str, Figure]
    split: str  # how the rows were split
    model: str
    rivals: list[Rival] = field(default_factory=list)
    constant_error: float = 0.0
    bayes_error: tuple[float, float] | None = None  # interval, by Cover and Hart
    words: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    curve: list[tuple[int, Figure]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    by_class: list[ClassFigures] = field(default_factory=list)
    positive: int = 1  # with two classes, the positive one
    threshold: float = 0.5
    unit: str = "texts"  # or rows, of a table
    columns: list[ColumnEffect] = field(default_factory=list)

    @property
    def about_spam(self) -> bool:
        """Whether figures that mail filters are judged by are of use: a threshold was asked for, or a class is spam."""
        return len(self.classes) == 2 and (self.threshold != 0.5 or "spam" in map(str.lower, self.classes))

    @property
    def commonest(self) -> str:
        """The most frequent class."""
        return self.classes[int(np.bincount(self.codes).argmax())]
