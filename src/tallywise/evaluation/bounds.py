"""What no model should fall below, and what none can pass."""

from typing import Any

import numpy as np


def constant_error(y: Any) -> float:
    """Error of always naming the most frequent class: the upper bound for any model worth having.

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
