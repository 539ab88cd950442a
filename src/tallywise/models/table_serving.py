"""The serve side of a model of a table. Needs NumPy alone, never scikit-learn, SciPy or a package of data frames.

The fit side (`TableModel`) hands its model over in the same form in which it is saved, so both sides give the same
bits.
"""

import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise._lazy import lazy
from tallywise.errors import ModelFileError, UnreadCellsWarning
from tallywise.models import model_file
from tallywise.models.table_counterfactual import smallest_change
from tallywise.models.table_encoding import Categories, CategoryCode, NumberCode
from tallywise.models.table_schema import TableModelFile
from tallywise.models.text_serving import TextModel, Word
from tallywise.reading.column_kinds import decide_decimals
from tallywise.reading.frames import Cells, Table, as_table
from tallywise.reading.unreadable_cells import Unread, all_unread, refuse_many

Array = NDArray[np.float64]
_LARGEST_EXPONENT = 700.0  # whose exponential is still a number
_MOST_TRIED = 32  # values of a number that a flip tries first
_ORDERS = 8  # orders of columns, each with its reverse, over which models that remember rows are explained


class Contribution(NamedTuple):
    """What a column (or a pair) adds to the score, the value it has, and for texts what each word adds."""

    column: str
    value: Any
    contribution: float
    words: list[Word]

    def __str__(self) -> str:
        value = "missing" if self.value is None else f"{self.value:g}" if isinstance(self.value, float) else self.value
        return f"{self.column} = {value} adds {self.contribution:+.3g}"


@dataclass(frozen=True)
class TableExplanation:
    """Why a row was called what it was called: bias + contributions of all columns = score.

    The bias is the score of the average row; with numbers, score and contributions are in the units of the target.
    """

    label: Any
    probability: float | None
    score: float
    bias: float
    columns: list[Contribution] = field(repr=False)

    def __str__(self) -> str:
        head = f"{self.label:g}" if self.probability is None else f"{self.label}  {self.probability:.3f}"
        return f"{head}   " + "  ".join(str(c) for c in self.columns[:6] if abs(c.contribution) >= 0.005)


@dataclass(frozen=True)
class TableFlip:
    """The fewest columns found whose change makes the verdict another: their values before and after."""

    label: Any
    becomes: Any
    changes: dict[str, tuple[Any, Any]]


class TableRuntime:
    """A trained model of a table that reads rows and predicts.

    Made by `tallywise.load` or found as ``TableModel.runtime_``.

    Attributes
    ----------
    task : str
        classes, grades or numbers.
    target : str
        Name of the column that it predicts.
    classes : list
        Labels, in the order of the columns of probabilities; empty for numbers.
    columns : list of Column
        What it reads.
    meta : dict
        What the file says of itself.

    Examples
    --------
    >>> from tallywise import TableModel
    >>> rows = [{"size": x / 2, "kind": "ab"[x % 2], "price": 3 * x + x % 2} for x in range(40)]
    >>> model = TableModel("ridge", cv=2).fit(rows, "price").runtime_
    >>> model.task, round(float(model.predict([{"size": 5.0, "kind": "a"}])[0]))
    ('numbers', 30)
    """

    def __init__(self, contents: model_file.Contents | TableModelFile, path: str = "<memory>") -> None:
        try:
            self._open(contents if isinstance(contents, TableModelFile) else TableModelFile.read(contents))
        except ModelFileError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, MemoryError) as error:
            cause = "a part of it is missing or of the wrong kind" if not isinstance(error, ValueError) else str(error)
            msg = f"Cannot read {path!r} as a table model: {cause.rstrip('.')}."
            raise ModelFileError(msg) from None
        self.contents = contents.contents() if isinstance(contents, TableModelFile) else contents
        self.meta = self.contents.meta

    def _open(self, file: TableModelFile) -> None:
        self.file, self.task, self.target = file, file.task, file.target
        self.classes, self.columns = list(file.classes), list(file.columns)
        self._kind: dict[str, str] = {column.name: column.kind for column in self.columns}
        # Columns that rows may have, beside those that are read.
        self.other_columns = {self.target, *file.facts.unread_columns}
        self._design, self._b = file.design, file.b
        self._texts = [(column, TextModel(model)) for column, model in file.texts]
        self._second = None if file.second is None else TableRuntime(file.second)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model to one safe file for `tallywise.load` and ``tally classify``; returns its size in bytes."""
        return model_file.write(path, *self.contents)

    # --- verdicts ---

    def table(self, data: Any) -> Table:
        """Rows as a table, with a check that it has the columns of this model; those of records may be missing."""
        table = as_table(data)
        if table.records and table.rows and not any(name in table.columns for name in self._kind):
            msg = f"The records have none of its columns. The model reads: {', '.join(self._kind)}."
            raise ValueError(msg)
        for column in self.columns:
            if column.name not in table.columns:
                if not table.records:
                    msg = f"The table has no column {column.name!r}. The model reads: {', '.join(self._kind)}."
                    raise ValueError(msg)
                table.columns[column.name] = Cells([None] * table.rows)
        if not table.records:  # records come one by one: they are read as the model's own table was
            decide_decimals(table)
        return table

    def unread(self, data: Any) -> list[Unread]:
        """Cells that cannot be read as the numbers or dates that their columns hold, and count as missing."""
        return all_unread(self.columns, self.table(data))

    def unknown(self, data: Any) -> list[Unread]:
        """Cells of categories that the model does not know, where they are more than training rows let expect."""
        table = self.table(data)
        found = []
        for column in self.columns:
            strings = table.columns[column.name].strings() if column.kind == "category" else []
            levels = {*self.levels(column.name)}
            rows = [i for i, cell in enumerate(strings) if cell is not None and cell.strip() not in levels]
            present = sum(cell is not None for cell in strings)
            share = (column.rare or 0) / max(self.meta["rows"], 1)
            # Three standard errors above the share of training rows: one of 700 samples without a change, by chance.
            if len(rows) > present * share + 3 * np.sqrt(present * share * (1 - share)):
                first = [(i, table.where(i), str(strings[i])) for i in rows[:1]]
                found.append(Unread(column.name, "known value", len(rows), present, first))
        return found

    def read(self, data: Any) -> Table:
        """Rows as a table whose cells were checked: what cannot be read is a warning, or an error where it is much."""
        table = self.table(data)
        if not table.checked:
            found = all_unread(self.columns, table)
            refuse_many(found)
            for one in found:
                warnings.warn(f"{one}; read as missing", UnreadCellsWarning, stacklevel=3)
            table.checked = True
        return table

    def scores(self, data: Any) -> Array:
        """Scores before calibration; with numbers, the predictions or, by the link of the model, their logarithms."""
        table = self.read(data)
        return self._scored(table, self._values(table))

    def _scored(self, table: Table, values: dict[str, Any]) -> Array:
        if self.file.stored is not None:
            z = np.asarray(self.file.stored.scores(self._design.dense(values, table.rows)) + self._b)
        else:
            z = np.asarray(self._parts(table, values).sum(axis=0) + self._b)
        if self.file.trees is not None:
            z += self.file.trees.scores(values, table.rows)
        if self._second is None:
            return z
        a, b = self.file.weights
        return np.asarray(a * z + b * self._second._scored(table, values))

    def predict_proba(self, data: Any) -> Array:
        """Calibrated probabilities, one row a row, columns as in `classes`."""
        if self.task == "numbers":
            msg = "A model of numbers gives no probabilities: use predict_interval."
            raise ValueError(msg)
        return self._probabilities(self.scores(data))

    def predict(self, data: Any) -> NDArray[Any]:
        """Verdicts: classes by the rule of the model, or numbers."""
        if self.task == "numbers":
            return self._number(self.scores(data))
        return np.array(self.classes)[self.decide(self.predict_proba(data))]

    def predict_interval(self, data: Any, coverage: float = 0.9) -> Array:
        """Lower and upper end of an interval that holds the true number with probability `coverage`."""
        if self.file.residuals is None:
            msg = "Intervals are of numbers: use predict_proba for classes."
            raise ValueError(msg)
        table = self.read(data)
        values = self._values(table)
        z = self._number(self._scored(table, values))
        half = self.file.residuals.half_width(z, coverage)
        half[self._unlike_training(values, table.rows, coverage)] = np.inf
        return np.column_stack([z - half, z + half])

    def _number(self, z: Array) -> Array:
        """The number that a score stands for."""
        return np.asarray(z[:, 0] if self.file.link == "identity" else np.exp(np.minimum(z[:, 0], _LARGEST_EXPONENT)))

    def predict_set(self, data: Any, coverage: float = 0.95) -> NDArray[np.bool_]:
        """The classes, one column each, that hold the true one with probability `coverage`.

        Those whose probability is no less than that of the true class in all but a share 1 - coverage of the held-out
        rows. A row unlike the held-out ones may have none.

        References
        ----------
        Sadinle, Lei & Wasserman (2019), Least ambiguous set-valued classifiers with bounded error levels, JASA 114.
        """
        if not 0 < coverage < 1:
            msg = f"coverage must be between 0 and 1. Got {coverage}."
            raise ValueError(msg)
        P, seen = self.predict_proba(data), self.file.true_probabilities
        if not len(seen):
            msg = "This model holds no held-out probabilities: train it again for sets of classes."
            raise ValueError(msg)
        n = self.meta["rows_judged"]
        rank = int(np.floor((n + 1) * (1 - coverage)))
        if rank < 1:
            return np.ones(P.shape, dtype=bool)
        place = rank - 1 if len(seen) == n else int(np.floor((rank - 1) * (len(seen) - 1) / (n - 1)))
        return np.asarray(seen[place] <= P)

    def _unlike_training(self, values: dict[str, Any], rows: int, coverage: float) -> NDArray[np.bool_]:
        """Rows that lack a value, or have an unknown category, as too few training rows did for an interval.

        By the rule of the interval itself: m rows like this one hold an error of rank (m + 1) c only if that is m at
        most.
        """
        found = np.zeros(rows, dtype=bool)
        for column in self.columns:
            x = values.get(column.name)
            if x is None:
                continue
            codes = x.codes if isinstance(x, Categories) else np.where(np.isnan(x), -1, 0)
            if column.missing is not None and (column.missing + 1) * coverage > column.missing:
                found |= codes < 0
            if isinstance(x, Categories) and column.rare is not None and (column.rare + 1) * coverage > column.rare:
                levels = {*self.levels(column.name)}
                unknown = np.array([name not in levels for name in x.names] + [False])
                found |= unknown[codes]
        return found

    def decide(self, probabilities: Array) -> NDArray[np.intp]:
        """Positions of the verdicts among the classes, by the model's rule: most likely, threshold, or least cost."""
        return self.file.rule.decide(probabilities, self.classes)

    def _probabilities(self, z: Array) -> Array:
        if len(self.file.thresholds):
            below = _sigmoid(self.file.thresholds[None, :] - z)
            edges = np.hstack([np.zeros((len(z), 1)), below, np.ones((len(z), 1))])
            P = np.maximum(np.diff(edges, axis=1), np.finfo(float).tiny)
            return np.asarray(P / P.sum(axis=1, keepdims=True))
        if z.shape[1] == 1:
            p = _sigmoid(self.file.scale * z + self.file.shift)
            return np.hstack([_sigmoid(-self.file.scale * z - self.file.shift), p])
        e = np.exp(self.file.scale * (z - z.max(axis=1, keepdims=True)))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def _values(self, table: Table) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for column in self.columns:
            if column.kind == "category":
                found[column.name] = Categories.of(table.columns[column.name].strings())
            elif column.kind != "text":
                found[column.name] = column.values(table.columns[column.name])
        return found

    def _parts(self, table: Table, values: dict[str, Any]) -> Array:
        """What each part of a linear model adds to the scores, (parts, n, columns); texts where the table has them."""
        found = []
        if self._design.parts:
            for columns, entries in self._design.slots(values, table.rows):
                found.append(np.einsum("ns,nsc->nc", entries, self.file.W[columns]))
        for name, model in self._texts:
            if name in table.columns:
                found.append(model.scores([text or "" for text in table.columns[name].strings()]))
        return np.stack(found) if found else np.zeros((1, table.rows, len(self._b)))

    # --- reasons ---

    def explain(self, record: Any, label: Any = None) -> TableExplanation:
        """What each column of a row adds to the score of a class, or to the number, beyond the average row.

        Exact: bias and contributions add up to the score. With more than two classes the score is that of the class
        minus the mean over the classes; where the link of numbers is exp, it is the logarithm of the number. In models
        with trees of many leaves, what a column adds depends on the others: it is what changes where the paths of the
        row ask for that column. In models of earlier releases that store rows it is the mean over several orders in
        which the columns of the average row take the values of this one.

        Parameters
        ----------
        record : mapping
            The row: values by column name.
        label : optional
            The class to speak for; the verdict by default.

        References
        ----------
        Strumbelj & Kononenko (2014), Explaining prediction models and individual predictions with feature
        contributions, Knowledge and Information Systems 41.
        """
        table = self._one(record)
        z = self.scores(table)
        probability, k = None, 0
        if self.task != "numbers":
            P = self._probabilities(z)
            k = int(self.decide(P)[0]) if label is None else self._position(label)
            probability = float(P[0, k])
        values = self._values(table)
        added, bias = self._added(table, values)
        sign = self._direction(k)
        found = []
        texts = {name: number for number, (name, _) in enumerate(self._texts)}
        for number, name in enumerate(self._names()):
            words: list[Word] = []
            if name in texts:
                words = self._words(texts[name], table.columns[name].strings()[0] or "", k)
            shown = self._cells(name, table, values)[0]
            found.append(Contribution(name, shown, float(added[number] @ sign), words))
        found.sort(key=lambda c: -abs(c.contribution))
        verdict = float(self._number(z)[0]) if self.task == "numbers" else self.classes[k]
        return TableExplanation(verdict, probability, float(z[0] @ sign), float(bias @ sign), found)

    def contributions(self, data: Any) -> tuple[list[str], Array]:
        """Names of the columns (and pairs), and what each adds to each row beyond the average row, as `explain` says.

        The array has shape (rows, names, columns of scores); with more than two classes, a class each, less their mean.
        """
        table = self.table(data)
        values = self._values(table)
        if self.file.stored is None and self._second is None:
            added = self._sums(table, values)
        else:
            rows = [table.take(np.array([i])) for i in range(table.rows)]
            found = [self._added(row, self._values(row))[0] for row in rows]
            added = np.array(found).reshape(len(rows), len(self._names()), len(self._b))
        if added.shape[2] > 1:
            added = added - added.mean(axis=2, keepdims=True)
        return self._names(), np.asarray(added)

    def shown_values(self, name: str, data: Any) -> list[Any]:
        """Values of a column, or of both of a pair, as the user gave them: floats, strings, None where absent."""
        table = self.table(data)
        return self._cells(name, table, self._values(table))

    def levels(self, name: str) -> list[str]:
        """The levels of a category that it knows, the commonest first; none of other columns."""
        codes = [part.code for part in self._design.parts if part.columns == (name,)]
        return [level for code in codes if isinstance(code, CategoryCode) for level in code.levels]

    def top_words(self, name: str, most: int = 10) -> list[tuple[str, float]]:
        """The words of a column of texts that speak most for the last class, or the largest numbers; else none."""
        own = dict(self._texts)
        return own[name].top_terms(own[name].classes[-1], most) if name in own else []

    @property
    def remembers(self) -> bool:
        """Whether it compares rows with those learned from; what a column adds then depends on the others."""
        return self.file.stored is not None or (self._second is not None and self._second.remembers)

    def _own_terms(self) -> list[tuple[str, ...]]:
        """The columns of each part: one, or the two of a pair; two parts of one date are that date."""
        own = [tuple(dict.fromkeys(part.columns)) for part in self._design.parts]
        return own + [(name,) for name, _ in self._texts]

    def _terms(self) -> list[tuple[str, ...]]:
        """What explanations speak of: columns and pairs of columns."""
        trees = [] if self.file.trees is None else [(name,) for name in self.file.trees.columns]
        second = [] if self._second is None else self._second._terms()
        return list(dict.fromkeys([*self._own_terms(), *trees, *second]))

    def _sums(self, table: Table, values: dict[str, Any]) -> Array:
        """What each term adds to the scores beyond the average row, (rows, terms, columns); no rows are stored."""
        terms = {term: k for k, term in enumerate(self._terms())}
        added = np.zeros((table.rows, len(terms), len(self._b)))
        if len(self.file.means):
            parts = self._parts(table, values) - self.file.means[:, None]
            for term, part in zip(self._own_terms(), parts, strict=True):
                added[:, terms[term]] += part
        if self.file.trees is not None:
            paths = self.file.trees.paths(values, table.rows)
            for j, name in enumerate(self.file.trees.columns):
                added[:, terms[(name,)]] += paths[:, j]
        return added

    def _names(self) -> list[str]:
        return list(self._by_name)

    @lazy
    def _by_name(self) -> dict[str, tuple[str, ...]]:
        """The columns of each part by its name; a pair whose name a column or another pair has is written in quotes."""
        terms = self._terms()
        plain = Counter([*self._kind, *(" x ".join(term) for term in terms if len(term) > 1)])
        return {
            " x ".join(term) if len(term) == 1 or plain[" x ".join(term)] == 1 else " x ".join(map(repr, term)): term
            for term in terms
        }

    def _one(self, record: Any) -> Table:
        table = self.read([record] if isinstance(record, Mapping) else record)
        if table.rows != 1:
            msg = f"One row is wanted. Got {table.rows}."
            raise ValueError(msg)
        return table

    def _added(self, table: Table, values: dict[str, Any]) -> tuple[Array, Array]:
        """What each part adds to the scores of one row, and the score of the average row."""
        added, bias = self._own_added(table, values)
        if self._second is None:
            return added, bias
        (more, base), (a, b), terms = self._second._added(table, values), self.file.weights, self._terms()
        both = np.zeros((len(terms), len(self._b)))
        both[: len(added)] += a * added  # the terms of the second come behind its own
        both[[terms.index(term) for term in self._second._terms()]] += b * more
        return both, a * bias + b * base

    def _own_added(self, table: Table, values: dict[str, Any]) -> tuple[Array, Array]:
        stored, start = self.file.stored, self.file.average
        if stored is None or start is None:
            base = self._b + self.file.means.sum(axis=0) if len(self.file.means) else self._b
            trees = 0.0 if self.file.trees is None else self.file.trees.base
            return self._sums(table, values)[0], np.asarray(base + trees)
        x = self._design.dense(values, 1)[0]
        offsets, count = self._design.offsets, len(self._design.parts)
        random = np.random.default_rng(0)
        orders = [order for _ in range(_ORDERS) for one in [random.permutation(count)] for order in (one, one[::-1])]
        path = [start]
        for order in orders:
            row = start.copy()
            for part in order.tolist():
                row[offsets[part] : offsets[part + 1]] = x[offsets[part] : offsets[part + 1]]
                path.append(row.copy())
        Z = stored.scores(np.array(path)) + self._b
        added = np.zeros((count, Z.shape[1]))
        for number, order in enumerate(orders):
            block = Z[1 + number * count : 1 + (number + 1) * count]
            added[order] += np.diff(np.vstack([Z[:1], block]), axis=0)
        return added / len(orders), Z[0]

    def _direction(self, k: int) -> Array:
        """Weights of the columns of scores that make the score of class k."""
        columns = len(self._b)
        if columns == 1:
            up = self.task == "numbers" or k == len(self.classes) - 1
            return np.array([1.0 if up else -1.0])
        return np.asarray(np.eye(columns)[k] - 1 / columns)

    def _words(self, number: int, text: str, k: int) -> list[Word]:
        model = self._texts[number][1]
        up = 1 if self.task == "numbers" else k
        return model.explain(text, model.classes[up if len(model.classes) > up else -1]).words if text else []

    def _cells(self, name: str, table: Table, values: dict[str, Any]) -> list[Any]:
        columns: list[list[Any]] = []
        for part in self._by_name.get(name, (name,)):
            kind = self._kind.get(part)
            if kind == "number":
                columns.append([_shown(x) for x in values[part].tolist()])
            elif kind is not None:
                columns.append(table.columns[part].strings())
        if len(columns) == 1:
            return columns[0]
        rows = zip(*columns, strict=True)
        return [", ".join("missing" if v is None else f"{v:g}" if isinstance(v, float) else v for v in r) for r in rows]

    def flip(self, record: Any) -> TableFlip | None:
        """The fewest columns found whose change makes the verdict another; None where none is found, and for numbers.

        Each column is tried with values that training rows had: levels of a category, quantiles of a number. Texts and
        dates are left as they are. See `tallywise.models.table_counterfactual.smallest_change`.
        """
        if self.task == "numbers":
            return None
        table = self._one(record)
        values = self._values(table)
        of_texts = self._parts(table, values)[len(self._design.parts) :].sum(axis=0) if self._texts else 0.0
        row: dict[str, Any] = {}
        choices: dict[str, list[Any]] = {}
        deviations: dict[str, float] = {}
        for part in self._design.parts:
            name, code = part.columns[0], part.code
            if len(part.columns) == 1 and isinstance(code, CategoryCode):
                row[name], choices[name] = table.columns[name].strings()[0], list(code.levels)
            elif len(part.columns) == 1 and isinstance(code, NumberCode):
                step = -(-len(code.knots) // _MOST_TRIED)
                row[name], choices[name] = float(values[name][0]), list(code.knots[step // 2 :: step])
                deviations[name] = float(np.std(code.knots)) or 1.0

        def judge(trials: Sequence[dict[str, Any]]) -> Array:
            return self._probabilities(self._changed(table, values, trials) + of_texts)

        found = smallest_change(row, choices, deviations, judge, self.decide)
        if found is None:
            return None
        changes, becomes = found
        k = int(self.decide(judge([{}]))[0])
        return TableFlip(self.classes[k], self.classes[becomes], {n: (_shown(row[n]), v) for n, v in changes.items()})

    def _changed(self, table: Table, values: dict[str, Any], trials: Sequence[dict[str, Any]]) -> Array:
        """Scores of a row with changes, without what its texts add."""
        n = len(trials)
        changed: dict[str, Any] = {}
        for name, x in values.items():
            if isinstance(x, Categories):
                own = table.columns[name].strings()[0]
                changed[name] = Categories.of([trial.get(name, own) for trial in trials])
            else:
                changed[name] = np.array([trial.get(name, x[0]) for trial in trials], dtype=np.float64)
        return self._scored(Table({}, n), changed)

    # --- what it holds ---

    def _position(self, label: Any) -> int:
        if label not in self.classes:
            msg = f"{label!r} is not one of the classes: {', '.join(map(str, self.classes[:20]))}."
            raise ValueError(msg)
        return self.classes.index(label)


def _shown(value: Any) -> Any:
    """A value as the user would write it; None for an absent number."""
    return None if isinstance(value, float) and np.isnan(value) else value


def _sigmoid(z: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * z)))
