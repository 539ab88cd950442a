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
from tallywise.linear.least_squares._shared import dense_where_small


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
