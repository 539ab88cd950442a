"""Rows of features that a model compares with: neighbours, Gaussian kernels, equal rows, mixtures. NumPy alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_AT_ONCE = 1 << 22  # distances in memory
_EQUAL = 1e-12
KINDS = ("gaussian", "nearest", "equal", "mixture")


def _squared_distances(X: Array, M: Array, squares: Array) -> Array:
    D: Array = X @ (-2.0 * M.T)
    both = squares + np.einsum("ij,ij->i", X, X)[:, None]
    D += both
    D[D < _EQUAL * both] = 0.0  # what is left of the difference of equal rows is rounding
    return D


def _nearest(D: Array, k: int) -> tuple[Array, NDArray[np.intp]]:
    """Distances and places of the k nearest rows, nearest first; of those equally far, the first."""
    near = np.argpartition(D, k - 1, axis=1)[:, :k]
    near.sort(axis=1)
    squared = np.take_along_axis(D, near, axis=1)
    order = np.argsort(squared, axis=1, kind="stable")
    return np.sqrt(np.take_along_axis(squared, order, axis=1)), np.take_along_axis(near, order, axis=1)


def nearest_rows(X: Array, M: Array, k: int) -> tuple[Array, NDArray[np.intp]]:
    """Distances of the rows of X to the k nearest of M, and which these are, nearest first."""
    squares, step = np.einsum("ij,ij->i", M, M), max(1, _AT_ONCE // len(M))
    k = min(k, len(M))
    found = [_nearest(_squared_distances(X[i : i + step], M, squares), k) for i in range(0, len(X), step)]
    return np.vstack([distances for distances, _ in found]), np.vstack([near for _, near in found])


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Stored rows M and what each of them adds, A.

    gaussian: z = sum_i exp(-number |x - m_i|^2) A_i. nearest: the mean of A over the `number` nearest rows, each by the
    inverse of its distance; with classes its A are votes, and z the logarithms of their shares. equal: z = A_i of the
    row m_i that equals x, or 0. mixture: z = sum_i p_i A_i, with p the softmax of x'm_i.
    """

    kind: str
    number: float
    M: Array
    A: Array
    votes: bool = False

    @classmethod
    def read(cls, meta: Mapping[str, Any], M: Array, A: Array) -> "StoredRows":
        """From what the model file says."""
        if meta["kind"] not in KINDS or not 0 < float(meta["number"]) < np.inf:
            msg = "it remembers rows in an unknown way"
            raise ValueError(msg)
        return cls(meta["kind"], float(meta["number"]), M, A, bool(meta["votes"]))

    def scores(self, X: Array) -> Array:
        """Scores of the rows of X, without biases."""
        squares = np.einsum("ij,ij->i", self.M, self.M)
        step = max(1, _AT_ONCE // max(len(self.M), 1))
        found = [self._block(X[i : i + step], squares) for i in range(0, len(X), step)]
        return np.vstack(found) if found else np.empty((0, self.columns))

    @property
    def columns(self) -> int:
        """Columns of scores."""
        return 1 if self.votes and self.A.shape[1] == 2 else self.A.shape[1]

    def _block(self, X: Array, squares: Array) -> Array:
        if self.kind == "equal":
            place = {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(self.M))}
            found = np.array([place.get(row.tobytes(), -1) for row in np.ascontiguousarray(X)], dtype=np.intp)
            return np.asarray(np.where((found >= 0)[:, None], self.A[found], 0.0))
        if self.kind == "mixture":
            Z = X @ self.M.T
            P = np.exp(Z - Z.max(axis=1, keepdims=True))
            return np.asarray((P / P.sum(axis=1, keepdims=True)) @ self.A)
        D = _squared_distances(X, self.M, squares)
        if self.kind == "gaussian":
            np.exp(np.multiply(D, -self.number, out=D), out=D)
            return np.asarray(D @ self.A)
        distances, near = _nearest(D, min(int(self.number), len(self.M)))
        return nearest_scores(distances, self.A[near], self.votes)

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it."""
        return {"kind": self.kind, "number": self.number, "votes": self.votes}


def nearest_scores(distances: Array, said: Array, votes: bool) -> Array:
    """Scores from the distances (n, k) of neighbours and what each of them says (n, k, columns)."""
    furthest = distances.max(axis=1, keepdims=True)
    nearness = np.where(furthest > 0, distances / np.where(furthest > 0, furthest, 1.0), 1.0)
    w = 1.0 / np.maximum(nearness, 1e-9)
    w /= w.sum(axis=1, keepdims=True)
    mean: Array = np.einsum("nk,nkc->nc", w, said)
    if not votes:
        return mean
    k, K = said.shape[1:]
    z = np.log((k * mean + 1 / K) / (k + 1))
    return np.asarray(z[:, 1:] - z[:, :1] if K == 2 else z)
