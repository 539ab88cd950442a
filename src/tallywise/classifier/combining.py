"""Scores of several models to one, and of one model to classes of unequal size, by the log loss of held-out rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

Array = NDArray[np.float64]
_MOST_ROWS = 20_000  # enough for a handful of numbers
_LEAST_ROWS = 20  # for each offset


def offsets(z: Array, y: NDArray[np.intp]) -> Array:
    """What to add to the scores of each class; nothing for one column of scores, or for few rows.

    Machines of one class against the rest know nothing of each other: on classes of unequal size the largest of their
    scores is not the likeliest class.
    """
    n, columns = z.shape
    if columns == 1 or n < _LEAST_ROWS * columns:
        return np.zeros(columns)
    weights, found = stack(z[None], y)
    return found / weights[0] if weights[0] > 0 else np.zeros(columns)


def stack(Z: Array, y: NDArray[np.intp]) -> tuple[Array, Array]:
    """Weights a >= 0 of models with scores Z[m], and offsets c, that minimise the log loss of their sum.

    The loss is that of softmax(sum of a_m Z[m] + c), or with one column of scores of the sigmoid; |c|^2 / 2n is added,
    so that a class of few rows is moved little.

    Parameters
    ----------
    Z : array of shape (models, n, columns)
        Held-out scores.
    y : array of int, shape (n,)
        Codes of the classes.

    References
    ----------
    Breiman (1996), Stacked regressions, Machine Learning 24: weights that are not negative make stacking stable.
    """
    if Z.shape[1] > _MOST_ROWS:
        step = np.linspace(0, Z.shape[1] - 1, _MOST_ROWS).astype(np.intp)
        Z, y = Z[:, step], y[step]
    m, n, columns = Z.shape
    spread = np.array([float(z.std()) or 1.0 for z in Z])
    U = Z / spread[:, None, None]
    target = (y == 1).astype(float)

    def two(a: Array) -> tuple[float, Array]:
        s = np.tensordot(a[:m], U[:, :, 0], 1) + a[m]
        r = expit(s) - target
        return float((np.logaddexp(0, s) - target * s).mean()), np.append(U[:, :, 0] @ r, r.sum()) / n

    def many(a: Array) -> tuple[float, Array]:
        s = np.tensordot(a[:m], U, 1) + a[m:]
        total = logsumexp(s, axis=1)
        R = np.exp(s - total[:, None])
        R[np.arange(n), y] -= 1
        loss = float((total - s[np.arange(n), y]).mean() + a[m:] @ a[m:] / (2 * n))
        return loss, np.append(np.tensordot(U, R, 2), R.sum(axis=0) + a[m:]) / n

    loss: Any = two if columns == 1 else many
    start = np.append(np.ones(m), np.zeros(columns))
    bounds = [(0.0, None)] * m + [(None, None)] * columns
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
    weights: Array = found.x[:m] / spread
    shift: Array = found.x[m:]
    return weights, shift
