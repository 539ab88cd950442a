"""Laws of the fits to labels, unordered and ordered, in any units and under any conditioning."""

import numpy as np
import pytest
import scipy.sparse as sp

from tallywise.linear import LogisticRegression, OrdinalRegression

# name: (classes, L1 and L2 strength, the model for them)
FITS = {
    "binary, L2": (2, 0.0, 1.0),
    "binary, L1": (2, 2.0, 0.0),
    "binary, none": (2, 0.0, 0.0),
    "multinomial, L2": (3, 0.0, 1.0),
    "multinomial, L1": (3, 2.0, 0.0),
    "multinomial, none": (3, 0.0, 0.0),
    "ordinal, L2": (4, 0.0, 1.0),
    "ordinal, L1": (4, 2.0, 0.0),
    "ordinal, both": (4, 1.0, 1.0),
    "ordinal, none": (4, 0.0, 0.0),
}
every_fit = pytest.mark.parametrize("name", FITS)
TOL = 1e-9


def model(name, a=1.0, weight=1.0):
    """The model with its penalty for columns in units of 1/a and samples that weigh `weight` times as much."""
    _, l1, l2 = FITS[name]
    l1, l2 = l1 * a * weight, l2 * a * a * weight
    if name.startswith("ordinal"):
        return OrdinalRegression(l1=l1, l2=l2, tol=TOL, max_iter=1000)
    total = l1 + l2
    return LogisticRegression(
        C=1 / total if total else np.inf, l1_ratio=l1 / total if total else 0.0, tol=TOL, max_iter=1000
    )


def data(name, n=150, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-1, 2, p)
    classes = FITS[name][0]
    if name.startswith("ordinal"):
        z = X[:, 0] / X[:, 0].std() + rng.logistic(size=n)
        return X, np.digitize(z, np.quantile(z, np.linspace(0, 1, classes + 1)[1:-1]))
    return X, np.argmax(X[:, :classes] / X[:, :classes].std(0) + rng.gumbel(size=(n, classes)), axis=1)


def converged(fitted):
    assert fitted.certificate_.relative_gap <= fitted.tol
    return fitted


def probabilities_agree(one, other, X, Y, atol=1e-5):
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(Y), atol=atol)


@every_fit
@pytest.mark.parametrize("a", [1e-9, 1e-4, 1e4, 1e9])
def test_the_units_of_x_do_not_matter(name, a):
    X, y = data(name)
    plain, scaled = converged(model(name).fit(X, y)), converged(model(name, a=a).fit(a * X, y))
    probabilities_agree(plain, scaled, X, a * X)


@every_fit
@pytest.mark.parametrize("weight", [1e-12, 1e12])
def test_the_units_of_the_weights_do_not_matter(name, weight):
    X, y = data(name)
    s = np.random.default_rng(1).uniform(0.5, 2, len(y))
    plain = converged(model(name).fit(X, y, sample_weight=s))
    heavy = converged(model(name, weight=weight).fit(X, y, sample_weight=weight * s))
    probabilities_agree(plain, heavy, X, X)


@pytest.mark.parametrize("name", [name for name in FITS if name != "ordinal, L1"])
def test_weights_of_any_size_side_by_side_converge(name):
    X, y = data(name)
    s = 10.0 ** np.random.default_rng(1).uniform(-12, 12, len(y))
    if name.endswith("none"):
        s = s**0.25  # a few samples alone would be separable
    # Sums over weights of 1e12 round to 1e-4, beside an L1 strength of 2.
    converged(model(name).set_params(tol=1e-4).fit(X, y, sample_weight=s))


@every_fit
def test_columns_in_raw_units_converge(name):
    X, y = data(name)
    raw = X * 10.0 ** np.arange(-4, 8, 2) + np.array([0, 3e3, 0, 1e6, 0, 0])
    converged(model(name).set_params(tol=1e-6).fit(raw, y))


@every_fit
def test_the_order_of_columns_does_not_matter(name):
    X, y = data(name)
    turn = np.random.default_rng(2).permutation(X.shape[1])
    probabilities_agree(model(name).fit(X, y), model(name).fit(X[:, turn], y), X, X[:, turn])


@every_fit
def test_a_constant_column_changes_nothing(name):
    X, y = data(name)
    for constant in (7.0, 1e6, 0.0):
        Y = np.column_stack([X, np.full(len(X), constant)])
        fitted = converged(model(name).fit(Y, y))
        probabilities_agree(model(name).fit(X, y), fitted, X, Y)


@every_fit
def test_a_column_given_twice_is_one_column(name):
    X, y = data(name)
    Y = np.column_stack([X, X[:, 0]])
    fitted = converged(model(name).fit(Y, y))
    if FITS[name][2] == 0:
        probabilities_agree(model(name).fit(X, y), fitted, X, Y)
        return
    # Under L2 two halves cost half as much as one.
    weights = np.atleast_2d(fitted.coef_)
    np.testing.assert_allclose(weights[:, 0], weights[:, -1], atol=1e-4 * np.abs(weights).max())


@every_fit
@pytest.mark.parametrize("off", [1e-3, 1e-6])
def test_nearly_equal_columns_converge(name, off):
    X, y = data(name)
    noise = np.random.default_rng(3).normal(size=len(X))
    converged(model(name).fit(np.column_stack([X, X[:, 0] + off * noise]), y))


@every_fit
@pytest.mark.parametrize("condition", [1e4, 1e8])
def test_ill_conditioned_columns_converge(name, condition):
    X, y = data(name)
    U, _, V = np.linalg.svd(X - X.mean(0), full_matrices=False)
    if name.endswith("none"):
        condition = condition**0.5  # Newton's system has its square
    converged(model(name).fit(U * np.geomspace(10, 10 / condition, X.shape[1]) @ V, y))


@every_fit
def test_sparse_and_dense_are_one_model(name):
    X, y = data(name)
    X[np.abs(X) < 0.5] = 0
    probabilities_agree(model(name).fit(X, y), model(name).fit(sp.csr_matrix(X), y), X, X)
