"""Counts to feature values: x_j = tf(c_j) scale_j, divided by the row's norm. The native scorer does the same."""

import itertools
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
        scale = np.log((1 + n) / (1 + document_frequencies(X))) + 1
        if n > _LENGTHS:  # a median of many is that of a part of them
            X = X[:: n // _LENGTHS]
        norms = np.sqrt(np.concatenate([_row_squares(X, scale, rows) for rows in _pieces(X.indptr)]))
        norms = norms[norms > 0]
        return cls("log", "l2", scale, float(np.median(norms)) if len(norms) else 1.0)

    @classmethod
    def of_frequencies(cls, kind: str, n: int, df: NDArray[Any]) -> "Weighting":
        """The same from the number of texts and, by column, of those that have it; the usual length is left at 1."""
        if kind != "tf-idf":
            return cls({"counts": "count", "presence": "presence"}[kind], "none", np.ones(len(df)))
        return cls("log", "l2", np.log((1 + n) / (1 + df)) + 1)

    def apply(self, X: Any, copy: bool = True) -> Any:
        """Feature matrix of a matrix of counts (CSR); without a copy, counts that are real numbers are overwritten."""
        data = X.data.astype(np.float64, copy=copy)
        if self.tf == "presence":
            data[:] = 1.0
        elif self.tf == "log":
            np.log(data, out=data)
            data += 1.0
        norm = "l2" if self.norm == "l2" else "none"
        indptr = np.ascontiguousarray(X.indptr)
        _native.weigh_rows(indptr, np.ascontiguousarray(X.indices), data, self.scale, norm, _threads.count())
        return sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)


def document_frequencies(X: Any) -> NDArray[np.int64]:
    """Rows that have each column, of counts without explicit zeros."""
    df = np.zeros(X.shape[1], dtype=np.int64)
    for begin in range(0, len(X.indices), _COUNTED):  # NumPy counts wide integers, and would widen all at once
        df += np.bincount(X.indices[begin : begin + _COUNTED], minlength=X.shape[1])
    return df


_COUNTED = 1 << 24
_LENGTHS = 5_000  # rows whose lengths are looked at, at least
_PIECE = 1 << 20  # entries in memory at once


def _pieces(indptr: NDArray[Any]) -> list[slice]:
    """Runs of rows with about so many entries each."""
    cuts = np.searchsorted(indptr, np.arange(0, int(indptr[-1]), _PIECE)[1:])
    ends = np.unique([0, *cuts.tolist(), len(indptr) - 1]).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def _row_squares(X: Any, scale: Array, rows: slice) -> Array:
    """Squared lengths of some rows of logarithmic counts times scales."""
    part = slice(int(X.indptr[rows.start]), int(X.indptr[rows.stop]))
    squares = np.square((1 + np.log(X.data[part], dtype=np.float64)) * scale[X.indices[part]])
    numbers = np.repeat(np.arange(rows.stop - rows.start), np.diff(X.indptr[rows.start : rows.stop + 1]))
    return np.asarray(np.bincount(numbers, squares, minlength=rows.stop - rows.start), dtype=np.float64)
