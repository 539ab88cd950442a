"""Damaged matrices and calls at random: the right answer or a clear error, never a crash or a hang."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from reliability.calls import estimators, run
from tallywise import (
    CategoricalNB,
    ComplementNB,
    ElasticNetCV,
    KNeighborsClassifier,
    KNeighborsRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegressionCV,
    MinimaxConcaveRegression,
    OrdinalRegression,
    Perceptron,
    RandomFourierFeatures,
    Ridge,
    RidgeCV,
    TfidfTransformer,
    _arrays,
)

SPARSE = [
    name
    for name, cls in estimators().items()
    if name != "OrdinalRegression" and cls().__sklearn_tags__().input_tags.sparse
]


def damaged(kind):
    """A 6 x 4 matrix with one entry that points outside of it."""
    X = sp.csr_matrix(np.arange(24.0).reshape(6, 4) % 5)
    if kind in ("csr", "csc", "bsr"):
        X = X.asformat(kind)
        X.indices[0] = 1000
    elif kind == "negative":
        X.indices[3] = -7
    elif kind == "indptr":
        X.indptr[-1] += 10**6
    elif kind == "falling":
        X.indptr[2], X.indptr[3] = X.indptr[3], X.indptr[2]
    elif kind == "coo":
        X = X.tocoo()
        X.row[0] = 10**6
    elif kind == "lil":
        X = X.tolil()
        X.rows[0][-1] = 10**6
    return X


KINDS = ["csr", "csc", "bsr", "negative", "indptr", "falling", "coo", "lil"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_sparse_matrix_is_refused_with_its_cause(kind):
    with pytest.raises(ValueError, match="damaged"):
        _arrays.check_structure(damaged(kind))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "csr_array", "lil", "dok", "dia"])
@pytest.mark.parametrize("shape", [(6, 4), (1, 1), (0, 4), (4, 0)])
def test_a_sound_sparse_matrix_passes(kind, shape):
    X = sp.random_array(shape, density=0.5, format="csr", random_state=0) if min(shape) else sp.csr_matrix(shape)
    _arrays.check_structure(sp.csr_array(X) if kind == "csr_array" else sp.csr_matrix(X).asformat(kind))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SPARSE)
def test_damaged_matrices_are_refused_before_scipy_reads_them(name):
    sound = sp.csr_matrix(np.arange(80.0).reshape(20, 4) % 7)
    cls = estimators()[name]
    for kind in KINDS:
        with pytest.raises(ValueError, match="damaged"):
            cls().fit(damaged(kind), [0, 1, 0, 1, 0, 1])
    model = cls().fit(sound, [0, 1] * 10)
    verbs = [verb for verb in ("predict", "predict_proba", "decision_function", "transform") if hasattr(model, verb)]
    for verb in verbs:
        for kind in KINDS:
            with pytest.raises(ValueError, match="damaged"):
                getattr(model, verb)(damaged(kind))


@pytest.mark.parametrize(
    "X", [[[1e19], [0]], np.array([[2**70], [1]], dtype=object), [[np.inf], [0]], [[2**63 - 1], [0]]]
)
def test_categories_beyond_all_integers_are_refused_by_name(X):
    with pytest.raises(ValueError, match=r"Categories are numbered from 0|infinity"):
        CategoricalNB().fit(X, [0, 1])
    with pytest.raises(ValueError, match="'min_categories' must be at most"):
        CategoricalNB(min_categories=2**40).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("seed", [1, 2])
def test_calls_at_random_answer_or_say_what_is_wrong_and_print_nothing(seed):
    became, wrong = run(seed, 0, 150)
    assert not wrong
    assert min(became.values()) > 20


def test_one_class_alone_has_normalised_complement_weights():
    assert ComplementNB(norm=True).fit([[1]], [1]).predict_proba([[1], [0]]).tolist() == [[1.0], [1.0]]


def test_logarithms_of_counts_want_counts():
    weigh = TfidfTransformer(sublinear_tf=True, use_idf=False, norm=None)
    with pytest.raises(ValueError, match="must not be negative"):
        weigh.fit_transform(np.array([[-1.0, 2.0]]))
    stored = sp.csr_matrix((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert weigh.fit_transform(stored).toarray().tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("model", [MinimaxConcaveRegression(gamma=0.5), Lasso(), LassoCV(cv=2), ElasticNetCV(cv=2)])
def test_targets_whose_squares_overflow_are_refused_at_once(model):
    with pytest.raises(ValueError, match="Scale X and y"):
        model.fit(np.eye(7), np.full(7, 1e200) * [1, -1, 1, -1, 1, -1, 1])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("how", [{}, {"p": 1.5}, {"algorithm": "kd_tree"}, {"algorithm": "brute"}])
def test_distances_beyond_floating_point_are_refused_and_not_alike(form, how):
    """Their squares are infinite long before they are: the nearest rows would be the first ones."""
    if form is not np.asarray and how.get("algorithm") == "kd_tree":
        pytest.skip("a tree takes dense rows")
    X, y = form([[1e250, 0.0], [2e250, 0.0], [3e250, 0.0]]), ["a", "b", "b"]
    for model, labels in ((KNeighborsClassifier(1, **how), y), (KNeighborsRegressor(1, **how), [1, 2, 3])):
        model.fit(X, labels)
        with pytest.raises(ValueError, match="Distances of these samples are beyond floating point: divide X"):
            model.predict(form([[2.9e250, 1e250]]))
        assert model.fit(X / 1e250, labels).predict(form([[2.9, 1.0]])) == labels[2]


@pytest.mark.parametrize("scale", [1e155, 1e200, 1e308])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_margins_beyond_floating_point_are_unknown_and_never_nan(scale, form):
    X = np.random.default_rng(0).uniform(-1, 1, size=(20, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # of scikit-learn, which adds entries up to look for infinity
        try:
            model = Perceptron().fit(form(X * scale), X[:, 0] > 0)
        except ValueError as error:
            assert "floating point" in str(error)  # noqa: PT017
            return
    assert model.margin_ >= 0
    assert model.mistake_bound_ > 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_angles_beyond_floating_point_are_refused(form):
    model = RandomFourierFeatures(gamma=1.0, random_state=0).fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="Angles of these samples are beyond floating point"):
        model.transform(form([[1e308, 1e308], [1.0, 0.0]]))


def test_standard_errors_beyond_floating_point_are_refused():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.digitize(X[:, 0] + np.random.default_rng(1).normal(size=60), [-1.0, 1.0])
    model = OrdinalRegression(l2=0.0).fit(X * 1e-308, y)
    with pytest.raises(ValueError, match="Standard errors are beyond floating point"):
        model.summary()


@pytest.mark.parametrize("name", ["MultinomialNB", "PoissonNB", "ComplementNB"])
def test_scores_that_are_no_numbers_are_refused_with_a_remedy(name):
    X, y = np.array([[2.0, 1.0, 0.0, 0.0], [0.0, 1.0, 2.0, 1.0]]), [0, 1]
    model = estimators()[name](alpha=0).fit(X, y)
    for verb in ("predict", "predict_proba", "predict_joint_log_proba"):
        with pytest.raises(ValueError, match=r"Row 1 of X .* Smooth with alpha > 0"):
            getattr(model, verb)([[0.0, 1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 1.0]])


def test_normalised_complement_weights_without_smoothing_are_the_limit_of_little_smoothing():
    X, y = np.array([[2.0, 1.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0], [1.0, 0.0, 0.0, 3.0]]), [0, 1, 2]
    least, little = (ComplementNB(alpha=alpha, norm=True).fit(X, y).feature_log_prob_ for alpha in (0, 1e-300))
    assert np.isfinite(least).all()
    np.testing.assert_allclose(least, little, atol=0.01)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("scale", [1e-200, 1e-320, 1e200, 1e306])
def test_rows_are_normalised_at_any_scale(norm, scale):
    X = np.array([[3.0, 4.0, 0.0], [0.0, 1.0, 0.0]])
    expected = TfidfTransformer(norm=norm, use_idf=False).fit_transform(X).toarray()
    found = TfidfTransformer(norm=norm, use_idf=False).fit_transform(X * scale).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-12 if scale > 1e-300 else 1e-3)


def test_a_term_with_an_infinite_idf_is_refused_where_it_occurs():
    with np.errstate(divide="ignore"):
        model = TfidfTransformer(smooth_idf=False).fit([[1.0, 0.0], [2.0, 0.0]])
    assert model.transform([[3.0, 0.0]]).toarray().tolist() == [[1.0, 0.0]]
    with pytest.raises(ValueError, match=r"Column 1 was in no document of fit.* smooth_idf=True"):
        model.transform([[3.0, 1.0]])


def test_weights_that_overflow_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        TfidfTransformer().fit([[1.0, 1.0], [1.0, 0.0]]).transform([[1.0, 1.7e308]])


def test_one_class_is_refused_by_a_perceptron_that_learns_in_parts():
    model = Perceptron()
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        model.partial_fit([[1.0], [2.0]], ["a", "a"], classes=["a"])
    model.partial_fit([[1.0], [2.0]], ["a", "b"], classes=["a", "b"])
    assert model.predict([[1.0]])[0] in ("a", "b")


@pytest.mark.filterwarnings("ignore")
def test_a_fold_without_weight_is_refused_with_a_remedy():
    X, y = np.arange(12.0)[:, None] % 5, np.arange(12) % 2
    weight = np.where(np.arange(12) < 6, 0.0, 1.0)
    with pytest.raises(ValueError, match="holds out rows of weight 0 alone"):
        LogisticRegressionCV(cv=[(range(6, 12), range(6)), (range(6), range(6, 12))]).fit(X, y, sample_weight=weight)


FORMS = {
    "repeats": lambda X: sp.csr_matrix(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape
    ),
    "zeros": lambda X: sp.csr_matrix(
        (X.toarray().ravel(), np.tile(np.arange(X.shape[1]), X.shape[0]), np.arange(X.shape[0] + 1) * X.shape[1]),
        shape=X.shape,
    ),
    "blocks": lambda X: sp.bsr_matrix(X, blocksize=(2, 2)),
    "columns": lambda X: X.tocsc(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("copy", [True, False])
def test_tf_idf_is_of_the_matrix_and_not_of_how_it_is_stored(form, copy):
    X = sp.csr_matrix(np.arange(24.0).reshape(6, 4) % 5)
    stored = FORMS[form](X)
    before = stored.toarray(), stored.nnz
    model = TfidfTransformer().fit(stored)
    expected = TfidfTransformer().fit(X)
    np.testing.assert_array_equal(model.idf_, expected.idf_)
    assert stored.nnz == before[1]
    np.testing.assert_allclose(
        model.transform(stored, copy=copy).toarray(), expected.transform(X).toarray(), rtol=1e-15
    )
    assert not copy or (stored.toarray() == before[0]).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["GaussianNB", "MultinomialNB", "LogisticRegression", "KNeighborsClassifier", "Ridge"])
def test_numbers_in_another_order_of_bytes_are_the_same_numbers(name):
    X, y = np.arange(80.0).reshape(20, 4) % 7, np.arange(20) % 2
    expected = estimators()[name]().fit(X, y).predict(X)
    for kind in (">f8", ">f4", ">i8", ">i4"):
        assert (estimators()[name]().fit(X.astype(kind), y).predict(X.astype(kind)) == expected).all()


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), RidgeCV(), Lasso(alpha=0.01), LinearSVR()], ids=str)
def test_scores_beyond_floating_point_are_refused_and_never_nan(model):
    X = np.random.default_rng(0).normal(size=(6, 4))
    model.fit(X, X @ [1.0, -1.0, 2.0, 1.0])
    model.coef_ = model.coef_ * 1e199
    with pytest.raises(ValueError, match="Scores of these samples are beyond floating point"):
        model.predict(X * 1e231)
    assert np.isposinf(model.predict(1e231 * np.sign(model.coef_)[None, :])).all()


@pytest.mark.parametrize("model", [LinearSVC(), Perceptron()], ids=str)
def test_scores_of_classes_beyond_floating_point_are_refused(model):
    X = np.random.default_rng(0).normal(size=(30, 4))
    model.fit(X, X @ [1.0, -1.0, 2.0, 1.0] > 0)
    model.coef_ = model.coef_ * 1e199
    for verb in (model.decision_function, model.predict):
        with pytest.raises(ValueError, match="Scores of these samples are beyond floating point"):
            verb(X * 1e231)
