"""Choosing k in one pass, and measuring whether neighbours mean anything."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold

from benchmarks import datasets
from tallywise.errors import ConcentrationWarning
from tallywise.neighbors import (
    KNeighborsClassifier,
    KNeighborsClassifierCV,
    KNeighborsRegressor,
    KNeighborsRegressorCV,
    NearestNeighbors,
    distance_concentration,
    edge_length,
)


def half(distances):
    return 1 / (0.5 + distances)


def honest(rule, X, y, cv, k, weights, p):
    """Loss of every row under a rule fitted anew on each training part."""
    losses = np.empty(len(y))
    for train, test in cv.split(X, y):
        predicted = rule(k, weights=weights, p=p).fit(X[train], y[train]).predict(X[test])
        losses[test] = predicted != y[test] if rule is KNeighborsClassifier else np.square(predicted - y[test])
    return losses.mean()


@pytest.mark.parametrize("cv", [None, 4, KFold(3, shuffle=True, random_state=0)])
@pytest.mark.parametrize("sparse", [False, True])
def test_one_pass_equals_the_loop_of_fits(cv, sparse):
    X, y = datasets.wine()
    X = np.round(X[:150:1], 1)
    y = y[:150]
    X = sp.csr_matrix(X) if sparse else X
    grid = {"n_neighbors": [1, 2, 5, 11], "weights": ["uniform", "distance", half], "p": [1, 2]}
    for chooser, rule, folds in (
        (KNeighborsClassifierCV, KNeighborsClassifier, StratifiedKFold(4)),
        (KNeighborsRegressorCV, KNeighborsRegressor, KFold(4)),
    ):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            model = chooser(cv=cv, **grid).fit(X, y)
            splitter = LeaveOneOut() if cv is None else folds if cv == 4 else cv
            curve = model.curve_
            rules = list(zip(curve["n_neighbors"], curve["weights"], curve["p"], strict=True))
            assert rules == [(k, w, p) for p in grid["p"] for w in grid["weights"] for k in grid["n_neighbors"]]
            chosen = range(0, len(rules), 1 if cv == 4 else 5)
            expected = [honest(rule, X, y, splitter, *rules[at]) for at in chosen]
        np.testing.assert_allclose(curve["loss"][chosen], expected, rtol=1e-12)
        assert np.all((curve["low"] <= curve["loss"]) & (curve["loss"] <= curve["high"]))
        best = int(np.argmin(curve["loss"]))
        assert (model.n_neighbors_, model.weights_, model.p_) == rules[best]
        plain = rule(model.n_neighbors_, weights=model.weights_, p=model.p_).fit(X, y)
        assert np.array_equal(model.predict(X), plain.predict(X))


def test_the_grid_is_checked():
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    for options, cause in [
        ({"n_neighbors": [0]}, "'n_neighbors' parameter of KNeighborsClassifierCV must hold whole numbers"),
        ({"n_neighbors": [6]}, "n_neighbors = 6, n_samples = 5"),
        ({"weights": ["heavy"]}, "'weights' parameter of KNeighborsClassifierCV"),
        ({"p": [0.5]}, "'p' parameter of KNeighborsClassifierCV"),
        ({"p": [1, 2], "metric": "cosine"}, "need metric='minkowski'"),
        ({"cv": ShuffleSplit(2, test_size=0.8, random_state=0)}, "must partition the rows"),
    ]:
        with pytest.raises(ValueError, match=cause):
            KNeighborsClassifierCV(**options).fit(X, y)
    with pytest.raises(ValueError, match="takes one target"):
        KNeighborsRegressorCV().fit(X, X)


def test_rows_may_come_and_go_under_the_chosen_rule():
    X, y = datasets.wine()
    model = KNeighborsClassifierCV([3, 7]).fit(X[:300], y[:300])
    k = model.n_neighbors_
    model.partial_fit(X[300:400], y[300:400]).forget(X[:5], y[:5])
    plain = KNeighborsClassifier(k, weights=model.weights_).fit(X[5:400], y[5:400])
    assert np.array_equal(model.predict(X[:60]), plain.predict(X[:60]))


def test_edge_length_follows_the_hyper_cube():
    assert edge_length(10, 1000, 2) == pytest.approx(0.1)
    np.testing.assert_allclose(edge_length(10, 1000, [1, 2, 100]) ** np.array([1, 2, 100]), 0.01)
    for bad in [(-1, 10, 2), (11, 10, 2), (1, 0, 2), (1, 10, 0)]:
        with pytest.raises(ValueError, match="edge_length needs"):
            edge_length(*bad)


def test_concentration_is_that_of_all_pairs():
    X = np.random.default_rng(0).random((60, 5))
    D = np.sqrt(np.square(X[:, None] - X).sum(axis=-1))
    pairs = D[~np.eye(60, dtype=bool)].reshape(60, 59)
    found = distance_concentration(X, n_neighbors=3)
    assert found.nearest_to_mean == pytest.approx(np.mean(pairs.min(axis=1) / pairs.mean(axis=1)))
    assert found.relative_contrast == pytest.approx(np.median(pairs.max(axis=1) / pairs.min(axis=1) - 1))
    assert found.relative_spread == pytest.approx(pairs.std() / pairs.mean())
    hits = np.bincount(np.argsort(pairs_with_self(D), axis=1)[:, :3].ravel(), minlength=60)
    assert found.hubness == pytest.approx(np.mean((hits - 3) ** 3) / hits.std() ** 3)


def pairs_with_self(D):
    return D + np.diag(np.full(len(D), np.inf))


def test_hubs_grow_with_dimension_and_contrast_falls():
    rng = np.random.default_rng(1)
    measures = [distance_concentration(rng.standard_normal((800, d))) for d in (2, 20, 200)]
    assert np.all(np.diff([m.hubness for m in measures]) > 0)
    assert np.all(np.diff([m.relative_contrast for m in measures]) < 0)
    assert np.all(np.diff([m.nearest_to_mean for m in measures]) > 0)
    assert distance_concentration(np.ones((5, 3))).meaningful


def test_the_first_search_warns_of_noise_and_none_of_data():
    noise = np.random.default_rng(2).random((400, 4000))
    fitted = NearestNeighbors().fit(noise)
    with pytest.warns(ConcentrationWarning, match="Distances have concentrated"):
        fitted.kneighbors(noise[:1])
    fitted.kneighbors(noise[:1])  # once is enough
    from sklearn.feature_extraction.text import TfidfVectorizer

    def search(X, **options):
        NearestNeighbors(**options).fit(X).kneighbors(X[:1])

    search(datasets.mnist("test")[0][:3000])
    search(datasets.spambase()[0])
    for texts in (datasets.sms()[0], datasets.newsgroups("train")[0][::8], datasets.banking()[0]):
        X = TfidfVectorizer().fit_transform(texts)
        for metric in ("cosine", "euclidean", "jaccard"):
            search(X, metric=metric)
