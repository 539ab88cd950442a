"""One model of a table with one setting on held-out rows, and which of several is better."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tallywise.evaluation import Calibration, Metric, proportion
from tallywise.selection import weighted_sum

Array = NDArray[np.float64]
_TINY = float(np.finfo(float).tiny)


@dataclass
class TableTrial:
    """A recipe with one setting, and its scores of held-out rows."""

    recipe: Any  # a Recipe, or a Blend of two
    setting: dict[str, Any]
    scores: Array = field(default_factory=lambda: np.empty((0, 0)))  # by row of the table
    thresholds: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    offsets: Array = field(default_factory=lambda: np.zeros(1))  # added to the scores of the classes
    calibration: Calibration = field(default_factory=lambda: Calibration(1.0, 0.0))
    probabilities: Array = field(default_factory=lambda: np.empty((0, 0)))
    wrong: Array = field(default_factory=lambda: np.empty(0))  # by held-out row: errors, or losses of numbers
    losses: Array = field(default_factory=lambda: np.empty(0))  # likewise, the log loss or the absolute error

    @property
    def title(self) -> str:
        """Recipe and setting, human-readable."""
        return str(self.recipe.describe(self.setting))

    @property
    def error(self) -> float:
        """Mean error of the held-out rows."""
        return float(self.wrong.mean())

    @property
    def log_loss(self) -> float:
        """Mean log loss of the held-out rows."""
        return float(self.losses.mean())

    def error_metric(self, groups: Any = None) -> Metric:
        """Error on the held-out rows, with its interval; rows of a group count as far as they are independent."""
        return proportion("error", self.wrong, groups)

    def calibrate(self, codes: NDArray[np.intp], rows: NDArray[np.intp]) -> None:
        """Calibrate on the held-out scores of the rows, and measure."""
        z, codes = self.scores[rows], codes[rows]
        if self.thresholds.size:
            below = expit(self.thresholds[None, :] - z)
            edges = np.hstack([np.zeros((len(z), 1)), below, np.ones((len(z), 1))])
            P = np.maximum(np.diff(edges, axis=1), _TINY)
        else:
            found = weighted_sum(z[None], codes)
            scale = float(found.weights[0])
            self.offsets, self.calibration = found.offsets / scale, Calibration(scale, 0.0)
            P = found.probabilities(z[None])
        self.probabilities = P
        self.wrong = (P.argmax(axis=1) != codes).astype(float)
        self.losses = -np.log(np.maximum(P[np.arange(len(P)), codes], _TINY))


def behind(trial: TableTrial, leader: TableTrial) -> float:
    """How much more a trial errs than another, in standard errors of the paired difference."""
    gap = trial.wrong - leader.wrong
    more, spread = float(gap.sum()), float(gap.std()) * np.sqrt(len(gap))
    return more / spread if spread > 0 else 0.0


def better(trial: TableTrial, other: TableTrial) -> bool:
    """Fewer errors by more than a standard error, or fewer at all and a log loss lower by two."""
    gain = other.losses - trial.losses
    sharper = bool(gain.mean() > 2 * gain.std() / np.sqrt(len(gain)))
    return behind(trial, other) < -1 or (trial.error < other.error and sharper)


def ranking(trials: Sequence[TableTrial], margin: float) -> list[TableTrial]:
    """Best first: by error; those within `margin` standard errors of the best, the simplest first, then by log loss.

    A model whose log loss is above that of another such by two standard errors is no tie, be its error the least: its
    probabilities are worse beyond doubt, and its predictions are no better.
    """
    by_error = sorted(trials, key=lambda trial: (trial.error, trial.log_loss))
    leader = by_error[0]

    def no_less_sharp(trial: TableTrial, other: TableTrial, errors: float) -> bool:
        loss = trial.losses - other.losses
        return bool(loss.mean() <= errors * loss.std() / np.sqrt(len(loss)))

    near = [t for t in by_error if t is leader or (behind(t, leader) <= margin and no_less_sharp(t, leader, margin))]
    sharpest = min(near, key=lambda trial: trial.log_loss)
    tied = [trial for trial in near if no_less_sharp(trial, sharpest, 2)]
    rest = [trial for trial in by_error if not any(trial is other for other in tied)]
    return sorted(tied, key=lambda trial: (trial.recipe.rank, trial.log_loss)) + rest
