"""Laws of units, columns and weights, over the support vector machines and the sparse and plain least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tallywise import SVC, SVR, KernelRidge, LinearSVC, LinearSVR, LogisticRegression, OrdinalRegression
from tallywise.errors import NotSeparableError
from tallywise.linear import (
    ElasticNet,
    Lasso,
    LinearRegression,
    MinimaxConcaveRegression,
    Ridge,
)

_TOL = 1e-9


def _elastic_net(a):
    l1, l2 = 0.05 * a, 0.05 * a * a
    return ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), tol=_TOL)


# Each maker gives the estimator whose penalty matches columns a times as large.
_REGRESSORS = {
    "LinearRegression": lambda a: LinearRegression(),
    "Ridge": lambda a: Ridge(alpha=0.3 * a * a),
    "Lasso": lambda a: Lasso(alpha=0.05 * a, tol=_TOL),
    "Lasso, positive": lambda a: Lasso(alpha=0.05 * a, positive=True, tol=_TOL),
    "ElasticNet": _elastic_net,
    "MinimaxConcaveRegression": lambda a: MinimaxConcaveRegression(alpha=0.05 * a, gamma=3.0 / a / a),
    "LinearSVR": lambda a: LinearSVR(C=2.0 / a / a, epsilon=0.1, intercept_scaling=a, tol=_TOL),
    "SVR, linear": lambda a: SVR(kernel="linear", C=2.0 / a / a, tol=1e-6),
    "SVR": lambda a: SVR(gamma=0.2 / a / a, tol=1e-6),
    "KernelRidge": lambda a: KernelRidge(kernel="rbf", gamma=0.2 / a / a, alpha=0.1),
}
_CLASSIFIERS = {
    "LinearSVC": lambda a: LinearSVC(C=1.0 / a / a, intercept_scaling=a, tol=_TOL),
    "LinearSVC, hinge": lambda a: LinearSVC(C=1.0 / a / a, loss="hinge", intercept_scaling=a, tol=_TOL),
    "LinearSVC, free intercept": lambda a: LinearSVC(C=1.0 / a / a, intercept="free", tol=_TOL),
    "LinearSVC, L1": lambda a: LinearSVC(C=1.0 / a, penalty="l1", dual=False, intercept="free", tol=_TOL),
    "LinearSVC, Crammer and Singer": lambda a: LinearSVC(
        C=1.0 / a / a, multi_class="crammer_singer", intercept_scaling=a, tol=_TOL
    ),
    "SVC, linear": lambda a: SVC(kernel="linear", C=1.0 / a / a, tol=1e-6),
    "SVC": lambda a: SVC(gamma=0.2 / a / a, tol=1e-6),
}


def _table(n=90, p=6, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p)))
    y = X @ np.array([1.0, -2.0, 0.0, 0.5, 0.0, 0.0]) + 0.5 * rng.standard_normal(n) + 1.0
    return X, y


def _scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def _labels(y):
    return np.where(y > 1.0, "high", "low")


@pytest.mark.parametrize("unit", [1e-9, 1e-8, 1e-4, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("name", [*_REGRESSORS, *_CLASSIFIERS])
def test_units_of_x_do_not_change_the_scores(name, unit):
    X, y = _table()
    make, target = (_REGRESSORS[name], y) if name in _REGRESSORS else (_CLASSIFIERS[name], _labels(y))
    plain, scaled = make(1.0).fit(X, target), make(unit).fit(unit * X, target)
    expected = _scores(plain, X)
    assert_allclose(_scores(scaled, unit * X), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("unit", [1e-9, 1e-8, 1.0, 1e6, 1e9])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_the_hard_margin_scales_with_x_and_stays_where_x_moves(unit, shift):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((40, 5)) + 2, rng.standard_normal((40, 5)) - 2])
    y = np.repeat([1, -1], 40)
    model = LinearSVC(C=np.inf).fit(unit * (X + shift), y)
    assert_allclose(model.margin_ / unit, LinearSVC(C=np.inf).fit(X, y).margin_, rtol=1e-8)
    assert model.certificate_.relative_gap < 1e-8


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e6])
def test_a_proof_that_classes_cannot_be_separated_holds_in_any_unit(unit):
    rng = np.random.default_rng(1)
    X, y = unit * rng.standard_normal((60, 5)), np.where(rng.random(60) < 0.5, 1, -1)
    with pytest.raises(NotSeparableError) as refusal:
        LinearSVC(C=np.inf).fit(X, y)
    combination = refusal.value.combination
    assert np.abs((combination * y) @ X).max() < 1e-7 * np.abs(X).max()
    assert_allclose(combination[y > 0].sum(), combination[y < 0].sum(), rtol=1e-9)


_CONVEX = [name for name in _REGRESSORS if name.split(",")[0] in {"Lasso", "ElasticNet", "LinearSVR", "SVR"}]


def _certified(name, X, y, **fit):
    """A fit that reaches its certificate: warnings are errors."""
    make, target = (_REGRESSORS[name], y) if name in _REGRESSORS else (_CLASSIFIERS[name], _labels(y))
    model = make(1.0).fit(X, target, **fit)
    certificate = model.certificate_
    assert certificate.relative_gap <= max(model.tol, 1e-12)
    return model


@pytest.mark.parametrize("name", [*_CONVEX, *_CLASSIFIERS])
def test_columns_that_repeat_are_constant_or_nearly_depend_on_others(name):
    X, y = _table()
    rng = np.random.default_rng(5)
    nearly = X[:, :1] + 1e-9 * rng.standard_normal((len(X), 1))
    X = np.hstack([X, X[:, :2], np.full((len(X), 1), 7.0), nearly, X[:, :1] - X[:, 1:2]])
    model = _certified(name, X, y)
    order = rng.permutation(X.shape[1])
    other = _certified(name, X[:, order], y)
    expected = _scores(model, X)
    assert_allclose(_scores(other, X[:, order]), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("digits", [4, 8])
@pytest.mark.parametrize("name", [*_CONVEX, *_CLASSIFIERS])
def test_every_convex_fit_ends_on_badly_conditioned_columns(name, digits):
    rng = np.random.default_rng(7)
    n, p = 150, 12
    U, V = np.linalg.qr(rng.standard_normal((n, p)))[0], np.linalg.qr(rng.standard_normal((p, p)))[0]
    X = np.sqrt(n) * U * np.logspace(0, -digits, p) @ V
    _certified(name, X, X @ rng.standard_normal(p) + 0.3 * rng.standard_normal(n) + 1)


@pytest.mark.parametrize("name", [*_CONVEX, *_CLASSIFIERS])
def test_weights_of_all_magnitudes(name):
    X, y = _table()
    s = 10.0 ** np.random.default_rng(2).uniform(-12, 12, len(y))
    _certified(name, X, y, sample_weight=s / s.mean())


def test_correlated_cubic_features_are_solved_exactly():
    rng = np.random.default_rng(4)
    raw = rng.standard_normal((2000, 5)) @ (np.eye(5) + 0.8 * rng.standard_normal((5, 5)))
    raw = np.exp(0.5 * raw / raw.std(axis=0))
    columns = [raw[:, i] for i in range(5)]
    columns += [raw[:, i] * raw[:, j] for i in range(5) for j in range(i, 5)]
    columns += [raw[:, i] * raw[:, j] * raw[:, k] for i in range(5) for j in range(i, 5) for k in range(j, 5)]
    X = np.array(columns).T
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X[:, :20] @ rng.standard_normal(20) + rng.standard_normal(2000)
    for alpha in (1e-2, 1e-3, 1e-5):
        model = Lasso(alpha=alpha, tol=1e-9).fit(X, y)
        assert model.certificate_.relative_gap <= 1e-9
        assert model.n_iter_ <= 50


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(alpha=0), Lasso(alpha=0), ElasticNet(alpha=0)])
def test_an_exact_fit_gives_no_warning_and_no_gap(model):
    X, _ = _table()
    model.fit(X, X @ np.arange(6.0) + 2)
    assert_allclose(model.coef_, np.arange(6.0), atol=1e-12)
    assert model.certificate_.relative_gap == 0


def test_just_below_the_smallest_penalty_of_zero_weights_a_weight_is_used():
    X, y = _table()
    target = y - y.mean()
    top = np.abs((X - X.mean(axis=0)).T @ target).max() / len(y)
    assert np.count_nonzero(Lasso(alpha=top * 1.0001).fit(X, y).coef_) == 0
    assert np.count_nonzero(Lasso(alpha=top / 1.01).fit(X, y).coef_) == 1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("units", [np.ones(6), 10.0 ** np.arange(-3, 3)])
def test_just_above_the_smallest_c_of_zero_weights_a_weight_is_used(fit_intercept, units):
    X, y = _table()
    X, label = X * units, y > 1.0
    residual = label - (label.mean() if fit_intercept else 0.5)
    smallest = 1 / np.abs(X.T @ residual).max()
    for share, used in ((0.99, 0), (1.01, 1)):
        model = LogisticRegression(C=share * smallest, l1_ratio=1, fit_intercept=fit_intercept).fit(X, label)
        assert np.count_nonzero(model.coef_) == used
        assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("l1", [1e-3, 1.0, 1e3])
def test_ordered_levels_under_l1_take_weights_of_all_magnitudes(link, l1):
    X, y = _table(n=200)
    s = 10.0 ** np.random.default_rng(2).uniform(-12, 12, len(y))
    model = OrdinalRegression(link=link, l1=l1).fit(X, np.digitize(y, [0.0, 1.5, 3.0]), sample_weight=s)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_crammer_and_singer_take_columns_in_raw_units(C):
    rng = np.random.default_rng(6)
    numbers = np.c_[rng.normal(2750, 400, 300), rng.uniform(0, 360, 300), rng.gamma(2, 850, 300)]
    X = np.c_[numbers, np.eye(4)[rng.integers(0, 4, 300)]]
    z = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    y = np.argmax(z @ rng.standard_normal((3, 5)) + rng.gumbel(size=(300, 5)), axis=1)
    model = LinearSVC(C=C, multi_class="crammer_singer").fit(X, y)
    assert model.certificate_.relative_gap <= 1e-7


@pytest.mark.filterwarnings("ignore::tallywise.SeparationWarning")
def test_many_classes_without_a_penalty_on_columns_of_all_sizes_end():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((41, 12)) * 10.0 ** rng.uniform(-3, 11, 12)
    y = np.r_[np.arange(20), rng.integers(0, 20, 21)]
    model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.n_iter_[0] < model.max_iter


def test_values_whose_products_overflow_are_refused_in_plain_words():
    X, y = _table()
    with pytest.raises(ValueError, match="too large"):
        MinimaxConcaveRegression().fit(X * 1e200, y * 1e200)


def test_the_bounds_of_a_hinge_fit_hold_in_fifty_digits():
    mpmath = pytest.importorskip("mpmath")
    X, y = _table(n=40)
    signs, C = np.where(y > 1.0, 1, -1), 0.7
    model = LinearSVC(C=C, loss="hinge", tol=1e-9).fit(X, signs)
    margins = signs * model.decision_function(X)
    inside, on = np.flatnonzero(margins < 1 - 1e-6), np.flatnonzero(np.abs(margins - 1) <= 1e-6)
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(float(x)) * int(sign) for x in [*row, 1.0]] for row, sign in zip(X, signs, strict=True)]
        bound = mpmath.mpf(C)
        fixed = [sum(bound * rows[i][j] for i in inside) for j in range(7)]
        gram = mpmath.matrix([[mpmath.fdot(rows[i], rows[k]) for k in on] for i in on])
        rest = mpmath.matrix([1 - mpmath.fdot(rows[i], fixed) for i in on])
        a = mpmath.lu_solve(gram, rest)
        assert all(0 <= value <= bound for value in a)  # the optimum, by its own conditions
        w = [fixed[j] + sum(a[k] * rows[i][j] for k, i in enumerate(on)) for j in range(7)]
        losses = [max(mpmath.mpf(0), 1 - mpmath.fdot(row, w)) for row in rows]
        optimum = mpmath.fdot(w, w) / 2 + bound * mpmath.fsum(losses)
        ulp = 1e-15 * optimum
        assert model.certificate_.dual <= optimum + ulp
        assert model.certificate_.primal >= optimum - ulp
