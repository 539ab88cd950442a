"""What every loss keeps as a fit of a linear machine, a newcomer included: its own objective, its bound, its bytes."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from tallywise import _native
from tallywise.linear import LinearSVC, LinearSVR, _margin_fit

EPSILON = 0.3
BINARY, NUMBERS = (sorted(_margin_fit.losses(binary=binary)) for binary in (True, False))
SPARSE = [name for name in BINARY if _native.loss_traits(name)["plain"]]
losses = pytest.mark.parametrize("name", BINARY + NUMBERS)
shapes = pytest.mark.parametrize("shape", [(150, 6), (60, 900)], ids=["narrow", "wide"])


def machine(name, **options):
    """The estimator that offers the loss."""
    if name in BINARY:
        return LinearSVC(loss=name, **options)
    return LinearSVR(loss=name, epsilon=EPSILON, **options)


def data(name, shape, seed=0):
    """Samples of which every tenth is far on the wrong side, with weights of which some are zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape) / np.sqrt(shape[1])
    z = 5 * X @ rng.standard_normal(shape[1]) + 0.5
    z[::10] *= -20
    s = rng.choice([0.0, 0.7, 1.0, 3.0], shape[0])
    return X, np.where(z > 0, 1.0, -1.0) if name in BINARY else z, s


def at(name, what, y, z):
    return np.array([_native.loss_at(name, EPSILON, *pair)[what] for pair in zip(y, z, strict=True)])


@losses
@shapes
@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize("C", [0.1, 20.0])
def test_fits_close_a_gap_that_no_other_minimiser_gets_below(name, shape, intercept, C):
    X, y, s = data(name, shape)
    penalised = np.append(np.ones(shape[1]), float(intercept == "penalised"))

    def objective(v):
        z = X @ v[:-1] + v[-1]
        pull = C * s * at(name, "gradient", y, z)
        value = 0.5 * penalised @ v**2 + C * s @ at(name, "value", y, z)
        return value, penalised * v + np.append(X.T @ pull, pull.sum())

    model = machine(name, C=C, intercept=intercept, tol=1e-8, max_iter=200_000).fit(X, y, s)
    primal, _ = objective(np.append(model.coef_.ravel(), model.intercept_))
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert model.certificate_.relative_gap <= 1e-8
    twin = minimize(objective, np.zeros(shape[1] + 1), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9})
    assert model.certificate_.dual <= twin.fun * (1 + 1e-12)
    if np.isfinite(_native.loss_traits(name)["smoothness"]):
        assert primal == pytest.approx(twin.fun, rel=2e-8)


@losses
@shapes
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_fits_are_the_same_bytes_for_any_number_of_threads(name, shape, form):
    X, y, s = data(name, shape)
    fits = [machine(name, n_jobs=threads).fit(form(X), y, s) for threads in (1, 2, 4, 8)]
    assert len({fit.coef_.tobytes() + fit.intercept_.tobytes() for fit in fits}) == 1


@pytest.mark.parametrize("name", BINARY)
@shapes
def test_classes_side_by_side_are_each_what_they_are_alone(name, shape):
    X, _, s = data(name, shape)
    y = np.arange(len(X)) % 9
    options = dict(loss=name, tol=1e-9, max_iter=200_000)
    together = LinearSVC(**options).fit(X, y, s)
    for k in range(9):
        alone = LinearSVC(**options).fit(X, y == k, s)
        np.testing.assert_allclose(together.coef_[k], alone.coef_[0], atol=2e-4)


@pytest.mark.parametrize("name", SPARSE)
@shapes
@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_sparse_fits_close_their_gap_where_no_gradient_is_left(name, shape, intercept):
    X, y, s = data(name, shape)
    model = LinearSVC("l1", name, C=3.0, intercept=intercept, tol=1e-9, max_iter=10_000).fit(X, y, s)
    w, b = model.coef_[0], model.intercept_[0]
    z = X @ w + b
    assert model.certificate_.relative_gap <= 1e-9
    value = np.abs(w).sum() + abs(b) * (intercept == "penalised") + 3 * s @ at(name, "value", y, z)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-9)
    pull = 3 * s * at(name, "gradient", y, z)
    u = X.T @ pull
    assert np.abs(u).max() <= 1 + 1e-3
    np.testing.assert_allclose(u[w != 0], -np.sign(w[w != 0]), atol=1e-3)
    assert abs(pull.sum()) <= (1 if intercept == "penalised" else 0) + 1e-3
    assert 0 < np.count_nonzero(w) <= min(shape)


def test_losses_that_a_machine_has_not_are_refused_with_those_it_has():
    X, y, _ = data("hinge", (20, 2))
    with pytest.raises(ValueError, match=f"'loss' parameter of LinearSVC .*{BINARY[0]}.* Got 'cubic'"):
        LinearSVC(loss="cubic").fit(X, y)
    for name in set(BINARY) - set(SPARSE):
        with pytest.raises(ValueError, match="Unsupported set of arguments"):
            LinearSVC("l1", name).fit(X, y)
    for name in NUMBERS:
        if _native.loss_traits(name)["positive"]:
            with pytest.raises(ValueError, match="'epsilon' parameter of LinearSVR must be above 0"):
                LinearSVR(loss=name, epsilon=0.0).fit(X, y)


@parametrize_with_checks(
    [machine(name) for name in BINARY + NUMBERS] + [LinearSVC("l1", name, intercept="free") for name in SPARSE]
)
def test_machines_keep_the_estimator_laws_with_every_loss(estimator, check):
    check(estimator)
