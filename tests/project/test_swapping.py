"""What meets a user who swaps the import: names of solvers, callbacks, meta-estimators, one answer for any X."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as theirs
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import tallywise as ours
from tallywise.linear import enet_path
from tallywise.linear.least_squares._base import dense_where_small


class Recorder:
    """A callback that keeps the state of the model after each task, and stops where it is told to."""

    def __init__(self, stop_after=None):
        self.tasks = []
        self.stop_after = stop_after

    def setup(self, estimator, context):
        self.tasks.append("setup")

    def teardown(self, estimator, context):
        self.tasks.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.tasks.append((context.task_name, None if fitted_estimator is None else fitted_estimator.predict_proba(X)))
        return self.stop_after is not None and context.task_id + 1 == self.stop_after


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("scaling", [0.1, 1.0, 1e4])
@pytest.mark.parametrize("sparse", [False, True])
def test_liblinear_penalises_the_intercept_as_scikit_learn_does(l1_ratio, scaling, sparse):
    X, y = make_classification(n_samples=120, n_features=6, weights=[0.8], random_state=1)
    X = sp.csr_matrix(X + 1) if sparse else X + 1
    asked = {"C": 0.3, "l1_ratio": l1_ratio, "solver": "liblinear", "intercept_scaling": scaling, "tol": 1e-9}
    mine = ours.LogisticRegression(**asked, max_iter=10_000).fit(X, y)
    other = theirs.LogisticRegression(**asked, max_iter=100_000, random_state=0).fit(X, y)
    assert mine.coef_ == pytest.approx(other.coef_, abs=2e-4)
    assert mine.intercept_ == pytest.approx(other.intercept_, abs=2e-4)
    assert mine.certificate_.relative_gap <= 1e-9


def test_liblinear_in_cross_validation_and_on_paths_has_the_same_penalty_as_one_fit():
    X, y = make_classification(n_samples=120, n_features=6, weights=[0.8], random_state=1)
    asked = {"solver": "liblinear", "intercept_scaling": 0.5, "tol": 1e-9}
    chosen = ours.LogisticRegressionCV(
        Cs=[0.1], l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False, **asked
    ).fit(X, y)
    once = ours.LogisticRegression(C=0.1, **asked).fit(X, y)
    assert chosen.coef_ == pytest.approx(once.coef_, rel=1e-4)
    assert chosen.intercept_ == pytest.approx(once.intercept_, rel=1e-4)
    path = ours.LogisticRegression(l1_ratio=1.0, **asked).path(X, y, Cs=5)
    assert path.coefs[0].nnz == 0
    assert path.intercepts[0] == 0
    assert path.coefs[1].nnz > 0 or path.intercepts[1] != 0
    last = ours.LogisticRegression(C=path.Cs[-1], l1_ratio=1.0, **asked).fit(X, y)
    assert path.coefs[-1].toarray() == pytest.approx(last.coef_, abs=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_callbacks_see_each_round_as_a_fit_of_so_many_rounds(classes):
    X, y = make_classification(n_features=4, n_informative=4, n_redundant=0, n_classes=classes, random_state=0)
    recorder = Recorder()
    model = ours.LogisticRegression(tol=1e-8).set_callbacks(recorder).fit(X, y)
    assert recorder.tasks[0] == "setup"
    assert recorder.tasks[-1] == "teardown"
    rounds = [state for name, state in recorder.tasks[1:-1] if name == "lbfgs-iter"]
    assert len(rounds) == model.n_iter_[0] + 1
    assert rounds[-1] is None
    assert model.n_iter_[0] > 2
    for k, state in enumerate(rounds[:-1]):
        converged = k + 1 == model.n_iter_[0]
        with nullcontext() if converged else pytest.warns(ConvergenceWarning):
            expected = ours.LogisticRegression(tol=1e-8, max_iter=k + 1).fit(X, y)
        assert np.array_equal(state, expected.predict_proba(X))
    assert np.array_equal(model.coef_, ours.LogisticRegression(tol=1e-8).fit(X, y).coef_)


def test_a_callback_stops_a_fit_after_the_round_it_names_without_a_warning():
    X, y = load_iris(return_X_y=True)
    model = ours.LogisticRegression(tol=1e-10).set_callbacks(Recorder(stop_after=2)).fit(X, y)
    assert model.n_iter_[0] == 2
    assert model.certificate_.relative_gap > 1e-10


def test_callbacks_of_a_search_reach_the_model_and_are_cleared():
    X, y = load_iris(return_X_y=True)
    monitor = ScoringMonitor(scoring="accuracy")
    search = GridSearchCV(ours.LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
    search.set_callbacks(monitor).fit(X, y)
    assert search.best_score_ > 0.9
    assert not hasattr(search.best_estimator_, "_callback_fit_ctx")
    recorder = Recorder()
    folds = ours.LogisticRegressionCV(Cs=2, l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False)
    folds.set_callbacks(recorder).fit(X, y)
    assert [task if isinstance(task, str) else task[0] for task in recorder.tasks] == ["setup", "fit", "teardown"]


@pytest.mark.parametrize("shape", [(24, 6), (6, 24), (300, 400)])
@pytest.mark.parametrize("model", [ours.Lasso(alpha=0.05), ours.ElasticNet(alpha=0.05), ours.LassoCV(alphas=5, cv=3)])
def test_sparse_regression_gives_the_same_bits_for_an_array_and_a_sparse_matrix(shape, model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = X[:, 0] + rng.normal(size=len(X))
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_array(X), y)
    assert np.array_equal(dense.coef_, sparse.coef_)
    assert dense.intercept_ == sparse.intercept_
    alphas = [0.5, 0.1]
    assert np.array_equal(enet_path(X, y, alphas=alphas)[1], enet_path(sp.csc_array(X), y, alphas=alphas)[1])


def test_a_large_sparse_matrix_stays_sparse():
    X = sp.random_array((2000, 600), density=0.01, rng=0, format="csc")
    assert dense_where_small(X) is X


def test_numbers_too_large_to_be_added_up_are_named_as_the_cause():
    X = np.finfo(np.float64).max * np.random.default_rng(0).uniform(size=(10, 2))
    with pytest.raises(ValueError, match="the sum of a column overflows"):
        ours.ElasticNet().fit(X, np.arange(10.0))


@pytest.mark.parametrize("shape", [(30, 30), (20, 40)])
def test_a_vanishing_ridge_penalty_finds_the_smallest_weights_in_single_precision(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = X @ rng.normal(size=shape[1]) + 10
    expected = theirs.LinearRegression().fit(X, y).coef_
    for model in (ours.Ridge(alpha=1e-16), ours.RidgeCV(alphas=[1e-16]), ours.LinearRegression()):
        assert model.fit(X.astype(np.float32), y.astype(np.float32)).coef_ == pytest.approx(expected, abs=1e-3)


def test_each_query_can_have_a_radius_of_its_own():
    rng = np.random.default_rng(0)
    X, radius = rng.normal(size=(40, 3)), rng.uniform(0, 1.5, 40)
    model = ours.NearestNeighbors().fit(X)
    distances, rows = model.radius_neighbors(X, radius, sort_results=True)
    for i in range(len(X)):
        near, at = model.radius_neighbors(X[i : i + 1], float(radius[i]), sort_results=True)
        assert np.array_equal(rows[i], at[0])
        assert np.array_equal(distances[i], near[0])
    with pytest.raises(ValueError, match="one for each of the 40 queries"):
        model.radius_neighbors(X, radius[:5])


def test_patched_modules_hand_out_our_classes_until_they_are_put_back():
    import sklearn.feature_extraction.text
    import sklearn.svm

    own = sklearn.svm.SVC
    patch = ours.patch_sklearn()
    try:
        assert len(patch.names) > 25
        assert sklearn.svm.SVC is ours.SVC
        assert sklearn.feature_extraction.text.TfidfVectorizer is ours.TfidfVectorizer
        assert ours.patch_sklearn().names == []  # nothing is left to replace
        texts, labels = ["cheap pills", "see you at noon", "cheap cheap", "at noon then"], [1, 0, 1, 0]
        X = sklearn.feature_extraction.text.TfidfVectorizer().fit_transform(texts)
        assert sklearn.svm.SVC(kernel="linear").fit(X, labels).certificate_.relative_gap < 1e-2
        ours.unpatch_sklearn("SVC")
        assert sklearn.svm.SVC is own
        assert sklearn.svm.LinearSVC is ours.LinearSVC
    finally:
        ours.unpatch_sklearn()
    assert sklearn.svm.LinearSVC is not ours.LinearSVC
    ours.unpatch_sklearn()  # twice is once


def test_a_patch_as_a_context_ends_with_its_block_and_leaves_an_outer_one():
    import sklearn.linear_model as module

    with ours.patch_sklearn("Ridge"):
        assert module.Ridge is ours.Ridge
        with ours.patch_sklearn(["Ridge", "Lasso"]) as inner:
            assert inner.names == ["Lasso"]
            assert module.Lasso is ours.Lasso
        assert module.Ridge is ours.Ridge
        assert module.Lasso is not ours.Lasso
    assert module.Ridge is not ours.Ridge


def test_a_patch_names_the_classes_it_knows_and_spares_what_another_patch_put_there():
    import sklearn.linear_model as module

    with pytest.raises(ValueError, match=r"\['RandomForestClassifier'\]; choose of \['BernoulliNB'"):
        ours.patch_sklearn(["Ridge", "RandomForestClassifier"])
    own = module.Ridge
    assert own is not ours.Ridge  # nothing was replaced

    class Another(own):
        pass

    try:
        ours.patch_sklearn("Ridge")
        module.Ridge = Another
        ours.unpatch_sklearn()
        assert module.Ridge is Another
    finally:
        module.Ridge = own


@pytest.mark.parametrize("frames", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("transformer", "names"),
    [
        (ours.Binner(encode="ordinal"), ["a", "b"]),
        (ours.Nystroem(n_components=2), ["nystroem0", "nystroem1"]),
        (ours.RandomFourierFeatures(n_components=2), ["randomfourierfeatures0", "randomfourierfeatures1"]),
        (ours.LatentDirichletAllocation(2), ["latentdirichletallocation0", "latentdirichletallocation1"]),
    ],
)
def test_transformers_give_frames_with_named_columns(transformer, names, frames):
    library = pytest.importorskip(frames)
    X = np.random.default_rng(0).uniform(0, 5, size=(20, 2))
    frame = library.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    transformer = clone(transformer)
    if "random_state" in transformer.get_params():
        transformer.set_params(random_state=0)
    plain = clone(transformer).fit_transform(frame)
    framed = transformer.set_output(transform=frames).fit_transform(frame)
    assert isinstance(framed, library.DataFrame)
    assert list(framed.columns) == names == transformer.get_feature_names_out().tolist()
    assert np.array_equal(np.asarray(framed), plain)
    if frames == "pandas":
        frame.index = [f"row {i}" for i in range(len(frame))]
        assert list(transformer.transform(frame).index) == list(frame.index)


@pytest.mark.parametrize("frames", ["pandas", "polars"])
def test_models_remember_the_names_of_a_frame_and_refuse_others(frames):
    library = pytest.importorskip(frames)
    X, y = load_iris(return_X_y=True)
    columns = {name: X[:, j] for j, name in enumerate("abcd")}
    frame = library.DataFrame(columns)
    other = library.DataFrame({name.upper(): values for name, values in columns.items()})
    for model in (ours.LogisticRegression(), ours.Ridge(), ours.SVC(), ours.GaussianNB(), ours.KNeighborsClassifier()):
        assert model.fit(frame, y).feature_names_in_.tolist() == list("abcd")
        assert model.predict(frame) == pytest.approx(clone(model).fit(X, y).predict(X))
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(other)
