"""SVC and SVR: the optimum, its proof, scikit-learn's attributes, and odd input."""

import itertools
import pickle
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from benchmarks import datasets
from tallywise import kernels
from tallywise.errors import NotSeparableError
from tallywise.kernels import SVC, SVR
from tests.reference import kernel as reference

IRIS = load_iris(return_X_y=True)


def dual_value(fitted, K, y):
    """Dual objective of a two-class machine, in float64 from its coefficients."""
    beta = np.zeros(len(y))
    beta[fitted.support_] = np.ravel(np.asarray(sp.csr_array(fitted.dual_coef_).todense()))
    return np.abs(beta).sum() - 0.5 * beta @ K @ beta


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_dual_optimum_equals_a_general_solver(C):
    X, y = make_classification(40, 5, random_state=0)
    fitted = SVC(C=C, gamma=0.3).fit(X, y)
    K = reference.gram(lambda x, z: reference.gaussian(x, z, 0.3), X, X)
    expected = reference.svc_dual(K, np.where(y == 1, 1.0, -1.0), C)
    assert fitted.certificate_.dual == pytest.approx(expected, rel=1e-7)
    assert fitted.certificate_.primal == pytest.approx(expected, rel=1e-6)
    assert dual_value(fitted, K, y) == pytest.approx(fitted.certificate_.dual, rel=1e-12)


def real(which):
    if which == "a9a":
        X, y = datasets.svmlight("a9a")
        return X[:10_000], y[:10_000], {"gamma": 0.05}
    if which == "spambase":
        X, y = datasets.spambase()
        return (X - X.mean(0)) / X.std(0), y, {}
    X, y = datasets.mnist()
    X, y = X[:10_000], y[:10_000]
    chosen = np.isin(y, (3, 5, 8))
    return X[chosen], y[chosen], {"C": 10, "gamma": 0.02}


@pytest.mark.parametrize("which", ["a9a", "spambase", "mnist"])
def test_real_data_give_libsvms_optimum_and_predictions(which):
    X, y, parameters = real(which)
    ours = SVC(tol=1e-5, **parameters).fit(X, y)
    theirs = sklearn.svm.SVC(tol=1e-5, **parameters).fit(X, y)
    assert ours.certificate_.relative_gap <= 1e-5
    if len(ours.classes_) == 2:
        rows = np.union1d(ours.support_, theirs.support_)
        gamma = ours._gamma
        K = kernels.Gaussian(gamma=gamma)(X[rows])
        place = {row: k for k, row in enumerate(rows)}
        duals = []
        for fitted in (ours, theirs):
            beta = np.zeros(len(rows))
            at = [place[row] for row in fitted.support_]
            beta[at] = np.ravel(fitted.dual_coef_.toarray() if sp.issparse(fitted.dual_coef_) else fitted.dual_coef_)
            duals.append(np.abs(beta).sum() - 0.5 * beta @ K @ beta)
        assert duals[0] == pytest.approx(duals[1], rel=1e-6)
        assert duals[0] == pytest.approx(ours.certificate_.dual, rel=1e-9)
    scores = theirs.decision_function(X[:2000])
    assert np.abs(ours.decision_function(X[:2000]) - scores).max() < 1e-3
    assert np.array_equal(ours.predict(X[:2000]), theirs.predict(X[:2000]))


def test_wine_regression_gives_libsvms_optimum_and_predictions():
    X, y = datasets.wine()
    X = (X - X.mean(0)) / X.std(0)
    ours, theirs = SVR(tol=1e-6).fit(X, y), sklearn.svm.SVR(tol=1e-6).fit(X, y)
    assert ours.certificate_.relative_gap <= 1e-6
    assert np.abs(ours.predict(X) - theirs.predict(X)).max() < 1e-4
    beta = np.zeros(len(y))
    beta[ours.support_] = ours.dual_coef_[0]
    K = kernels.Gaussian(gamma=ours._gamma)(X)
    assert reference.svr_primal(K, beta, ours.intercept_[0], y, 1.0, 0.1) == pytest.approx(
        ours.certificate_.primal, rel=1e-10
    )
    assert beta @ y - 0.1 * np.abs(beta).sum() - 0.5 * beta @ K @ beta == pytest.approx(
        ours.certificate_.dual, rel=1e-10
    )


def test_a_solve_that_shrinks_reaches_the_optimum_of_one_that_does_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 6))
    y = (X[:, 0] * X[:, 1] + 0.7 * rng.normal(size=6000) > 0).astype(int)
    quick, slow = SVC(gamma=0.3, tol=1e-5).fit(X, y), SVC(gamma=0.3, tol=1e-5, shrinking=False).fit(X, y)
    assert quick.certificate_.dual == pytest.approx(slow.certificate_.dual, rel=1e-7)
    r = X[:, 0] + 0.3 * rng.normal(size=6000)
    quick, slow = SVR(gamma=0.3, tol=1e-5).fit(X, r), SVR(gamma=0.3, tol=1e-5, shrinking=False).fit(X, r)
    assert quick.certificate_.dual == pytest.approx(slow.certificate_.dual, rel=1e-7)


def test_the_certificate_is_exact_where_most_points_are_far_from_the_margin():
    """Sums of points that are clear of the margin are made in single precision, and bear on neither objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    X[:, 0] += 3 * np.sign(X[:, 0])
    y = (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] > 0).astype(int)
    fitted = SVC(gamma=0.2, C=10).fit(X, y)
    assert len(fitted.support_) < 1000
    beta = np.zeros(len(X))
    beta[fitted.support_] = fitted.dual_coef_[0]
    f = kernels.Gaussian(gamma=0.2)(X) @ beta
    loss = np.maximum(0, 1 - (2 * y - 1) * (f + fitted.intercept_[0])).sum()
    assert 0.5 * beta @ f + 10 * loss == pytest.approx(fitted.certificate_.primal, rel=1e-10)
    assert np.abs(beta).sum() - 0.5 * beta @ f == pytest.approx(fitted.certificate_.dual, rel=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_attributes_are_laid_out_as_in_scikit_learn(kernel, container):
    X, y = container(IRIS[0]), IRIS[1]
    given = {"kernel": kernel, "tol": 1e-8}
    theirs = sklearn.svm.SVC(**given).fit(X, y)
    with pytest.warns(UserWarning, match="stationary point") if kernel == "sigmoid" else nullcontext():
        ours = SVC(**given).fit(X, y)
    assert np.array_equal(ours.support_, theirs.support_)
    assert np.array_equal(ours.n_support_, theirs.n_support_)
    assert np.allclose(_dense(ours.dual_coef_), _dense(theirs.dual_coef_), atol=1e-3)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert np.allclose(_dense(ours.support_vectors_), _dense(theirs.support_vectors_))
    assert ours.shape_fit_ == theirs.shape_fit_
    # LIBSVM's kernel values are float32: scores of pairs are good to 2e-4, and its optimum lies below ours if at all.
    for shape, atol in (("ovr", 2e-5), ("ovo", 2e-4)):
        ours.set_params(decision_function_shape=shape)
        theirs.set_params(decision_function_shape=shape)
        assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=atol)
    K = ours._kernel(X)
    assert pair_duals(ours, K) >= pair_duals(theirs, K) - 1e-12
    if kernel != "sigmoid":
        assert ours.certificate_.relative_gap < 1e-12
    if kernel == "linear":
        assert np.allclose(_dense(ours.coef_), _dense(theirs.coef_), atol=1e-4)
    else:
        with pytest.raises(AttributeError, match="linear kernel"):
            _ = ours.coef_


def pair_duals(fitted, K):
    """Dual objectives of all pairs of classes, summed, in float64 from the coefficients."""
    starts = np.concatenate([[0], np.cumsum(fitted.n_support_)])
    total = 0.0
    for i, j in itertools.combinations(range(len(fitted.classes_)), 2):
        beta = np.zeros(len(K))
        for own, row in ((i, j - 1), (j, i)):
            part = slice(starts[own], starts[own + 1])
            beta[fitted.support_[part]] = _dense(fitted.dual_coef_)[row, part]
        total += np.abs(beta).sum() - 0.5 * beta @ K @ beta
    return total


def _dense(A):
    return A.toarray() if sp.issparse(A) else np.asarray(A)


def test_binary_signs_and_weights_follow_scikit_learn():
    X, y = make_classification(200, 6, weights=[0.8], random_state=1)
    weights = np.random.default_rng(0).uniform(0, 2, 200)
    weights[::7] = 0
    for given in ({"class_weight": "balanced"}, {"class_weight": {0: 3.0}}, {}):
        ours = SVC(gamma=0.2, tol=1e-8, **given).fit(X, y, weights)
        theirs = sklearn.svm.SVC(gamma=0.2, tol=1e-8, **given).fit(X, y, weights)
        assert np.allclose(ours.class_weight_, theirs.class_weight_)
        assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    ours, theirs = SVR(gamma=0.2, tol=1e-8).fit(X, X[:, 0], weights), sklearn.svm.SVR(gamma=0.2, tol=1e-8)
    assert np.allclose(ours.predict(X), theirs.fit(X, X[:, 0], weights).predict(X), atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_gamma_scale_ignores_sample_weight_as_in_scikit_learn(form):
    X, y = make_classification(200, 6, random_state=1)
    weights = np.random.default_rng(0).uniform(0, 2, 200)
    weights[::7] = 0
    for ours, theirs, target in ((SVC, sklearn.svm.SVC, y), (SVR, sklearn.svm.SVR, X[:, 0])):
        fitted = ours(tol=1e-8).fit(form(X), target, weights)
        expected = theirs(tol=1e-8).fit(form(X), target, weights)
        assert fitted._gamma == pytest.approx(expected._gamma, rel=1e-12)
        assert np.allclose(fitted.predict(form(X)), expected.predict(form(X)), atol=1e-5)


def test_break_ties_and_votes_follow_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 4, 120)
    grid = rng.normal(size=(2000, 2)) * 2
    for ties in (True, False):
        ours = SVC(tol=1e-9, break_ties=ties).fit(X, y)
        theirs = sklearn.svm.SVC(tol=1e-9, break_ties=ties).fit(X, y)
        assert np.array_equal(ours.predict(grid), theirs.predict(grid))
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(grid)


@pytest.mark.parametrize("problem", ["two classes", "many classes", "regression", "many rows"])
def test_results_are_the_same_bytes_for_any_number_of_threads(problem, monkeypatch):
    rng = np.random.default_rng(0)
    n = 4500 if problem == "many rows" else 900
    X = rng.normal(size=(n, 7))
    target = X[:, 0] ** 2 + 0.5 * rng.normal(size=n)
    # So small a cache that it holds a few rows for each of the machines.
    machine = SVR() if problem == "regression" else SVC(probability=True, cache_size=2)
    y = (
        target
        if problem == "regression"
        else np.digitize(target, [0.6] if problem != "many classes" else [0.3, 0.6, 1])
    )
    seen = set()
    for threads in (1, 2, 4, 8):
        monkeypatch.setenv("TALLYWISE_NUM_THREADS", str(threads))
        machine.fit(X, y)
        scores = machine.predict(X) if problem == "regression" else machine.decision_function(X)
        p = machine.predict_proba(X).tobytes() if problem != "regression" else b""
        seen.add((machine.dual_coef_.tobytes(), machine.intercept_.tobytes(), scores.tobytes(), p))
    assert len(seen) == 1


def test_kernel_objects_callables_and_precomputed_matrices_agree():
    X, y = IRIS
    plain = SVC(gamma=0.5, tol=1e-8).fit(X, y)
    K = kernels.Gaussian(gamma=0.5)(X)
    given = SVC(kernel="precomputed", tol=1e-8).fit(K, y)
    own = SVC(kernel=lambda A, B: kernels.Gaussian(gamma=0.5)(A, B), tol=1e-8).fit(X, y)
    typed = SVC(kernel=kernels.Gaussian(gamma=0.5), tol=1e-8).fit(X, y)
    for fitted, points in ((given, K), (own, X), (typed, X)):
        assert np.array_equal(fitted.support_, plain.support_)
        assert np.allclose(fitted.decision_function(points), plain.decision_function(X), atol=1e-6)
    mixed = SVC(kernel=0.5 * kernels.Linear() + kernels.Laplacian(0.3)).fit(X, y)
    assert mixed.score(X, y) > 0.95
    assert pickle.loads(pickle.dumps(typed)).predict(X).tolist() == typed.predict(X).tolist()


def test_texts_can_be_classified_with_a_string_kernel():
    texts, labels = datasets.sms()
    machine = SVC(kernel=kernels.Spectrum(3).normalised).fit(texts[:300], labels[:300])
    assert machine.score(texts[300:500], labels[300:500]) > 0.9


def test_hard_margin_is_the_widest_and_refuses_what_has_none():
    X = np.array([[0.0, 0], [1, 0], [3, 0], [4, 1], [3, 4]])
    y = np.array([0, 0, 1, 1, 1])
    fitted = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(X, y)
    assert fitted.coef_[0] == pytest.approx([1, 0], abs=1e-6)
    assert fitted.intercept_[0] == pytest.approx(-2, abs=1e-6)
    assert fitted.margin_[0] == pytest.approx(1, abs=1e-6)
    assert (np.abs(fitted.decision_function(X)) >= 1 - 1e-6).all()
    with pytest.raises(NotSeparableError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear").fit(np.array([[0.0], [1], [2]]), [0, 1, 0])
    with pytest.raises(NotSeparableError, match="apart"):
        SVC(C=np.inf).fit(np.array([[0.0], [1], [1]]), [0, 1, 0])
    ring = np.random.default_rng(0).normal(size=(80, 2))
    inside = (ring**2).sum(1) < 1
    assert SVC(C=np.inf, gamma=1.0).fit(ring, inside).score(ring, inside) == 1


def test_regression_without_losses_stays_in_its_tube_or_is_refused():
    X = np.linspace(0, 3, 20)[:, None]
    y = np.sin(3 * X[:, 0])
    fitted = SVR(C=np.inf, epsilon=0.05, gamma=1.0, tol=1e-6).fit(X, y)
    assert np.abs(fitted.predict(X) - y).max() <= 0.05 + 1e-6
    large = SVR(C=1e10, epsilon=0.05, gamma=1.0, tol=1e-6).fit(X, y)
    assert np.allclose(fitted.predict(X), large.predict(X), atol=1e-5)
    with pytest.raises(NotSeparableError, match=r"within epsilon=0\.1 of every target"):
        SVR(C=np.inf, kernel="linear").fit(X, y)
    with pytest.raises(NotSeparableError, match="Use a finite C"):
        SVR(C=np.inf).fit([[0.0], [0.0], [1.0]], [0.0, 1.0, 2.0])


def test_a_kernel_that_is_none_is_solved_to_a_stationary_point_and_said_so():
    X, y = make_classification(100, 5, random_state=0)
    with pytest.warns(UserWarning, match="stationary point"):
        fitted = SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)
    assert fitted.certificate_.gap == np.inf
    beta = np.zeros(100)
    beta[fitted.support_] = fitted.dual_coef_[0]
    g = kernels.Sigmoid(1.0, -1.0)(X) @ beta - np.where(y == 1, 1, -1)
    low, high = np.where(y == 1, 0, -1.0), np.where(y == 1, 1.0, 0)
    assert g[beta > low].max() - g[beta < high].min() <= 1e-3


def test_a_small_cache_changes_time_not_answers():
    X, y = make_classification(1500, 10, random_state=0, flip_y=0.2)
    small, large = SVC(cache_size=0.5, tol=1e-5).fit(X, y), SVC(tol=1e-5).fit(X, y)
    assert np.abs(small.decision_function(X) - large.decision_function(X)).max() < 1e-3
    still = SVC(shrinking=False, tol=1e-5).fit(X, y)
    assert still.certificate_.dual == pytest.approx(large.certificate_.dual, rel=1e-7)


def test_sixty_four_bit_indices_and_unsorted_rows_are_taken():
    X, y = IRIS
    A = sp.csr_matrix(X)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    assert np.array_equal(SVC().fit(A, y).predict(A), SVC().fit(X, y).predict(X))


@pytest.mark.parametrize("machine", [SVC(), SVR()])
def test_degenerate_data_have_an_answer(machine):
    y = [0, 1, 0, 1]
    assert len(machine.fit(np.zeros((4, 3)), y).predict(np.zeros((4, 3)))) == 4  # constant features
    assert len(machine.fit([[0.0], [1], [0], [1]], y).predict([[0.5]])) == 1  # repeated points
    huge = np.array([[1e150], [2e150], [3e150], [4e150]])
    assert np.isfinite(machine.fit(huge, y).intercept_).all()
    tiny = machine.fit(huge * 1e-300, y)
    assert np.isfinite(tiny.intercept_).all()


def test_impossible_data_are_refused_with_their_cause():
    with pytest.raises(ValueError, match="greater than one"):
        SVC().fit([[0.0], [1]], [1, 1])
    with pytest.raises(ValueError, match="same class"):
        SVC().fit([[0.0], [1]], [0, 1], [1, 0])
    with pytest.raises(ValueError, match="zero or negative weights"):
        SVR().fit([[0.0], [1]], [0, 1], [0, 0])
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(np.ones((3, 2)), [0, 1, 1])
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sp.eye(3, format="csr"), [0, 1, 1])
    with pytest.raises(ValueError, match="'gamma' parameter of SVC"):
        SVC(gamma=-1.0).fit([[0.0], [1]], [0, 1])
    with pytest.raises(ValueError, match="shape"):
        SVC(kernel=lambda A, B: np.ones((1, 1))).fit([[0.0], [1]], [0, 1])
    with pytest.raises(ValueError, match="trained on dense data"):
        SVC().fit([[0.0], [1]], [0, 1]).predict(sp.csr_matrix([[1.0]]))
    assert SVR().fit([[0.0]], [3.0]).predict([[0.0]]) == pytest.approx(3.0, abs=0.11)
    with pytest.raises(ValueError, match="too large to have one"):
        SVC().fit([[1e300], [-1e300]], [0, 1])
    with pytest.raises(ValueError, match="Squared norms"):
        SVC(gamma=1.0).fit([[1e300], [-1e300]], [0, 1])
    with pytest.raises(ValueError, match="not finite"):
        SVC(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit([[0.0], [1]], [0, 1])
    late = SVC().fit([[0.0], [1]], [0, 1]).set_params(probability=True)
    with pytest.raises(NotFittedError, match="fitted with probability=False"):
        late.predict_proba([[0.0]])


def test_running_out_of_steps_warns_with_the_gap():
    X, y = make_classification(300, 5, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=5.*relative gap"):
        fitted = SVC(max_iter=5).fit(X, y)
    assert fitted.fit_status_ == 1
    assert fitted.certificate_.relative_gap > 1e-3


def test_progress_is_reported_and_cost_estimated(capsys):
    X, y = make_classification(600, 5, random_state=0, flip_y=0.3)
    seen = []
    SVC(progress=lambda *report: seen.append(report)).fit(X, y)
    assert seen
    assert all(len(report) == 3 for report in seen)
    cost = SVC().estimate_cost(X)
    assert 0 < cost.seconds[0] < cost.seconds[1]
    assert 0 < cost.memory < 300e6
    assert SVC(kernel="precomputed").estimate_cost(np.eye(5)).memory == 200
    SVC(verbose=True).fit(X, y)
    assert capsys.readouterr().out == ""


def test_interrupting_progress_stops_the_fit():
    X, y = make_classification(600, 5, random_state=0, flip_y=0.3)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SVC(progress=stop).fit(X, y)


@pytest.mark.parametrize("p", [8, 600])  # kernel values that are cheap to make, and values that machines share
def test_machines_of_many_classes_agree_whether_a_cache_holds_all_kernel_values_or_not(p):
    random = np.random.default_rng(0)
    y = np.arange(320) % 4
    X = random.normal(size=(len(y), p)) + y[:, None] * random.normal(size=p)
    held, made = SVC(tol=1e-6).fit(X, y), SVC(tol=1e-6, cache_size=0.1).fit(X, y)
    np.testing.assert_allclose(held.decision_function(X), made.decision_function(X), atol=1e-4)
