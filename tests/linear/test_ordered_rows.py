"""Estimators that cross-validate warn where folds without shuffling meet rows that are ordered by the target."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold

import tallywise as t

NUMBERS = (t.LassoCV(), t.ElasticNetCV(), t.RidgeCV(cv=5), t.KNeighborsRegressorCV(cv=5))


def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    return X, X @ [1.0, -2, 0.5] + 0.1 * random.normal(size=200)


@pytest.mark.parametrize("model", NUMBERS, ids=lambda m: type(m).__name__)
def test_rows_ordered_by_their_numbers_are_noticed(model):
    X, y = rows()
    order = np.argsort(y)
    with pytest.warns(UserWarning, match=r"ordered by the target.*cv=KFold\(5, shuffle=True"):
        model.fit(X[order], y[order])
    with pytest.warns(UserWarning, match="ordered by the target"):
        model.fit(X[order[::-1]], y[order[::-1]])


@pytest.mark.parametrize("model", NUMBERS, ids=lambda m: type(m).__name__)
def test_rows_in_any_other_order_or_shuffled_folds_give_no_warning(model):
    X, y = rows()
    order = np.argsort(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
        type(model)(cv=KFold(5, shuffle=True, random_state=0)).fit(X[order], y[order])


def test_classes_are_stratified_unless_the_caller_says_otherwise():
    X, y = rows()
    order = np.argsort(y)
    labels = np.digitize(y[order], [-1, 1])
    logistic = t.LogisticRegressionCV(Cs=3, l1_ratios=(0,), use_legacy_attributes=False, scoring="neg_log_loss")
    for model in (logistic, t.KNeighborsClassifierCV(cv=5)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X[order], labels)
        with pytest.warns(UserWarning, match="ordered by the target"):
            model.set_params(cv=KFold(10)).fit(X[order], labels)
