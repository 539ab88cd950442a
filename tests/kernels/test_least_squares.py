"""Kernel ridge, the least mean squares iteration, and the kernel perceptron."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.kernel_ridge
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from benchmarks import datasets
from tallywise import kernels
from tallywise.kernels import KernelLeastMeanSquares, KernelPerceptron, KernelRidge
from tests.reference import kernel as reference

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=60)
Y = np.c_[y, X[:, 1] * X[:, 2], np.cos(X[:, 3])]
WEIGHTS = RNG.uniform(0.2, 2, size=60)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "cosine", "sigmoid"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_ridge_equals_scikit_learn(kernel, weights):
    given = {"alpha": [0.5, 1.0, 2.0], "kernel": kernel, "gamma": 0.05}
    ours = KernelRidge(**given).fit(X, Y, weights)
    theirs = sklearn.kernel_ridge.KernelRidge(**{**given, "alpha": np.array(given["alpha"])}).fit(X, Y, weights)
    assert np.allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-8)


def test_ridge_takes_pairwise_callables_and_matrices():
    K = kernels.Gaussian(gamma=0.3)(X)
    plain = KernelRidge(kernel="rbf", gamma=0.3).fit(X, y)
    own = KernelRidge(kernel=lambda x, z: np.exp(-0.3 * ((x - z) ** 2).sum())).fit(X, y)
    given = KernelRidge(kernel="precomputed").fit(K, y)
    sparse = KernelRidge(kernel="rbf", gamma=0.3).fit(sp.csr_matrix(X), y)
    assert np.allclose(own.dual_coef_, plain.dual_coef_)
    assert np.allclose(given.predict(K), plain.predict(X))
    assert np.allclose(sparse.predict(sp.csr_matrix(X)), plain.predict(X))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_leave_one_out_residuals_equal_refits(weights):
    fitted = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.3).fit(X, Y, weights)
    for i in (0, 17, 59):
        keep = np.arange(60) != i
        refit = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.3).fit(
            X[keep], Y[keep], None if weights is None else weights[keep]
        )
        assert np.allclose(fitted.leave_one_out_residuals_[i], Y[i] - refit.predict(X[i : i + 1])[0], atol=1e-9)


def test_a_sample_without_weight_has_the_residual_of_the_fit():
    weights = WEIGHTS.copy()
    weights[5] = 0
    fitted = KernelRidge(kernel="rbf", gamma=0.3).fit(X, y, weights)
    assert fitted.leave_one_out_residuals_[5] == pytest.approx(y[5] - fitted.predict(X[5:6])[0])


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_conjugate_gradients_reach_the_closed_form(weights):
    direct = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.3).fit(X, Y, weights)
    walked = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.3, solver="cg", tol=1e-12).fit(X, Y, weights)
    assert np.allclose(direct.dual_coef_, walked.dual_coef_, atol=1e-9)
    assert walked.n_iter_ > 1
    with pytest.warns(ConvergenceWarning, match="residual of"):
        KernelRidge(alpha=1e-6, kernel="rbf", solver="cg", max_iter=2).fit(X, y)


def test_a_singular_matrix_falls_back_to_least_squares():
    with pytest.warns(UserWarning, match="Singular matrix"):
        fitted = KernelRidge(alpha=0).fit(X, X @ np.ones(4))
    assert np.allclose(fitted.predict(X), X @ np.ones(4))


def test_least_mean_squares_follows_the_notes_step_by_step():
    K = kernels.Gaussian(gamma=0.5)(X)
    fitted = KernelLeastMeanSquares(gamma=0.5, step=0.02, max_iter=50, tol=0).fit(X, y)
    beta, losses = reference.least_mean_squares(K, y, 0.02, 50)
    assert np.allclose(fitted.dual_coef_, beta)
    assert np.allclose(fitted.trajectory_, losses)
    assert np.allclose(fitted.predict(X), K @ beta)
    # (I - (I - aK)^t) y in closed form
    values, vectors = np.linalg.eigh(K)
    assert np.allclose(K @ beta, vectors @ ((1 - (1 - 0.02 * values) ** 50) * (vectors.T @ y)))


def test_a_safe_step_never_raises_the_loss_and_tends_to_the_limit():
    few, target = X[:12], y[:12]
    fitted = KernelLeastMeanSquares(gamma=2.0, max_iter=20_000, tol=0).fit(few, target)
    assert (np.diff(fitted.trajectory_) <= 1e-12).all()
    assert np.allclose(fitted.dual_coef_, fitted.limit(), atol=1e-6)
    assert np.allclose(kernels.Gaussian(gamma=2.0)(few) @ fitted.limit(), target)


def test_a_step_too_long_is_refused():
    with pytest.raises(ValueError, match="diverges"):
        KernelLeastMeanSquares(gamma=0.1, step=10.0).fit(X, y)


def test_perceptron_keeps_novikoffs_bound():
    A, labels = load_iris(return_X_y=True)
    fitted = KernelPerceptron("linear", max_iter=1000).fit(A, labels == 0)
    assert fitted.separable_.all()
    assert fitted.margin_[0] > 0
    assert fitted.mistakes_[0] <= fitted.mistake_bound_[0]
    assert fitted.score(A, labels == 0) == 1


def test_perceptron_counts_mistakes_as_the_textbook_does():
    K = kernels.Polynomial(2)(X) + 1
    sign = np.where(y > 0, 1.0, -1.0)
    beta, mistakes = np.zeros(60), 0
    for _ in range(20):
        wrong = 0
        for i in range(60):
            if sign[i] * (beta @ K[i]) <= 0:
                beta[i] += sign[i]
                wrong += 1
        mistakes += wrong
        if not wrong:
            break
    fitted = KernelPerceptron(kernels.Polynomial(2), max_iter=20).fit(X, y > 0)
    assert np.array_equal(fitted.dual_coef_[0], beta)
    assert fitted.mistakes_[0] == mistakes


def test_averaging_helps_where_classes_overlap():
    A, labels = datasets.spambase()
    A = (A - A.mean(0)) / A.std(0)
    order = np.random.default_rng(0).permutation(len(A))[:1500]
    train, test = order[:1000], order[1000:]
    scores = {}
    for average in (False, True):
        fitted = KernelPerceptron("linear", max_iter=5, average=average).fit(A[train], labels[train])
        scores[average] = fitted.score(A[test], labels[test])
    assert scores[True] > scores[False] - 0.01
    assert scores[True] > 0.85
    many = KernelPerceptron(gamma=1.0).fit(*load_iris(return_X_y=True))
    assert many.score(*load_iris(return_X_y=True)) > 0.95
    assert many.decision_function(load_iris().data).shape == (150, 3)
