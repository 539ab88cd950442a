"""What a caller gave, as naive Bayes reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

NO_LABELS = "no_validation"  # scikit-learn's word for it; y=None is a mistake of the caller's to be told


def validated(estimator: Any, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
    """Return X and y as scikit-learn wants them; y may be NO_LABELS."""
    found = validate_data(estimator, X, y=y, **checks)
    return (found, None) if isinstance(y, str) and y == NO_LABELS else found


def places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each label stands among sorted classes."""
    return np.asarray(np.searchsorted(classes, labels), dtype=np.int64)


def holds_words(X: Any) -> bool:
    """Whether X has strings, so that its values are names and not numbers."""
    if sp.issparse(X):
        return False
    array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if array.dtype.kind in "US":
        return True
    return array.dtype.kind == "O" and any(isinstance(value, str) for value in array.ravel())
