"""Texts with several labels: micro and macro F1 with intervals, and a threshold for each label."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tallywise._arrays import Matrix
from tallywise.evaluation.intervals import Array, Metric, as_groups, bootstrap, chance_pairs, proportion

_SMALLEST = np.finfo(float).tiny
_PARTS = 5  # that rows are cut into, each with thresholds chosen on the others
_GRID = 200  # probabilities at which all labels are looked at together
_SHARED = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1e9)  # texts of a label that all labels together count for


def measure_labels(
    Y: Matrix,
    predictions: ArrayLike,
    *,
    probabilities: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    resamples: int = 500,
    random_state: int = 0,
) -> dict[str, Metric]:
    """Figures of predictions of several labels a text, with their intervals.

    With TP, FP and FN counted for each label: micro F1 = 2 sum TP / (2 sum TP + sum FP + sum FN), likewise micro
    precision and recall; macro F1 is the mean of 2 TP / (2 TP + FP + FN) over the labels that some text has or gets.
    Exact match is the share of texts whose set of labels is right, the Hamming loss the share of texts and labels that
    are wrong, the log loss its mean over texts and labels.

    Parameters
    ----------
    Y, predictions : arrays of shape (n, K)
        True where a text has the label, and where it gets it.
    probabilities : array of shape (n, K), optional
        Of each label, for the log loss.
    groups : array of shape (n,), optional
        Repeated texts and the like, resampled together.
    resamples, random_state
        Of the bootstrap.

    Examples
    --------
    >>> from tallywise.evaluation import measure_labels
    >>> found = measure_labels([[1, 0], [1, 1], [0, 0]], [[1, 0], [1, 0], [0, 1]])
    >>> round(found["micro_f1"].value, 3), found["macro_f1"].value
    (0.667, 0.5)

    References
    ----------
    Lewis, Yang, Rose & Li (2004), RCV1: a new benchmark collection for text categorization research, JMLR 5.
    """
    has, gets = np.asarray(Y, dtype=bool), np.asarray(predictions, dtype=bool)
    if has.ndim != 2 or has.shape != gets.shape or not has.size:
        msg = f"Y and predictions must be matrices of one shape, texts by labels. Got {has.shape} and {gets.shape}."
        raise ValueError(msg)
    n, K = has.shape
    numbers = as_groups(groups, n)
    P = None if probabilities is None else np.asarray(probabilities, dtype=float)
    exact = (has == gets).all(axis=1)
    has, gets, P, worse = _with_more_rows(has, gets, P, random_state)
    counted = sp.hstack([sp.csr_matrix(part, dtype=float) for part in (has & gets, has, gets)], format="csr").T.tocsr()
    by_row = [(has == gets).all(axis=1).astype(float), (has != gets).mean(axis=1)]
    names = ["micro_f1", "macro_f1", "micro_precision", "micro_recall", "exact_match", "hamming_loss"]
    if P is not None:
        by_row.append(label_losses(has, P).mean(axis=1))
        names.append("log_loss")
    rows = np.array(by_row)

    def figures(weights: Array) -> Array:
        hits, true, called = (counted @ weights).reshape(3, K)
        f1 = _ratio(2 * hits, true + called)
        present = true + called > 0
        return np.array(
            [
                _ratio(2 * hits.sum(), true.sum() + called.sum()),
                f1[present].mean() if present.any() else 0.0,
                _ratio(hits.sum(), called.sum()),
                _ratio(hits.sum(), true.sum()),
                *(rows @ weights / weights.sum()),
            ]
        )

    value, low, high = bootstrap(
        figures, numbers, worse=worse, better=len(has) - n - worse, resamples=resamples, random_state=random_state
    )
    found = {
        name: Metric(name, float(v), float(a), float(b), "bootstrap")
        for name, v, a, b in zip(names, value, low, high, strict=True)
    }
    found["exact_match"] = proportion("exact_match", exact, numbers)
    return found


def _with_more_rows(
    has: NDArray[np.bool_], gets: NDArray[np.bool_], P: Array | None, random_state: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Array | None, int]:
    """Append rows for the bootstrap to draw from, wrong ones first; and say how many are wrong."""
    doubt = np.ones(len(has)) if P is None else np.clip(np.minimum(P, 1 - P), 0, 1).sum(axis=1)
    truths, answers, worse = chance_pairs(len(has), lambda i, j: (has[i] == gets[j]).all(axis=1), doubt, random_state)
    more = has[truths]
    if worse == 0:  # all sets are the same one
        more, answers, worse = np.r_[~gets[answers], more], np.r_[answers, answers], len(answers)
    if worse == len(more):
        more, answers = np.r_[more, gets[answers]], np.r_[answers, answers]
    return np.r_[has, more], np.r_[gets, gets[answers]], None if P is None else np.r_[P, P[answers]], worse


def label_losses(Y: NDArray[np.bool_], P: Array) -> Array:
    """Log loss of each label of each text."""
    losses: Array = -np.log(np.maximum(np.where(Y, P, 1 - P), _SMALLEST))
    return losses


def _ratio(above: Any, below: Any) -> Any:
    """A quotient; 0 where there is nothing to divide by."""
    return np.divide(above, below, out=np.zeros_like(np.asarray(below, dtype=float)), where=np.asarray(below) > 0)


class LabelThresholds(NamedTuple):
    """A text gets label k from probability ``values[k]`` on."""

    values: Array
    shared: float  # how many texts of a label all labels together count for in the choice
    verdicts: NDArray[np.bool_]  # of the rows, by thresholds that were chosen on others


def choose_label_thresholds(Y: Matrix, probabilities: ArrayLike, *, groups: ArrayLike | None = None) -> LabelThresholds:
    """Choose the threshold of each label by F1 on held-out probabilities.

    The threshold t of label k maximises

        2 (TP_k(t) + m r(t)) / (called_k(t) + n_k + m (c(t) + 1))

    where n_k texts have the label, r(t) is the share of all labels of all texts found at t, and c(t) the labels given
    at t for each of them: so all labels together count for m texts of each label. For a rare label the best threshold
    on the rows at hand is luck, and what holds for the others is a better guess; m is chosen by cross-validation, for
    the largest sum of micro and macro F1.

    Parameters
    ----------
    Y : array of bool, shape (n, K)
        True where a text has the label.
    probabilities : array of shape (n, K)
        Held-out probabilities of the labels.
    groups : array of shape (n,), optional
        Rows that stay together when thresholds are chosen on some rows and judged on others.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.evaluation import choose_label_thresholds
    >>> P = np.array([[0.9, 0.2], [0.4, 0.3], [0.1, 0.6], [0.2, 0.1]] * 5)
    >>> choose_label_thresholds(P > 0.25, P).values.round(2)
    array([0.3 , 0.25])

    References
    ----------
    Fan & Lin (2007), A study on threshold selection for multi-label classification, National Taiwan University.
    """
    has, P = np.asarray(Y, dtype=bool), np.asarray(probabilities, dtype=float)
    part = as_groups(groups, len(has)) % _PARTS
    verdicts = np.zeros((len(_SHARED), *has.shape), dtype=bool)
    for number in np.unique(part):
        inside = part == number
        others = has[~inside]
        if not others.any():  # nothing to choose by
            verdicts[:, inside] = P[inside] >= 0.5
            continue
        chosen = _best_thresholds(others, P[~inside])
        verdicts[:, inside] = P[inside][None] >= chosen[:, None, :]
    sums = [_micro_and_macro(has, gets) for gets in verdicts]
    best = max(range(len(_SHARED)), key=lambda m: (sums[m], m))
    return LabelThresholds(_best_thresholds(has, P)[best], _SHARED[best], verdicts[best])


def _micro_and_macro(has: NDArray[np.bool_], gets: NDArray[np.bool_]) -> float:
    hits, both = (has & gets).sum(axis=0), has.sum(axis=0) + gets.sum(axis=0)
    return float(_ratio(2 * hits.sum(), both.sum()) + _ratio(2 * hits, both)[both > 0].mean())


def _best_thresholds(has: NDArray[np.bool_], P: Array) -> Array:
    """The thresholds of the labels, a row for each of the weights that all labels together may have."""
    K = has.shape[1]
    total = int(has.sum())
    among = np.sort(P[has])
    grid = np.unique(among[np.linspace(0, total - 1, min(_GRID, total)).astype(int)])
    found_share = (total - np.searchsorted(among, grid)) / total
    given = np.zeros(len(grid))
    for k in range(K):
        given += len(P) - np.searchsorted(np.sort(P[:, k]), grid)
    given /= total
    m = np.array(_SHARED)[:, None]
    best = np.empty((len(_SHARED), K))
    for k in range(K):
        scores, own = np.sort(P[:, k]), np.sort(P[has[:, k], k])
        at = np.unique(np.concatenate([own, grid]))  # F1 only falls from one text with the label to the next
        hits = len(own) - np.searchsorted(own, at)
        called = len(scores) - np.searchsorted(scores, at)
        r, c = np.interp(at, grid, found_share), np.interp(at, grid, given)
        f1 = _ratio(2 * (hits + m * r), called + len(own) + m * (c + 1))
        place = len(at) - 1 - f1[:, ::-1].argmax(axis=1)  # of equals the highest
        best[:, k] = [_halfway(scores, at[j]) for j in place]
    return best


def _halfway(scores: Array, t: float) -> float:
    """A threshold at a score moves halfway to the next one below: equal but for round-off is on the same side."""
    j = int(np.searchsorted(scores, t))
    if j == len(scores) or scores[j] > t:
        return float(t)
    below = scores[j - 1] if j else 0.0
    middle = (t + below) / 2
    return float(middle if middle > below else t)
