"""Errors to compare a model with: of the constant classifier, and of the Bayes classifier."""

import numpy as np
from numpy.typing import ArrayLike

from tallywise.evaluation.intervals import proportion_interval


def constant_error(y: ArrayLike) -> float:
    """Error of always predicting the most frequent class: a model above it is useless.

    Examples
    --------
    >>> from tallywise.evaluation import constant_error
    >>> constant_error(["ham", "ham", "ham", "spam"])
    0.25
    """
    counts = np.unique(np.asarray(y), return_counts=True)[1]
    return float(1 - counts.max() / counts.sum())


def cover_hart_bound(nearest_neighbour_error: float, n_classes: int) -> float:
    """Lower bound on the Bayes error, from the error of one nearest neighbour (in the limit of much data).

    With M = K / (K - 1) and error R of the neighbour, the Bayes error is at least (1 - sqrt(1 - M R)) / M.

    References
    ----------
    Cover & Hart (1967), Nearest neighbor pattern classification, IEEE Trans. Information Theory 13.

    Examples
    --------
    >>> from tallywise.evaluation import cover_hart_bound
    >>> round(cover_hart_bound(0.1, 2), 4)
    0.0528
    """
    if n_classes < 2:
        return 0.0
    m = n_classes / (n_classes - 1)
    return float((1 - np.sqrt(max(0.0, 1 - m * nearest_neighbour_error))) / m)


def cover_hart_interval(wrong: int, n: int, n_classes: int) -> tuple[float, float]:
    """Interval for the Bayes error from `wrong` mistakes of one nearest neighbour on `n` rows.

    In the limit of many rows the Bayes error is at most the neighbour's error R and at least `cover_hart_bound` of it.
    The interval goes from the bound at the lower end of R's exact 95 % interval to the upper end of that interval.

    Examples
    --------
    >>> from tallywise.evaluation import cover_hart_interval
    >>> low, high = cover_hart_interval(10, 100, 2)
    >>> round(low, 3), round(high, 3)
    (0.025, 0.176)
    """
    low, high = proportion_interval(wrong, n)
    return cover_hart_bound(low, n_classes), high
