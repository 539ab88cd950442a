"""The rows of docs/r_users.md give R's numbers: tests/reference/r_users.csv, made by tools/r_reference.R."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tallywise import ElasticNet, Lasso, LassoCV, LogisticRegression, LogisticRegressionCV, OrdinalRegression, Ridge
from tests.places import TESTS

IRIS, SPECIES = load_iris(return_X_y=True)
X, y, n = IRIS[:, :3], IRIS[:, 3], 150
VERSICOLOR = (SPECIES == 1).astype(int)
GRID, FOLD = np.exp(np.arange(0, -6.01, -0.25)), np.tile(range(5), 30)
FOLDS = [(np.flatnonzero(k != FOLD), np.flatnonzero(k == FOLD)) for k in range(5)]


def in_r(name):
    lines = (TESTS / "reference" / "r_users.csv").read_text().splitlines()
    return np.array([line.split(",")[1:] for line in lines if line.split(",")[0] == name], dtype=float)


def weights(model):
    return np.c_[np.atleast_1d(model.intercept_), np.atleast_2d(model.coef_)]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("lasso", Lasso(alpha=0.05, tol=1e-12)),
        ("ridge", Ridge(alpha=n * 0.05 / y.std())),
        (
            "elastic_net",  # lambda 0.05, alpha 0.5; glmnet's y has variance 1
            ElasticNet(alpha=0.025 + 0.025 / y.std(), l1_ratio=0.025 / (0.025 + 0.025 / y.std()), tol=1e-12),
        ),
    ],
)
def test_gaussian_models_have_the_weights_of_glmnet(name, model):
    np.testing.assert_allclose(weights(model.fit(X, y)), in_r(name), atol=1e-7)


def test_weights_of_rows_count_as_in_glmnet():
    fitted = Lasso(alpha=0.05, tol=1e-12).fit(X, y, sample_weight=np.tile([1, 2, 3], 50))
    np.testing.assert_allclose(weights(fitted), in_r("weights"), atol=1e-8)


def test_logistic_models_have_the_weights_of_glmnet():
    two = LogisticRegression(C=1 / (n * 0.02), l1_ratio=0.5, tol=1e-12, max_iter=10_000).fit(X, VERSICOLOR)
    np.testing.assert_allclose(weights(two), in_r("binomial"), atol=1e-6)
    three = LogisticRegression(C=1 / (n * 0.02), l1_ratio=1, tol=1e-10, max_iter=10_000).fit(X, SPECIES)
    np.testing.assert_allclose(weights(three), in_r("multinomial"), atol=1e-5)


def test_cross_validation_chooses_the_lambdas_of_cv_glmnet():
    found = LassoCV(alphas=GRID, cv=FOLDS, tol=1e-12).fit(X, y)
    np.testing.assert_allclose([found.alpha_, found.alpha_1se_], in_r("cv_min_1se")[0])
    np.testing.assert_allclose(found.mse_path_.mean(axis=-1), in_r("cv_loss")[0], atol=1e-8)
    rows = n - n // 5  # the mean loss of a fit is over the rows of its training folds
    options = {"l1_ratios": (1,), "cv": FOLDS, "scoring": "neg_log_loss", "use_legacy_attributes": False}
    for selection, expected in zip(("best", "one_standard_error"), in_r("cv_binomial_min_1se")[0], strict=True):
        model = LogisticRegressionCV(Cs=1 / (rows * GRID), selection=selection, tol=1e-8, max_iter=1000, **options)
        np.testing.assert_allclose(1 / (rows * model.fit(X, VERSICOLOR).C_), expected)


@pytest.mark.parametrize(("link", "method"), [("logit", "logistic"), ("probit", "probit"), ("cloglog", "cloglog")])
def test_ordinal_regression_has_the_coefficients_of_polr(link, method):
    """`polr` stops earlier: its likelihood is the lower one, in the ninth digit."""
    size = np.digitize(IRIS[:, 0], [5.4, 6.2], right=True)
    model = OrdinalRegression(link=link, tol=1e-12).fit(IRIS[:, 1:3], size)
    expected = in_r(f"polr_{method}")[0]
    np.testing.assert_allclose(np.r_[model.coef_, model.thresholds_], expected[:4], rtol=1e-4)
    np.testing.assert_allclose(np.sqrt(np.diag(model.covariance_)), expected[4:8], rtol=1e-3)
    assert model.log_likelihood_ == pytest.approx(expected[8], rel=1e-8)
    assert model.log_likelihood_ >= expected[8] - 1e-9
