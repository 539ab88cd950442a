"""The units that solvers work in: columns near 0, numbers whose squares are far from the limits of floating point.

And scores of linear models, which may leave these limits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from tallywise._arrays import validate_data
from tallywise._penalty import Penalty


@dataclass(frozen=True)
class Units:
    """X' = (X - mean) / scale, with the same objective at w' = scale w and offsets that take in w'mean.

    The problem stays the user's own: the penalty is translated, nothing is standardised. Dense columns far from 0 for
    their spread are moved there if an offset without a penalty absorbs the move, because products with them lose digits
    and coordinate steps run against the offset. `scale` is a power of two, and 1 for numbers of a usual size.
    """

    X: Any
    mean: NDArray[np.float64] | None
    scale: float

    @classmethod
    def of(cls, X: Any, s: NDArray[np.float64], offset: bool) -> Self:
        """Choose for data with sample weights s, with an offset or without."""
        values = X.data if sp.issparse(X) else X
        largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
        if largest > 1e140:
            msg = f"The numbers in X are too large for this fit, up to {largest:.1e}: scale its columns."
            raise ValueError(msg)
        scale = 1.0
        if not 1e-10 < largest < 1e10 and largest > 0:
            scale = float(2.0 ** np.round(np.log2(max(largest, 1e-140))))
            X = sp.csr_matrix((values / scale, X.indices, X.indptr), shape=X.shape) if sp.issparse(X) else X / scale
        mean = None if sp.issparse(X) or not offset else _mean_of_far_columns(X, s)
        if mean is not None:
            spread = np.subtract(X, mean, dtype=np.float64)
            # A constant column leaves rounding, which no weight must magnify.
            spread[:, np.abs(spread).max(axis=0) <= 1e-14 * np.abs(mean)] = 0.0
            X = spread
        return cls(X, None if mean is None else mean * scale, scale)

    def penalty(self, penalty: Penalty) -> Penalty:
        """The same penalty on w'."""
        return Penalty(penalty.l1 / self.scale, penalty.l2 / self.scale**2)

    def shift(self, coef: NDArray[np.float64]) -> Any:
        """What the mean adds to the scores of weights w in the user's units: one number a row of `coef`."""
        return 0.0 if self.mean is None else coef @ self.mean


def scores_of(X: Any, W: NDArray[Any], b: Any = 0.0) -> NDArray[Any]:
    """X W + b, as numbers."""
    return defined(lambda: safe_sparse_dot(X, W, dense_output=True) + b)


def scores_of_classes(model: Any, X: Any) -> NDArray[Any]:
    """Scores of a classifier's rows: one number per row where it knows two classes."""
    check_is_fitted(model)
    X = validate_data(model, X, accept_sparse="csr", reset=False)
    scores = scores_of(X, model.coef_.T, model.intercept_)
    return scores.ravel() if scores.shape[1] == 1 else scores


def defined(scores: Callable[..., Any], *given: Any) -> NDArray[Any]:
    """What a function of scores gives, or an error where they overflow: infinity less infinity is no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(scores(*given))
    if np.isnan(values).any():
        msg = "Scores of these samples are beyond floating point. Scale the columns of X, or the target."
        raise ValueError(msg)
    return values


def _mean_of_far_columns(X: NDArray[Any], s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Means of the columns that are more than four standard deviations from 0, 0 for the others; None if none is.

    A thousand rows are enough to see which.
    """
    seen = np.asarray(X[:: max(1, len(X) // 1024)], dtype=np.float64)
    far = seen.mean(axis=0) ** 2 > 16 * seen.var(axis=0)
    if not far.any():
        return None
    mean = np.zeros(X.shape[1])
    mean[far] = s @ X[:, far] / s.sum()
    return mean
