"""Fitted table models as `TableModelFile`: what is saved and served."""

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallywise.models.decision_rule import DecisionRule, plain
from tallywise.models.table_encoding import Categories, CategoryCode, Design
from tallywise.models.table_schema import TableFacts, TableModelFile
from tallywise.models.table_trees import bins_of
from tallywise.models.text_schema import Link, TextModelFile
from tallywise.reading.column_kinds import Column
from tallywise.table_model.goals import NumberGoal
from tallywise.table_model.procedure import Learned
from tallywise.table_model.purified import summed
from tallywise.table_model.training_columns import TableData, TextColumn
from tallywise.text_model.contents import text_file
from tallywise.text_model.forms import Form

if TYPE_CHECKING:
    from tallywise.table_model.model import TableModel

Array = NDArray[np.float64]
_MOST_KEPT = 5000  # held-out probabilities in a model file


def table_file_of(model: "TableModel", data: TableData, learned: Learned) -> TableModelFile:
    """A learned model: two-split trees as tables of columns and pairs, larger ones as they are."""
    design, form, trees, goal = learned.design, learned.form, learned.trees, learned.goal
    link = "identity"
    if isinstance(goal, NumberGoal):  # in units of the target, or of its logarithm
        form = form._replace(W=goal.spread * form.W, b=goal.mean + goal.spread * form.b + learned.correction)
        if trees is not None:
            trees = replace(trees, nodes={**trees.nodes, "value": goal.spread * trees.nodes["value"]})
        link = "identity" if goal.scale == "plain" else "exp"
    if trees is not None and learned.name == "additive":
        design, form = summed(design, form, trees, bins_of(trees.design, data.values, data.n))
        trees = None
    classes, columns = [plain(label) for label in model.classes_], len(form.b)
    means, begin, texts = _means(data, design, form), design.width, []
    for text in data.texts:
        end = begin + text.X.shape[1]
        W = np.ascontiguousarray(form.W[begin:end])
        texts.append((text.name, _text_file(text, W, max(len(classes), 2) if columns > 1 else 2)))
        means.append(np.asarray(text.X.mean(axis=0)).ravel() @ W)
        begin = end
    numbers = model.task_ == "numbers"
    return TableModelFile(
        model.task_,
        model.target_,
        classes,
        [_counted(column, data) for column in model.columns_ if _is_read(column.name, data)],
        design,
        np.ascontiguousarray(form.W[: design.width]),
        form.b,
        np.array(means).reshape(len(design.parts) + len(texts), columns),
        _facts(model, data),
        learned.scale,
        0.0,
        form.thresholds,
        DecisionRule.read(model.rule_, model.cost_matrix_, classes),
        texts,
        residuals=model.residuals_ if numbers else None,
        trees=trees,
        link=link,
        true_probabilities=np.empty(0) if numbers else _true_probabilities(model, data),
    )


def _true_probabilities(model: "TableModel", data: TableData) -> Array:
    """Held-out probabilities of the true class, sorted; of many, the least of each stretch, so that no set shrinks."""
    P, codes = model.oof_probabilities_, data.target.codes[model.rows_]
    found = np.sort(P[np.arange(len(P)), codes])
    if len(found) <= _MOST_KEPT:
        return found
    return np.asarray(found[np.floor(np.linspace(0, len(found) - 1, _MOST_KEPT)).astype(int)])


def _facts(model: "TableModel", data: TableData) -> TableFacts:
    return TableFacts(
        model.kept_,
        model.trials_[0].title,
        data.n,
        len(model.rows_),
        model.constant_,
        model.description_,
        model.notes_,
        {name: [f.value, f.low, f.high] for name, f in model.figures_.items() if np.isfinite(f.value)},
        [column.name for column in model.columns_ if not _is_read(column.name, data)],
    )


def _counted(column: Column, data: TableData) -> Column:
    """A column with the numbers of training rows that had no value, or a rare one: what the model knows of these."""
    x = data.values.get(column.name)
    if x is None:
        return column
    if isinstance(x, Categories):
        code = CategoryCode.fit(x)
        rare = int((code.codes(x) == len(code.levels)).sum())
        return replace(column, missing=int((x.codes < 0).sum()), rare=rare)
    return replace(column, missing=int(np.isnan(x).sum()))


def _is_read(name: str, data: TableData) -> bool:
    return name in data.values or name in {text.name for text in data.texts}


def _average(data: TableData, design: Design) -> Array:
    """The mean of the features of all rows."""
    parts = design.slots(data.values, data.n)
    sums = [np.bincount(columns.ravel(), entries.ravel(), design.width) for columns, entries in parts]
    return np.asarray(np.sum(sums, axis=0) / data.n)


def _means(data: TableData, design: Design, form: Form) -> list[Array]:
    """What each part adds to the scores on the average."""
    mean, ends = _average(data, design), pairwise(design.offsets)
    return [mean[begin:end] @ form.W[begin:end] for begin, end in ends]


def _text_file(text: TextColumn, W: Array, classes: int) -> TextModelFile:
    """The part of a column of texts as a text model of its own, whose scores are added to those of the rest."""
    form = Form(W, np.zeros(W.shape[1]), blocks=tuple(text.blocks))
    link = Link("sigmoid" if W.shape[1] == 1 else "softmax")
    return text_file(form, text.views, [str(k) for k in range(classes)], link)
