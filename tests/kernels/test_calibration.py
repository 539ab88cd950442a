"""Probabilities of SVC: from scores of held-out points, as good as refits give, never at odds with the verdict."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_iris, make_classification

from benchmarks import datasets
from tallywise import _arrays, _native, kernels
from tallywise.kernels import SVC


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("classes", [2, 4])
def test_probabilities_never_contradict_the_verdict(classes, shape):
    X, y = make_classification(400, 8, n_informative=6, n_classes=classes, random_state=0, flip_y=0.2)
    fitted = SVC(probability=True, decision_function_shape=shape).fit(X[:200], y[:200])
    p = fitted.predict_proba(X)
    assert np.allclose(p.sum(1), 1)
    assert (p >= 0).all()
    assert np.array_equal(fitted.classes_[p.argmax(1)], fitted.predict(X))
    loss = -np.log(p[200:][np.arange(200), y[200:]]).mean()
    assert loss < np.log(classes)
    assert np.allclose(fitted.predict_log_proba(X), np.log(p))
    assert not hasattr(SVC().fit(X, y), "predict_proba")


def calibration_data(which):
    if which == "spambase":
        X, y = datasets.spambase()
        X = (X - X.mean(0)) / X.std(0)
    elif which == "a9a":
        X, y = datasets.svmlight("a9a")
        X = X[:4000].toarray()
        y = y[:4000]
    elif which == "mnist":
        X, y = datasets.mnist()
        X, y = X[:3000], y[:3000]
    else:
        X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    half = len(y) // 2
    return X[order[:half]], y[order[:half]], X[order[half:]], y[order[half:]]


def log_loss(fitted, X, y):
    p = fitted.predict_proba(X)
    assert np.array_equal(fitted.classes_[p.argmax(1)], fitted.predict(X))
    return -np.log(p[np.arange(len(y)), np.searchsorted(fitted.classes_, y)]).mean()


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("which", ["spambase", "a9a", "mnist", "iris"])
def test_probabilities_are_as_good_as_those_of_five_refits(which):
    X, y, test, truth = calibration_data(which)
    given = {"gamma": 0.02, "C": 10} if which == "mnist" else {}
    ours = SVC(probability=True, **given).fit(X, y)
    theirs = sklearn.svm.SVC(probability=True, random_state=0, **given).fit(X, y)
    p = np.maximum(theirs.predict_proba(test), 1e-12)
    reached = -np.log(p[np.arange(len(truth)), np.searchsorted(theirs.classes_, truth)]).mean()
    assert log_loss(ours, test, truth) <= 1.03 * reached + 0.005


@pytest.mark.parametrize("kernel", [kernels.Gaussian(gamma=0.3), kernels.Linear(), kernels.Precomputed()], ids=repr)
def test_held_out_scores_are_those_of_machines_fitted_without_the_points(kernel):
    X, y = make_classification(600, 6, random_state=2, flip_y=0.1, weights=[0.7])
    stored = isinstance(kernel, kernels.Precomputed)
    given = kernels.Gaussian(gamma=0.3)(X) if stored else X
    machines = _native.Machines()
    machines.folds = 5
    low, high = np.where(y == 1, 0.0, -2.0), np.where(y == 1, 2.0, 0.0)
    machines.add(np.arange(600), np.where(y == 1, -1.0, 1.0), low, high, np.zeros(0))
    machines.solve(kernel.native(), _arrays.rows(given), 1)
    held_out, fold = machines.held_out(0), machines.fold(0)
    for k in range(5):
        part, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        assert len(part) == 120
        assert abs(y[part].sum() - y.sum() / 5) <= 1  # both classes are spread evenly
        slow = SVC(kernel=kernel, C=2.0).fit(given[np.ix_(rest, rest)] if stored else given[rest], y[rest])
        expected = slow.decision_function(given[np.ix_(part, rest)] if stored else given[part])
        assert np.abs(held_out[part] - expected).max() < 0.05
    assert stored or np.abs(held_out - SVC(kernel=kernel, C=2.0).fit(X, y).decision_function(X)).max() > 0.1


def test_calibration_sees_neither_the_order_of_rows_nor_how_repeats_are_written():
    X, y = make_classification(150, 4, random_state=2, flip_y=0.2)
    order = np.random.default_rng(0).permutation(150)
    weights = np.random.default_rng(1).integers(0, 3, 150)
    plain = SVC(probability=True, gamma=0.3).fit(X, y).predict_proba(X)
    assert np.allclose(SVC(probability=True, gamma=0.3).fit(X[order], y[order]).predict_proba(X), plain, atol=1e-6)
    weighted = SVC(probability=True, gamma=0.3).fit(X, y, weights).predict_proba(X)
    repeated = SVC(probability=True, gamma=0.3).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    assert np.allclose(repeated.predict_proba(X), weighted, atol=1e-6)
