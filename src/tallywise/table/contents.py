"""What the file of a model of a table holds: plain numbers and words, enough to judge and to explain."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallywise.classifier.contents import plain
from tallywise.models import model_file
from tallywise.models.table_encoding import Design
from tallywise.models.table_serving import BLEND, KIND
from tallywise.table.blending import Blended
from tallywise.table.data import TableData, TextColumn
from tallywise.table.fitted import Fitted

if TYPE_CHECKING:
    from tallywise.table.model import TableModel

Array = NDArray[np.float64]


def contents_of(model: "TableModel", data: TableData, fitted: Fitted | Blended) -> model_file.Contents:
    """The file of a fitted model; of a sum of two, the second is a model inside."""
    if not isinstance(fitted, Blended):
        return _contents(model, data, fitted)
    (meta, arrays), second = _contents(model, data, fitted.first), _contents(model, data, fitted.second)
    meta |= {"kind": BLEND, "weights": list(fitted.weights), "second": second.meta}
    return model_file.Contents(meta, arrays | {f"second.{name}": array for name, array in second.arrays.items()})


def _contents(model: "TableModel", data: TableData, fitted: Fitted) -> model_file.Contents:
    design, form, memory = fitted.design, fitted.form, fitted.memory
    meta: dict[str, Any] = {
        "kind": KIND,
        "task": model.task_,
        "target": model.target_,
        "model": model.recipe_.name,
        "title": model.recipe_.describe(model.setting_),
        "classes": [plain(label) for label in model.classes_],
        "columns": [column.meta for column in model.columns_ if _is_read(column.name, data)],
        "design": design.meta,
        "texts": [],
        "link": {"scale": model.calibration_.scale, "shift": model.calibration_.shift},
        "rule": model.rule_,
        "rows": data.n,
        "rows_judged": len(model.rows_),
        "constant": model.constant_,
        "description": model.description_,
        "notes": model.notes_,
        "figures": {name: [f.value, f.low, f.high] for name, f in model.figures_.items() if np.isfinite(f.value)},
    }
    arrays: dict[str, NDArray[Any]] = {"b": form.b, "thresholds": form.thresholds, "costs": model.cost_matrix_}
    columns = len(form.b)
    arrays["W"] = np.ascontiguousarray(form.W[: design.width]) if memory is None else np.empty((0, columns))
    if model.task_ == "numbers":
        found = model.residuals_
        arrays |= {"places": found.places, "sizes": found.sizes, "residuals": found.sorted}
    if memory is not None:
        meta["memory"] = memory.meta
        arrays |= {"memory_M": memory.M, "memory_A": memory.A, "average": _average(data, design)}
        arrays["means"] = np.zeros((len(design.parts), columns))
        return model_file.Contents(meta, arrays)
    means, begin = _means(data, fitted), design.width
    for number, text in enumerate(data.texts):
        end = begin + text.X.shape[1]
        W = np.ascontiguousarray(form.W[begin:end])
        own, parts = _text_model(text, W, max(len(model.classes_), 2) if columns > 1 else 2)
        meta["texts"].append({"column": text.name, "model": own})
        arrays |= {f"text{number}.{name}": array for name, array in parts.items()}
        means.append(np.asarray(text.X.mean(axis=0)).ravel() @ W)
        begin = end
    arrays["means"] = np.array(means).reshape(len(design.parts) + len(data.texts), columns)
    return model_file.Contents(meta, arrays)


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


def _text_model(text: TextColumn, W: Array, classes: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The part of a column of texts as a text model of its own, whose scores are added to those of the rest."""
    place = {view.name: v for v, view in enumerate(text.views)}
    meta = {
        "kind": "text classifier",
        "classes": [str(k) for k in range(classes)],
        "views": [view.options for view in text.views],
        "blocks": [
            {"view": place[view], "tf": weighting.tf, "norm": weighting.norm, "length": weighting.length}
            for view, weighting in text.blocks
        ],
        "link": {"kind": "sigmoid" if W.shape[1] == 1 else "softmax", "scale": 1.0, "shift": 0.0},
        "rule": {"kind": "most likely"},
    }
    arrays: dict[str, NDArray[Any]] = {
        "W": W,
        "b": np.zeros(W.shape[1]),
        "scale": np.concatenate([weighting.scale for _, weighting in text.blocks]),
        "thresholds": np.empty(0),
        "costs": np.empty((0, 0)),
    }
    for v, view in enumerate(text.views):
        ending = f"_{v}" if v else ""
        arrays[f"terms{ending}"], arrays[f"term_offsets{ending}"] = view.terms()
    return meta, arrays
