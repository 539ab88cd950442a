"""Counts to feature values: x_j = tf(c_j) scale_j, divided by the row's norm. The native scorer does the same."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _native, _threads

Array = NDArray[np.float64]

KINDS = ("counts", "presence", "tf-idf")


@dataclass(frozen=True, eq=False)
class Weighting:
    """How counts become features. `scale` has one entry a column."""

    tf: str  # count, presence, log (1 + log c)
    norm: str  # none, l2
    scale: Array = field(repr=False)
    length: float = 1.0  # what a usual row is divided by

    @classmethod
    def fit(cls, kind: str, X: Any) -> "Weighting":
        """Learn what the kind needs from counts: inverse document frequencies for tf-idf, nothing for the rest."""
        n, p = X.shape
        if kind != "tf-idf":
            return cls({"counts": "count", "presence": "presence"}[kind], "none", np.ones(p))
        df = np.bincount(X.indices, minlength=p)
        scale = np.log((1 + n) / (1 + df)) + 1
        squares = np.square((1 + np.log(X.data)) * scale[X.indices])
        norms = np.sqrt(np.add.reduceat(np.append(squares, 0.0), X.indptr[:-1])[np.diff(X.indptr) > 0])
        return cls("log", "l2", scale, float(np.median(norms)) if len(norms) else 1.0)

    @classmethod
    def of_frequencies(cls, kind: str, n: int, df: NDArray[Any]) -> "Weighting":
        """The same from the number of texts and, by column, of those that have it; the usual length is left at 1."""
        if kind != "tf-idf":
            return cls({"counts": "count", "presence": "presence"}[kind], "none", np.ones(len(df)))
        return cls("log", "l2", np.log((1 + n) / (1 + df)) + 1)

    def apply(self, X: Any) -> Any:
        """Feature matrix of a matrix of counts (CSR)."""
        data = X.data.astype(np.float64)
        if self.tf == "presence":
            data[:] = 1.0
        elif self.tf == "log":
            np.log(data, out=data)
            data += 1.0
        norm = "l2" if self.norm == "l2" else "none"
        indptr = np.ascontiguousarray(X.indptr)
        _native.weigh_rows(indptr, np.ascontiguousarray(X.indices), data, self.scale, norm, _threads.count())
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
