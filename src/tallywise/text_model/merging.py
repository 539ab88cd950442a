"""Columns that are the same in every text, merged into one: the same fit from fewer entries."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays, _native, _threads

Array = NDArray[np.float64]


class Merging(NamedTuple):
    """Columns s_j x of one x as one column S x, S^2 = sum of s_j^2.

    A penalty on |w|^2 shares the weight v of the one out to the many, v s_j / S to each.
    See `cpp/core/linear/merged_columns.hpp`.
    """

    group: NDArray[np.int32]  # of each column the number of its set; -1 for a column that no text has
    share: Array  # s_j / S of each column

    def unmerge(self, V: Array, out: Array, columns: slice) -> None:
        """Weights of some of the columns, in `out`, from those of the sets."""
        _native.share_out(self.group[columns], self.share[columns], np.ascontiguousarray(V), out, _threads.count())


def merge(counts: Any, scale: Array, *, presence: bool) -> tuple[Merging, Any, Array]:
    """Merge equal columns of counts, of scales s_j: the merging, counts of the sets, and their scales S."""
    X, threads = _arrays.rows(counts), _threads.count()
    group, led, ends, indptr = _native.column_sets(X, presence, threads)
    indices, data = np.empty(int(indptr[-1]), dtype=np.int32), np.empty(int(indptr[-1]))
    _native.merge_columns(X, presence, led, ends, indptr, indices, data, threads)
    size = int(ends[-1])
    held = group >= 0
    total = np.sqrt(np.bincount(group[held], np.square(scale[held]), minlength=size))
    share = np.divide(scale, total[group], out=np.zeros(len(scale)), where=held) if size else np.zeros(len(scale))
    return Merging(group, share), canonical(data, indices, indptr, size), total


def canonical(data: Array, indices: NDArray[Any], indptr: NDArray[Any], width: int) -> Any:
    """A CSR matrix of rows that are known to be sorted, with indices as narrow as SciPy would make them."""
    narrow = indptr.astype(np.int32) if len(data) <= np.iinfo(np.int32).max else indptr
    X = sp.csr_matrix((data, indices, narrow), shape=(len(indptr) - 1, width))
    X.has_canonical_format = True
    return X


def with_columns(X: Any, kept: NDArray[np.bool_]) -> Any:
    """Some columns of a CSR matrix in canonical form: a third of the time of SciPy's choice by numbers."""
    inside = kept[X.indices]
    place = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    ends = np.concatenate([[0], np.cumsum(inside)])
    return canonical(X.data[inside], place[X.indices[inside]], ends[X.indptr], int(np.count_nonzero(kept)))
