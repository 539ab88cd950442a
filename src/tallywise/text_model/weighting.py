"""Counts to feature values: x_j = tf(c_j) scale_j, divided by the row's norm. The native scorer does the same."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays, _native, _threads
from tallywise.text_model.merging import canonical

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
        """Feature matrix of a matrix of counts (CSR); without a copy, counts that are real numbers are overwritten.

        Where counts are the features, they come back as they are.
        """
        if self.tf == "count" and self.norm == "none" and (self.scale == 1).all():
            return X
        data = np.empty(X.nnz) if copy or X.data.dtype != np.float64 else X.data
        design = _arrays.rows(X, any_order=True)
        self._write(design, X.indptr.astype(np.int64), 0, np.empty(0, dtype=np.int32), data)
        return sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)

    def _write(
        self, counts: Any, starts: NDArray[np.int64], first: int, indices: NDArray[np.int32], data: Array
    ) -> None:
        native = _native.Weighting(self.tf, self.norm, self.scale, np.arange(len(self.scale), dtype=np.uint32))
        _native.weigh_counts(counts, native, starts, first, indices, data, _threads.count())


def side_by_side(weightings: Sequence[Weighting], counts: Sequence[Any]) -> Any:
    """Feature matrix of several matrices of counts of the same rows (CSR), their columns one after the other."""
    if len(counts) == 1:
        return weightings[0].apply(counts[0])
    lengths = np.stack([np.diff(X.indptr) for X in counts]).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
    indices, data = np.empty(int(indptr[-1]), dtype=np.int32), np.empty(int(indptr[-1]))
    starts, first = indptr.copy(), 0
    for weighting, X, length in zip(weightings, counts, lengths, strict=True):
        weighting._write(_arrays.rows(X), starts, first, indices, data)
        starts[:-1] += length
        first += X.shape[1]
    return canonical(data, indices, indptr, first)


def document_frequencies(X: Any) -> NDArray[np.int64]:
    """Rows that have each column, of counts without explicit zeros."""
    df = np.zeros(X.shape[1], dtype=np.int64)
    for begin in range(0, len(X.indices), _COUNTED):  # NumPy counts wide integers, and would widen all at once
        df += np.bincount(X.indices[begin : begin + _COUNTED], minlength=X.shape[1])
    return df


_COUNTED = 1 << 24
_LENGTHS = 1_000  # rows whose lengths are looked at, at least
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
