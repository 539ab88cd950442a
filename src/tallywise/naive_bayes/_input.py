"""Input validation of the naive Bayes models."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from tallywise import _arrays
from tallywise._arrays import Matrix, validate_data
from tallywise._sklearn import check_sample_weight
from tallywise.naive_bayes._sufficient_statistics import Floats

NO_LABELS = _arrays.NOTHING  # y=None is a mistake of the caller's to be told


def validated(estimator: Any, X: Matrix, y: ArrayLike, **checks: Any) -> tuple[Any, Any]:
    """Return X and y as scikit-learn wants them; y may be NO_LABELS."""
    found = validate_data(estimator, X, y=y, **checks)
    return (found, None) if isinstance(y, str) and y == NO_LABELS else found


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes in y, sorted, and where each label stands among them."""
    # scikit-learn's check of the labels sorts them all; strings and integers are labels without it.
    words = y.dtype.kind == "O" and set(map(type, y.tolist())) <= {str}
    if not words and y.dtype.kind not in "iubUS":
        check_classification_targets(y)
    return _arrays.encode_labels(y)


def weights_of(sample_weight: ArrayLike | None, X: Matrix) -> Floats | None:
    """Return the weights of rows, checked; None for weights of 1."""
    if sample_weight is None:
        return None
    weights: Floats = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        msg = "All of sample_weight are zero: there is nothing to learn from."
        raise ValueError(msg)
    return weights


def places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each label stands among sorted classes."""
    return np.asarray(np.searchsorted(classes, labels), dtype=np.int64)


def holds_words(X: Matrix) -> bool:
    """Whether X has strings, so that its values are names and not numbers."""
    if sp.issparse(X):
        return False
    array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if array.dtype.kind in "US":
        return True
    return array.dtype.kind == "O" and any(isinstance(value, str) for value in array.ravel())
