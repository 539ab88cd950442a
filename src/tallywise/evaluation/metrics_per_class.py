"""Precision, recall and F1 of every class, each with its interval."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tallywise.evaluation.intervals import Metric, as_groups, proportion


class ClassMetrics(NamedTuple):
    """Quality of one class: `support` rows have it, and `called` are called it."""

    name: str
    support: int
    called: int
    precision: Metric
    recall: Metric
    f1: Metric


def class_metrics(
    y: ArrayLike, predictions: ArrayLike, classes: ArrayLike, *, groups: ArrayLike | None = None, names: Any = None
) -> list[ClassMetrics]:
    """Figures of every class, in the order of `classes`.

    Precision is a share of the rows called the class, recall of those that have it. Of the rows with either, TP / (TP +
    FP + FN) = J are both, and F1 = 2 J / (1 + J): so all three have the exact interval of a proportion. Rows of one
    group, such as repeats of a text, count as far as they are independent.

    Parameters
    ----------
    y, predictions : arrays of shape (n,)
        True and predicted labels; or, for texts with several labels, of shape (n, K), true where the label is there.
    classes : array of shape (K,)
        The labels.
    groups : array of shape (n,), optional
        Rows that are not independent of each other.
    names : sequence of str, optional
        What to call the classes; as they are by default.

    Examples
    --------
    >>> from tallywise.evaluation import class_metrics
    >>> found = class_metrics(["a", "a", "b", "b"], ["a", "b", "b", "b"], ["a", "b"])
    >>> [(c.name, c.support, c.precision.value, c.recall.value, round(c.f1.value, 3)) for c in found]
    [('a', 2, 1.0, 0.5, 0.667), ('b', 2, 0.6666666666666666, 1.0, 0.8)]
    """
    y, predictions, labels = np.asarray(y), np.asarray(predictions), np.asarray(classes).tolist()
    numbers = as_groups(groups, len(y))
    found = []
    for k, label in enumerate(labels):
        has = y[:, k].astype(bool) if y.ndim == 2 else y == label
        called = predictions[:, k].astype(bool) if predictions.ndim == 2 else predictions == label
        precision = proportion("precision", has[called], numbers[called])
        recall = proportion("recall", called[has], numbers[has])
        either = has | called
        both = proportion("f1", (has & called)[either], numbers[either])
        value, low, high = (2 * j / (1 + j) for j in (both.value, both.low, both.high))
        f1 = Metric("f1", value, low, high, both.how)
        name = str(label) if names is None else names[k]
        found.append(ClassMetrics(name, int(has.sum()), int(called.sum()), precision, recall, f1))
    return found
