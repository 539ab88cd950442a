"""Sums of models, their weights chosen by the log loss of held-out scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from tallywise.classifier.recipes import Part, Recipe, Sum
from tallywise.classifier.trials import Trial, finish

Array = NDArray[np.float64]
_CHUNKS = 5


def summed(trials: Sequence[Trial], codes: NDArray[np.intp], rows: NDArray[np.intp]) -> Trial | None:
    """The sum of some trials as a trial of its own; None where the best weights leave one of them out.

    Rows are scored with weights that were chosen on other rows.
    """
    Z = np.stack([trial.scores[rows] for trial in trials])
    y = codes[rows]
    weights = stack(Z, y)
    if not (weights > 0).all():
        return None
    parts = []
    for trial, weight in zip(trials, weights, strict=True):
        assert isinstance(trial.recipe, Recipe)
        parts.append(Part(trial.recipe, trial.setting, float(weight)))
    found = Trial(Sum(tuple(parts)), {}, seconds=sum(trial.seconds for trial in trials))
    found.scores = np.full_like(trials[0].scores, np.nan)
    for chunk in range(_CHUNKS):
        inside = np.arange(len(rows)) % _CHUNKS == chunk
        if inside.any() and not inside.all():
            found.scores[rows[inside]] = np.tensordot(stack(Z[:, ~inside], y[~inside]), Z[:, inside], 1)
    if np.isnan(found.scores[rows]).any():  # too few rows to choose on others
        return None
    finish(found, codes, rows)
    return found


def stack(Z: Array, y: NDArray[np.intp]) -> Array:
    """Weights a >= 0 of models with scores Z[m] that minimise the log loss of their sum.

    With one column of scores the loss is that of sigmoid(sum of a_m Z[m] + shift), else of softmax(sum of a_m Z[m]).

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
    m, n, columns = Z.shape
    spread = np.array([float(z.std()) or 1.0 for z in Z])
    U = Z / spread[:, None, None]
    target = (y == 1).astype(float)

    def two(a: Array) -> tuple[float, Array]:
        s = np.tensordot(a[:m], U[:, :, 0], 1) + a[m]
        r = expit(s) - target
        return float((np.logaddexp(0, s) - target * s).mean()), np.append(U[:, :, 0] @ r, r.sum()) / n

    def many(a: Array) -> tuple[float, Array]:
        s = np.tensordot(a, U, 1)
        total = logsumexp(s, axis=1)
        R = np.exp(s - total[:, None])
        R[np.arange(n), y] -= 1
        return float((total - s[np.arange(n), y]).mean()), np.tensordot(U, R, 2) / n

    loss: Any = two if columns == 1 else many
    start = np.ones(m + 1) if columns == 1 else np.ones(m)
    bounds = [(0.0, None)] * m + [(None, None)] * (len(start) - m)
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
    weights: Array = found.x[:m] / spread
    return weights
