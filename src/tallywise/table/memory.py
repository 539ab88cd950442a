"""Rows of features that a model remembers: nearest neighbours and Gaussian kernels. Needs NumPy alone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_AT_ONCE = 1 << 22  # distances in memory
_EQUAL = 1e-12


def _squared_distances(X: Array, M: Array, squares: Array) -> Array:
    D: Array = X @ (-2.0 * M.T)
    both = squares + np.einsum("ij,ij->i", X, X)[:, None]
    D += both
    D[D < _EQUAL * both] = 0.0  # what is left of the difference of equal rows is rounding
    return D


@dataclass(frozen=True, eq=False)
class Memory:
    """Remembered rows M and what each of them says, A.

    gaussian: z = sum_i exp(-number |x - m_i|^2) A_i. nearest: the mean of A over the `number` nearest rows, each by the
    inverse of its distance; with classes its A are votes, and z the logarithms of their shares.
    """

    kind: str
    number: float
    M: Array
    A: Array
    votes: bool = False

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
        D = _squared_distances(X, self.M, squares)
        if self.kind == "gaussian":
            np.exp(np.multiply(D, -self.number, out=D), out=D)
            return np.asarray(D @ self.A)
        k = min(int(self.number), len(self.M))
        near = np.argpartition(D, k - 1, axis=1)[:, :k]
        return nearest_scores(np.sqrt(np.take_along_axis(D, near, axis=1)), self.A[near], self.votes)

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
