"""Quality of predictions, every figure with a 95 % interval."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from tallywise.evaluation.intervals import Array, Metric, as_groups, bootstrap, chance_pairs, joined, proportion

_SMALLEST = np.finfo(float).tiny


def measure(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike,
    *,
    predictions: ArrayLike | None = None,
    positive: Any = None,
    groups: ArrayLike | None = None,
    max_flagged: float = 0.001,
    resamples: int = 500,
    random_state: int = 0,
) -> dict[str, Metric]:
    """All figures that apply to the task, with their intervals.

    Always: error, accuracy, macro F1, MCC, log loss, Brier score. Two classes: ROC area, PR area, 1-ROCA%, lam%,
    recall at a given share of negatives flagged. Numbers, or grades written as text (stars): mean absolute error.

    Parameters
    ----------
    y : array of shape (n,)
        True labels.
    probabilities : array of shape (n, K)
        Columns in the order of `classes`.
    classes : array of shape (K,)
        Labels of the columns.
    predictions : array of shape (n,), optional
        Predictions, where they are not the most probable classes.
    positive : label, optional
        With two classes, the one to be found (spam); the last by default.
    groups : array of shape (n,), optional
        Repeated texts and the like, weighted together.
    max_flagged : float
        Largest share of negatives that may be flagged, for ``recall_at_max_flagged``.
    resamples, random_state
        Of the bootstrap.

    Returns
    -------
    dict of str to Metric

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.evaluation import measure
    >>> P = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    >>> found = measure(["ham", "spam", "ham", "ham"], P, ["ham", "spam"])
    >>> print(found["error"])
    error 0.25 (0.006309 to 0.8059)

    References
    ----------
    Cormack & Lynam (2005), TREC 2005 Spam Track Overview (lam%, 1-ROCA%).
    """
    classes = np.asarray(classes)
    P = np.asarray(probabilities, dtype=float)
    codes = _codes(y, classes)
    guesses = P.argmax(axis=1) if predictions is None else _codes(predictions, classes)
    numbers = as_groups(groups, len(codes))
    K = len(classes)
    all_codes, all_guesses, all_P, worse = _with_more_rows(codes, guesses, P, random_state)
    table = _Table(all_codes, all_guesses, all_P)
    parts = [table.by_counts, table.by_rows]
    names = ["error", "accuracy", "macro_f1", "mcc", "log_loss", "brier"]
    levels = ordinal_levels(classes) if classes.dtype.kind not in "iuf" else classes
    if K > 2 and levels is not None:
        distance = np.abs(levels[all_codes] - levels[all_guesses]).astype(float)
        parts.append(lambda weights: np.array([_dot(weights, distance) / weights.sum()]))
        names.append("mae")
    if K == 2 and len(np.unique(codes)) == 2:
        which = 1 if positive is None else int(np.flatnonzero(classes == positive)[0])
        ranks = _Ranks(all_codes == which, all_P[:, which], all_guesses == which, max_flagged)
        parts.append(ranks.figures)
        names += ["roc_area", "pr_area", "1-ROCA%", "lam%", "recall_at_max_flagged"]

    value, low, high = bootstrap(
        lambda weights: np.concatenate([part(weights) for part in parts]),
        numbers,
        worse=worse,
        better=len(all_codes) - len(codes) - worse,
        resamples=resamples,
        random_state=random_state,
    )
    found = {
        name: Metric(name, float(v), float(a), float(b), "bootstrap")
        for name, v, a, b in zip(names, value, low, high, strict=True)
    }
    # The F1 of few rows is biased downwards, and its resamples once more: with five rows in each of twenty classes 88
    # of 100 intervals held the truth, and the others ended below it. So the upper end is as far away as the lower one.
    f1 = found["macro_f1"]
    found["macro_f1"] = replace(f1, high=max(f1.high, min(2 * f1.value - f1.low, 1.0)))
    if "recall_at_max_flagged" in found:  # uncertain by the choice of the threshold, and at that threshold
        is_positive = codes == which
        caught = proportion("recall", ranks.caught(len(codes))[is_positive], numbers[is_positive])
        found["recall_at_max_flagged"] = joined(found["recall_at_max_flagged"], caught)
    found["error"] = proportion("error", codes != guesses, numbers)
    found["accuracy"] = proportion("accuracy", codes == guesses, numbers)
    return found


def _with_more_rows(
    codes: NDArray[np.intp], guesses: NDArray[np.intp], P: Array, random_state: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, int]:
    """Append rows for the bootstrap to draw from, wrong ones first; and say how many are wrong."""
    K, doubt = P.shape[1], 1 - np.take_along_axis(P, guesses[:, None], axis=1)[:, 0]
    truths, answers, worse = chance_pairs(
        len(codes), lambda i, j: codes[i] == guesses[j], np.clip(doubt, 0, 1), random_state
    )
    more, called, scores = codes[truths], guesses[answers], P[answers]
    if K > 1 and (guesses == guesses[0]).all():  # one class alone was predicted: let others be, too
        other = np.arange(len(called)) % 2 == 1
        called = np.where(other, (called + 1) % K, called)
        scores = np.where(other[:, None], np.roll(scores, 1, axis=1), scores)
        right = np.arange(len(called)) >= len(called) // 2
        more = np.where(right, called, (called + 1) % K)
        worse = int((~right).sum())
    if worse == len(more):  # no class was both seen and predicted
        more, called, scores = np.r_[more, called], np.r_[called, called], np.r_[scores, scores]
    return np.r_[codes, more], np.r_[guesses, called], np.r_[P, scores], worse


def ordinal_levels(classes: NDArray[Any]) -> NDArray[np.float64] | None:
    """The levels of labels that look ordinal; None for others.

    Three to ten whole numbers, more than half of those from the least to the greatest: 1 to 5, or 1, 2, 4, 5 where no
    text has three stars, or -1, 0, 1; but not 1, 5, 9, which may be codes.
    """
    try:
        levels = np.array([float(label) for label in np.asarray(classes).tolist()])
    except (TypeError, ValueError):
        return None
    ordered = np.sort(levels)
    whole = 3 <= len(levels) <= 10 and bool(np.all(ordered == np.floor(ordered)))
    return levels if whole and bool(np.all(np.diff(ordered) > 0)) and np.ptp(ordered) + 1 < 2 * len(ordered) else None


def _codes(labels: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    place = {label: k for k, label in enumerate(classes.tolist())}
    listed = np.asarray(labels).tolist()
    try:
        return np.array([place[label] for label in listed], dtype=np.intp)
    except KeyError as missing:
        msg = f"Label {missing.args[0]!r} is not among the classes {classes.tolist()[:10]}."
        raise ValueError(msg) from None


def _dot(a: Array, b: Array) -> float:
    """Without BLAS, whose threads cost more than they save on a vector (20 times the CPU time at 20,000 rows)."""
    return float(np.einsum("i,i->", a, b))


class _Table:
    """Figures that follow from the confusion table or from a mean over rows."""

    def __init__(self, codes: NDArray[np.intp], guesses: NDArray[np.intp], P: Array) -> None:
        self.K = P.shape[1]
        self.codes, self.guesses, self.hits = codes, guesses, np.where(codes == guesses, codes, self.K)
        own = np.take_along_axis(P, codes[:, None], axis=1)[:, 0]
        self.row_log_loss = -np.log(np.maximum(own, _SMALLEST))
        self.row_brier = (P**2).sum(axis=1) - 2 * own + 1

    def by_counts(self, weights: Array) -> Array:
        # Sums of the confusion table and its diagonal: the table itself has K^2 cells.
        true, guessed, hit = (
            np.bincount(part, weights, minlength=self.K)[: self.K] for part in (self.codes, self.guesses, self.hits)
        )
        n, hits = true.sum(), hit.sum()
        present = (true + guessed) > 0
        f1 = (2 * hit[present] / (true + guessed)[present]).mean()
        spread = np.sqrt(max(n**2 - (guessed**2).sum(), 0.0) * max(n**2 - (true**2).sum(), 0.0))
        mcc = (hits * n - (true * guessed).sum()) / spread if spread > 0 else 0.0
        return np.array([1 - hits / n, hits / n, f1, mcc])

    def by_rows(self, weights: Array) -> Array:
        n = weights.sum()
        return np.array([_dot(weights, self.row_log_loss) / n, _dot(weights, self.row_brier) / n])


class _Ranks:
    """Figures of a ranking of positives above negatives. Scores are sorted once; a resample only reweights."""

    def __init__(
        self, positive: NDArray[np.bool_], scores: Array, flagged: NDArray[np.bool_], max_flagged: float
    ) -> None:
        levels, self.level = np.unique(-scores, return_inverse=True)  # from the highest score down
        self.m = len(levels)
        self.positive, self.flagged, self.max_flagged = positive, flagged, max_flagged

    def figures(self, weights: Array) -> Array:
        found = np.bincount(self.level, weights * self.positive, minlength=self.m)
        lost = np.bincount(self.level, weights * ~self.positive, minlength=self.m)
        P, N = found.sum(), lost.sum()
        if P == 0 or N == 0:
            return np.full(5, np.nan)
        tp, fp = np.cumsum(found), np.cumsum(lost)
        roc = min(((tp - 0.5 * found) * lost).sum() / (P * N), 1.0)  # rounding
        precision = tp / np.maximum(tp + fp, _SMALLEST)
        pr = (precision * found).sum() / P
        allowed = fp <= self.max_flagged * N
        recall = tp[allowed].max(initial=0.0) / P
        # half a row is added to each count, so that the figure is finite without mistakes
        missed = (weights[self.positive & ~self.flagged].sum() + 0.5) / (P + 1)
        alarmed = (weights[~self.positive & self.flagged].sum() + 0.5) / (N + 1)
        lam = expit((logit(missed) + logit(alarmed)) / 2)
        return np.array([roc, pr, 100 * (1 - roc), 100 * lam, recall])

    def caught(self, n: int) -> NDArray[np.bool_]:
        """Which of the first n rows are above the threshold that these rows allow."""
        lost = np.bincount(self.level[:n], ~self.positive[:n], minlength=self.m)
        above: NDArray[np.bool_] = np.cumsum(lost) <= self.max_flagged * lost.sum()
        caught: NDArray[np.bool_] = above[self.level[:n]]
        return caught
