"""Intervals for predicted numbers, from the errors on rows not seen. Needs NumPy alone."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_MOST_BINS, _LEAST_ROWS = 10, 50  # of predictions, whose errors are gauged together
_MOST_KEPT = 5000


@dataclass(frozen=True, eq=False)
class Residuals:
    """Held-out errors |y - z| in units of their usual size at the prediction z, sorted.

    The interval with coverage c is z +- q s(z), where s(z) is the usual size and q the ceil((n + 1) c)-th least of the
    n errors in units of it. A new row whose error is exchangeable with these is inside with probability c at least.

    References
    ----------
    Vovk, Gammerman & Shafer (2005), Algorithmic Learning in a Random World; Lei et al. (2018), Distribution-free
    predictive inference for regression, JASA 113.
    """

    n: int
    places: Array  # predictions, rising
    sizes: Array  # usual error at these
    sorted: Array

    @classmethod
    def of(cls, y: Array, z: Array) -> "Residuals":
        """From held-out predictions z of y."""
        e = np.abs(y - z)
        bins = int(np.clip(len(z) // _LEAST_ROWS, 1, _MOST_BINS))
        groups = np.array_split(np.argsort(z, kind="stable"), bins)
        floor = 1e-3 * float(e.mean()) or 1.0
        places = np.array([z[group].mean() for group in groups])
        sizes = np.maximum(np.array([e[group].mean() for group in groups]), floor)
        places, first = np.unique(places, return_index=True)
        sizes = sizes[first]
        units = np.sort(e / np.interp(z, places, sizes))
        if len(units) > _MOST_KEPT:  # of each stretch the largest, so that no interval gets narrower
            units = units[np.ceil(np.linspace(1, len(units), _MOST_KEPT)).astype(int) - 1]
        return cls(len(e), places, sizes, units)

    def half_width(self, z: Array, coverage: float) -> Array:
        """Half the width of the interval at predictions z; infinite where there are too few errors to tell."""
        if not 0 < coverage < 1:
            msg = f"coverage must be between 0 and 1. Got {coverage}."
            raise ValueError(msg)
        rank = math.ceil((self.n + 1) * coverage)
        if rank > self.n:
            return np.full(len(z), np.inf)
        kept = len(self.sorted)
        place = rank - 1 if kept == self.n else math.ceil((rank - 1) * (kept - 1) / (self.n - 1))
        return np.asarray(self.sorted[place] * np.interp(z, self.places, self.sizes))
