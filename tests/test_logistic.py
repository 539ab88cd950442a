"""Logistic regression against scikit-learn and its own certificate."""

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import datasets
from tallywise.linear import LogisticRegression, LogisticRegressionCV


@parametrize_with_checks(
    [LogisticRegression(), LogisticRegression(C=10, class_weight="balanced"), LogisticRegression(l1_ratio=0.5)]
)
def test_logistic_regression_keeps_the_estimator_laws(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [LogisticRegressionCV(Cs=3, l1_ratios=(0,), cv=3, scoring="accuracy", use_legacy_attributes=False, max_iter=1000)]
)
def test_logistic_regression_cv_keeps_the_estimator_laws(estimator, check):
    check(estimator)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_wine_weights_are_those_of_scikit_learn(fit_intercept):
    X, y = datasets.wine()
    X = (X - X.mean(0)) / X.std(0)
    ours = LogisticRegression(tol=1e-12, fit_intercept=fit_intercept).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(
        solver="newton-cholesky", tol=1e-12, max_iter=1000, fit_intercept=fit_intercept
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_ - ours.intercept_.mean(), theirs.intercept_, atol=1e-6)
