"""Linear support vector machines against scikit-learn, their certificates, and what can be worked out by hand."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import datasets
from tallywise import _native
from tallywise.errors import NotSeparableError
from tallywise.linear import LinearSVC, LinearSVR, Ridge
from tests.reference.margins import crammer_singer_objective, margin_loss, svm_objective

FIVE = np.array([[1.0, 3.0], [3.0, 3.0], [4.0, 4.0], [2.0, 1.0], [5.0, 2.0]]), np.array([1, 1, 1, -1, -1])
CLASSIFICATION = ["hinge", "squared_hinge"]  # those of scikit-learn; all have tests/contracts/test_loss_fits.py
REGRESSION = ["epsilon_insensitive", "squared_epsilon_insensitive"]


@pytest.mark.parametrize("loss", ["modified_huber", "huber", *CLASSIFICATION, *REGRESSION])
def test_losses_are_their_formulas(loss):
    z = np.linspace(-4, 4, 161)
    for y in (-1.0, 1.0):
        found = [_native.loss_at(loss, 0.25, y, score)["value"] for score in z]
        np.testing.assert_allclose(found, margin_loss(loss, y, z, 0.25), atol=1e-14)


def test_a_wrong_label_pulls_a_modified_huber_less_than_a_squared_hinge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    y[:6] *= -1
    X[:6, 0] *= 10  # labels that are wrong by far
    robust, squared = (LinearSVC(loss=loss).fit(X, y).coef_[0] for loss in ("modified_huber", "squared_hinge"))
    assert robust[0] > 2 * squared[0] > 0


def test_huber_with_a_wide_square_is_ridge_and_with_a_narrow_one_least_absolute_deviations():
    X, y = make_regression(100, 5, noise=20.0, random_state=0)
    options = dict(C=0.5, intercept="free", tol=1e-10)
    ridge = Ridge(alpha=2.0).fit(X, y)
    np.testing.assert_allclose(LinearSVR(loss="huber", epsilon=1e6, **options).fit(X, y).coef_, ridge.coef_, rtol=1e-6)
    narrow = LinearSVR(loss="huber", epsilon=1e-4, C=0.5e4, intercept="free", tol=1e-10).fit(X, y)
    absolute = LinearSVR(**options).fit(X, y)
    np.testing.assert_allclose(narrow.coef_, absolute.coef_, rtol=1e-4)


def test_the_five_points_have_the_margin_worked_out_by_hand():
    X, y = FIVE
    model = LinearSVC(C=np.inf).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[-0.4, 1.2]], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [-1.4], atol=1e-12)
    assert model.margin_ == pytest.approx(np.sqrt(2.5) / 2)
    assert model.support_.tolist() == [1, 3, 4]
    np.testing.assert_allclose(model.functional_margin(X, y), [1.8, 1, 1.8, 1, 1], atol=1e-12)
    assert model.certificate_.relative_gap < 1e-9


@parametrize_with_checks(
    [
        LinearSVC(loss="hinge", intercept="free"),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(penalty="l1"),
        LinearSVR(loss="squared_epsilon_insensitive", intercept="free"),
    ]
)
def test_linear_machines_keep_the_estimator_laws(estimator, check):
    check(estimator)


def narrow(seed=0, classes=2):
    X, y = make_classification(300, 12, n_informative=8, n_classes=classes, flip_y=0.1, random_state=seed)
    return X, y


def long(seed=0, rare=False):
    """Rows enough for hinges to be solved on those near the margin; some are far on the wrong side."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3000, 8)) * (rng.random((3000, 8)) < 0.5)
    y = (X @ rng.standard_normal(8) + 0.3 * rng.standard_normal(3000) > (4 if rare else 0)).astype(int)
    y[:30] = 1 - y[:30]
    return X, y


def wide(seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = sp.random(200, 3000, density=0.02, format="csr", random_state=seed)
    W = rng.standard_normal((3000, classes))
    return X, np.argmax(X @ W + 0.3 * rng.standard_normal((200, classes)), axis=1)


@pytest.mark.parametrize("data", [narrow, wide])
@pytest.mark.parametrize("loss", CLASSIFICATION)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_binary_objective_is_that_of_scikit_learn(data, loss, C):
    X, y = data()
    ours = LinearSVC(loss=loss, C=C, tol=1e-8, max_iter=100_000, intercept_scaling=2.0).fit(X, y)
    theirs = sklearn.svm.LinearSVC(
        loss=loss, C=C, tol=1e-8, max_iter=1_000_000, intercept_scaling=2.0, dual=True, random_state=0
    ).fit(X, y)
    sign = 2.0 * y - 1

    def objective(m):
        return svm_objective(X, sign, m.coef_[0], m.intercept_[0], C=C, loss=loss, scaling=2.0)

    assert objective(ours) == pytest.approx(objective(theirs), rel=1e-6)
    assert ours.certificate_.primal == pytest.approx(objective(ours), rel=1e-9)
    assert ours.certificate_.dual <= objective(theirs) * (1 + 1e-9)
    assert ours.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize("rare", [False, True])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("intercept", ["penalised", "free"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_hinges_of_long_data_count_rows_that_were_left_out(rare, C, intercept, form):
    X, y = long(rare=rare)
    s = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0)
    ours = LinearSVC(loss="hinge", C=C, tol=1e-8, intercept=intercept).fit(form(X), y, sample_weight=s)
    few = LinearSVC(loss="hinge", C=C, tol=1e-8, intercept=intercept).fit(X[s > 0][:1900], y[s > 0][:1900])

    def objective(m):
        scaling = None if intercept == "free" else 1.0
        return svm_objective(X, 2.0 * y - 1, m.coef_[0], m.intercept_[0], C=C, loss="hinge", s=s, scaling=scaling)

    assert ours.certificate_.primal == pytest.approx(objective(ours), rel=1e-9)
    assert ours.certificate_.relative_gap <= 1e-8
    assert ours.certificate_.dual <= objective(few)
    if intercept == "penalised":
        theirs = sklearn.svm.LinearSVC(loss="hinge", C=C, tol=1e-4, max_iter=100_000, random_state=0)
        assert ours.certificate_.dual <= objective(theirs.fit(X, y, sample_weight=s)) <= 1.001 * objective(ours)


@pytest.mark.parametrize("data", [narrow, wide])
@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_a_free_intercept_is_the_limit_of_a_large_scaling(data, loss):
    X, y = data()
    sign = 2.0 * y - 1
    free = LinearSVC(loss=loss, intercept="free", tol=1e-7, max_iter=100_000).fit(X, y)
    found = svm_objective(X, sign, free.coef_[0], free.intercept_[0], loss=loss, scaling=None)
    assert free.certificate_.primal == pytest.approx(found, rel=1e-9)
    assert free.certificate_.relative_gap <= 1e-7
    penalised = LinearSVC(loss=loss, tol=1e-7, max_iter=100_000).fit(X, y)
    worse = svm_objective(X, sign, penalised.coef_[0], penalised.intercept_[0], loss=loss, scaling=None)
    assert free.certificate_.dual <= worse
    assert found <= worse * (1 + 1e-9)


@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_classes_against_the_rest_with_weights_match_scikit_learn(loss):
    X, y = wide(classes=4)
    s = np.random.default_rng(0).uniform(0.1, 2, len(y))
    options = dict(loss=loss, class_weight={0: 2.0, 3: 0.5}, C=2.0)
    ours = LinearSVC(**options, tol=1e-9, max_iter=100_000).fit(X, y, s)
    theirs = sklearn.svm.LinearSVC(**options, tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y, s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)


@pytest.mark.parametrize("data", [narrow, wide])
def test_crammer_singer_reaches_the_objective_of_scikit_learn(data):
    X, y = data(classes=3)
    ours = LinearSVC(multi_class="crammer_singer", tol=1e-7, max_iter=100_000).fit(X, y)
    theirs = sklearn.svm.LinearSVC(multi_class="crammer_singer", tol=1e-9, max_iter=1_000_000).fit(X, y)
    found = crammer_singer_objective(X, y, ours.coef_, ours.intercept_)
    assert found == pytest.approx(crammer_singer_objective(X, y, theirs.coef_, theirs.intercept_), rel=1e-6)
    assert ours.certificate_.primal == pytest.approx(found, rel=1e-9)


def test_l1_leaves_weights_at_zero_and_matches_scikit_learn():
    X, y = wide()
    ours = LinearSVC(penalty="l1", C=5.0, tol=1e-8, max_iter=10_000).fit(X, y)
    theirs = sklearn.svm.LinearSVC(penalty="l1", dual=False, C=5.0, tol=1e-8, max_iter=100_000).fit(X, y)

    def objective(m):
        z = m.decision_function(X)
        loss = np.maximum(0, 1 - (2 * y - 1) * z) ** 2
        return np.abs(m.coef_).sum() + np.abs(m.intercept_).sum() + 5.0 * loss.sum()

    assert objective(ours) == pytest.approx(objective(theirs), rel=1e-6)
    assert 0 < np.count_nonzero(ours.coef_) < 200


@pytest.mark.parametrize("loss", REGRESSION)
@pytest.mark.parametrize("shape", [(200, 8), (60, 3000)])
def test_regression_objective_is_that_of_scikit_learn(loss, shape):
    X, y = make_regression(*shape, n_informative=5, noise=5.0, random_state=0)
    y /= 10
    options = dict(loss=loss, epsilon=0.5, C=0.1)
    ours = LinearSVR(**options, tol=1e-8, max_iter=100_000).fit(X, y)
    theirs = sklearn.svm.LinearSVR(**options, tol=1e-8, max_iter=1_000_000, dual=True, random_state=0).fit(X, y)

    def objective(m):
        return svm_objective(X, y, m.coef_, float(m.intercept_[0]), C=0.1, loss=loss, epsilon=0.5)

    assert objective(ours) <= objective(theirs) * (1 + 1e-6)
    assert ours.certificate_.primal == pytest.approx(objective(ours), rel=1e-9)
    assert ours.certificate_.relative_gap <= 1e-8


def test_columns_of_any_scale_converge_where_coordinate_descent_does_not():
    X, y = datasets.wine()
    model = LinearSVC(loss="hinge").fit(X, y > 5)
    assert model.certificate_.relative_gap < 1e-4
    assert model.n_iter_ < 100


@pytest.mark.parametrize("data", [narrow, wide])
@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_same_bytes_for_any_number_of_threads(data, loss):
    X, y = data(classes=9)
    one = LinearSVC(loss=loss, n_jobs=1).fit(X, y)
    for threads in (2, 4, 8):
        many = LinearSVC(loss=loss, n_jobs=threads).fit(X, y)
        assert many.coef_.tobytes() == one.coef_.tobytes()
        assert many.intercept_.tobytes() == one.intercept_.tobytes()


@pytest.mark.parametrize("classes", [3, 9])
@pytest.mark.parametrize(
    "options", [{}, {"loss": "hinge"}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}], ids=lambda o: str(o)
)
def test_neither_the_order_of_rows_nor_the_form_of_repeats_changes_a_wide_fit(options, classes):
    X, y = wide(classes=classes)
    s = np.random.default_rng(0).integers(0, 3, len(y))
    order = np.random.default_rng(1).permutation(len(y))
    rows = np.arange(len(y)).repeat(s)
    weighted = LinearSVC(**options, tol=1e-3).fit(X[order], y[order], s[order])
    repeated = LinearSVC(**options, tol=1e-3).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)


@pytest.mark.parametrize("classes", [2, 3])
def test_repeated_rows_of_narrow_sparse_data_count_as_often_as_they_come(classes):
    X, y = narrow(classes=classes)
    rows = np.arange(len(y)).repeat(np.random.default_rng(0).integers(0, 4, len(y)))
    dense = LinearSVC(loss="hinge", tol=1e-9).fit(X[rows], y[rows])
    merged = [LinearSVC(loss="hinge", tol=1e-9, n_jobs=k).fit(sp.csr_matrix(X[rows]), y[rows]) for k in (1, 3)]
    assert merged[0].coef_.tobytes() == merged[1].coef_.tobytes()
    np.testing.assert_allclose(merged[0].coef_, dense.coef_, atol=1e-4)
    assert merged[0].certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-8)
    assert merged[0].certificate_.dual <= dense.certificate_.primal * (1 + 1e-9)


def test_repeated_rows_of_narrow_sparse_data_merge_only_where_their_numbers_agree():
    X, y = make_regression(200, 8, noise=5.0, random_state=0)
    X, y = np.vstack([X, X, X]), np.concatenate([y, y, y + 3.0])
    dense = LinearSVR(epsilon=0.5, tol=1e-9).fit(X, y)
    merged = LinearSVR(epsilon=0.5, tol=1e-9).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(merged.coef_, dense.coef_, rtol=1e-4)
    assert merged.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_rows_may_be_stored_in_any_order(loss):
    X, y = narrow()
    rows = sp.csr_matrix(X)
    backwards = sp.csr_matrix(
        (X[:, ::-1].ravel(), np.tile(np.arange(X.shape[1])[::-1], len(X)).astype(np.int32), rows.indptr), shape=X.shape
    )
    assert not backwards.has_sorted_indices
    expected = LinearSVC(loss=loss).fit(rows, y).coef_
    np.testing.assert_allclose(LinearSVC(loss=loss).fit(backwards, y).coef_, expected, rtol=1e-6)


@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_many_classes_are_each_what_they_would_be_alone(loss):
    X, y = wide(classes=9)
    model = LinearSVC(loss=loss, tol=1e-8, max_iter=100_000).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    for k in range(9):
        alone = LinearSVC(loss=loss, tol=1e-8, max_iter=100_000).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_numbers_that_overflow_are_refused_by_name_or_said(loss):
    X, y = narrow()
    with pytest.raises(ValueError, match="overflowed") if loss == "hinge" else pytest.warns(ConvergenceWarning):
        LinearSVC(loss=loss).fit(X * 1e150, y)


def test_an_objective_that_overflows_is_refused():
    X, y = make_regression(50, 4, random_state=0)
    with pytest.raises(ValueError, match="overflowed"):
        LinearSVR(loss="huber", epsilon=0.1).fit(X * 1e200, y)


@pytest.mark.parametrize("intercept", ["free", "penalised"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_hard_margin_is_the_limit_of_large_c(intercept, as_sparse):
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((80, 5)), rng.standard_normal(5)
    side = np.sign(X @ w)
    y = np.where(side > 0, "up", "down")
    X += 0.1 * side[:, None] * w
    data = sp.csr_matrix(X) if as_sparse else X
    hard = LinearSVC(C=np.inf, intercept=intercept).fit(data, y)
    soft = LinearSVC(C=1e7, loss="hinge", intercept=intercept, tol=1e-10).fit(data, y)
    np.testing.assert_allclose(hard.coef_, soft.coef_, rtol=1e-3)
    margins = hard.functional_margin(data, y)
    assert margins.min() == pytest.approx(1, abs=1e-8)
    np.testing.assert_allclose(margins[hard.support_], 1, atol=1e-6)
    assert hard.margin_ == pytest.approx(1 / np.linalg.norm(hard.coef_))
    assert hard.certificate_.relative_gap < 1e-8


def test_hard_margin_of_text_has_every_point_outside():
    X, y = wide(seed=3)
    model = LinearSVC(C=np.inf).fit(X, y)
    assert model.functional_margin(X, y).min() > 1 - 1e-6
    assert model.certificate_.relative_gap < 1e-6


@pytest.mark.parametrize("intercept", ["free", "penalised"])
def test_inseparable_data_are_refused_with_a_combination_at_the_origin(intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = rng.integers(0, 2, 60)
    with pytest.raises(NotSeparableError, match="No hyperplane") as caught:
        LinearSVC(C=np.inf, intercept=intercept).fit(X, y)
    proof = caught.value.combination
    assert proof.min() >= 0
    assert proof.sum() == pytest.approx(1)
    signed = (2 * y - 1)[:, None] * np.column_stack([X, np.ones(60)])
    assert np.abs(proof @ signed).max() < 1e-8
    assert pickle.loads(pickle.dumps(caught.value)).label == caught.value.label


def test_one_point_on_both_sides_is_refused():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]])
    with pytest.raises(NotSeparableError):
        LinearSVC(C=np.inf).fit(X, [0, 1, 1])


def test_combinations_that_scikit_learn_refuses_are_refused():
    X, y = FIVE
    for options in (
        {"penalty": "l1", "loss": "hinge"},
        {"loss": "hinge", "dual": False},
        {"penalty": "l1", "dual": True},
    ):
        with pytest.raises(ValueError, match="Unsupported set of arguments"):
            LinearSVC(**options).fit(X, y)
    with pytest.raises(ValueError, match="penalised intercept only"):
        LinearSVC(multi_class="crammer_singer", intercept="free").fit(X, y)


def test_too_few_iterations_warn_with_the_gap_and_a_remedy():
    X, y = wide()
    with pytest.warns(ConvergenceWarning, match="duality gap is .* Increase max_iter"):
        LinearSVC(max_iter=1, loss="hinge", C=100.0).fit(X, y)


def test_newsgroups_scores_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, labels = datasets.newsgroups()
    few = np.isin(labels, np.unique(labels)[:4])
    X = TfidfVectorizer().fit_transform([text for text, keep in zip(texts, few, strict=True) if keep])
    y = labels[few]
    ours = LinearSVC(tol=1e-9).fit(X, y)
    theirs = sklearn.svm.LinearSVC(tol=1e-9, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_rows_that_resemble_each_other_take_few_sweeps_and_the_same_bits_on_any_threads():
    """Pairs of nearly equal rows, whose targets differ: by sweeps alone it takes 38,199 of them."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((150, 2500)) * (rng.random((150, 2500)) < 0.05), 2, axis=0)
    X += 0.02 * rng.standard_normal(X.shape) * (rng.random(X.shape) < 0.02)
    y = np.repeat(rng.standard_normal(150), 2) + 0.2 * rng.standard_normal(300)
    for design in (X, sp.csr_matrix(X)):
        models = [LinearSVR(C=1.0, epsilon=0.1, tol=1e-5, max_iter=100_000, n_jobs=jobs) for jobs in (1, 3)]
        one, three = (model.fit(design, y) for model in models)
        assert one.certificate_.relative_gap <= 1e-5
        assert one.n_iter_ < 5000
        np.testing.assert_array_equal(one.coef_, three.coef_)


def test_long_sparse_rows_reach_a_gap_of_rounding_with_the_same_bytes_on_any_threads():
    random = np.random.default_rng(0)
    n, p, filled = 3000, 2100, 5  # a Hessian would cost more than products with X
    columns = np.minimum((random.pareto(0.7, size=(n, filled)) * 5).astype(int), p - 1)
    X = sp.csr_matrix((np.ones(n * filled), (np.repeat(np.arange(n), filled), columns.ravel())), shape=(n, p))
    y = (X @ random.normal(size=p) + random.normal(size=n) > 0).astype(int)
    one, three = (LinearSVC(n_jobs=threads).fit(X, y) for threads in (1, 3))
    assert one.certificate_.relative_gap < 1e-6
    assert one.n_iter_ < 30
    assert one.coef_.tobytes() == three.coef_.tobytes()
