"""What more labels are worth: the learning curve, continued."""

from collections.abc import Sequence

import numpy as np


def expected_gain(curve: Sequence[Sequence[float]], more: int = 100) -> tuple[float, float] | None:
    """Error now and after `more` labels, by a power law through the learning curve; None if it does not fall.

    error = a n^-b by least squares on logarithms (Cortes et al. 1993, Learning curves: asymptotic values and rate of
    convergence).
    """
    points = [(row[0], row[1]) for row in curve if row[1] > 0]
    if len(points) < 3:
        return None
    n, error = np.log(np.array(points).T)
    slope, level = np.polyfit(n, error, 1)
    if slope >= 0:
        return None
    last = float(curve[-1][0])
    return float(np.exp(level + slope * np.log(last))), float(np.exp(level + slope * np.log(last + more)))
