"""From probabilities to verdicts: costs, and a threshold that flags few negatives."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tallywise.evaluation.intervals import Metric, as_groups, bootstrap, chance_pairs, joined, proportion


class Threshold(NamedTuple):
    """A threshold: from probability `value` on a row is flagged. Shares of negatives flagged and positives caught."""

    value: float
    flagged: Metric
    caught: Metric


def choose_threshold(
    positive: Any,
    scores: ArrayLike,
    max_flagged: float,
    *,
    groups: ArrayLike | None = None,
    resamples: int = 500,
    random_state: int = 0,
) -> Threshold:
    """Lowest threshold at which at most a share `max_flagged` of the negatives is flagged, on held-out scores.

    Parameters
    ----------
    positive : array of bool, shape (n,)
        True for rows of the positive class.
    scores : array of shape (n,)
        Held-out probability of that class.
    max_flagged : float
        Largest share of negatives that may be flagged, such as 0.001.
    groups, resamples, random_state
        Of the bootstrap. The threshold is chosen again in each resample, so that the interval of the share caught
        includes the uncertainty of that choice.

    Examples
    --------
    >>> from tallywise.evaluation import choose_threshold
    >>> found = choose_threshold([False, False, True, True], [0.1, 0.6, 0.5, 0.9], 0.0)
    >>> round(found.value, 3), found.caught.value
    (0.75, 0.5)
    """
    is_positive = np.asarray(positive, dtype=bool)
    z = np.asarray(scores, dtype=float)
    if not 0 <= max_flagged < 1:
        msg = f"max_flagged must be in [0, 1). Got {max_flagged}."
        raise ValueError(msg)
    n, numbers = len(z), as_groups(groups, len(z))
    levels, level = np.unique(-z, return_inverse=True)
    m = len(levels)

    def choose(weights: Any) -> tuple[int, float]:
        found = np.cumsum(np.bincount(level, weights * is_positive, minlength=m))
        lost = np.cumsum(np.bincount(level, weights * ~is_positive, minlength=m))
        allowed = int((lost <= max_flagged * lost[-1] * (1 + 1e-12)).sum())  # 0.29 * 100 is below 29
        return allowed, found[allowed - 1] / found[-1] if allowed and found[-1] > 0 else 0.0

    allowed, _ = choose(np.ones(n))
    flagged = level < allowed
    negative = ~is_positive
    share = proportion("flagged", flagged[negative], numbers[negative])
    at_threshold = proportion("caught", flagged[is_positive], numbers[is_positive])
    truths, answers, worse = chance_pairs(
        n, lambda i, j: is_positive[i] == flagged[j], np.clip(np.minimum(z, 1 - z), 0, 1), random_state
    )
    is_positive, level = np.r_[is_positive, is_positive[truths]], np.r_[level, level[answers]]
    value, low, high = bootstrap(
        lambda weights: np.array([choose(weights)[1]]),
        numbers,
        worse=worse,
        better=len(truths) - worse,
        resamples=resamples,
        random_state=random_state,
    )
    # Halfway to the next score below, so that a score equal but for round-off falls on the same side. Where nothing
    # may be flagged, above every score; where there is no number halfway, at the upper of the two.
    below = -levels[allowed] if allowed < m else 0.0
    above = -levels[allowed - 1] if allowed else np.nextafter(max(1.0, below), np.inf)
    middle = (above + below) / 2
    caught = Metric("caught", float(value[0]), float(low[0]), float(high[0]), "bootstrap")
    return Threshold(float(middle if middle > below else above), share, joined(caught, at_threshold))
