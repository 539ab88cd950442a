"""A figure with its 95 % interval: exact for proportions, by resampling groups for everything else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """A value with its interval and the method of the interval."""

    name: str
    value: float
    low: float
    high: float
    how: str

    def __str__(self) -> str:
        return f"{self.name} {self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


def proportion_interval(count: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Exact (Clopper-Pearson) interval of a proportion.

    Examples
    --------
    >>> from tallywise.evaluation import proportion_interval
    >>> [round(end, 4) for end in proportion_interval(0, 10)]
    [0.0, 0.3085]
    """
    if n <= 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, count, n - count + 1)) if count > 0 else 0.0
    high = float(beta.ppf(1 - tail, count + 1, n - count)) if count < n else 1.0
    return low, high


def bootstrap(
    measure: Callable[[Array], Array],
    groups: NDArray[np.intp],
    *,
    resamples: int = 500,
    random_state: int = 0,
    confidence: float = 0.95,
) -> tuple[Array, Array, Array]:
    """Percentile intervals of several figures at once, by resampling whole groups.

    Parameters
    ----------
    measure : callable
        Takes a weight for each row (how often it was drawn) and returns the figures as a vector.
    groups : array of int, shape (n,)
        Rows of one group are drawn together, so that repeated texts do not count as independent.
    resamples, random_state, confidence
        Number of draws, their seed, and the coverage of the interval.

    Returns
    -------
    value, low, high : arrays
        The figures on all rows, and the ends of their intervals.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.evaluation import bootstrap
    >>> wrong = np.array([0, 1] * 50)
    >>> value, low, high = bootstrap(lambda weights: np.array([weights @ wrong / weights.sum()]), np.arange(100))
    >>> bool(low[0] < value[0] < high[0])
    True
    """
    random = np.random.default_rng(random_state)
    numbers = np.unique(groups, return_inverse=True)[1]
    m = int(numbers.max(initial=-1)) + 1
    value = measure(np.ones(len(groups)))
    draws = np.empty((resamples, len(value)))
    for k in range(resamples):
        drawn = np.bincount(random.integers(0, m, m), minlength=m).astype(float)
        draws[k] = measure(drawn[numbers])
    tail = 100 * (1 - confidence) / 2
    low, high = np.nanpercentile(draws, [tail, 100 - tail], axis=0)
    # A resample can lack a class altogether, where a rank figure is undefined; the figure itself is always inside.
    return value, np.fmin(low, value), np.fmax(high, value)


def as_groups(groups: Any, n: int) -> NDArray[np.intp]:
    """Group numbers, every row its own group when none are given."""
    return np.arange(n) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
