"""Calibration: scores to probabilities, fitted on held-out scores."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, softmax

Array = NDArray[np.float64]


class Calibration(NamedTuple):
    """p = softmax(scale z), or for one column of scores p(second class) = sigmoid(scale z + shift)."""

    scale: float
    shift: float

    def probabilities(self, scores: Any) -> Array:
        """Probabilities, one column per class, rows summing to 1."""
        z = np.asarray(scores, dtype=float)
        if z.shape[1] == 1:
            p = expit(self.scale * z[:, 0] + self.shift)
            return np.column_stack([expit(-self.scale * z[:, 0] - self.shift), p])
        found: Array = softmax(self.scale * z, axis=1)
        return found


def calibrate(scores: Any, codes: Any) -> Calibration:
    """Find the scale (and, for two classes, the shift) that minimises the log loss of held-out scores.

    Two classes: Platt's sigmoid with his smoothed targets. More: one temperature. The scale is never
    negative: where held-out scores are misleading, predictions stay and probabilities are close to uniform.

    Parameters
    ----------
    scores : array of shape (n, 1) or (n, K)
        Held-out (out-of-fold) scores.
    codes : array of int, shape (n,)
        Class of each row, as a position among the classes.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines; Lin, Lin & Weng (2007), Machine Learning 68.
    Guo et al. (2017), On calibration of modern neural networks (temperature scaling).

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.evaluation import calibrate
    >>> z = np.array([[-3.0], [-1.0], [1.0], [3.0]] * 50)
    >>> c = calibrate(z, np.array([0, 0, 1, 1] * 49 + [0, 1, 0, 1]))
    >>> c.probabilities([[2.0]]).round(2)
    array([[0., 1.]])
    """
    z, y = np.asarray(scores, dtype=float), np.asarray(codes)
    return _platt(z[:, 0], y) if z.shape[1] == 1 else Calibration(_temperature(z, y), 0.0)


def _platt(z: Array, y: NDArray[Any]) -> Calibration:
    """Newton's method with halving on the two parameters; scores are standardised first, for conditioning."""
    spread = float(z.std()) or 1.0
    middle = float(z.mean())
    x = (z - middle) / spread
    n1 = int((y == 1).sum())
    n0 = len(y) - n1
    t = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def loss(a: float, b: float) -> float:
        s = a * x + b
        return float(np.logaddexp(0, s).sum() - t @ s)

    a, b = 0.0, float(np.log((n1 + 1) / (n0 + 1)))
    now = loss(a, b)
    for _ in range(100):
        p = expit(a * x + b)
        r, h = p - t, p * (1 - p)
        g = np.array([r @ x, r.sum()])
        if np.abs(g).max() < 1e-10 * len(x):
            break
        H = np.array([[h @ (x * x), h @ x], [h @ x, h.sum()]]) + 1e-12 * np.eye(2)
        step = np.linalg.solve(H, g)
        size = 1.0
        while size > 1e-10 and loss(a - size * step[0], b - size * step[1]) > now:
            size /= 2
        a, b = a - size * step[0], b - size * step[1]
        before, now = now, loss(a, b)
        if before - now <= 1e-14 * abs(now):
            break
    if a <= 0:  # misleading held-out scores do not reverse predictions: probabilities close to one half instead
        return Calibration(0.01 / spread, 0.0)
    return Calibration(float(a / spread), float(b - a * middle / spread))


def _temperature(z: Array, y: NDArray[Any]) -> float:
    own = np.take_along_axis(z, y[:, None], axis=1)[:, 0]
    spread = float(np.abs(z - z.mean(axis=1, keepdims=True)).mean()) or 1.0

    def loss(log_scale: float) -> float:
        scale = np.exp(log_scale) / spread
        return float((logsumexp(scale * z, axis=1) - scale * own).mean())

    found = minimize_scalar(loss, bounds=(-12, 12), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x) / spread)
