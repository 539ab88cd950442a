import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs
import statsmodels.api as sm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import datasets
from tallywise import _native
from tallywise._arrays import columns
from tallywise.linear import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    Ridge,
    RidgeCV,
    enet_path,
    lasso_path,
)
from tallywise.linear.least_squares import _base, _paths
from tests.reference import least_squares as reference

TIGHT = {"tol": 1e-12, "max_iter": 100000}


def problem(n=60, p=12, seed=0, zeros=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.3, 3, p) + 1
    X[rng.random((n, p)) < zeros] = 0
    y = X[:, :3] @ [1.0, -2.0, 0.5] + 1 + 0.5 * rng.normal(size=n)
    return X, y, rng.integers(0, 4, n).astype(float)


SHAPES = pytest.mark.parametrize(("n", "p"), [(60, 12), (20, 45)])
FORMATS = pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.csc_array], ids=["dense", "csr", "csc"])
INTERCEPT = pytest.mark.parametrize("fit_intercept", [True, False])


@pytest.fixture(autouse=True)
def sparse_stays_sparse(monkeypatch):
    """The sparse solvers are tested on small problems, which users' fits would turn into arrays."""
    for module in (_base, _paths):
        monkeypatch.setattr(module, "dense_where_small", lambda X: X)


@pytest.mark.filterwarnings("ignore:The rows are ordered by the target:UserWarning")  # some checks order them
@parametrize_with_checks(
    [
        LinearRegression(),
        LinearRegression(positive=True),
        Ridge(),
        Ridge(positive=True),
        RidgeCV(),
        RidgeCV(cv=3),
        Lasso(alpha=0.1, tol=1e-9),
        ElasticNet(tol=1e-9),
        LassoCV(alphas=5, cv=3, eps=0.1, tol=1e-11, max_iter=10000),
        ElasticNetCV(alphas=5, cv=3, eps=0.1, tol=1e-11, max_iter=10000),
    ]
)
def test_scikit_learn_laws(estimator, check):
    check(estimator)


# --- the solver ---


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [("squared_error", "elastic_net"), ("squared_error", "non_negative"), ("logistic", "elastic_net")],
)
@pytest.mark.parametrize(("l1", "l2"), [(2.0, 0.0), (0.7, 1.3), (0.0, 2.0)])
@INTERCEPT
def test_coordinate_descent_reaches_the_optimum_and_its_gap_bounds_the_distance(loss, penalty, l1, l2, fit_intercept):
    X, y, s = problem(n=40, p=10)
    if loss == "logistic":
        y = np.where(y > np.median(y), 1.0, -1.0)
    w, b = reference.minimise(
        X, y, s, l1, l2, loss=loss, fit_intercept=fit_intercept, positive=penalty == "non_negative"
    )
    best = reference.objective(X, y, w, b, s, l1, l2, loss)
    for tol in (0.5, 0.1, 1e-2, 1e-4, 1e-8):
        question = _native.SparseProblem(loss, penalty, tol, 100000, fit_intercept, 1)
        for design in (columns(X), columns(sp.csr_matrix(X))):
            ((ours, b_ours, primal, dual, *_),) = _native.sparse_path(design, question, y, s, np.array([[l1, l2]]))
            assert primal == pytest.approx(reference.objective(X, y, ours, b_ours, s, l1, l2, loss), rel=1e-12)
            assert dual <= best * (1 + 1e-13)
            assert best <= primal * (1 + 1e-13)
            assert primal - dual <= tol * primal
    np.testing.assert_allclose(ours, w.astype(float), atol=2e-4 * np.abs(w).max())


@pytest.mark.parametrize("loss", ["squared_error", "logistic"])
def test_paths_are_the_same_bytes_for_any_number_of_threads(loss):
    X, y, s = problem(n=300, p=200, zeros=0.9)
    y = np.where(y > 0, 1.0, -1.0)
    strengths = np.array([[8.0, 0.1], [2.0, 0.1], [0.5, 0.1]])
    for matrix in (X, sp.csr_matrix(X)):
        answers = []
        for threads in (1, 2, 4, 8):
            question = _native.SparseProblem(loss, "elastic_net", 1e-6, 1000, True, threads)
            path = _native.sparse_path(columns(matrix), question, y, s, strengths)
            answers.append(b"".join(np.r_[w, b, primal, dual].tobytes() for w, b, primal, dual, *_ in path))
        assert len(set(answers)) == 1


@pytest.mark.parametrize("form", [np.asarray, sp.csc_matrix])
def test_columns_whose_squares_overflow_are_refused_and_not_taken_for_empty_ones(form):
    X, y, _ = problem()
    with pytest.raises(ValueError, match="too large"):
        Lasso(alpha=0.1).fit(form(X * 1e200), y)


def test_float32_and_int64_indices_give_the_same_model():
    X, y, _ = problem(zeros=0.8)
    X = X.astype(np.float32)
    wide = sp.csc_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    models = [Lasso(alpha=0.05, tol=1e-9).fit(matrix, y) for matrix in (X, sp.csr_matrix(X), wide)]
    assert all(model.coef_.dtype == np.float32 for model in models)
    for model in models[1:]:
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=1e-6)


# --- estimators against scikit-learn ---


@SHAPES
@FORMATS
@INTERCEPT
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "Lasso", "ElasticNet"])
def test_fits_match_scikit_learn(name, n, p, convert, fit_intercept, weights):
    X, y, s = problem(n, p)
    Y = np.column_stack([y, y[::-1]])
    options = {"LinearRegression": {"tol": 1e-14}, "Ridge": {"alpha": 0.7, "tol": 1e-13}}.get(
        name, {"alpha": 0.2, **TIGHT}
    )
    ours = {"LinearRegression": LinearRegression, "Ridge": Ridge, "Lasso": Lasso, "ElasticNet": ElasticNet}[name]
    for target in (y, Y):
        for positive in (False, True) if name in ("Lasso", "ElasticNet") else (False,):
            extra = {"positive": True} if positive else {}
            model = ours(fit_intercept=fit_intercept, **options, **extra)
            other = getattr(theirs, name)(fit_intercept=fit_intercept, **options, **extra)
            sample_weight = s if weights else None
            model.fit(convert(X), target, sample_weight=sample_weight)
            other.fit(convert(X), target, sample_weight=sample_weight)
            np.testing.assert_allclose(model.coef_, other.coef_, atol=3e-6)
            np.testing.assert_allclose(model.intercept_, other.intercept_, atol=2e-5)
            assert np.shape(model.intercept_) == np.shape(other.intercept_)
            assert all(
                certificate.relative_gap <= 1e-8
                for certificate in np.atleast_1d(model.certificate_)
                if certificate.primal > 1e-9 and not (name == "LinearRegression" and sp.issparse(convert(X)) and p > n)
            )


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
def test_non_negative_fits_match_scikit_learn(name):
    X, y, s = problem()
    ours = {"LinearRegression": LinearRegression(positive=True), "Ridge": Ridge(positive=True, tol=1e-12)}[name]
    other = getattr(theirs, name)(positive=True, tol=1e-12)
    np.testing.assert_allclose(ours.fit(X, y, s).coef_, other.fit(X, y, s).coef_, atol=1e-6)
    assert ours.coef_.min() == 0
    assert ours.certificate_.relative_gap < 1e-10


@FORMATS
@INTERCEPT
@pytest.mark.parametrize("weights", [False, True])
def test_cross_validated_paths_match_scikit_learn(convert, fit_intercept, weights):
    X, y, s = problem()
    options = {"alphas": 12, "fit_intercept": fit_intercept, "tol": 1e-9, "max_iter": 100000}
    pairs = [
        (LassoCV(**options), theirs.LassoCV(**options)),
        (ElasticNetCV(l1_ratio=[0.3, 0.9], **options), theirs.ElasticNetCV(l1_ratio=[0.3, 0.9], **options)),
    ]
    for ours, other in pairs:
        for model in (ours, other):
            model.fit(convert(X), y, sample_weight=s if weights else None)
        np.testing.assert_allclose(ours.alphas_, other.alphas_)
        np.testing.assert_allclose(ours.mse_path_, other.mse_path_, rtol=2e-3)
        assert ours.alpha_ == pytest.approx(other.alpha_)
        np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-4)


@SHAPES
@FORMATS
@INTERCEPT
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_leave_one_out_ridge_matches_scikit_learn(n, p, convert, fit_intercept, scoring):
    X, y, s = problem(n, p)
    for target in (y, np.column_stack([y, y[::-1]])):
        for weights in (None, s + 0.5):
            options = {"scoring": scoring, "store_cv_results": True, "fit_intercept": fit_intercept}
            ours = RidgeCV(**options).fit(convert(X), target, weights)
            other = theirs.RidgeCV(**options).fit(convert(X), target, weights)
            assert ours.alpha_ == other.alpha_
            np.testing.assert_allclose(ours.cv_results_, other.cv_results_, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(ours.best_score_, other.best_score_, rtol=1e-9)
            np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-8)


def test_leave_one_out_errors_are_those_of_leaving_out_one_by_one():
    X, y, _ = problem(n=15, p=4)
    model = RidgeCV(alphas=[0.3], store_cv_results=True).fit(X, y)
    keep = np.arange(15)
    for i in range(15):
        rest = Ridge(alpha=0.3).fit(X[keep != i], y[keep != i])
        assert model.cv_results_[i, 0] == pytest.approx((y[i] - rest.predict(X[i : i + 1])[0]) ** 2)


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_paths_match_scikit_learn(l1_ratio):
    X, y, _ = problem()
    seen = []
    options = {"l1_ratio": l1_ratio, "alphas": 20, "tol": 1e-10, "max_iter": 100000}
    alphas, coefs, gaps = enet_path(X, y, callback=lambda done, total: seen.append((done, total)), **options)
    theirs_alphas, theirs_coefs, _ = theirs.enet_path(X, y, **options)
    np.testing.assert_allclose(alphas, theirs_alphas)
    np.testing.assert_allclose(coefs, theirs_coefs, atol=1e-5)
    assert seen == [(k, 20) for k in range(1, 21)]
    assert gaps.shape == (20,)
    if l1_ratio == 1.0:
        np.testing.assert_array_equal(Lasso.path(X, y, alphas=alphas)[1], lasso_path(X, y, alphas=alphas)[1])


# --- what is ours ---


@pytest.mark.parametrize("weights", [False, True])
@INTERCEPT
def test_summary_matches_statsmodels(weights, fit_intercept):
    X, y = datasets.wine()
    s = 1.0 + np.arange(len(y)) % 3 if weights else np.ones(len(y))
    design = np.column_stack([X, np.ones(len(y))]) if fit_intercept else X
    other = sm.WLS(y, design, weights=s).fit()
    for matrix in (X, sp.csr_matrix(X)):
        model = LinearRegression(fit_intercept=fit_intercept, tol=1e-12).fit(matrix, y, s if weights else None)
        summary = model.summary()
        np.testing.assert_allclose(summary.coef, other.params, rtol=1e-6)
        np.testing.assert_allclose(summary.std_err, other.bse, rtol=1e-6)
        np.testing.assert_allclose(summary.p_value, other.pvalues, rtol=1e-6, atol=1e-300)
        np.testing.assert_allclose(np.column_stack(summary.interval), other.conf_int(), rtol=1e-6)
        assert summary.r_squared == pytest.approx(other.rsquared, rel=1e-9)


def test_more_features_than_samples_gives_the_solution_of_smallest_norm_and_no_errors():
    X, y, _ = problem(n=10, p=30)
    model = LinearRegression(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y, atol=1e-10)
    with pytest.raises(ValueError, match="more samples than features"):
        model.summary()


def test_ridge_on_large_sparse_data_is_certified_and_right():
    texts, labels = datasets.sms()
    from sklearn.feature_extraction.text import TfidfVectorizer

    X = TfidfVectorizer().fit_transform(texts[:2000])
    y = np.where(labels[:2000] == "spam", 1.0, -1.0)
    model = Ridge(alpha=1.0, tol=1e-12).fit(X, y)
    assert model.solver_ == "sparse_cg"
    exact = Ridge(alpha=1.0).fit(X.toarray(), y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-5)
    for tol in (1e-1, 1e-3):
        rough = Ridge(alpha=1.0, tol=tol).fit(X, y).certificate_
        assert rough.dual <= exact.certificate_.primal * (1 + 1e-12)
        assert exact.certificate_.primal <= rough.primal * (1 + 1e-12)
        assert rough.relative_gap <= tol


def test_lasso_on_real_text_is_at_the_optimum():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, labels = datasets.sms()
    X = TfidfVectorizer().fit_transform(texts)
    y = np.where(labels == "spam", 1.0, -1.0)
    ours = Lasso(alpha=1e-3, tol=1e-8).fit(X, y)
    other = theirs.Lasso(alpha=1e-3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, other.coef_, atol=1e-4)
    assert ours.certificate_.relative_gap <= 1e-8


def test_penalties_are_read_as_priors():
    X, y, s = problem()
    assert Ridge(alpha=4.0).fit(X, y).prior_.variance == 0.25
    assert Ridge(alpha=4.0).fit(X, y).prior_.scale == np.inf
    prior = ElasticNet(alpha=0.5, l1_ratio=0.25).fit(X, y, s).prior_
    assert prior.scale == pytest.approx(1 / (s.sum() * 0.5 * 0.25))
    assert prior.variance == pytest.approx(1 / (s.sum() * 0.5 * 0.75))


def test_one_standard_error_rule_takes_the_largest_alpha_within_it():
    X, y, _ = problem(n=40)
    model = LassoCV(alphas=30, one_standard_error=True).fit(X, y)
    means = model.mse_path_.mean(axis=1)
    best = means.argmin()
    limit = means[best] + model.mse_path_[best].std(ddof=1) / np.sqrt(5)
    assert model.alpha_ == max(alpha for alpha, mean in zip(model.alphas_, means, strict=True) if mean <= limit)
    assert model.alpha_ >= LassoCV(alphas=30).fit(X, y).alpha_


def test_cross_validation_tells_its_progress_and_is_the_same_for_any_number_of_threads():
    X, y, _ = problem()
    seen = []
    models = [
        LassoCV(alphas=7, n_jobs=jobs, callback=lambda done, total: seen.append((done, total))).fit(X, y)
        for jobs in (1, 2)
    ]
    assert sorted(seen) == sorted(2 * [(k, 35) for k in range(1, 36)])
    assert models[0].mse_path_.tobytes() == models[1].mse_path_.tobytes()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_few_dense_columns_far_from_0_and_nearly_equal_are_fitted_alike_by_rows_and_by_columns(fit_intercept, positive):
    X, y, s = problem(n=700, p=30)
    X[:, 3] += 1e6  # sums about 0 would lose its digits
    X[:, 5] = X[:, 4] + 1e-6 * X[:, 5]
    model = ElasticNet(alpha=0.02, l1_ratio=0.7, tol=1e-10, fit_intercept=fit_intercept, positive=positive)
    fits = [model.fit(matrix, y, s).coef_ for matrix in (np.ascontiguousarray(X), np.asfortranarray(X))]
    assert fits[0].tobytes() == fits[1].tobytes()
    assert model.certificate_.relative_gap <= 1e-10
    objective = reference.objective(
        X, y, model.coef_, model.intercept_, s, *(np.array([0.7, 0.3]) * 0.02 * s.sum()), "squared_error"
    )
    assert model.certificate_.primal == pytest.approx(objective, rel=1e-9)


def test_errors_of_folds_from_products_are_those_of_their_residuals():
    X, y, _ = problem(n=300, p=12)
    folds = [(np.arange(300) % 3 != k, np.arange(300) % 3 == k) for k in range(3)]
    model = LassoCV(alphas=[0.3, 0.01], cv=[tuple(map(np.flatnonzero, fold)) for fold in folds], tol=1e-10).fit(X, y)
    for k, (inside, outside) in enumerate(folds):
        for row, alpha in enumerate(model.alphas_):
            fit = Lasso(alpha=alpha, tol=1e-10).fit(X[inside], y[inside])
            errors = (fit.predict(X[outside]) - y[outside]) ** 2
            assert model.mse_path_[row, k] == pytest.approx(errors.mean(), rel=1e-8)


def test_warm_start_begins_at_the_last_weights():
    X, y, _ = problem()
    model = Lasso(alpha=0.05, warm_start=True, tol=1e-10, max_iter=10000).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold


def test_models_pickle_and_clone():
    X, y, _ = problem()
    for model in (
        LinearRegression(),
        Ridge(),
        RidgeCV(),
        Lasso(),
        ElasticNet(),
        LassoCV(alphas=5),
        ElasticNetCV(alphas=5),
    ):
        fitted = model.fit(X, y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
        clone(fitted)


# --- bad input ---


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), RidgeCV(), Lasso(), ElasticNet(), LassoCV(alphas=5)])
def test_hostile_values_are_named(model):
    X, y, _ = problem()
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        for matrix in (np.where(X == X[0, 0], value, X), sp.csr_matrix(np.where(X == X[0, 0], value, X))):
            with pytest.raises(ValueError, match=name):
                clone(model).fit(matrix, y)
        with pytest.raises(ValueError, match=name):
            clone(model).fit(X, np.where(y == y[0], value, y))
    with pytest.raises(ValueError, match=r"[Zz]ero"):
        clone(model).fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        clone(model).fit(X, y, sample_weight=np.full(len(y), -1.0))


def test_bad_parameters_are_named():
    X, y, _ = problem()
    with pytest.raises(
        ValueError, match=r"'l1_ratio' parameter of ElasticNet must be a float in the range \[0.0, 1.0\]"
    ):
        ElasticNet(l1_ratio=1.5).fit(X, y)
    with pytest.raises(ValueError, match="'alpha' parameter of Ridge"):
        Ridge(alpha=-1).fit(X, y)
    for model in (Lasso(alpha=np.inf), ElasticNet(alpha=np.inf), Ridge(alpha=np.inf)):
        with pytest.raises(ValueError, match=r"'alpha' parameter of \w+ must be"):
            model.fit(X, y)
    with pytest.raises(ValueError, match=r"alphas\[1\] == -2.0, must be > 0.0"):
        RidgeCV(alphas=[1.0, -2.0]).fit(X, y)
    with pytest.raises(ValueError, match="l1_ratio=0"):
        ElasticNetCV(l1_ratio=0).fit(X, y)


@pytest.mark.parametrize("convert", [np.asarray, sp.csc_matrix], ids=["dense", "sparse"])
def test_constant_and_unscaled_columns_give_the_right_answer(convert):
    rng = np.random.default_rng(3)
    X = np.column_stack([np.full(50, 7.0), np.zeros(50), 1e6 + 1e3 * rng.normal(size=50), 1e-6 * rng.normal(size=50)])
    y = 3e-3 * (X[:, 2] - 1e6) + rng.normal(size=50)
    model = Lasso(alpha=1e-3, tol=1e-8, max_iter=10000).fit(convert(X), y)
    assert (model.coef_[[0, 1, 3]] == 0).all()
    assert model.coef_[2] == pytest.approx(theirs.LinearRegression().fit(X[:, 2:3], y).coef_[0], rel=1e-5)
    assert Ridge(alpha=1.0).fit(convert(X), y).coef_[2] == pytest.approx(model.coef_[2], rel=1e-4)
    for other in (LinearRegression(), Ridge()):
        w = other.fit(convert(X), y).coef_
        assert w[:2] == pytest.approx([0, 0], abs=1e-9 * np.abs(w).max())


def test_a_million_columns_with_three_entries():
    X = sp.csc_matrix(([1.0, 2.0, 3.0], ([0, 1, 2], [5, 500_000, 999_999])), shape=(4, 1_000_000))
    y = np.array([1.0, 2.0, 3.0, 0.0])
    model = Lasso(alpha=0.01, fit_intercept=False, tol=1e-9).fit(X, y)
    assert np.flatnonzero(model.coef_).tolist() == [5, 500_000, 999_999]
    assert model.coef_[999_999] == pytest.approx((9 - 0.04) / 9)
    assert np.flatnonzero(Ridge(fit_intercept=False).fit(X, y).coef_).tolist() == [5, 500_000, 999_999]


def test_alpha_zero_is_least_squares():
    X, y, _ = problem()
    for matrix in (X, sp.csr_matrix(X)):
        for model in (Lasso(alpha=0), ElasticNet(alpha=0), Ridge(alpha=0)):
            np.testing.assert_allclose(model.fit(matrix, y).coef_, theirs.LinearRegression().fit(X, y).coef_, atol=1e-4)


def test_too_few_rounds_are_said_with_the_gap_reached():
    X, y, _ = problem(n=80, p=100)  # fewer columns than rows would be solved in one
    with pytest.warns(ConvergenceWarning, match=r"relative duality gap is .* after 1 iterations.*Increase max_iter"):
        Lasso(alpha=1e-3, max_iter=1).fit(X, y)
    X, y = sp.random(900, 700, 0.05, random_state=0, format="csr"), np.arange(900.0)
    with pytest.warns(ConvergenceWarning, match="relative duality gap"):
        Ridge(alpha=1e-3, max_iter=1).fit(X, y)


def test_a_column_of_targets_has_scikit_learns_shapes():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 4))
    y = X[:, :1] + 0.1 * rng.normal(size=(30, 1))
    for cls in (LinearRegression, Ridge, Lasso, ElasticNet, RidgeCV):
        ours, other = cls().fit(X, y), getattr(theirs, cls.__name__)().fit(X, y)
        assert ours.coef_.shape == other.coef_.shape, cls
        assert np.shape(ours.intercept_) == np.shape(other.intercept_), cls
        assert ours.predict(X).shape == other.predict(X).shape, cls


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_an_elastic_net_without_l1_is_ridge_to_full_precision(sparse, shape):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    X = sp.csc_matrix(X) if sparse else X
    net = ElasticNet(alpha=0.3, l1_ratio=0).fit(X, y)
    ridge = Ridge(alpha=0.3 * shape[0]).fit(X, y)
    np.testing.assert_allclose(net.coef_, ridge.coef_, rtol=1e-12, atol=1e-14)
    assert net.certificate_.relative_gap < 1e-12


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(60, 20), (20, 20), (20, 60)])
def test_sparse_ridge_with_a_vanishing_penalty_is_the_least_squares_solution(shape, fit_intercept):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    ours = Ridge(alpha=1e-16, fit_intercept=fit_intercept).fit(sp.csr_matrix(X), y)
    plain = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, plain.coef_, rtol=1e-7, atol=1e-9)


def test_a_given_gram_matrix_must_be_that_of_the_data():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    with pytest.warns(UserWarning, match="Gram matrix was provided but X was centered"):
        ElasticNet(precompute=X.T @ X).fit(X, y)
    ElasticNet(precompute=X.T @ X, fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="did not pass validation"):
        ElasticNet(precompute=np.eye(4), fit_intercept=False).fit(X, y)


@pytest.mark.parametrize("shape", [(80, 6), (9, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_rank_and_singular_values_are_those_of_the_centred_rows_when_they_are_read(shape, weighted):
    random = np.random.default_rng(0)
    X, y = random.normal(size=shape) + 1, random.normal(size=shape[0])
    s = random.uniform(0.5, 2, size=shape[0]) if weighted else np.ones(shape[0])
    model = LinearRegression().fit(X, y, s)
    about_mean = np.sqrt(s)[:, None] * (X - np.average(X, axis=0, weights=s))
    assert model.rank_ == np.linalg.matrix_rank(about_mean)
    expected = np.linalg.svd(about_mean, compute_uv=False)
    np.testing.assert_allclose(model.singular_, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
def test_nearly_equal_columns_lose_no_digits_to_the_gram_matrix(gap):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    X[:, 3] = X[:, 0] + gap * X[:, 1] ** 2
    y = X @ [1.0, 2.0, 3.0, 1.0] + random.normal(size=60)
    centred = X - X.mean(axis=0)
    expected = np.linalg.lstsq(centred, y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(centred @ LinearRegression().fit(X, y).coef_, centred @ expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("shape", [(30, 5), (12, 20)])
@pytest.mark.parametrize("alphas", [[1e-9, 1.0], [1.0, 10.0], np.logspace(-3, 3, 12)])
def test_leave_one_out_errors_are_those_of_as_many_fits(shape, alphas):
    random = np.random.default_rng(0)
    X, y = random.normal(size=shape) + 5, random.normal(size=shape[0])
    X[:, 0] = X[:, 1] + 1e-2 * X[:, 0]
    found = RidgeCV(alphas=alphas, store_cv_results=True).fit(X, y)
    for place, alpha in enumerate(alphas):
        for i in (0, shape[0] // 2):
            others = np.arange(shape[0]) != i
            model = Ridge(alpha=alpha, solver="svd").fit(X[others], y[others])
            error = (y[i] - model.predict(X[[i]])[0]) ** 2
            assert found.cv_results_[i, place] == pytest.approx(error, rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_conjugate_gradients_of_samples_reach_the_closed_form_with_a_gap_within_tol(fit_intercept, weighted):
    random = np.random.default_rng(0)
    X = sp.random(420, 3000, density=0.005, random_state=0, format="csr")  # wide, and no column longer than rows
    y = random.normal(size=420) + 3
    s = random.integers(0, 3, size=420).astype(float) if weighted else None
    found = Ridge(fit_intercept=fit_intercept, tol=1e-6).fit(X, y, s)
    assert found.solver_ == "sparse_cg"
    exact = Ridge(fit_intercept=fit_intercept, solver="svd").fit(X.toarray(), y, s)
    np.testing.assert_allclose(found.coef_, exact.coef_, atol=1e-5)
    np.testing.assert_allclose(found.intercept_, exact.intercept_, atol=1e-5)
    assert 0 <= found.certificate_.relative_gap < 1e-6
    assert found.certificate_.dual <= exact.certificate_.primal <= found.certificate_.primal * (1 + 1e-12)
