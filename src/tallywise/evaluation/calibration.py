"""Calibration: scores to probabilities, fitted on held-out scores."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, logsumexp, softmax

Array = NDArray[np.float64]
_TINY = np.finfo(float).tiny
_SHIFTS = (-30.0, 30.0)  # beyond, sigmoids are exponentials to the last bit, or all the same


class Calibration(NamedTuple):
    """p = softmax(scale z), or for one column of scores p(second class) = sigmoid(scale z + shift).

    With `sigmoids`, p_k = sigmoid(scale z_k + shift) divided by the sum over the classes.
    """

    scale: float
    shift: float
    sigmoids: bool = False

    def probabilities(self, scores: ArrayLike) -> Array:
        """Probabilities, one column per class, rows summing to 1."""
        z = np.asarray(scores, dtype=float)
        if z.shape[1] == 1:
            p = expit(self.scale * z[:, 0] + self.shift)
            return np.column_stack([expit(-self.scale * z[:, 0] - self.shift), p])
        found: Array = softmax(log_expit(self.scale * z + self.shift) if self.sigmoids else self.scale * z, axis=1)
        return found


def calibrate(scores: ArrayLike, codes: NDArray[np.intp]) -> Calibration:
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


def calibrate_sigmoids(scores: ArrayLike, codes: NDArray[np.intp], start: Calibration | None = None) -> Calibration:
    """Find scale and shift of sigmoids, divided by their sum, that minimise the log loss of held-out scores.

    A score of a class against the rest says how likely that class is: where all are low, none is likely, and they share
    the probability evenly; where two are high, both are likely. A softmax looks at differences alone. It is the limit
    of a shift to minus infinity, so that with the best shift sigmoids fit no worse.

    Parameters
    ----------
    scores : array of shape (n, K)
        Held-out scores, a column a class, K > 2.
    codes : array of int, shape (n,)
        Class of each row, as a position among the classes.
    start : Calibration, optional
        Where to begin: that of nearly the same rows.

    References
    ----------
    Zadrozny & Elkan (2002), Transforming classifier scores into accurate multiclass probability estimates, KDD.
    """
    z, y = np.asarray(scores, dtype=float), np.asarray(codes)
    n, K = z.shape
    spread, rows = float(z.std()) or 1.0, np.arange(n)
    u = z / spread

    def loss(theta: Array) -> tuple[float, Array]:
        s = np.exp(theta[0]) * u + theta[1]
        logs = log_expit(s)
        P = softmax(logs, axis=1)
        value = -float(np.log(np.maximum(P[rows, y], _TINY)).mean())
        P[rows, y] -= 1
        P *= expit(-s)  # the slope of log sigmoid
        return value, np.array([float((P * (s - theta[1])).sum()), float(P.sum())]) / n

    if start is None:
        own = np.zeros((n, K), dtype=np.intp)
        own[rows, y] = 1
        platt = _platt(u.ravel(), own.ravel())  # each class against the rest, as if the others were not known
        start = platt._replace(scale=platt.scale / spread)
    first = np.array([np.log(start.scale * spread), np.clip(start.shift, *_SHIFTS)])
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=[(-12.0, 12.0), _SHIFTS], options={"ftol": 1e-8})
    return Calibration(float(np.exp(found.x[0]) / spread), float(found.x[1]), sigmoids=True)


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
