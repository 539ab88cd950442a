"""Logistic regression against the formula, scikit-learn, statsmodels and its own certificate."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import datasets
from tallywise.errors import SeparationError, SeparationWarning
from tallywise.linear import LogisticRegression
from tests.reference.logistic import objective, optimum
from tests.samples import sample


@parametrize_with_checks(
    [
        LogisticRegression(),
        LogisticRegression(C=10, class_weight="balanced"),
        LogisticRegression(l1_ratio=0.5),
    ]
)
def test_logistic_regression_keeps_the_estimator_laws(estimator, check):
    check(estimator)


def strengths(model):
    return (1 / model.prior_.scale, 1 / model.prior_.variance)


def reached(model, X, y):
    """Objective of a fitted symmetric or binary model, by the formula."""
    W, b = model.coef_, model.intercept_
    if len(model.classes_) == 2:
        W, b = np.vstack([np.zeros_like(W), W]), np.append(0.0, b)
    return objective(W, b, X, np.searchsorted(model.classes_, y), *strengths(model))


# --- the optimum ---


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.1, 10.0, np.inf])
def test_the_gap_encloses_the_optimum_at_every_iteration(classes, C):
    X, y = sample(n=40, p=2, classes=classes)
    # One weight vector for two classes is the difference of two that are penalised alike.
    best = optimum(X, y, classes, 0.0 if C == np.inf else (2 if classes == 2 else 1) / C)
    for max_iter in range(5):
        model = LogisticRegression(C=C, tol=0, max_iter=max_iter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        certificate = model.certificate_
        assert certificate.dual <= float(best) * (1 + 1e-13)
        assert certificate.primal >= float(best) * (1 - 1e-13)
        assert certificate.primal == pytest.approx(reached(model, X, y), rel=1e-12)
    assert certificate.relative_gap < 1e-8


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.4, 1.0])
def test_the_gap_of_sparse_models_encloses_the_optimum_at_every_iteration(classes, l1_ratio, sparse):
    X, y = sample(n=40, p=5, classes=classes)
    options = {"C": 0.25, "l1_ratio": l1_ratio}
    signs = np.sign(LogisticRegression(**options, tol=1e-12, max_iter=1000).fit(X, y).coef_)
    l1, l2 = l1_ratio / 0.25, (1 - l1_ratio) / 0.25
    # Two classes have one weight vector: the other's weights are 0, and so is its penalty.
    best = float(optimum(X, y, classes, l2, l1, np.vstack([np.zeros(5), signs]) if classes == 2 else signs))
    form = sp.csr_matrix(X) if sparse else X
    for max_iter in (0, 1, 2, 3, 5, 100):
        model = LogisticRegression(**options, tol=0, max_iter=max_iter)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(form, y)
        assert model.certificate_.dual <= best * (1 + 1e-14)
        assert model.certificate_.primal >= best * (1 - 1e-14)
        assert model.certificate_.primal == pytest.approx(reached(model, X, y), rel=1e-12)
    assert model.certificate_.relative_gap < 1e-8


def test_certificates_hold_where_probabilities_round_to_one():
    rng = np.random.default_rng(3)
    for classes in (2, 3):
        X = np.repeat(np.eye(classes), 6, axis=0) * 30 + rng.normal(size=(6 * classes, classes))
        y = np.repeat(np.arange(classes), 6)
        for C in (1.0, 1e4, 1e8):
            model = LogisticRegression(C=C, tol=1e-10).fit(X, y)
            best = float(optimum(X, y, classes, (2 if classes == 2 else 1) / C))
            assert model.certificate_.dual <= best * (1 + 1e-13)
            assert model.certificate_.primal == pytest.approx(best, rel=1e-9)
            assert model.certificate_.relative_gap <= 1e-10


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_large_problems_reach_a_gap_of_1e8_where_the_gradient_vanishes(sparse, shape, classes, fit_intercept):
    rng = np.random.default_rng(1)
    n, p = (2000, 1300) if shape == "tall" else (300, 2000)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.05)
    y = np.argmax(X[:, :classes] * 2 + rng.gumbel(size=(n, classes)), axis=1)
    if sparse:
        X = sp.csr_matrix(X)
    model = LogisticRegression(C=0.5, tol=1e-8, fit_intercept=fit_intercept).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    assert reached(model, X, y) == pytest.approx(model.certificate_.primal, rel=1e-12)
    residual = model.predict_proba(X)
    residual[np.arange(n), y] -= 1
    residual = residual[:, 1:] if classes == 2 else residual
    np.testing.assert_allclose(X.T @ residual + model.coef_.T / 0.5, 0, atol=1e-2)
    if fit_intercept:
        np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-7)


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


@pytest.mark.parametrize("data", ["a9a", "w8a", "spambase"])
def test_objective_is_as_low_as_scikit_learns_on_real_data(data):
    X, y = datasets.spambase() if data == "spambase" else datasets.svmlight(data)
    if data == "spambase":
        X = np.log1p(X)
    ours = LogisticRegression(tol=1e-7).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-8).fit(X, y)
    theirs.prior_ = ours.prior_
    assert reached(ours, X, y) <= reached(theirs, X, y) * (1 + 1e-7)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_elastic_net_reaches_the_optimum_of_saga(classes, l1_ratio):
    X, y = sample(n=120, p=12, classes=classes)
    ours = LogisticRegression(C=0.2, l1_ratio=l1_ratio, tol=1e-7, max_iter=1000).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(
        C=0.2, l1_ratio=l1_ratio, solver="saga", tol=1e-6, max_iter=5000
    ).fit(X, y)
    theirs.prior_ = ours.prior_
    assert reached(ours, X, y) <= reached(theirs, X, y) * (1 + 1e-7)
    assert ours.certificate_.dual <= reached(theirs, X, y) * (1 + 1e-12)
    # Under L1 alone weights of several classes are not unique; probabilities are.
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    assert np.count_nonzero(ours.coef_) < ours.coef_.size


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_sparse_models_meet_their_optimality_conditions_in_high_dimension(classes, l1_ratio):
    X, y = sample(n=120, p=400, classes=classes)
    models = [
        LogisticRegression(C=0.5, l1_ratio=l1_ratio, tol=1e-7, max_iter=1000).fit(form, y)
        for form in (X, sp.csr_matrix(X))
    ]
    for model in models:
        assert reached(model, X, y) == pytest.approx(model.certificate_.primal, rel=1e-10)
        residual = model.predict_proba(X)
        residual[np.arange(len(y)), y] -= 1
        slope = (residual[:, 1:] if classes == 2 else residual).T @ X + (1 - l1_ratio) / 0.5 * model.coef_
        l1 = l1_ratio / 0.5
        assert np.abs(slope).max() <= l1 * (1 + 1e-3)
        used = model.coef_ != 0
        np.testing.assert_allclose(slope[used], -l1 * np.sign(model.coef_[used]), rtol=1e-3)
    np.testing.assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("C", [10, 100])
def test_l1_fits_of_short_texts_under_noisy_labels_end_in_few_iterations(C):
    """Rare words meet rows far on the wrong side of the boundary, where the loss is all but straight."""
    rng = np.random.default_rng(1)
    n, p, words = 1000, 8000, 8
    frequency = 1 / np.arange(1, p + 1)
    columns = rng.choice(p, n * words, p=frequency / frequency.sum())
    X = sp.csr_matrix((np.ones(n * words), columns, np.arange(0, n * words + 1, words)), shape=(n, p))
    X.sum_duplicates()
    y = rng.random(n) < 1 / (1 + np.exp(-(X @ rng.standard_normal(p))))
    model = LogisticRegression(C=C, l1_ratio=1, tol=1e-5).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-5
    assert model.certificate_.iterations < 60


@pytest.mark.parametrize("classes", [2, 6])
def test_weak_l1_penalties_on_sparse_columns_converge(classes):
    rng = np.random.default_rng(5)
    X = sp.random(400, 3000, density=0.01, random_state=6, format="csr")
    y = np.argmax(X[:, :classes].toarray() + 0.1 * rng.gumbel(size=(400, classes)), axis=1)
    model = LogisticRegression(C=100, l1_ratio=1, tol=1e-3).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3


def test_no_weight_is_left_below_the_null_strength_and_one_above_it():
    X, y = sample()
    task = LogisticRegression()._task(X, y, None)
    null = task.null_strength()
    below = LogisticRegression(C=0.999 / null, l1_ratio=1).fit(X, y)
    above = LogisticRegression(C=1.01 / null, l1_ratio=1, tol=1e-8).fit(X, y)
    assert np.count_nonzero(below.coef_) == 0
    assert np.count_nonzero(above.coef_) > 0


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(4, 40),
    p=st.integers(1, 60),
    classes=st.integers(2, 4),
    log_C=st.floats(-3, 3),
    l1_ratio=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_any_small_problem_converges(seed, n, p, classes, log_C, l1_ratio):
    X, y = sample(n, p, classes, seed)
    model = LogisticRegression(C=10**log_C, l1_ratio=l1_ratio, max_iter=2000).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert reached(model, X, y) == pytest.approx(model.certificate_.primal, rel=1e-9, abs=1e-9)


# --- the same answer, whatever the form of the question ---


@pytest.mark.parametrize("l1_ratio", [0.0, 0.7])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shape", [(2500, 1300), (200, 3000)])
def test_threads_do_not_change_a_bit(l1_ratio, classes, shape):
    rng = np.random.default_rng(2)
    X = sp.random(*shape, density=0.01, random_state=3, format="csr")
    y = rng.integers(classes, size=shape[0])
    fits = [LogisticRegression(l1_ratio=l1_ratio, n_jobs=jobs, tol=1e-3).fit(X, y) for jobs in (1, 2, 4, 8)]
    assert len({fit.coef_.tobytes() + fit.intercept_.tobytes() for fit in fits}) == 1


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_dense_sparse_and_64_bit_indices_agree(l1_ratio, classes):
    X, y = sample(n=100, p=20, classes=classes)
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    fits = [
        LogisticRegression(l1_ratio=l1_ratio, tol=1e-9, max_iter=1000).fit(form, y)
        for form in (X, sp.csr_matrix(X), sp.csc_matrix(X), wide, X.tolist(), np.asfortranarray(X))
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coef_, fits[0].coef_, atol=1e-5)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_float32_stays_float32_and_close(l1_ratio):
    X, y = sample(n=100, p=20)
    single = LogisticRegression(l1_ratio=l1_ratio, tol=1e-6).fit(X.astype(np.float32), y)
    double = LogisticRegression(l1_ratio=l1_ratio, tol=1e-6).fit(X, y)
    assert single.coef_.dtype == np.float32
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-2)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_weights_count_repetitions(l1_ratio):
    X, y = sample(n=50)
    s = np.random.default_rng(0).integers(0, 4, size=50)
    s[:3] = 1
    weighted = LogisticRegression(l1_ratio=l1_ratio, tol=1e-10, max_iter=1000).fit(X, y, sample_weight=s)
    repeated = LogisticRegression(l1_ratio=l1_ratio, tol=1e-10, max_iter=1000).fit(np.repeat(X, s, 0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_class_weights_multiply_sample_weights():
    X, y = sample(n=80, classes=2)
    s = np.linspace(0.5, 2, 80)
    by_class = LogisticRegression(class_weight={0: 3.0}, tol=1e-10).fit(X, y, sample_weight=s)
    by_sample = LogisticRegression(tol=1e-10).fit(X, y, sample_weight=np.where(y == 0, 3 * s, s))
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-9)


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_every_solver_name_gives_the_same_answer(solver):
    X, y = sample()
    asked = {"l1_ratio": 0.5}
    if solver == "liblinear":  # two classes, and a penalised intercept
        y, asked = y == y[0], {"l1_ratio": 0.5, "fit_intercept": False}
    expected = LogisticRegression(**asked).fit(X, y)
    assert np.array_equal(LogisticRegression(**asked, solver=solver).fit(X, y).coef_, expected.coef_)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("wide", [False, True])
def test_a_warm_start_at_the_optimum_stays_there(l1_ratio, wide):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2000 if wide else 10)), rng.integers(3, size=90)
    model = LogisticRegression(l1_ratio=l1_ratio, warm_start=True, tol=1e-6, max_iter=1000).fit(X, y)
    cold = model.n_iter_[0]
    model.fit(X, y)
    assert model.n_iter_[0] <= min(1, cold)
    model.set_params(C=2.0).fit(X, y)
    afresh = LogisticRegression(l1_ratio=l1_ratio, C=2.0, tol=1e-6, max_iter=1000).fit(X, y)
    assert model.certificate_.primal == pytest.approx(afresh.certificate_.primal, rel=2e-6)


def test_a_fitted_model_pickles_clones_and_sparsifies():
    X, y = sample()
    model = LogisticRegression(l1_ratio=1).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    expected = model.predict_proba(X)
    assert np.array_equal(again.predict_proba(X), expected)
    assert np.allclose(again.sparsify().predict_proba(X), expected)
    assert np.array_equal(again.densify().coef_, model.coef_)


def test_log_probabilities_survive_underflow():
    X, y = sample(classes=2)
    model = LogisticRegression(C=100).fit(X, y)
    far = 1e5 * X[:3]
    logs = model.predict_log_proba(far)
    assert np.all(np.isfinite(logs))
    assert logs.min() < -1000


# --- priors, baselines, inference ---


def test_the_prior_reads_the_penalty_as_map_estimation():
    X, y = sample()
    assert LogisticRegression(C=4).fit(X, y).prior_.variance == 4
    assert LogisticRegression(C=4, l1_ratio=1).fit(X, y).prior_.scale == 4
    both = LogisticRegression(C=4, l1_ratio=0.5).fit(X, y).prior_
    assert (both.variance, both.scale, both.family) == (8, 8, "elastic net")
    assert LogisticRegression(C=np.inf).fit(X, y).prior_.family == "flat"


def test_a_baseline_leaves_unpenalised_probabilities_alone():
    X, y = sample(n=200)
    labels = np.array(["a", "b", "c"])[y]
    free = LogisticRegression(C=np.inf).fit(X, labels)
    assert np.allclose(free.coef_.sum(axis=0), 0, atol=1e-9)
    for baseline in "abc":
        held = LogisticRegression(C=np.inf, baseline=baseline).fit(X, labels)
        assert held.coef_.shape == (2, 5)
        np.testing.assert_allclose(held.predict_proba(X), free.predict_proba(X), atol=1e-7)
    with pytest.raises(ValueError, match=r"must be one of the classes \['a', 'b', 'c'\]. Got 'd'"):
        LogisticRegression(baseline="d").fit(X, labels)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_a_penalised_baseline_model_minimises_over_k_minus_one_vectors(l1_ratio):
    X, y = sample(n=100)
    model = LogisticRegression(baseline=1, l1_ratio=l1_ratio, tol=1e-9, max_iter=1000).fit(X, y)

    def value(coef, intercept):
        return objective(np.insert(coef, 1, 0.0, axis=0), np.insert(intercept, 1, 0.0), X, y, *strengths(model))

    best = value(model.coef_, model.intercept_)
    assert best == pytest.approx(model.certificate_.primal, rel=1e-12)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1e-1):
        assert value(model.coef_ + size * rng.normal(size=(2, 5)), model.intercept_) > best


def test_a_binary_baseline_turns_the_weights_round():
    X, y = sample(classes=2)
    first, second = (LogisticRegression(baseline=label, tol=1e-10).fit(X, y) for label in (0, 1))
    np.testing.assert_allclose(first.coef_, -second.coef_, atol=1e-8)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=1e-8)


def wine_thirds():
    X, y = datasets.wine()
    return (X - X.mean(0)) / X.std(0), np.digitize(y, [5.5, 6.5])


def test_binary_inference_is_that_of_statsmodels():
    from statsmodels.api import Logit, add_constant

    X, y = wine_thirds()
    y = (y > 0).astype(int)
    summary = LogisticRegression(C=np.inf).fit(X, y).summary()
    theirs = Logit(y, add_constant(X, prepend=False)).fit(disp=0, method="newton", tol=1e-14, maxiter=100)
    np.testing.assert_allclose(summary.coef[0], theirs.params, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(summary.std_err[0], theirs.bse, rtol=1e-6)
    np.testing.assert_allclose(summary.p_value[0], theirs.pvalues, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.transpose(summary.interval)[:, 0], theirs.conf_int(), rtol=1e-6, atol=1e-8)
    assert summary.log_likelihood == pytest.approx(theirs.llf, rel=1e-10)
    assert "intercept" in str(summary)


def test_multinomial_inference_is_that_of_statsmodels():
    from statsmodels.api import MNLogit, add_constant

    X, y = wine_thirds()
    summary = LogisticRegression(C=np.inf, baseline=0).fit(X, y).summary()
    theirs = MNLogit(y, add_constant(X, prepend=False)).fit(disp=0, method="newton", tol=1e-14, maxiter=100)
    np.testing.assert_allclose(summary.coef, theirs.params.T, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(summary.std_err, theirs.bse.T, rtol=1e-6)
    np.testing.assert_allclose(summary.p_value, theirs.pvalues.T, rtol=1e-5, atol=1e-6)


def test_a_summary_says_what_it_needs():
    X, y = sample()
    with pytest.raises(ValueError, match="set C=inf"):
        LogisticRegression().fit(X, y).summary()
    with pytest.raises(ValueError, match=r"set baseline to one of \[0, 1, 2\]"):
        LogisticRegression(C=np.inf).fit(X, y).summary()


def test_separable_classes_are_said_with_the_direction_that_separates():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]])
    y = np.array([0, 0, 1, 1])
    with pytest.warns(SeparationWarning, match=r"separates the classes perfectly.*Set C to a finite value") as caught:
        model = LogisticRegression(C=np.inf).fit(X, y)
    warning = caught[0].message
    assert isinstance(warning, ConvergenceWarning)
    assert warning.complete
    assert np.all((X @ warning.coef[0] + warning.intercept[0] > 0) == (y == 1))
    assert np.all(np.isfinite(model.coef_))
    assert model.score(X, y) == 1
    assert np.array_equal(pickle.loads(pickle.dumps(warning)).coef, warning.coef)


def test_separable_classes_are_refused_where_that_is_asked_for():
    with pytest.raises(SeparationError, match="separates the classes perfectly") as caught:
        LogisticRegression(C=np.inf, on_separation="raise").fit(np.arange(4.0)[:, None], [0, 0, 1, 1])
    assert np.array_equal(pickle.loads(pickle.dumps(caught.value)).coef, caught.value.coef)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_classes_that_touch_are_said_too(classes, unit):
    x = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 3.0][: 2 * classes])
    y = np.repeat(np.arange(classes), 2)
    with pytest.warns(SeparationWarning, match="in part") as caught:
        LogisticRegression(C=np.inf, baseline=0).fit(unit * x[:, None], y)
    assert not caught[0].message.complete


def test_the_search_for_a_separating_direction_ends():
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy((120, 6)) * 10.0 ** rng.uniform(0, 11, 6)
    y = np.append(np.arange(20), rng.integers(20, size=100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.all(np.isfinite(model.coef_))


def test_overlapping_classes_with_large_scores_are_not_refused():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=200) * 100, [5.0, -5.0])
    y = np.append((x[:-2] > 0), [False, True]).astype(int)
    model = LogisticRegression(C=np.inf).fit(x[:, None], y)
    assert model.certificate_.relative_gap <= 1e-4
    assert np.abs(model.decision_function(x[:, None])).max() > 12


# --- paths ---


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_a_path_is_the_fits_at_its_points(classes, l1_ratio):
    X, y = sample(n=80, p=12, classes=classes)
    told = []
    model = LogisticRegression(l1_ratio=l1_ratio, tol=1e-8, max_iter=1000)
    path = model.path(X, y, Cs=5, callback=lambda done, total: told.append((done, total)))
    assert told == [(done, 5) for done in range(1, 6)]
    assert not hasattr(model, "coef_")
    for C, coef, intercept, certificate in zip(path.Cs, path.coefs, path.intercepts, path.certificates, strict=True):
        single = LogisticRegression(C=C, l1_ratio=l1_ratio, tol=1e-8, max_iter=1000).fit(X, y)
        assert certificate.primal == pytest.approx(single.certificate_.primal, rel=1e-7)
        np.testing.assert_allclose(coef.toarray() if sp.issparse(coef) else coef, single.coef_, atol=1e-2)
        assert intercept.shape == single.intercept_.shape
    if l1_ratio == 1:
        assert path.coefs[0].nnz == 0
        assert path.coefs[-1].nnz > 0


# --- hostile input ---


def test_unscaled_columns_converge():
    X, y = sample(n=200)
    model = LogisticRegression(tol=1e-8).fit(X * 10.0 ** np.arange(-6, 9, 3), y)
    assert model.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_constant_and_empty_columns_get_no_weight(l1_ratio):
    X, y = sample(n=100)
    X[:, 1], X[:, 3] = 7.0, 0.0
    model = LogisticRegression(l1_ratio=l1_ratio, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.coef_[:, [1, 3]], 0, atol=1e-4)


def test_a_million_columns_with_three_entries_are_no_trouble():
    X = sp.csr_matrix((np.ones(3), ([0, 1, 2], [5, 999_999, 5])), shape=(4, 1_000_000))
    for l1_ratio in (0.0, 1.0):
        for y in ([0, 1, 0, 1], [0, 1, 2, 1]):
            model = LogisticRegression(l1_ratio=l1_ratio, C=10).fit(X, y)
            assert set(np.flatnonzero(np.abs(model.coef_).max(axis=0) > 1e-12)) <= {5, 999_999}


def test_many_columns_without_a_penalty_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"at most 5000 weights|separates the classes"):
        LogisticRegression(C=np.inf).fit(rng.normal(size=(20, 6000)), np.arange(20) % 2)
    with pytest.warns(SeparationWarning):
        LogisticRegression(C=np.inf).fit(rng.normal(size=(20, 60)), np.arange(20) % 2)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"C": 0}, "'C' parameter of LogisticRegression must be"),
        ({"C": -1.0}, "'C' parameter of LogisticRegression must be"),
        ({"C": np.nan}, "'C' parameter of LogisticRegression must be"),
        ({"l1_ratio": 1.5}, "'l1_ratio' parameter of LogisticRegression must be"),
        ({"solver": "magic"}, "'solver' parameter of LogisticRegression must be"),
        ({"class_weight": {0: -1}}, "must not be negative"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_bad_parameters_are_named(parameters, match):
    X, y = sample()
    with pytest.raises(ValueError, match=match):
        LogisticRegression(**parameters).fit(X, y)


def test_bad_data_are_named():
    X, y = sample()
    with pytest.raises(ValueError, match="only one class: 1"):
        LogisticRegression().fit(X, np.ones(len(y), dtype=int))
    with pytest.raises(ValueError, match="at least one non-zero"):
        LogisticRegression().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="Negative values"):
        LogisticRegression().fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        LogisticRegression().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="nfinity"):
        LogisticRegression().fit(np.where(X > 1, np.inf, X), y)


def test_stopping_early_says_the_gap_and_one_remedy():
    X, y = sample(n=300, p=50)
    with pytest.warns(ConvergenceWarning, match=r"gap is .*, above tol=1e-08. Increase max_iter \(now 1\)"):
        LogisticRegression(tol=1e-8, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"penalty": "l1", "l1_ratio": 1}, {"l1_ratio": 1}),
        ({"penalty": "l1", "l1_ratio": None}, {"l1_ratio": 1}),
        ({"penalty": "l2"}, {}),
        ({"penalty": "elasticnet", "l1_ratio": 0.5}, {"l1_ratio": 0.5}),
        ({"penalty": None}, {"C": np.inf}),
        ({"l1_ratio": None}, {}),
    ],
)
def test_deprecated_penalties_mean_what_they_meant(old, new):
    X, y = sample()
    with pytest.warns(FutureWarning, match="deprecated in version 1.8"):
        model = LogisticRegression(**old).fit(X, y)
    assert np.array_equal(model.coef_, LogisticRegression(**new).fit(X, y).coef_)


def test_a_deprecated_penalty_that_contradicts_l1_ratio_is_said_so():
    X, y = sample()
    with (
        pytest.warns(FutureWarning, match="deprecated in version 1.8"),
        pytest.warns(UserWarning, match="Inconsistent values: penalty=l1 with l1_ratio=0.0"),
    ):
        model = LogisticRegression(penalty="l1").fit(X, y)
    assert np.array_equal(model.coef_, LogisticRegression(l1_ratio=1).fit(X, y).coef_)
