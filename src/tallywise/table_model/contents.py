"""Fitted table models as `TableModelFile`: what is saved and served."""

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallywise.models.decision_rule import DecisionRule, plain
from tallywise.models.table_encoding import Categories, CategoryCode, Design
from tallywise.models.table_schema import TableFacts, TableModelFile
from tallywise.models.text_schema import Link, TextModelFile
from tallywise.reading.column_kinds import Column
from tallywise.table_model.blending import Blended
from tallywise.table_model.fitted import Fitted
from tallywise.table_model.training_columns import TableData, TextColumn
from tallywise.text_model.contents import text_file
from tallywise.text_model.forms import Form

if TYPE_CHECKING:
    from tallywise.table_model.model import TableModel

Array = NDArray[np.float64]


def table_file_of(model: "TableModel", data: TableData, fitted: Fitted | Blended) -> TableModelFile:
    """A fitted model; of a sum of two, the second is a model inside."""
    if not isinstance(fitted, Blended):
        return _one(model, data, fitted)
    second = _one(model, data, fitted.second)
    return replace(_one(model, data, fitted.first), second=second, weights=fitted.weights)


def _one(model: "TableModel", data: TableData, fitted: Fitted) -> TableModelFile:
    design, form, stored = fitted.design, fitted.form, fitted.memory
    classes, columns = [plain(label) for label in model.classes_], len(form.b)
    linear = TableModelFile(
        model.task_,
        model.target_,
        classes,
        [_counted(column, data) for column in model.columns_ if _is_read(column.name, data)],
        design,
        np.ascontiguousarray(form.W[: design.width]) if stored is None else np.empty((0, columns)),
        form.b,
        np.zeros((len(design.parts), columns)),
        _facts(model, data),
        model.calibration_.scale,
        model.calibration_.shift,
        form.thresholds,
        DecisionRule.read(model.rule_, model.cost_matrix_, classes),
        residuals=model.residuals_ if model.task_ == "numbers" else None,
    )
    if stored is not None:
        return replace(linear, stored=stored, average=_average(data, design))
    means, begin, texts = _means(data, fitted), design.width, []
    for text in data.texts:
        end = begin + text.X.shape[1]
        W = np.ascontiguousarray(form.W[begin:end])
        texts.append((text.name, _text_file(text, W, max(len(classes), 2) if columns > 1 else 2)))
        means.append(np.asarray(text.X.mean(axis=0)).ravel() @ W)
        begin = end
    return replace(linear, texts=texts, means=np.array(means).reshape(len(design.parts) + len(texts), columns))


def _facts(model: "TableModel", data: TableData) -> TableFacts:
    return TableFacts(
        model.recipe_.name,
        model.recipe_.describe(model.setting_),
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


def _means(data: TableData, fitted: Fitted) -> list[Array]:
    """What each part adds to the scores on the average."""
    design, W = fitted.design, fitted.form.W
    mean, ends = _average(data, design), pairwise(design.offsets)
    return [mean[begin:end] @ W[begin:end] for begin, end in ends]


def _text_file(text: TextColumn, W: Array, classes: int) -> TextModelFile:
    """The part of a column of texts as a text model of its own, whose scores are added to those of the rest."""
    form = Form(W, np.zeros(W.shape[1]), blocks=tuple(text.blocks))
    link = Link("sigmoid" if W.shape[1] == 1 else "softmax")
    return text_file(form, text.views, [str(k) for k in range(classes)], link)
