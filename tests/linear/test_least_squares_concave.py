"""The minimax concave penalty against closed forms, its own formula, and the lasso that it leaves behind."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from tallywise.linear import Lasso, LinearRegression, MinimaxConcaveRegression


def penalty(w, alpha, gamma):
    w = np.abs(w)
    return np.where(w <= gamma * alpha, alpha * w - w**2 / (2 * gamma), gamma * alpha**2 / 2)


def objective(X, y, w, b, alpha, gamma):
    return 0.5 * np.mean((y - X @ w - b) ** 2) + penalty(w, alpha, gamma).sum()


def sample(n=120, p=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, 3 * X[:, 0] - 2 * X[:, 1] + 1.5 * X[:, 2] + 1 + 0.5 * rng.standard_normal(n)


@parametrize_with_checks([MinimaxConcaveRegression(alpha=0.01)])
def test_minimax_concave_regression_keeps_the_estimator_laws(estimator, check):
    check(estimator)


@pytest.mark.parametrize("gamma", [1.5, 3.0, np.inf])
def test_weights_on_orthogonal_columns_are_the_firm_threshold_of_least_squares(gamma):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((64, 12)))[0] * 8  # columns of mean square 1
    z = np.linspace(-3, 3, 12)
    model = MinimaxConcaveRegression(alpha=0.7, gamma=gamma, fit_intercept=False).fit(Q, Q @ z)
    soft = np.sign(z) * np.maximum(np.abs(z) - 0.7, 0) / (1 - 1 / gamma)
    np.testing.assert_allclose(model.coef_, np.where(np.abs(z) > gamma * 0.7, z, soft), atol=1e-6)


def test_strong_effects_get_their_least_squares_weights_and_the_others_none():
    X, y = sample()
    model = MinimaxConcaveRegression(alpha=0.3).fit(X, y)
    oracle = LinearRegression().fit(X[:, :3], y)
    np.testing.assert_allclose(model.coef_, np.append(oracle.coef_, np.zeros(27)), atol=1e-6)
    assert model.intercept_ == pytest.approx(oracle.intercept_, abs=1e-6)
    shrunk = Lasso(alpha=0.3).fit(X, y)
    assert np.all(np.abs(shrunk.coef_[:3]) < np.abs(model.coef_[:3]) - 0.1)


def test_an_infinite_gamma_is_the_lasso():
    X, y = sample()
    ours = MinimaxConcaveRegression(alpha=0.2, gamma=np.inf, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, Lasso(alpha=0.2, tol=1e-12).fit(X, y).coef_, atol=1e-6)


def test_where_the_objective_is_convex_after_all_no_other_minimiser_gets_below():
    X, y = sample(p=6)
    alpha, gamma = 0.3, 2 / np.linalg.eigvalsh(np.cov(X.T, bias=True))[0]
    model = MinimaxConcaveRegression(alpha=alpha, gamma=gamma).fit(X, y)
    found = objective(X, y, model.coef_, model.intercept_, alpha, gamma)
    assert model.certificate_.primal == pytest.approx(len(y) * found)
    assert model.certificate_.dual <= len(y) * found
    for seed in range(5):
        start = np.random.default_rng(seed).standard_normal(7)
        options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000, "adaptive": True}
        other = minimize(
            lambda v: objective(X, y, v[:6], v[6], alpha, gamma), start, method="Nelder-Mead", options=options
        )
        assert found <= other.fun + 1e-9


@pytest.mark.parametrize("scale", [1.0, 0.05, 20.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_what_is_found_is_stationary_whatever_the_scale_of_the_columns(scale, fit_intercept):
    X, y = sample(n=80, p=200)
    X = X * np.geomspace(1 / scale, scale, 200)
    model = MinimaxConcaveRegression(alpha=0.05, gamma=2.0, fit_intercept=fit_intercept, max_iter=100_000).fit(X, y)
    w, flat = model.coef_, np.abs(model.coef_) >= 0.1
    g = X.T @ (X @ w + model.intercept_ - y) / len(y)
    left = np.where(
        w == 0,
        np.maximum(np.abs(g) - 0.05, 0),
        np.abs(g + np.where(flat, 0, np.sign(w) * 0.05 - w / 2)),
    )
    assert left.max() <= 1.1e-6 * 0.05 + 1e-13
    assert model.stationarity_ <= 1e-6


def test_sparse_columns_weights_and_targets_change_nothing_but_the_form():
    X, y = sample()
    X[np.abs(X) < 1] = 0
    s = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.arange(len(y)).repeat(s)
    model = MinimaxConcaveRegression(alpha=0.2)
    dense = model.fit(X, y, s).coef_
    np.testing.assert_allclose(model.fit(sp.csr_matrix(X), y, s).coef_, dense, atol=1e-6)
    np.testing.assert_allclose(model.fit(X[rows], y[rows]).coef_, dense, atol=1e-6)
    both = model.fit(X, np.column_stack([y, -y]), s)
    np.testing.assert_allclose(both.coef_, [dense, -dense], atol=1e-6)
    assert both.stationarity_.shape == (2,)


def test_too_few_rounds_are_said_with_the_distance_and_a_remedy():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 20)) + 10 * rng.standard_normal((50, 1))
    with pytest.warns(ConvergenceWarning, match="stationarity is .* Increase max_iter"):
        MinimaxConcaveRegression(alpha=1e-3, gamma=2.0, max_iter=1).fit(X, X @ np.arange(20.0))
