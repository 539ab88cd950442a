"""Counts to feature values: x_j = tf(c_j) scale_j, divided by the row's norm. The native scorer does the same."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

KINDS = ("counts", "presence", "tf-idf")


@dataclass(frozen=True)
class Weighting:
    """How counts become features. `scale` has one entry a column."""

    tf: str  # count, presence, log (1 + log c)
    norm: str  # none, l2
    scale: Array = field(repr=False)

    @classmethod
    def fit(cls, kind: str, X: Any) -> "Weighting":
        """Learn what the kind needs from counts: inverse document frequencies for tf-idf, nothing for the rest."""
        n, p = X.shape
        return cls.of_frequencies(kind, n, np.bincount(X.indices, minlength=p) if kind == "tf-idf" else np.zeros(p))

    @classmethod
    def of_frequencies(cls, kind: str, n: int, df: NDArray[Any]) -> "Weighting":
        """The same from the number of texts and, by column, of those that have it."""
        if kind == "tf-idf":
            return cls("log", "l2", np.log((1 + n) / (1 + df)) + 1)
        return cls({"counts": "count", "presence": "presence"}[kind], "none", np.ones(len(df)))

    def apply(self, X: Any) -> Any:
        """Feature matrix of a matrix of counts (CSR)."""
        data = X.data.astype(np.float64)
        if self.tf == "presence":
            data[:] = 1.0
        elif self.tf == "log":
            np.log(data, out=data)
            data += 1.0
        if self.norm == "l2":
            data *= self.scale[X.indices]
            rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            norms = np.sqrt(np.bincount(rows, data * data, minlength=X.shape[0]))
            data /= np.where(norms > 0, norms, 1.0)[rows]
        return sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)


def log_count_ratio(X: Any, positive: NDArray[np.bool_], alpha: float = 1.0) -> Array:
    """How much more a term is in documents of one class than of the rest: r_j = log(p_j / |p|) - log(q_j / |q|).

    p_j = alpha + documents of the class with term j, q_j likewise for the rest.

    References
    ----------
    Wang & Manning (2012), Baselines and bigrams: simple, good sentiment and topic classification, ACL.
    """
    rows = np.repeat(positive, np.diff(X.indptr))
    p = alpha + np.bincount(X.indices[rows], minlength=X.shape[1])
    q = alpha + np.bincount(X.indices[~rows], minlength=X.shape[1])
    ratio: Array = np.log(p / p.sum()) - np.log(q / q.sum())
    return ratio
