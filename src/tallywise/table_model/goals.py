"""What scores are of: classes, ordinal labels or numbers; the loss that held-out rows are compared by."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import skew

from tallywise.table_model.targets import Target

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
HUBER = 1.345  # standard deviations at which the loss turns linear: 95 % efficient for normal errors
_SKEWED = 1.0  # skewness from which on another scale of the target is tried
_TINY = float(np.finfo(float).tiny)
_LARGEST_EXPONENT = 700.0


class ClassGoal:
    """Classes: one score for two of them, else one per class; log loss."""

    def __init__(self, target: Target, weights: Array) -> None:
        self.y, self.weights = target.codes.astype(np.float64), weights
        self.codes, self.classes = target.codes, len(target.classes)
        self.outputs = 1 if self.classes == 2 else self.classes
        self.loss = "logistic" if self.outputs == 1 else "softmax"

    def prior(self, rows: Rows) -> Array:
        """Scores of a model that knows the shares of the classes."""
        counts = np.bincount(self.codes[rows], self.weights[rows], self.classes) + 0.5
        z: Array = np.log(counts / counts.sum())
        return z[1:] - z[:1] if self.outputs == 1 else z

    def probabilities(self, z: Array, thresholds: Array | None = None) -> Array:
        """Probabilities of the classes; with thresholds, of ordinal labels."""
        if thresholds is not None and thresholds.size:
            return ordinal_probabilities(z - thresholds[None, :])
        if self.outputs == 1:
            p = expit(z)
            return np.hstack([1 - p, p])
        return np.asarray(np.exp(z - logsumexp(z, axis=1, keepdims=True)))

    def losses(self, z: Array, rows: Rows) -> Array:
        """Log loss of each row."""
        codes = self.codes[rows]
        if self.outputs == 1:
            return np.logaddexp(0.0, np.where(codes == 1, -z[:, 0], z[:, 0]))
        return np.asarray(logsumexp(z, axis=1) - z[np.arange(len(z)), codes])


def ordinal_probabilities(distances: Array) -> Array:
    """Probabilities of ordinal labels from a score's distances from their thresholds."""
    below = expit(-distances)
    edges = np.hstack([np.zeros((len(below), 1)), below, np.ones((len(below), 1))])
    return np.maximum(np.diff(edges, axis=1), _TINY)


class NumberGoal:
    """Numbers, on a scale: as they are, their logarithm, or counts whose mean is the exponential of the score.

    Scores are in units of the scale, standardised but for counts.
    """

    outputs = 1

    def __init__(self, y: Array, scale: str, loss: str, rows: Rows) -> None:
        self.y, self.scale, self.compared = y, scale, loss
        self.loss = "poisson" if scale == "counts" else "squared"
        own = y if scale == "plain" else np.log(y + 0.5) if scale == "counts" else np.log(np.maximum(y, _TINY))
        self.mean, self.spread = float(own[rows].mean()), float(own[rows].std()) or 1.0
        self.line = (own - self.mean) / self.spread
        if scale == "counts":
            self.mean, self.spread, self.line = 0.0, 1.0, own
        self.trees = y if scale == "counts" else self.line
        self.deviation = float(np.std(y[rows]))
        self.weights = np.ones(len(y))

    def prior(self, rows: Rows) -> Array:
        """The score of the mean."""
        return np.array([np.log(max(self.y[rows].mean(), _TINY)) if self.scale == "counts" else self.line[rows].mean()])

    def raw(self, z: Array) -> Array:
        """Predictions before the mean of their exponentials is corrected."""
        own = self.mean + self.spread * z[:, 0]
        return own if self.scale == "plain" else np.exp(np.minimum(own, _LARGEST_EXPONENT))

    def correction(self, z: Array, rows: Rows) -> float:
        """What is added to logarithms so that the predictions have the mean of the rows (Duan 1983, smearing)."""
        return 0.0 if self.scale == "plain" else float(np.log(self.y[rows].sum() / max(self.raw(z).sum(), _TINY)))

    def losses(self, z: Array, rows: Rows) -> Array:
        """The loss of each row by the measure that models are compared by."""
        return losses_of(self.compared, self.y[rows], self.raw(z) * np.exp(self.correction(z, rows)), self.deviation)


def losses_of(loss: str, y: Array, prediction: Array, deviation: float) -> Array:
    """The loss of each row: squared, absolute or Huber's (in which errors beyond a usual size count by their size)."""
    e = np.abs(prediction - y)
    if loss == "absolute":
        return np.asarray(e)
    if loss == "squared":
        return np.asarray(e**2)
    edge = HUBER * deviation / 2 or 1.0
    return np.asarray(np.where(e <= edge, e**2, 2 * edge * e - edge**2))


def scales_of(y: Array) -> list[str]:
    """The scales worth trying for numbers: another one where most are small, and a few large."""
    found = ["plain"]
    unit = float(np.abs(y).max()) or 1.0  # numbers may be very large or very small
    if len(np.unique(y)) > 2 and float(skew(y / unit)) > _SKEWED:
        if y.min() > 0:
            found.append("logarithm")
        elif y.min() == 0 and bool((y == np.floor(y)).all()):
            found.append("counts")
    return found


Goal = Any  # ClassGoal or NumberGoal
