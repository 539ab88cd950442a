"""Wald's test and interval, of every model with standard errors."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, ndtri


def two_sided(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of a z at least as large when the true weight is zero (Wald's test, both sides)."""
    return np.asarray(erfc(np.abs(z) / np.sqrt(2)))


def wald_interval(
    estimate: NDArray[np.float64], std_err: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper ends, by the normal approximation."""
    reach = ndtri(0.5 + confidence / 2) * std_err
    return estimate - reach, estimate + reach
