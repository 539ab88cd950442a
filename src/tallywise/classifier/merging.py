"""Columns that are the same in every text, merged into one: the same fit from fewer entries."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays, _native

Array = NDArray[np.float64]


class Merging(NamedTuple):
    """Columns s_j x of one x as one column S x, S^2 = sum of s_j^2.

    A penalty on |w|^2 shares the weight v of the one out to the many, v s_j / S to each.
    See `cpp/core/linear/merged_columns.hpp`.
    """

    group: NDArray[np.int32]  # of each column the number of its set; -1 for a column that no text has
    share: Array  # s_j / S of each column

    def unmerge(self, W: Array, out: Array) -> None:
        """Weights of the columns, in `out`, from those of the sets."""
        if len(W) == 0:
            out[:] = 0.0
            return
        np.take(W, self.group, axis=0, out=out, mode="wrap")  # a share of 0 puts right what -1 takes
        out *= self.share[:, None]


def merge(counts: Any, scale: Array, *, presence: bool) -> tuple[Merging, Any, Array]:
    """Merge equal columns of counts, of scales s_j: the merging, counts of the sets, and their scales S."""
    group, indptr, indices, data = _native.merge_columns(_arrays.rows(counts), presence)
    size = int(group.max(initial=-1)) + 1
    held = group >= 0
    total = np.sqrt(np.bincount(group[held], np.square(scale[held]), minlength=size))
    share = np.divide(scale, total[group], out=np.zeros(len(scale)), where=held) if size else np.zeros(len(scale))
    return Merging(group, share), sp.csr_matrix((data, indices, indptr), shape=(counts.shape[0], size)), total
