"""Significance tests of differences between models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tallywise.evaluation.intervals import as_groups


def corrected_t_test(differences: Any, train_size: float, test_size: float) -> float:
    """P-value of a mean difference over cross-validation folds, whose training sets overlap.

    t = mean(d) / sqrt((1/J + n_test / n_train) var(d)), J - 1 degrees of freedom. The plain t-test, without the second
    term, finds differences that are not there.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> from tallywise.evaluation import corrected_t_test
    >>> round(corrected_t_test([0.01, 0.02, 0.01, 0.03, 0.02], 800, 200), 4)
    0.0327
    """
    d = np.asarray(differences, dtype=float)
    if len(d) < 2:
        return 1.0
    spread = d.var(ddof=1)
    if spread == 0:
        return 1.0 if d.mean() == 0 else 2.0 ** (1 - len(d))  # the sign test: without a spread there is no t
    t = d.mean() / np.sqrt((1 / len(d) + test_size / train_size) * spread)
    return float(2 * stats.t.sf(abs(t), len(d) - 1))


def mcnemar(right_a: Any, right_b: Any, groups: ArrayLike | None = None) -> float:
    """Exact p-value that two classifiers, right or wrong on the same rows, err equally often.

    Rows of one group (repeated texts) count once, for the classifier that is right on more of them.

    References
    ----------
    McNemar (1947), Psychometrika 12; Dietterich (1998), Neural Computation 10.

    Examples
    --------
    >>> from tallywise.evaluation import mcnemar
    >>> mcnemar([True] * 10, [False] * 9 + [True])  # nine rows differ, all in favour of the first: 2 / 2^9
    0.00390625
    """
    a, b = np.asarray(right_a, dtype=bool), np.asarray(right_b, dtype=bool)
    lead = np.bincount(as_groups(groups, len(a)), a.astype(float) - b.astype(float))
    only_a, only_b = int((lead > 0).sum()), int((lead < 0).sum())
    return 1.0 if only_a + only_b == 0 else float(stats.binomtest(only_a, only_a + only_b, 0.5).pvalue)


def friedman(scores: ArrayLike) -> float:
    """P-value that the columns (models) of a table of scores, one row per fold, are equal.

    References
    ----------
    Friedman (1937), Journal of the American Statistical Association 32; Demsar (2006), JMLR 7.

    Examples
    --------
    >>> from tallywise.evaluation import friedman
    >>> friedman([[0.1, 0.2, 0.3]] * 6) < 0.01
    True
    """
    S = np.asarray(scores, dtype=float)
    if S.shape[1] < 3 or S.shape[0] < 2 or np.ptp(S) == 0:
        return 1.0
    return float(stats.friedmanchisquare(*S.T).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for there being several of them.

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> from tallywise.evaluation import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, (len(p) - np.arange(len(p))) * p[order]))
    return [float(x) for x in adjusted]
