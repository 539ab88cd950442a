"""The perceptron and its theory, and least mean squares."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

from tallywise.errors import DivergenceError
from tallywise.linear import LeastMeanSquares, LinearSVC, Perceptron


@parametrize_with_checks([Perceptron(), Perceptron(averaged=True), LeastMeanSquares()])
def test_perceptron_and_least_mean_squares_keep_the_estimator_laws(estimator, check):
    with warnings.catch_warnings():
        # Blobs that overlap, weights of 1000 and 0.0001: scikit-learn's own class warns here too.
        if isinstance(estimator, Perceptron) and check.func.__name__ == "check_class_weight_classifiers":
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def separable(n=60, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((n, p)), rng.standard_normal(p)
    y = np.where(X @ w > 0, 1, -1)
    return X + 0.3 * y[:, None] * w, y


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet"])
@pytest.mark.parametrize("classes", [2, 3, 9])
def test_in_the_given_order_weights_are_those_of_scikit_learn(as_sparse, penalty, classes):
    X, y = make_classification(120, 8, n_informative=5, n_classes=classes, flip_y=0.2, random_state=0)
    X = sp.csr_matrix(X) if as_sparse else X
    options = dict(shuffle=False, max_iter=12, tol=None, penalty=penalty, alpha=1e-3, eta0=0.5)
    ours = Perceptron(**options).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(**options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-9)


def test_stopping_on_the_loss_takes_as_many_passes_as_scikit_learn():
    X, y = make_classification(200, 8, flip_y=0.3, random_state=1)
    ours = Perceptron(shuffle=False).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(shuffle=False).fit(X, y)
    assert ours.n_iter_ == theirs.n_iter_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)


def test_class_weights_scale_the_steps_as_in_scikit_learn():
    X, y = make_classification(150, 6, weights=[0.8], flip_y=0.1, random_state=2)
    for weight in ("balanced", {0: 2.0, 1: 0.3}):
        ours = Perceptron(shuffle=False, class_weight=weight, max_iter=9, tol=None).fit(X, y)
        theirs = sklearn.linear_model.Perceptron(shuffle=False, class_weight=weight, max_iter=9, tol=None).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)


def test_partial_fit_in_pieces_is_one_pass():
    X, y = make_classification(90, 6, random_state=3)
    whole = Perceptron(shuffle=False, max_iter=1, tol=None).fit(X, y)
    pieces = Perceptron(shuffle=False)
    for rows in np.split(np.arange(90), 3):
        pieces.partial_fit(X[rows], y[rows], classes=[0, 1])
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)
    assert pieces.mistakes_ == whole.mistakes_


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_stay_below_the_bound_and_the_last_pass_is_clean(seed):
    X, y = separable(seed=seed)
    model = Perceptron(check_separable=True, random_state=seed).fit(X, y)
    assert model.separable_ is True
    assert model.score(X, y) == 1.0
    assert model.mistakes_ <= model.mistake_bound_
    signed = y[:, None] * np.column_stack([X, np.ones(len(y))])
    w = np.append(model.coef_, model.intercept_)
    own = (signed @ (w / np.linalg.norm(w))).min()
    assert own <= model.margin_
    best = LinearSVC(C=np.inf, intercept="penalised").fit(X, y)
    length = np.hypot(np.linalg.norm(best.coef_), best.intercept_[0])
    assert model.margin_ == pytest.approx(1 / length, rel=1e-6)
    assert model.mistake_bound_ == pytest.approx((signed**2).sum(axis=1).max() * length**2, rel=1e-6)


def test_the_margin_of_the_separator_found_is_a_bound_too():
    X, y = separable(seed=7)
    model = Perceptron(tol=None).fit(X, y)
    assert 0 < model.margin_
    assert model.mistakes_ <= model.mistake_bound_


def test_data_that_cannot_be_separated_are_said_before_the_start():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.integers(0, 2, 50)
    with pytest.warns(ConvergenceWarning, match="No hyperplane separates"):
        model = Perceptron(check_separable=True, max_iter=20, tol=1e-3).fit(X, y)
    assert model.separable_ is False
    assert model.margin_ == 0
    assert model.mistake_bound_ == np.inf


def test_the_average_is_the_mean_over_all_samples_met():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 3)), rng.choice([-1, 1], 40)
    w, total = np.zeros(4), np.zeros(4)
    rows = np.column_stack([X, np.ones(len(y))])
    for _ in range(3):
        for x, sign in zip(rows, y, strict=True):
            if sign * (w @ x) <= 0:
                w = w + sign * x
            total += w
    model = Perceptron(averaged=True, shuffle=False, max_iter=3, tol=None).fit(X, y)
    assert model.n_iter_ == 3
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, total / (3 * len(y)), rtol=1e-10)


def test_neither_the_order_of_rows_nor_the_form_of_repeats_matters():
    X, y = make_classification(60, 5, flip_y=0.1, random_state=5)
    s = np.random.default_rng(0).integers(0, 4, 60)
    order = np.random.default_rng(1).permutation(60)
    weighted = Perceptron(tol=None, max_iter=7).fit(X[order], y[order], sample_weight=s[order])
    repeated = Perceptron(tol=None, max_iter=7).fit(X.repeat(s, axis=0), y.repeat(s))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-12)


@pytest.mark.parametrize("averaged", [False, True])
def test_heavy_samples_are_presented_in_one_go(averaged):
    X, y = make_classification(40, 5, flip_y=0.1, random_state=6)
    s = np.random.default_rng(0).integers(1, 40, 40)
    options = dict(shuffle=False, tol=None, max_iter=6, averaged=averaged)
    heavy = Perceptron(**options).fit(X, y, sample_weight=s)
    repeated = Perceptron(**options).fit(X.repeat(s, axis=0), y.repeat(s))
    np.testing.assert_allclose(heavy.coef_, repeated.coef_, rtol=1e-9)
    assert heavy.mistakes_ == repeated.mistakes_
    assert np.isfinite(Perceptron(**options).fit(X, y, sample_weight=1e12 * s).coef_).all()
    with pytest.raises(ValueError, match="Scale sample_weight down"):
        Perceptron(penalty="l2").fit(X, y, sample_weight=1e12 * s)


@pytest.mark.parametrize("classes", [4, 9, 27])
@pytest.mark.parametrize("options", [{}, {"averaged": True}, {"penalty": "elasticnet", "tol": 1e-2}])
def test_threads_do_not_change_the_perceptron(classes, options):
    X, y = make_classification(400, 12, n_informative=10, n_classes=classes, random_state=0)
    for design in (X, sp.csr_matrix(np.where(np.abs(X) > 1, X, 0))):
        one = Perceptron(n_jobs=1, **options).fit(design, y)
        for threads in (2, 4, 8):
            assert Perceptron(n_jobs=threads, **options).fit(design, y).coef_.tobytes() == one.coef_.tobytes()


@pytest.mark.parametrize("options", [{}, {"averaged": True}, {"penalty": "l1", "alpha": 1e-3}])
def test_a_class_learns_the_same_in_any_company(options):
    """Some classes are separable and end early; those that go on must not depend on who went beside them."""
    rng = np.random.default_rng(0)
    codes = np.arange(600) % 15
    X = 0.6 * rng.standard_normal((600, 15))
    X[np.arange(600), codes] += np.where(codes < 8, 6.0, 1.0)
    options = {"shuffle": False, "max_iter": 30, "tol": None, **options}
    together = Perceptron(**options).fit(X, codes)
    for k in range(15):
        alone = Perceptron(**options).fit(X, codes == k)
        np.testing.assert_allclose(together.coef_[k], alone.coef_[0], rtol=1e-9, atol=1e-9)
        assert together.mistakes_[k] == alone.mistakes_


# --- least mean squares ---


def cubic(n=40):
    x = np.linspace(-1, 1, n)
    return x[:, None], 1 - 2 * x + 0.5 * x**2 + x**3


@pytest.mark.parametrize("method", ["batch", "stochastic"])
def test_gradient_finds_the_least_squares_fit(method):
    X, y = cubic()
    model = LeastMeanSquares(
        PolynomialFeatures(3, include_bias=False), method=method, max_iter=50_000, tol=1e-14, record=1000
    )
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, [-2, 0.5, 1], atol=1e-3)
    assert model.intercept_ == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-3)


def test_batch_trajectory_is_the_recursion_written_out():
    X, y = cubic()
    model = LeastMeanSquares(step=0.01, max_iter=20, tol=0.0)
    with pytest.warns(ConvergenceWarning, match="still falls"):
        model.fit(X, y)
    rows, theta = np.column_stack([X, np.ones(len(y))]), np.zeros(2)
    for point in model.trajectory_:
        np.testing.assert_allclose(point, theta, atol=1e-12)
        theta = theta + 0.01 * rows.T @ (y - rows @ theta)
    assert model.losses_[0] == pytest.approx(0.5 * (y**2).sum())


def test_the_safe_step_is_below_the_largest_eigenvalue():
    X, y = cubic()
    model = LeastMeanSquares(max_iter=20_000).fit(X, y)
    rows = np.column_stack([X, np.ones(len(y))])
    top = np.linalg.eigvalsh(rows.T @ rows)[-1]
    assert 0.9 / top < model.step_ < 1 / top
    assert np.all(np.diff(model.losses_) <= 1e-12)


@pytest.mark.parametrize("method", ["batch", "stochastic"])
def test_a_step_that_diverges_is_caught_and_a_safe_one_named(method):
    X, y = cubic()
    with pytest.raises(DivergenceError, match=r"too large: .* is safe") as caught:
        LeastMeanSquares(step=5.0, method=method).fit(X, y)
    assert caught.value.losses[-1] > caught.value.losses[0]
    assert len(caught.value.trajectory) == len(caught.value.losses)


def test_long_trajectories_stay_bounded():
    X = np.random.default_rng(0).standard_normal((5, 200_000))
    model = LeastMeanSquares(max_iter=200, tol=0.0, step=1e-9)
    with pytest.warns(ConvergenceWarning, match="still falls"):
        model.fit(X, X[:, 0])
    assert model.trajectory_.nbytes <= 2**27 + X.nbytes
    assert len(model.trajectory_) == len(model.losses_) < 200
    assert np.all(np.diff(model.losses_) <= 0)


def test_feature_maps_that_are_none_are_refused():
    X, y = cubic()
    with pytest.raises(ValueError, match="must be a function"):
        LeastMeanSquares("cubic").fit(X, y)
    with pytest.raises(ValueError, match="must give a matrix of 40 rows"):
        LeastMeanSquares(lambda X: X[:3]).fit(X, y)
