"""Models of other programs read, and ours written for them.

=================== ==========================================================================
`read_liblinear`    a model file of LIBLINEAR as a fitted estimator; `write_liblinear` back
`read_libsvm`       a model file of LIBSVM as a fitted estimator; `write_libsvm` back
`FastTextModel`     a classifier of fastText, which `tallywise.load` reads
`save_pipeline`     a scikit-learn pipeline of texts as a model file
`to_onnx`           a linear or text model as an ONNX graph
=================== ==========================================================================

Names are loaded when first used: the serve side reads foreign models without scikit-learn.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "FastTextModel": "tallywise.models.fasttext_serving",
    "read_liblinear": "tallywise.bridges.liblinear",
    "read_libsvm": "tallywise.bridges.libsvm",
    "save_pipeline": "tallywise.bridges.pipelines",
    "to_onnx": "tallywise.bridges.graphs",
    "write_liblinear": "tallywise.bridges.liblinear",
    "write_libsvm": "tallywise.bridges.libsvm",
}

if TYPE_CHECKING:
    from tallywise.bridges.graphs import to_onnx
    from tallywise.bridges.liblinear import read_liblinear, write_liblinear
    from tallywise.bridges.libsvm import read_libsvm, write_libsvm
    from tallywise.bridges.pipelines import save_pipeline
    from tallywise.models.fasttext_serving import FastTextModel

__all__ = [
    "FastTextModel",
    "read_liblinear",
    "read_libsvm",
    "save_pipeline",
    "to_onnx",
    "write_liblinear",
    "write_libsvm",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(_HOMES[name]), name)
