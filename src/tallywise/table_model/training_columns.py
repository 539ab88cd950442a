"""What the models of a table learn from: values of columns, counted texts, and the target."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise.models.table_encoding import (
    COARSE_BINS,
    Categories,
    CategoryCode,
    Code,
    DateCode,
    Design,
    DesignPart,
    NumberCode,
    PairCode,
    beside,
    coarse,
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

    @property
    def has_numbers(self) -> bool:
        """Whether a column has values that can be ranked, put into bins or bent."""
        return any(column.kind != "category" for column in self.columns)

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


class Problem:
    """The rows that a model is fitted on. Codes are learned from these rows alone."""

    def __init__(self, data: TableData, rows: Rows) -> None:
        self.data, self.rows = data, rows
        self._designs: dict[str, Design] = {}
        self._matrices: dict[str, Any] = {}
        self._values: dict[str, Any] | None = None
        self._last: tuple[Any, Any] = (None, None)
        self._kept: dict[Any, Any] = {}

    def last(self, key: Any, make: Callable[[], Any]) -> Any:
        """What was made last under this key: settings that do not change it are often tried one after the other."""
        if self._last[0] != key:
            self._last = (None, None)  # one of them in memory
            self._last = (key, make())
        return self._last[1]

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """What was made under this key, whenever that was; with texts, whose weights are large, always made anew."""
        if self.data.texts:
            return make()
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    @property
    def values(self) -> dict[str, Any]:
        """Values of the columns."""
        if self._values is None:
            self._values = self.data.of_rows(self.rows)
        return self._values

    @property
    def codes(self) -> NDArray[np.intp]:
        """Codes of the classes."""
        return self.data.target.codes[self.rows]

    @property
    def y(self) -> Array:
        """The numbers to predict."""
        return self.data.target.y[self.rows]

    def design(self, view: str) -> Design:
        """The codes of all columns, numbers in that view; in the view coarse, few bins and levels of each."""
        if view not in self._designs:
            few = view == "coarse"
            most = COARSE_BINS if few else int(np.clip(np.sqrt(len(self.rows)) / 2, 4, 32))
            parts = []
            for column in self.data.columns:
                x = self.values[column.name]
                code: Code
                if few and column.kind != "date":
                    code = coarse(column.kind, x)
                elif column.kind == "category":
                    code = CategoryCode.fit(x)
                elif column.kind == "date":
                    code = DateCode.fit("bins" if few else view, x, most)
                else:
                    code = NumberCode.fit(view, x, most)
                parts.append(DesignPart((column.name,), code))
            self._designs[view] = Design(parts)
        return self._designs[view]

    def with_pairs(self, design: Design, pairs: Sequence[tuple[str, str]]) -> Design:
        """A design with pairs of columns added."""
        kind = {column.name: column.kind for column in self.data.columns}
        codes = {name: coarse(kind[name], self.values[name]) for pair in pairs for name in pair}
        products = [kind[a] == kind[b] == "number" for a, b in pairs]
        added = [DesignPart((a, b), PairCode(codes[a], codes[b], p)) for (a, b), p in zip(pairs, products, strict=True)]
        return Design([*design.parts, *added])

    def features(self, view: str) -> Any:
        """Features of the rows in the design of that view (CSR)."""
        if view in self._matrices:
            return self._matrices[view]
        X = self.data.matrix(self.design(view), self.rows)
        if not self.data.texts:  # those of texts are large
            self._matrices[view] = X
        return X
