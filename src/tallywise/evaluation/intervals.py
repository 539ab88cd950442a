"""A figure with its 95 % interval: exact for proportions, by random weights of groups for everything else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
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


def joined(figure: Metric, other: Metric) -> Metric:
    """A figure with an interval that holds those of both."""
    return Metric(figure.name, figure.value, min(figure.low, other.low), max(figure.high, other.high), figure.how)


def effective_size(groups: NDArray[np.intp]) -> float:
    """How many independent rows these are worth, if the rows of a group are all right or all wrong together.

    (sum m)^2 / sum m^2 over the sizes m of the groups: the number of groups where all have one size, and less where
    some are large. With it the exact interval holds the truth (reliability/coverage.py).

    References
    ----------
    Kish (1965), Survey Sampling, section 8.2.
    """
    sizes = np.unique(groups, return_counts=True)[1].astype(float)
    return float(sizes.sum() ** 2 / (sizes @ sizes)) if len(sizes) else 0.0


def proportion(name: str, hits: Any, groups: ArrayLike | None = None) -> Metric:
    """Share of rows that are hits, with its exact interval; rows of one group count as far as they are independent.

    Parameters
    ----------
    name : str
        Of the figure.
    hits : array of bool, shape (n,)
        True for the rows that count. A share of no rows is 0, anywhere from 0 to 1.
    groups : array of shape (n,), optional
        Rows that are not independent of each other, such as repeats of a text.

    Examples
    --------
    >>> from tallywise.evaluation import proportion
    >>> print(proportion("error", [False] * 100))
    error 0 (0 to 0.03622)
    >>> print(proportion("error", [False] * 101, groups=[*range(100), 99]))
    error 0 (0 to 0.03656)
    """
    rows = np.asarray(hits, dtype=bool)
    share = float(rows.mean()) if len(rows) else 0.0
    n = effective_size(as_groups(groups, len(rows)))
    return Metric(name, share, *proportion_interval(share * n, n), "exact binomial")


def bootstrap(
    measure: Callable[[Array], Array],
    groups: NDArray[np.intp],
    *,
    worse: int = 0,
    better: int = 0,
    resamples: int = 500,
    random_state: int = 0,
    confidence: float = 0.95,
) -> tuple[Array, Array, Array]:
    """Intervals of several figures at once, by random weights for whole groups of rows.

    Where no row is wrong, weights of these rows alone would give an interval without width. Therefore one row more is
    drawn into each resample, once from rows that are worse, once from rows that are better, and the interval reaches
    from the lower to the upper of the ends. Of a proportion this is the exact interval: its ends are quantiles of
    Beta(k, n - k + 1) and Beta(k + 1, n - k), the distributions with one success or one failure more.

    Parameters
    ----------
    measure : callable
        Takes a weight for each row and returns the figures as a vector. Rows are those of `groups`, then `worse` ones,
        then `better` ones.
    groups : array of int, shape (n,)
        Rows of one group have one weight, so that repeated texts do not count as independent.
    worse, better : int
        Numbers of rows among which the one row more is drawn. Without them intervals may have no width.
    resamples, random_state, confidence
        Number of draws, their seed, and the coverage of the interval.

    Returns
    -------
    value, low, high : arrays
        The figures on all rows of `groups`, and the ends of their intervals.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9; Clopper & Pearson (1934), Biometrika 26.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.evaluation import bootstrap
    >>> wrong = np.array([0] * 100 + [1])  # the last row is not among the data: it is the worse one
    >>> share = lambda weights: np.array([weights @ wrong / weights.sum()])
    >>> value, low, high = bootstrap(share, np.arange(100), worse=1)
    >>> print(value[0], low[0], 0.03 < high[0] < 0.045)  # exact: 0 to 0.0362
    0.0 0.0 True
    """
    random = np.random.default_rng(random_state)
    numbers = np.unique(groups, return_inverse=True)[1]
    n, m = len(numbers), int(numbers.max(initial=-1)) + 1
    heavy = n / max(effective_size(numbers), 1.0)
    weights = np.zeros(n + worse + better)
    weights[:n] = 1
    value = measure(weights)
    sides = [slice(n, n + worse)] * (worse > 0) + [slice(n + worse, n + worse + better)] * (better > 0)
    draws = np.empty((resamples, max(len(sides), 1), len(value)))
    for k in range(resamples):
        weights[:n] = random.standard_exponential(m)[numbers]
        for place, side in enumerate(sides or [slice(n, n)]):
            weights[n:] = 0
            size = side.stop - side.start
            if size:  # weights of a Dirichlet process: one row in all, as heavy as one of the effective number of rows
                weights[side] = random.standard_gamma(1 / size, size) * heavy
            draws[k, place] = measure(weights)
    tail = 100 * (1 - confidence) / 2
    low, high = np.nanpercentile(draws, [tail, 100 - tail], axis=0)
    # Weights can leave a class out, where a figure of ranks is undefined; the figure itself is always inside.
    return value, np.fmin(np.nanmin(low, axis=0), value), np.fmax(np.nanmax(high, axis=0), value)


_EXTRA = 200  # rows among which one more is drawn: many, so that no single one decides; other numbers were not tried
# Mistakes fall on rows where the model was in doubt, as probabilities say they should, but for this share: any row.
# With 1.0 the interval of log loss at n = 100 and 0.5 % error is three times as wide (0.50 for 0.18), and covers no
# better (docs/evaluation.md has the coverage with 0.1).
_ANY_ROW = 0.1


def chance_pairs(
    n: int, equal: Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.bool_]], doubt: Array, random_state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Rows that a model without skill would have: truths of rows paired with answers of other rows.

    Parameters
    ----------
    n : int
        Number of rows.
    equal : callable
        Takes row numbers i and j; whether the answer of row j is right for the truth of row i.
    doubt : array of shape (n,)
        How unsure the answer of a row is; answers in doubt are drawn more often.
    random_state : int
        Seed.

    Returns
    -------
    truths, answers : arrays of int
        Row numbers; wrong pairs first.
    worse : int
        How many of them are wrong.
    """
    random = np.random.default_rng(random_state)
    doubts = doubt / doubt.sum() if doubt.sum() > 0 else np.full(n, 1 / n)
    i = random.integers(0, n, 20 * _EXTRA)
    j = random.choice(n, 20 * _EXTRA, p=_ANY_ROW / n + (1 - _ANY_ROW) * doubts)
    right = equal(i, j)
    wrong, good = np.flatnonzero(~right)[:_EXTRA], np.flatnonzero(right)[:_EXTRA]
    chosen = np.concatenate([wrong, good])
    return i[chosen], j[chosen], len(wrong)


def as_groups(groups: ArrayLike | None, n: int) -> NDArray[np.intp]:
    """Group numbers, every row its own group when none are given."""
    return np.arange(n) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
