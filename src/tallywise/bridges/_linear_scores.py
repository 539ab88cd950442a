"""Fitted linear classifiers and regressors of tallywise in one form: scores x w' + b, and what they mean."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tallywise.linear import (
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
)
from tallywise.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB

Array = NDArray[np.float64]
_LOGISTIC = (LogisticRegression, LogisticRegressionCV)
_MARGINS = (LinearSVC, Perceptron)
_BAYES = (BernoulliNB, ComplementNB, MultinomialNB, PoissonNB)


class LinearScores(NamedTuple):
    """Scores z = x w' + b, one row of w for two classes and else one a class."""

    w: Array
    b: Array
    link: str  # sigmoid for one score, softmax for more
    probabilities: bool  # whether the link of the scores is the model's own probabilities
    thresholds: Array = np.empty(0)


def linear_scores(model: Any) -> LinearScores:
    """The form of a classifier, or a TypeError for one that has none."""
    if not isinstance(model, (*_LOGISTIC, *_MARGINS, *_BAYES)):
        names = ", ".join(kind.__name__ for kind in (*_LOGISTIC, *_MARGINS, *_BAYES))
        msg = f"A classifier of tallywise with a linear rule is needed: {names}. Got {type(model).__name__}."
        raise TypeError(msg)
    check_is_fitted(model)
    if isinstance(model, _BAYES):
        w, b = model.to_linear()
    else:
        coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
        w = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        b = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(w)).copy()
    baseline = model._baseline_code() if isinstance(model, _LOGISTIC) else None
    if baseline is not None:
        if len(model.classes_) == 2:
            w, b = (-w, -b) if baseline == 1 else (w, b)
        else:
            w, b = np.insert(w, baseline, 0.0, axis=0), np.insert(b, baseline, 0.0)
    link = "sigmoid" if len(w) == 1 else "softmax"
    return LinearScores(
        np.asarray(w, dtype=np.float64), np.asarray(b, np.float64), link, not isinstance(model, _MARGINS)
    )
