"""What the file of a text model holds: plain numbers and words, enough to judge and to explain."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallywise import model_file
from tallywise.classifier.recipes import Form
from tallywise.classifier.weighting import Weighting
from tallywise.evaluation import Calibration

if TYPE_CHECKING:
    from tallywise.classifier.model import TextClassifier


def plain(label: Any) -> Any:
    """A label as Python and JSON have it."""
    return label.item() if isinstance(label, np.generic) else label


def contents_of(model: "TextClassifier", form: Form, weighting: Weighting) -> model_file.Contents:
    """The file of a model with this linear form (or memory) over these weights."""
    vectorizer = model.vectorizer_
    named = [] if model.n_features is not None else vectorizer.get_feature_names_out().tolist()
    terms = [term.encode("utf-8", "surrogatepass") for term in named]
    offsets = np.zeros(len(terms) + 1, dtype=np.int64)
    np.cumsum([len(term) for term in terms], out=offsets[1:])
    link = "ordered" if form.thresholds.size else "sigmoid" if form.W.shape[1] == 1 else "softmax"
    calibration = model.calibration_ if link != "ordered" else Calibration(1.0, 0.0)
    meta = {
        "kind": "text classifier",
        "model": model.recipe_.name,
        "title": model.recipe_.describe(model.setting_),
        "classes": [plain(label) for label in model.classes_],
        "text": {
            "units": model.analyzer,
            "lower": True,
            "least": 2 if model.analyzer == "word" else 1,
            "ngram_range": list(model.ngram_range),
            "deobfuscate": bool(model.deobfuscate),
            "stop_words": sorted(vectorizer.get_stop_words() or []),
            "n_features": model.n_features,
        },
        "weighting": {"tf": weighting.tf, "norm": weighting.norm},
        "link": {"kind": link, "scale": calibration.scale, "shift": calibration.shift},
        "rule": model.rule_,
        "texts": len(model.groups_),
        "description": model.description_,
        "figures": {name: [f.value, f.low, f.high] for name, f in model.figures_.items()},
    }
    arrays: dict[str, NDArray[Any]] = {
        "terms": np.frombuffer(b"".join(terms), dtype=np.uint8),
        "term_offsets": offsets,
        "W": np.ascontiguousarray(form.W),
        "b": form.b,
        "scale": weighting.scale,
        "thresholds": form.thresholds,
        "costs": model.cost_matrix_,
    }
    if form.memory is not None:
        meta["memory"] = form.memory.meta
        arrays |= form.memory.arrays
    return model_file.Contents(meta, arrays)
