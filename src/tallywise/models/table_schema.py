"""The schema of saved models of tables: what a fit hands over, how it is written and read.

Fits make a `TableModelFile`; `contents` writes it, `read` reads it and the forms of earlier releases. Nothing else
knows the names of the parts of the file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.models.conformal import Residuals
from tallywise.models.decision_rule import DecisionRule, Label, no_costs, refuse
from tallywise.models.model_file import Contents
from tallywise.models.stored_rows import StoredRows
from tallywise.models.table_encoding import CalendarCode, CategoryCode, Code, DateCode, Design, NumberCode, PairCode
from tallywise.models.table_trees import NODE_ARRAYS, Trees
from tallywise.models.text_schema import TextModelFile
from tallywise.reading.column_kinds import KINDS, Column
from tallywise.reading.date_formats import check_date_format
from tallywise.reading.number_formats import NumberFormat

Array = NDArray[np.float64]
KIND = "table model"
BLEND = "blended table model"  # a name of its own: earlier versions know nothing of the second model inside
TREES = "table model of trees"  # likewise: of trees, or of numbers whose logarithm is the score
_SECOND = "second."
_TREES = "trees."
LINKS = ("identity", "exp")  # from the score to the number


@dataclass(frozen=True)
class TableFacts:
    """What a model says of itself: nothing that it needs to answer, but for the number of rows evaluated."""

    model: str
    title: str
    rows: int  # learned from
    rows_judged: int  # evaluated, each while it was held out
    constant: float  # error of the majority class, or root mean squared error of the mean
    description: Sequence[str] = ()
    notes: Sequence[str] = ()
    figures: Mapping[str, Sequence[float]] = field(default_factory=dict)  # value, low, high
    unread_columns: Sequence[str] = ()  # of the table that it was trained on


@dataclass(frozen=True, eq=False)
class TableModelFile:
    """A table model as it is saved.

    Scores are z = x W + b over the features of its design, plus those of a text model per column of texts, plus those
    of trees. In files of earlier releases they may be what stored rows add, or with a second model inside the sum of
    both by `weights`.
    """

    task: str  # classes, grades, numbers
    target: str
    classes: Sequence[Label]
    columns: Sequence[Column]
    design: Design
    W: Array = field(repr=False)
    b: Array
    means: Array  # what each part adds to the scores on the average
    facts: TableFacts
    scale: float = 1.0  # of scores, before they become probabilities
    shift: float = 0.0
    thresholds: Array = field(default_factory=lambda: np.empty(0))  # of ordinal labels
    rule: DecisionRule = field(default_factory=DecisionRule)
    texts: Sequence[tuple[str, TextModelFile]] = ()  # by column
    residuals: Residuals | None = None  # of numbers
    stored: StoredRows | None = None
    average: Array | None = None  # features of the average row, where rows are stored
    second: "TableModelFile | None" = None
    weights: tuple[float, float] = (1.0, 0.0)
    trees: Trees | None = None
    link: str = "identity"  # of numbers
    true_probabilities: Array = field(default_factory=lambda: np.empty(0))  # of the true class, held out, sorted

    # --- written ---

    def contents(self) -> Contents:
        """What the file holds."""
        meta, arrays = self._own()
        if self.second is not None:
            inside = self.second.contents()
            meta |= {"kind": BLEND, "weights": list(self.weights), "second": inside.meta}
            arrays |= {f"{_SECOND}{name}": array for name, array in inside.arrays.items()}
        if self.trees is not None or self.link != "identity":
            meta |= {"kind": TREES, "number_link": self.link, "trees": None}
        if self.trees is not None:
            meta["trees"] = self.trees.design.meta
            arrays |= {f"{_TREES}{name}": array for name, array in self.trees.nodes.items()}
        return Contents(meta, arrays)

    def _own(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        facts = self.facts
        meta: dict[str, Any] = {
            "kind": KIND,
            "task": self.task,
            "target": self.target,
            "model": facts.model,
            "title": facts.title,
            "classes": list(self.classes),
            "columns": [column.meta for column in self.columns],
            "unread_columns": list(facts.unread_columns),
            "design": self.design.meta,
            "texts": [],
            "link": {"scale": self.scale, "shift": self.shift},
            "rule": self.rule.meta,
            "rows": facts.rows,
            "rows_judged": facts.rows_judged,
            "constant": facts.constant,
            "description": list(facts.description),
            "notes": list(facts.notes),
            "figures": {name: list(values) for name, values in facts.figures.items()},
        }
        arrays: dict[str, NDArray[Any]] = {"b": self.b, "thresholds": self.thresholds, "costs": self.rule.costs}
        arrays["W"] = self.W
        if len(self.true_probabilities):
            arrays["true_probabilities"] = self.true_probabilities
        if self.residuals is not None:
            found = self.residuals
            arrays |= {"places": found.places, "sizes": found.sizes, "residuals": found.sorted}
        if self.stored is not None and self.average is not None:
            meta["memory"] = self.stored.meta
            arrays |= {"memory_M": self.stored.M, "memory_A": self.stored.A, "average": self.average}
        for number, (column, model) in enumerate(self.texts):
            inside = model.contents()
            meta["texts"].append({"column": column, "model": inside.meta})
            arrays |= {f"text{number}.{name}": array for name, array in inside.arrays.items()}
        arrays["means"] = self.means
        return meta, arrays

    # --- read ---

    @classmethod
    def read(cls, contents: Contents) -> "TableModelFile":
        """The model that a file holds; ValueError, KeyError or TypeError where it holds none."""
        meta, arrays = contents
        if meta["kind"] not in (KIND, BLEND, TREES):
            refuse("it holds no table model")
        if not isinstance(meta["target"], str) or type(meta["rows_judged"]) is not int or meta["rows_judged"] < 1:
            refuse("its target is malformed")
        classes = list(meta["classes"])
        if not all(isinstance(label, str | int | float) for label in classes):
            refuse("one of its classes is neither text nor number")
        for name, array in arrays.items():
            if not name.startswith(("text", _TREES)) and (array.dtype != np.float64 or not np.isfinite(array).all()):
                refuse(f"its {name} are not finite float64")
        columns = [_read_column(entry) for entry in meta["columns"]]
        scale, shift = float(meta["link"]["scale"]), float(meta["link"]["shift"])
        if not np.isfinite([scale, shift]).all():
            refuse("its calibration is not finite")
        design = _read_design(meta["design"], columns)
        texts = [_read_text(entry, k, columns, arrays) for k, entry in enumerate(meta["texts"])]
        found = cls(
            meta["task"],
            meta["target"],
            classes,
            columns,
            design,
            arrays["W"],
            arrays["b"],
            arrays["means"],
            _read_facts(meta),
            scale,
            shift,
            arrays["thresholds"],
            _read_rule(meta, arrays, classes),
            texts,
            _read_residuals(meta, arrays),
            _read_stored(meta, arrays, design) if "memory" in meta else None,
            arrays["average"] if "memory" in meta else None,
            true_probabilities=_read_true(arrays),
        )
        found._check()
        if meta["kind"] == KIND:
            return found
        if meta["kind"] == TREES:
            if meta["number_link"] not in LINKS or (meta["task"] != "numbers" and meta["number_link"] != LINKS[0]):
                refuse("there is no such link of numbers")
            return replace(found, link=meta["number_link"], trees=_read_trees(meta, arrays, columns, len(found.b)))
        return replace(found, second=found._read_second(meta, arrays), weights=_read_weights(meta["weights"]))

    def _check(self) -> None:
        """Refuse parts that do not fit each other."""
        K, columns = len(self.classes), len(self.b)
        if self.task not in ("classes", "grades", "numbers") or (K > 0 if self.task == "numbers" else K < 2):
            refuse(f"there is no task {self.task!r} with {K} classes")
        if self.thresholds.ndim != 1 or len(self.thresholds) not in (0, K - 1):
            refuse("its thresholds do not fit its classes")
        if any(len(model.b) != columns for _, model in self.texts):
            refuse("its texts do not fit its classes")
        if self.stored is not None and self.texts:
            refuse("what it remembers does not fit its design")
        if self.W.ndim != 2 or (self.stored is None and self.W.shape[0] != self.design.width):
            refuse("its weights do not fit its design")
        width = self.stored.columns if self.stored is not None else self.W.shape[1]
        wanted = 1 if self.task == "numbers" or K == 2 or len(self.thresholds) else K
        parts = len(self.design.parts) + len(self.texts)
        if width != wanted or self.b.shape != (wanted,) or self.means.shape != (parts, wanted):
            refuse("its weights do not fit its classes")

    def _read_second(self, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "TableModelFile":
        """The second model of a sum of two."""
        if meta["second"]["kind"] != KIND:
            refuse("its second model is none of a table")
        own = {name.removeprefix(_SECOND): array for name, array in arrays.items() if name.startswith(_SECOND)}
        second = TableModelFile.read(Contents(meta["second"], own))
        same = (second.task, second.classes, second.columns) == (self.task, self.classes, self.columns)
        if not same or len(second.b) != len(self.b) or self.texts or second.texts:
            refuse("its two models do not fit each other")
        return second


def _read_weights(meta: Sequence[Any]) -> tuple[float, float]:
    a, b = map(float, meta)
    if not (np.isfinite([a, b]).all() and a > 0 and b >= 0):
        refuse("the weights of its two models are malformed")
    return a, b


def _read_facts(meta: Mapping[str, Any]) -> TableFacts:
    unread = meta.get("unread_columns", [])
    if not isinstance(unread, list) or not all(isinstance(name, str) for name in unread):
        refuse("its list of columns that it does not read is malformed")
    return TableFacts(
        str(meta.get("model", "")),
        str(meta.get("title", "")),
        meta.get("rows", 0),
        meta["rows_judged"],
        meta.get("constant", 0.0),
        meta.get("description", ()),
        meta.get("notes", ()),
        meta.get("figures", {}),
        unread,
    )


def _read_column(entry: Mapping[str, Any]) -> Column:
    style, unit = entry["number"]
    NumberFormat(str(style), str(unit)).check()
    check_date_format(entry["date"])
    if entry["kind"] not in KINDS:
        refuse(f"there is no kind {entry['kind']!r} of column")
    return Column(
        str(entry["name"]),
        entry["kind"],
        NumberFormat(str(style), str(unit)),
        entry["date"],
        str(entry.get("note", ""))[:200],
        missing=_read_count(entry.get("missing")),
        rare=_read_count(entry.get("rare")),
    )


def _read_count(value: Any) -> int | None:
    if value is not None and (type(value) is not int or value < 0):
        refuse("a number of rows is malformed")
    return None if value is None else int(value)


def _read_design(meta: Any, columns: Sequence[Column]) -> Design:
    kinds = {column.name: column.kind for column in columns}
    design = Design.of(meta)
    for part in design.parts:
        if not all(name in kinds for name in part.columns):
            refuse("its design has a column that it does not read")
        _check_kinds(part.code, [kinds[name] for name in part.columns])
    return design


def _read_trees(
    meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], columns: Sequence[Column], outputs: int
) -> Trees | None:
    if meta["trees"] is None:
        return None
    kinds, design = {column.name: column.kind for column in columns}, Design.of(meta["trees"])
    for (names, code), kind in ((part, kinds.get(part.columns[0])) for part in design.parts):
        binned = not isinstance(code, NumberCode) or code.view == "bins"
        if len(names) != 1 or kind not in _TAKES.get(type(code), ()) or not binned:
            refuse("its trees do not fit its columns")
    return Trees.read(design, {name: arrays[f"{_TREES}{name}"] for name in NODE_ARRAYS}, outputs)


def _read_true(arrays: Mapping[str, NDArray[Any]]) -> Array:
    found = arrays.get("true_probabilities", np.empty(0))
    if found.ndim != 1 or (np.diff(found) < 0).any():
        refuse("its probabilities of held-out rows are malformed")
    return found


# The kinds of columns whose bins a tree or a pair may ask for.
_TAKES: dict[type, tuple[str, ...]] = {
    CategoryCode: ("category",),
    NumberCode: ("number", "date"),
    CalendarCode: ("date",),
}


def _check_kinds(code: Code, kinds: Sequence[str]) -> None:
    """Refuse a code that does not take the values of such columns."""
    ends = (code.first, code.second) if isinstance(code, PairCode) else (code,)
    wanted = _TAKES if len(ends) == 2 else {CategoryCode: ("category",), NumberCode: ("number",), DateCode: ("date",)}
    if len(ends) != len(kinds) or any(kind not in wanted.get(type(e), ()) for e, kind in zip(ends, kinds, strict=True)):
        refuse("its design does not fit the kinds of its columns")
    if len(ends) == 2 and any(isinstance(end, NumberCode) and end.view != "bins" for end in ends):
        refuse("one of its pairs is not of bins")


def _read_text(
    entry: Mapping[str, Any], number: int, columns: Sequence[Column], arrays: Mapping[str, NDArray[Any]]
) -> tuple[str, TextModelFile]:
    if not any(column.name == entry["column"] and column.kind == "text" for column in columns):
        refuse("one of its texts has no column")
    start = f"text{number}."
    own = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
    return entry["column"], TextModelFile.read(Contents(entry["model"], own))


def _read_rule(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], classes: Sequence[Label]) -> DecisionRule:
    # Files of earlier versions have no rule.
    rule, costs = (meta["rule"], arrays["costs"]) if "rule" in meta else ({"kind": "most likely"}, no_costs())
    if costs.shape not in ((0, 0), (len(classes), len(classes))):
        refuse("its costs do not fit its classes")
    if rule["kind"] == "thresholds":
        refuse("there is no rule 'thresholds' of a table")
    return DecisionRule.read(rule, costs, classes)


def _read_residuals(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Residuals | None:
    if meta["task"] != "numbers":
        return None
    places, sizes, ordered = arrays["places"], arrays["sizes"], arrays["residuals"]
    if places.shape != sizes.shape or not len(places) or not len(ordered):
        refuse("its residuals are malformed")
    return Residuals(int(meta["rows_judged"]), places, sizes, ordered)


def _read_stored(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], design: Design) -> StoredRows:
    M, A = arrays["memory_M"], arrays["memory_A"]
    if A.ndim != 2 or not len(A) or M.shape != (len(A), design.width):
        refuse("what it remembers does not fit its design")
    if arrays["average"].shape != (design.width,):
        refuse("its average row does not fit its design")
    return StoredRows.read(meta["memory"], M, A)
