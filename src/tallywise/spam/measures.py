"""Figures of the TREC spam track: how well a stream of scores separates spam from ham."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Figures(NamedTuple):
    """Figures of one stream, all in per cent.

    Attributes
    ----------
    one_minus_roca : float
        Share of the pairs (ham, spam) in which the ham has the higher score; ties count half.
    lam : float
        Logistic average of the shares of ham and of spam misjudged at score 0, each with half a message added.
    lost_spam : float
        Share of spam not caught at the lowest threshold that flags at most 0.1 % of ham.
    ham_flagged, spam_missed : float
        Shares at score 0.
    """

    one_minus_roca: float
    lam: float
    lost_spam: float
    ham_flagged: float
    spam_missed: float


def trec_figures(scores: Sequence[float], spam: Sequence[bool], max_flagged: float = 0.001) -> Figures:
    """Figures of scores given before each message was learned.

    Examples
    --------
    >>> from tallywise.spam import trec_figures
    >>> trec_figures([-2.0, -1.0, 1.0, -1.5], [False, False, True, True]).one_minus_roca
    25.0
    """
    pairs = sorted(zip(scores, spam, strict=True), key=lambda pair: -pair[0])
    n_spam = sum(spam)
    n_ham = len(pairs) - n_spam
    if not n_spam or not n_ham:
        msg = "Figures need at least one spam and one ham message."
        raise ValueError(msg)
    above, caught, flagged, lost, place = 0.0, 0, 0, -1.0, 0
    while place < len(pairs):
        end = place
        ham_here = spam_here = 0
        while end < len(pairs) and pairs[end][0] == pairs[place][0]:
            spam_here += pairs[end][1]
            ham_here += not pairs[end][1]
            end += 1
        above += ham_here * (n_spam - caught - spam_here / 2)
        if lost < 0 and flagged + ham_here > max_flagged * n_ham:
            lost = 100 * (n_spam - caught) / n_spam
        caught, flagged, place = caught + spam_here, flagged + ham_here, end
    false_spam = sum(score > 0 and not is_spam for score, is_spam in pairs)
    false_ham = sum(score <= 0 and is_spam for score, is_spam in pairs)
    lam = (_logit((false_spam + 0.5) / (n_ham + 1)) + _logit((false_ham + 0.5) / (n_spam + 1))) / 2
    return Figures(
        100 * above / n_spam / n_ham,
        100 / (1 + math.exp(-lam)),
        max(lost, 0.0),
        100 * false_spam / n_ham,
        100 * false_ham / n_spam,
    )


def _logit(p: float) -> float:
    return math.log(p / (1 - p))
