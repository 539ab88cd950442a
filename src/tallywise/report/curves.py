"""The numbers behind pictures: the report draws them as SVG, `tallywise.report.plots` with matplotlib."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation.intervals import Metric, proportion

Array = NDArray[np.float64]
Rows = NDArray[np.bool_]


class Counts(NamedTuple):
    """Positives and negatives at or above each distinct score, from the highest score down."""

    thresholds: Array
    found: Array
    lost: Array


def counts_above(positive: Rows, scores: Array) -> Counts:
    """True and false positives as the threshold falls."""
    order = np.argsort(-scores, kind="stable")
    s, p = scores[order], positive[order]
    last = np.r_[s[1:] != s[:-1], True]
    return Counts(s[last], np.cumsum(p)[last].astype(float), np.cumsum(~p)[last].astype(float))


def roc_curve(positive: Rows, scores: Array) -> tuple[Array, Array]:
    """False and true positive rates."""
    _, found, lost = counts_above(positive, scores)
    return np.r_[0, lost / max(lost[-1], 1)], np.r_[0, found / max(found[-1], 1)]


def precision_recall_curve(positive: Rows, scores: Array) -> tuple[Array, Array]:
    """Recall and precision."""
    _, found, lost = counts_above(positive, scores)
    return found / max(found[-1], 1), found / np.maximum(found + lost, 1)


class Bins(NamedTuple):
    """Mean predicted probability of each bin, share of its rows that came true, and their number."""

    predicted: Array
    observed: list[Metric]
    sizes: list[int]


def calibration_bins(hits: Rows, claimed: Array, n_bins: int = 10) -> Bins:
    """Bins of equal counts, by predicted probability."""
    bins = [rows for rows in np.array_split(np.argsort(claimed, kind="stable"), min(n_bins, len(claimed))) if len(rows)]
    observed = [proportion("share observed", hits[rows]) for rows in bins]
    return Bins(np.array([claimed[rows].mean() for rows in bins]), observed, [len(rows) for rows in bins])


class Shares(NamedTuple):
    """Shares at a threshold: positives caught and negatives flagged, with intervals, and all rows flagged."""

    threshold: float
    caught: Metric
    flagged: Metric
    of_all: float


def threshold_shares(positive: Rows, scores: Array, thresholds: Array) -> list[Shares]:
    """What each threshold catches, and what it flags wrongly."""
    return [
        Shares(
            float(threshold),
            proportion("caught", scores[positive] >= threshold),
            proportion("flagged", scores[~positive] >= threshold),
            float(np.mean(scores >= threshold)),
        )
        for threshold in thresholds
    ]


def some_thresholds(scores: Array, most: int) -> Array:
    """At most so many of the distinct scores, from the lowest to the highest."""
    levels = np.unique(scores)
    some: Array = levels[np.unique(np.linspace(0, len(levels) - 1, most).astype(int))]
    return some
