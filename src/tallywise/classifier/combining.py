"""Scores of several models to one, and of one model to classes of unequal size, by the log loss of held-out rows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]
_MOST_WORK = 1e9  # rows times classes squared: enough rows for a handful of numbers
_MOST_ROWS = 20_000
_LEAST_ROWS = 20  # for each offset
_STEPS = 30
_PULL = 1e-3  # of the weights to 0, against that of one row: where rows leave no doubt, weights would grow for ever


def offsets(z: Array, y: NDArray[np.intp]) -> tuple[Array, float] | None:
    """What to add to the scores of each class, and what to multiply the sums by: softmax(scale (z + offsets)).

    None for one column of scores, for few rows, or where the scores say nothing.

    Machines of one class against the rest know nothing of each other: on classes of unequal size the largest of their
    scores is not the likeliest class.
    """
    n, columns = z.shape
    if columns == 1 or len(_rows(n, columns)) < _LEAST_ROWS * columns:
        return None
    (scale,), shift = stack(z[None], y)
    return (shift / scale, float(scale)) if scale > 0 else None


def stack(Z: Array, y: NDArray[np.intp], start: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """Weights a >= 0 of models with scores Z[m], and offsets c, that minimise the log loss of their sum.

    The loss is that of softmax(sum of a_m Z[m] + c), or with one column of scores of the sigmoid; |c|^2 / 2n is added,
    so that a class of few rows is moved little. Newton's method; a model whose weight would be negative is left out.

    Parameters
    ----------
    Z : array of shape (models, n, columns)
        Held-out scores.
    y : array of int, shape (n,)
        Codes of the classes.
    start : (weights, offsets), optional
        Where to begin: those of nearly the same rows.

    References
    ----------
    Breiman (1996), Stacked regressions, Machine Learning 24: weights that are not negative make stacking stable.
    """
    rows = _rows(*Z.shape[1:])
    Z, y = Z[:, rows], y[rows]
    m, _, columns = Z.shape
    spread = np.array([float(z.std()) or 1.0 for z in Z])
    first = np.append(np.ones(m), np.zeros(columns))
    if start is not None:
        first = np.append(start[0] * spread, start[1])
    kept = np.arange(m)
    weights = np.zeros(m)
    while True:
        loss = _Loss(Z[kept] / spread[kept, None, None], y)
        found = _newton(loss, np.append(first[kept], first[m:]))
        if len(kept) == 0 or found[: len(kept)].min() >= 0:
            break
        kept = np.delete(kept, int(found[: len(kept)].argmin()))
    weights[kept] = found[: len(kept)] / spread[kept]
    return weights, found[len(kept) :]


def _rows(n: int, columns: int) -> NDArray[np.intp]:
    """Rows that numbers are chosen by: all, or where these are too many an even choice of them."""
    most = min(_MOST_ROWS, int(_MOST_WORK / columns**2))
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)


class _Point(NamedTuple):
    value: float
    gradient: Array
    P: Array  # probabilities


class _Loss:
    """The log loss, with its pulls, as a function of weights and offsets in one array."""

    def __init__(self, U: Array, y: NDArray[np.intp]) -> None:
        self.U, self.y = U, y
        self.m, self.n, self.columns = U.shape
        self.pull = np.append(np.full(self.m, _PULL), np.full(self.columns, 1.0 if self.columns > 1 else _PULL))

    def at(self, theta: Array) -> _Point:
        m, n = self.m, self.n
        S = np.tensordot(theta[:m], self.U, 1) + theta[m:]
        if self.columns == 1:
            target = (self.y == 1).astype(float)[:, None]
            P = expit(S)
            total = float((np.logaddexp(0, S) - target * S).sum())
            R = P - target
        else:
            own = S[np.arange(n), self.y]
            top = S.max(axis=1)
            S -= top[:, None]
            P = np.exp(S, out=S)
            sums = P.sum(axis=1)
            P /= sums[:, None]
            total = float((np.log(sums) + top - own).sum())
            R = P.copy()
            R[np.arange(n), self.y] -= 1
        gradient = np.append(np.tensordot(self.U, R, 2), R.sum(axis=0)) + self.pull * theta
        return _Point((total + self.pull @ np.square(theta) / 2) / n, gradient / n, P)

    def curvature(self, P: Array) -> Array:
        m, U = self.m, self.U
        H: Array = np.diag(self.pull)
        if self.columns == 1:
            D = np.column_stack([*U[:, :, 0], np.ones(self.n)])
            H += D.T @ (D * (P * (1 - P)))
        else:
            mean = np.einsum("nk,mnk->mn", P, U)  # of the scores of each model, by the probabilities of a row
            for a in range(m):
                V = P * (U[a] - mean[a][:, None])
                H[a, m:] += V.sum(axis=0)
                H[m:, a] = H[a, m:]
                for b in range(m):
                    H[a, b] += np.vdot(V, U[b])
            H[m:, m:] += np.diag(P.sum(axis=0)) - P.T @ P
        H /= self.n
        return H


def _newton(loss: _Loss, theta: Array) -> Array:
    """Newton's method with halved steps; the loss is strictly convex."""
    here = loss.at(theta)
    for _ in range(_STEPS):
        step = np.linalg.solve(loss.curvature(here.P), here.gradient)
        slope = float(step @ here.gradient)
        if slope < 1e-9:
            break
        size, there = 1.0, here
        while size > 1e-6:
            there = loss.at(theta - size * step)
            if there.value <= here.value - 0.25 * size * slope:
                break
            size /= 2
        else:
            break
        theta, here = theta - size * step, there
    return theta
