"""What the models of a table learn from: values of columns, counted texts, and the target."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise.models.table_encoding import (
    CalendarCode,
    Categories,
    CategoryCode,
    Code,
    DateCode,
    Design,
    DesignPart,
    NumberCode,
    beside,
)
from tallywise.reading.column_kinds import Column
from tallywise.table_model.targets import Target
from tallywise.text_model.forms import Block
from tallywise.text_model.views import View, make_views
from tallywise.text_model.weighting import Weighting

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class TextColumn(NamedTuple):
    """A column of texts, counted in its views, and the features of all rows."""

    name: str
    views: list[View]
    blocks: list[Block]
    X: Any  # CSR

    @classmethod
    def of(cls, name: str, texts: Sequence[str | None], n_jobs: int | None) -> "TextColumn":
        """Count texts and weight the counts, as the text model does; labels have no part in either."""
        listed = [text or "" for text in texts]
        views = make_views("auto", None, 1, None, deobfuscate=False, stop_words=None, n_jobs=n_jobs)
        blocks, parts, kept = [], [], []
        for view in views:
            try:
                counts = view.fit(listed)
            except ValueError:  # not a single term: nothing but empty texts or single characters
                continue
            weighting = Weighting.fit("tf-idf", counts)
            kept.append(view)
            blocks.append(Block(view.name, weighting))
            parts.append(weighting.apply(counts))
        X = sp.hstack(parts, format="csr") if parts else sp.csr_matrix((len(listed), 0))
        return cls(name, kept, blocks, X)


def values_of(columns: Sequence[Column], table: Any) -> dict[str, Any]:
    """Values of the columns of a table that are features but not texts, by name."""
    found: dict[str, Any] = {}
    for column in columns:
        if column.kind in ("number", "date"):
            found[column.name] = column.values(table.columns[column.name])
        elif column.kind == "category":
            found[column.name] = Categories.of(table.columns[column.name].strings())
    return found


class TableData:
    """A table of `n` rows and its target; matrices of features are made from designs."""

    def __init__(
        self,
        columns: Sequence[Column],
        values: Mapping[str, Any],
        texts: Sequence[TextColumn],
        target: Target,
        n_jobs: int | None,
        class_weight: Any,
    ) -> None:
        self.columns = [column for column in columns if column.name in values]
        self.values, self.texts, self.target = values, list(texts), target
        self.n_jobs, self.class_weight = n_jobs, class_weight

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.target.y)

    def of_rows(self, rows: Rows) -> dict[str, Any]:
        """Values of some rows."""
        return {
            name: values.take(rows) if isinstance(values, Categories) else values[rows]
            for name, values in self.values.items()
        }

    def matrix(self, design: Design, rows: Rows) -> Any:
        """Features of rows (CSR): those of the design, and behind them those of the texts."""
        columns, entries = beside(design.slots(self.of_rows(rows), len(rows)))
        starts = np.arange(len(rows) + 1) * columns.shape[1]
        X = sp.csr_matrix((entries.ravel(), columns.ravel(), starts), shape=(len(rows), design.width))
        X.sum_duplicates()
        X.eliminate_zeros()
        if not self.texts:
            return X
        return sp.hstack([X, *(text.X[rows] for text in self.texts)], format="csr")


_MOST_BINS = 255  # of a column of trees, that of absent values among them


def cuts_of(x: Array, most: int) -> Array:
    """Where bins of a number begin: halfway between neighbouring values, at about equal steps of the distribution.

    A value that many rows have counts for one bin at most, so that a column which is mostly 0 has more than one.
    """
    values, counts = np.unique(x, return_counts=True)
    if len(values) > most:
        capped = np.minimum(counts, len(x) / most)
        place = np.cumsum(capped) - capped / 2
        place = (place - place[0]) / (place[-1] - place[0])
        chosen = np.unique(np.searchsorted(place, np.linspace(0, 1, most), side="left"))
    else:
        chosen = np.arange(len(values))
    later = chosen[chosen > 0]
    middle = values[later - 1] + (values[later] - values[later - 1]) / 2
    # Rounding may put the middle of two neighbours on the lower one.
    found: Array = np.unique(np.concatenate([values[:1], np.where(middle > values[later - 1], middle, values[later])]))
    return found


def line_design(columns: Sequence[Column], values: Mapping[str, Any]) -> Design:
    """The features of the line: a slope for each number, a weight for each level and calendar part."""
    parts = []
    for column in columns:
        x = values[column.name]
        code: Code
        if column.kind == "category":
            code = CategoryCode.fit(x)
        elif column.kind == "date":
            code = DateCode.fit("plain", x, 32)
        else:
            code = NumberCode.fit("plain", x, 32)
        parts.append(DesignPart((column.name,), code))
    return Design(parts)


def tree_design(columns: Sequence[Column], values: Mapping[str, Any]) -> Design:
    """The bins that trees ask for: of numbers and days, levels of categories, and calendar parts."""
    parts = []
    for column in columns:
        x, names = values[column.name], (column.name,)
        if column.kind == "category":
            parts.append(DesignPart(names, CategoryCode.fit(x, _MOST_BINS - 2)))
            continue
        present = np.clip(x[~np.isnan(x)], -1e150, 1e150)
        knots = cuts_of(present, _MOST_BINS - 1) if len(present) else np.zeros(1)
        parts.append(DesignPart(names, NumberCode("bins", 0.0, 1.0, tuple(knots.tolist()))))
        if column.kind == "date":
            hours = bool((present != np.floor(present)).any())
            parts += [DesignPart(names, CalendarCode(p)) for p in ("month", "weekday", *(("hour",) if hours else ()))]
    return Design(parts)
