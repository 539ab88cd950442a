"""What the file of a text model holds: plain numbers and words, enough to judge and to explain."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallywise.classifier.recipes import Form
from tallywise.evaluation import Calibration
from tallywise.models import model_file

if TYPE_CHECKING:
    from tallywise.classifier.model import TextClassifier


def plain(label: Any) -> Any:
    """A label as Python and JSON have it."""
    return label.item() if isinstance(label, np.generic) else label


def contents_of(model: "TextClassifier", form: Form) -> model_file.Contents:
    """The file of a model with this linear form (or memory) over the features of its blocks."""
    link = "ordered" if form.thresholds.size else "sigmoid" if len(form.b) == 1 else "softmax"
    calibration = model.calibration_ if link != "ordered" else Calibration(1.0, 0.0)
    if link == "softmax" and calibration.sigmoids:
        link = "sigmoids"
    place = {view.name: v for v, view in enumerate(model.views_)}
    meta = {
        "kind": "text classifier",
        "model": model.recipe_.name,
        "title": model.recipe_.describe(model.setting_),
        "classes": [plain(label) for label in model.classes_],
        "views": [view.options for view in model.views_],
        "blocks": [
            {"view": place[view], "tf": weighting.tf, "norm": weighting.norm, "length": weighting.length}
            for view, weighting in form.blocks
        ],
        "link": {"kind": link, "scale": calibration.scale, "shift": calibration.shift},
        "rule": model.rule_,
        "texts": len(model.groups_),
        "description": model.description_,
        "figures": {name: [f.value, f.low, f.high] for name, f in model.figures_.items()},
    }
    if getattr(model, "unknown_words_", None) is not None:
        meta["unknown_words"] = model.unknown_words_
    if model.time_limit is not None:
        meta["time_limit"] = float(model.time_limit)
    arrays: dict[str, NDArray[Any]] = {
        "W": np.ascontiguousarray(form.W),
        "b": form.b,
        "scale": np.concatenate([weighting.scale for _, weighting in form.blocks]),
        "thresholds": form.thresholds,
        "costs": model.cost_matrix_,
    }
    for v, view in enumerate(model.views_):
        ending = f"_{v}" if v else ""
        arrays[f"terms{ending}"], arrays[f"term_offsets{ending}"] = view.terms()
    if form.memory is not None:
        meta["memory"] = form.memory.meta
        arrays |= form.memory.arrays
    return model_file.Contents(meta, arrays)
