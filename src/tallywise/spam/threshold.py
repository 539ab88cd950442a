r"""The threshold of a budget: at most a share of ham is to be called spam, although some labels are wrong.

Of what was learned as ham some is spam with a wrong label, 1 % where people label. It scores as spam does, so that the
quantile of "ham" lies among the highest scores of spam, and 80 to 95 % of spam would get through. How much of it there
is can be counted: a score that halves the spam above halves mislabelled spam, too, while ham gets rare much faster.
With q going through the scores that .9, .45, .225, ... of spam exceed, and k(q) the number of "ham" above q, take the
first q with

    k(q') >= k(q) / 2 - 1.5 sqrt k(q)        (q' is the next; three standard deviations of a fair coin)

Then k(q) / (share of spam above q) of "ham" are mislabelled; none are where k(q) is within the budget before that. The
threshold is the lowest t with

    number of "ham" above t  <=  budget + mislabelled * share of spam above t.

On drawn scores 0.1 to 0.15 % of ham is flagged for a budget of 0.1 % with up to 3 % of labels wrong, and 0.35 % where
the filter is so weak that the budget costs an eighth of spam. With two standard deviations the first q is passed over
in one of forty records, and half of spam lost.
"""

import bisect
import math
from collections.abc import Sequence

_FIRST = 0.9  # the share of spam that a filter is expected to catch; mislabelled spam below it stays unnoticed


def budget_threshold(ham: Sequence[float], spam: Sequence[float], share: float) -> float:
    """The lowest score above which at most `share` of ham is.

    Parameters
    ----------
    ham, spam : sequence of float
        Scores that messages had before they were learned as ham and as spam, in ascending order; at least one of ham.
    share : float
        The budget.

    Examples
    --------
    >>> from tallywise.spam.threshold import budget_threshold
    >>> budget_threshold([k / 100 for k in range(100)], [], 0.01)
    0.98
    """
    allowed = int(share * len(ham))
    wrong = mislabelled(ham, spam, allowed)
    most, place = -1, allowed + int(wrong)
    while place != most:  # fewer and fewer: the share of spam above falls as the threshold rises
        most = place
        threshold = ham[-1 - min(place, len(ham) - 1)]
        place = allowed + int(wrong * _above(spam, threshold) / max(len(spam), 1))
    return threshold


def mislabelled(ham: Sequence[float], spam: Sequence[float], allowed: int) -> float:
    """How many of `ham` score as spam does."""
    part = _FIRST
    while (beyond := int(part * len(spam))) > 0:
        found = _above(ham, spam[-1 - beyond])
        if found <= allowed:
            return 0.0
        following = _above(ham, spam[-1 - beyond // 2])
        if following >= found / 2 - 1.5 * math.sqrt(found):
            return found * len(spam) / beyond
        part /= 2
    return 0.0


def _above(scores: Sequence[float], limit: float) -> int:
    return len(scores) - bisect.bisect_right(scores, limit)
