"""Leave-one-out scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.naive_bayes._sufficient_statistics import Floats

ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class LeaveOneOutScores:
    """Predictions of each row by the model of all other rows, for each smoothing.

    Rows whose class has no other row cannot be predicted; they count as errors, but not in ``log_loss``.
    """

    alphas: Floats
    labels: NDArray[Any]  # (alphas, rows)
    log_probability: Floats  # of the true class; (alphas, rows)
    accuracy: Floats
    log_loss: Floats

    @property
    def best_alpha(self) -> float:
        """The smoothing with the least log loss; of equal ones the first."""
        return float(self.alphas[int(np.argmin(self.log_loss))])
