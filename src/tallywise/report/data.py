"""Contents of a report, as plain data: of classes, of label sets, of numbers."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise._highlight import Span
from tallywise.evaluation.intervals import Metric
from tallywise.evaluation.metrics_per_class import ClassMetrics


def fingerprint(texts: Iterable[str], labels: Iterable[object]) -> str:
    """Sixteen digits that tell whether two reports are of the same texts and labels.

    Examples
    --------
    >>> from tallywise.report.data import fingerprint
    >>> fingerprint(["a", "b"], [1, 2]) == fingerprint(["a", "b"], [1, 3])
    False
    """
    found = hashlib.blake2b(digest_size=8)
    for text, label in zip(texts, labels, strict=True):
        found.update(f"{len(text)}:{text}{label!s}\n".encode("utf-8", "surrogatepass"))
    return found.hexdigest()


class ColumnEffect(NamedTuple):
    """What a column, or a pair of them, adds to the score beyond the average row."""

    name: str
    size: float  # mean absolute contribution
    points: Sequence[tuple[float, float]] = ()  # of a number: value and contribution of some rows
    levels: Sequence[tuple[str, float]] = ()  # of a category its levels, of a text its words: mean contribution


class Rival(NamedTuple):
    """A row of the comparison of classifiers."""

    name: str
    error: Metric
    log_loss: float
    seconds: float
    kept: bool


class Mistake(NamedTuple):
    """A text, or the cells of a row, wrongly predicted while held out, with the contribution of each part."""

    text: str
    true: str
    predicted: str
    probability: float | None  # none of numbers
    spans: list[Span]


@dataclass
class ReportData:
    """Everything on the page of a classifier. `codes` and `probabilities` are of held-out rows."""

    title: str
    source: str
    classes: list[str]
    codes: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    verdicts: NDArray[np.intp]
    figures: dict[str, Metric]
    split: str  # how the rows were split
    model: str
    rivals: list[Rival] = field(default_factory=list)
    constant_error: float = 0.0
    bayes_error: tuple[float, float] | None = None  # interval, by Cover and Hart
    words: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    curve: list[tuple[int, Metric]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    fingerprint: str = ""  # of texts and labels, in their order
    by_class: list[ClassMetrics] = field(default_factory=list)
    positive: int = 1  # with two classes, the positive one
    threshold: float = 0.5
    unit: str = "texts"  # or rows, of a table
    columns: list[ColumnEffect] = field(default_factory=list)

    @property
    def about_spam(self) -> bool:
        """Whether the metrics of mail filters are of use: a threshold was asked for, or a class is spam."""
        return len(self.classes) == 2 and (self.threshold != 0.5 or "spam" in map(str.lower, self.classes))

    @property
    def commonest(self) -> str:
        """The most frequent class."""
        return self.classes[int(np.bincount(self.codes).argmax())]


class LabelRival(NamedTuple):
    """A row of the comparison of models of label sets."""

    name: str
    micro_f1: Metric
    macro_f1: Metric
    log_loss: float
    seconds: float
    kept: bool


class LabelMistake(NamedTuple):
    """A label that a text wrongly got while held out, or did not get, with the contribution of each part."""

    text: str
    true: list[str]
    predicted: list[str]
    label: str
    probability: float
    spans: list[Span]


@dataclass
class LabelReportData:
    """Everything on the page of a model of label sets. Figures are of held-out texts."""

    title: str
    source: str
    texts: int
    labels_a_text: float
    figures: dict[str, Metric]
    split: str
    model: str
    by_label: list[ClassMetrics]
    thresholds: list[float]
    rivals: list[LabelRival] = field(default_factory=list)
    words: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    mistakes: list[LabelMistake] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    fingerprint: str = ""  # of texts and labels, in their order


class NumberRival(NamedTuple):
    """A row of the comparison of models of numbers."""

    name: str
    loss: float
    mae: float
    seconds: float
    kept: bool


@dataclass
class NumberReportData:
    """Everything on the page of a model of numbers. Figures, `y` and `predictions` are of held-out rows."""

    title: str
    source: str
    target: str
    y: NDArray[np.float64]
    predictions: NDArray[np.float64]
    figures: dict[str, Metric]
    constant: Metric  # of always the mean
    split: str
    model: str
    loss: str = "RMSE"  # by which models were compared
    rivals: list[NumberRival] = field(default_factory=list)
    coverage: list[tuple[float, Metric]] = field(default_factory=list)  # asked for, and found
    columns: list[ColumnEffect] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    fingerprint: str = ""  # of texts and labels, in their order
