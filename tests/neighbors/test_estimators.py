"""Nearest neighbours: exact whatever the search, the same for any threads, and honest about bad input."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics
import sklearn.neighbors
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import datasets
from tallywise import _arrays
from tallywise._native import neighbor_index
from tallywise.errors import NotLearnedError
from tallywise.neighbors import (
    KNeighborsClassifier,
    KNeighborsClassifierCV,
    KNeighborsRegressor,
    KNeighborsRegressorCV,
    NearestNeighbors,
)
from tests.reference import neighbors as reference

METRICS = [
    ("euclidean", 2),
    ("manhattan", 1),
    ("chebyshev", 2),
    ("minkowski", 1.5),
    ("minkowski", 3),
    ("minkowski", 2.7),
    ("minkowski", 9),
    ("cosine", 2),
    ("hamming", 2),
    ("jaccard", 2),
]


@pytest.mark.filterwarnings("ignore:The rows are ordered by the target:UserWarning")  # some checks order them
@parametrize_with_checks(
    [
        NearestNeighbors(),
        KNeighborsClassifier(),
        KNeighborsClassifier(weights="distance", algorithm="brute"),
        KNeighborsClassifier(metric="cosine"),
        KNeighborsRegressor(),
        KNeighborsRegressor(p=1),
        KNeighborsClassifierCV(),
        KNeighborsRegressorCV(cv=3),
    ]
)
def test_estimators_follow_scikit_learn(estimator, check):
    check(estimator)


def assert_same_neighbours(found, D, k, own=None):
    """Rows are those of the slow twin wherever its distances differ by more than rounding."""
    distances, rows = found
    expected, _ = reference.nearest(D, k, own)
    np.testing.assert_allclose(distances, expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(np.take_along_axis(D, rows, axis=1), expected, rtol=1e-10, atol=1e-14)
    assert all(len(set(row)) == k for row in rows.tolist())
    tied = distances[:, 1:] == distances[:, :-1]
    assert np.all(rows[:, 1:][tied] > rows[:, :-1][tied])


@pytest.mark.parametrize(("metric", "p"), METRICS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("algorithm", ["brute", "auto"])
def test_dense_search_is_that_of_the_definition(metric, p, dtype, algorithm):
    rng = np.random.default_rng(0)
    # Few distinct values: many ties, and hamming and jaccard have something to count.
    X, Q = (rng.integers(-1, 3, (n, 7)).astype(dtype) for n in (150, 40))
    D = reference.distances(Q, X, metric, p)
    model = NearestNeighbors(n_neighbors=6, metric=metric, p=p, algorithm=algorithm).fit(X)
    assert_same_neighbours(model.kneighbors(Q), D, 6)
    own = reference.distances(X, X, metric, p)
    assert_same_neighbours(model.kneighbors(), own, 6, np.arange(len(X)))


@pytest.mark.parametrize(("metric", "p"), METRICS)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("signed", [False, True])
def test_sparse_search_is_that_of_the_definition(metric, p, index, signed):
    rng = np.random.default_rng(1)
    X, Q = (sp.random(n, 60, 0.15, format="csr", random_state=n) for n in (300, 40))
    if signed:
        X.data *= rng.choice([-1, 1], X.nnz)
    dense = X.toarray()
    dense[[7, 11]] = 0  # rows of zeros, and a repeated row
    dense[20] = dense[3]
    X = sp.csr_matrix(dense)
    Q = sp.vstack([Q, X[3], sp.csr_matrix((1, 60))]).tocsr()
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    D = reference.distances(Q.toarray(), X.toarray(), metric, p)
    model = NearestNeighbors(n_neighbors=5, metric=metric, p=p).fit(X)
    assert_same_neighbours(model.kneighbors(Q), D, 5)
    radius = float(np.quantile(D, 0.1))
    for row, found in zip(D, model.radius_neighbors(Q, radius, return_distance=False), strict=True):
        assert set(np.flatnonzero(row < radius * (1 - 1e-12))) <= set(found.tolist())
        assert set(found.tolist()) <= set(np.flatnonzero(row <= radius * (1 + 1e-12)))


@pytest.mark.parametrize(("metric", "p"), [("euclidean", 2), ("cosine", 2), ("manhattan", 1), ("minkowski", 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_columns_and_rotation_change_no_answer(metric, p, dtype):
    rng = np.random.default_rng(2)
    mixing = rng.standard_normal((12, 120)) * np.linspace(3, 0.1, 12)[:, None]
    X = (rng.standard_normal((5000, 12)) @ mixing + 0.05 * rng.standard_normal((5000, 120))).astype(dtype)
    Q = X[::50] + dtype(0.01) * rng.standard_normal((100, 120)).astype(dtype)
    model = NearestNeighbors(n_neighbors=5, metric=metric, p=p).fit(X)
    rival = sklearn.neighbors.NearestNeighbors(n_neighbors=5, metric=metric, p=p, algorithm="brute")
    _, rows = rival.fit(X.astype(np.float64)).kneighbors(Q.astype(np.float64))
    assert np.array_equal(model.kneighbors(Q)[1], rows)


@pytest.mark.parametrize("columns", [3, 16, 54])
@pytest.mark.parametrize("k", [1, 5, 200])
def test_cells_of_few_columns_lose_no_neighbour(columns, k):
    """Against the k-d tree, to the last bit: rows in clumps, on a grid with many ties, and queries far from all."""
    rng = np.random.default_rng(12)
    X = rng.standard_normal((40, columns))[rng.integers(0, 40, 6000)] + 0.2 * rng.standard_normal((6000, columns))
    X[:2000] = np.round(X[:2000])
    Q = np.vstack([X[::60], X[::60] + 0.1, 50.0 + X[:5], 1e30 * np.ones((1, columns))])
    options = {"n_neighbors": k, "radius": 0.2 * np.sqrt(columns)}
    tree, cells = (NearestNeighbors(algorithm=a, **options).fit(X) for a in ("kd_tree", "brute"))
    for one, other in zip(tree.kneighbors(Q), cells.kneighbors(Q), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(tree.kneighbors()[1], cells.kneighbors()[1])
    within = (model.radius_neighbors(Q, sort_results=True) for model in (tree, cells))
    for one, other in zip(*(rows for _, rows in within), strict=True):
        assert np.array_equal(one, other)


HOSTILE = {
    "huge offset": lambda X, rng: X + 1e9,
    "tiny spread": lambda X, rng: 1e6 + 1e-7 * X,
    "duplicates": lambda X, rng: X[rng.integers(0, 20, len(X))],
    "one far row": lambda X, rng: np.vstack([1e-5 * X[:-1], 1e6 * np.ones((1, X.shape[1]))]),
    "one direction": lambda X, rng: X[:, :1] * np.ones((1, X.shape[1])),
    "huge values": lambda X, rng: X * 1e170,
    "tiny values": lambda X, rng: X * 1e-170,
    "mixed scales": lambda X, rng: X * np.logspace(-12, 12, X.shape[1]),
    "constant": lambda X, rng: np.ones_like(X),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize(
    ("metric", "p", "axes"),
    [("manhattan", 1, 0), ("minkowski", 3, 0), *((m, 2, r) for m in ("euclidean", "cosine") for r in (0, 5, 30))],
)
def test_bounds_lose_no_neighbour_on_hostile_data(case, metric, p, axes):
    """With k = n nothing can be left out, so the first of all neighbours are what the shortcuts must find."""
    rng = np.random.default_rng(3)
    X = HOSTILE[case](rng.standard_normal((1500, 60)), rng)
    Q = np.vstack([X[::100], X[::150] * (1 + 1e-12), X[:3] + X[5:8]])
    turn = np.ascontiguousarray(np.linalg.qr(rng.standard_normal((60, 60)))[0][:axes])
    index = neighbor_index(_arrays.rows(X), metric, p, 0, X.mean(axis=0), turn if axes else None, 2)
    every = index.search(_arrays.rows(Q), len(X), 0.0, None, None, 2)
    some = index.search(_arrays.rows(Q), 7, 0.0, None, None, 2)
    assert np.array_equal(some[1], every[1][:, :7])
    assert np.array_equal(some[0], every[0][:, :7])
    estimator = NearestNeighbors(n_neighbors=7, metric=metric, p=p)
    if np.isinf(some[0]).any():  # which rows are nearest is not known
        with pytest.raises(ValueError, match="beyond floating point"):
            estimator.fit(X).kneighbors(Q)
    else:
        assert np.array_equal(estimator.fit(X).kneighbors(Q)[1], some[1])


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("frequency", [0.02, 0.3])
def test_inverted_index_loses_no_neighbour_on_hostile_data(case, metric, frequency):
    rng = np.random.default_rng(9)
    X = sp.csr_matrix(HOSTILE[case](rng.standard_normal((1200, 80)), rng) * (rng.random((1200, 80)) < frequency))
    Q = sp.vstack([X[::100], X[::150] * (1 + 1e-12), X[:3] + X[5:8], X[:2] * 1e-30, X[:2] * 1e12]).tocsr()
    model = NearestNeighbors(n_neighbors=7, metric=metric)
    if case == "huge values" and metric == "euclidean":  # squares of 1e170 are infinite
        with pytest.raises(ValueError, match="beyond floating point"):
            model.fit(X).kneighbors(Q)
        return
    model.fit(X)
    every, some = model.kneighbors(Q, n_neighbors=1200), model.kneighbors(Q)
    assert np.array_equal(some[1], every[1][:, :7])
    assert np.array_equal(some[0], every[0][:, :7])
    dense = NearestNeighbors(n_neighbors=7, metric=metric).fit(X.toarray()).kneighbors(Q.toarray())
    np.testing.assert_allclose(some[0], dense[0], rtol=1e-9, atol=1e-14)


@given(st.integers(0, 10**6), st.sampled_from(["euclidean", "manhattan", "chebyshev", "minkowski"]), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_tree_and_blocks_agree_to_the_last_bit(seed, metric, k):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 300)), int(rng.integers(1, 9))
    X = rng.integers(-2, 3, (n, d)) * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e-9, 1.0]) * rng.random((n, d))
    Q = X[rng.integers(0, n, 8)] + rng.choice([0.0, 0.3]) * rng.standard_normal((8, d))
    options = {"n_neighbors": k, "metric": metric, "p": 2.2, "leaf_size": int(rng.integers(1, 40))}
    tree, blocks = (NearestNeighbors(algorithm=a, **options).fit(X).kneighbors(Q) for a in ("kd_tree", "brute"))
    assert np.array_equal(tree[0], blocks[0])
    assert np.array_equal(tree[1], blocks[1])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "jaccard"])
@pytest.mark.parametrize("sparse", [False, True])
def test_answers_are_the_same_bytes_for_any_number_of_threads(metric, sparse):
    rng = np.random.default_rng(4)
    X = np.maximum(rng.standard_normal((3000, 64)) - 0.8, 0)
    X = sp.csr_matrix(X) if sparse else X
    found = []
    for threads in (1, 2, 4, 8):
        model = NearestNeighbors(n_neighbors=4, metric=metric, n_jobs=threads).fit(X)
        found.append([*model.kneighbors(X[:300]), *map(np.concatenate, model.radius_neighbors(X[:50], radius=0.6))])
    assert all(a.tobytes() == b.tobytes() for other in found[1:] for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("outputs", [1, 2])
def test_predictions_are_scikit_learns(weights, outputs):
    X, y = datasets.spambase()
    y = y if outputs == 1 else np.column_stack([y, X[:, 5] > 0])
    train, test = slice(0, None, 2), slice(1, 1200, 2)
    # Where two rows tie for the fifth place, either may be taken. Elsewhere the same five are.
    searched = sklearn.neighbors.NearestNeighbors(n_neighbors=6, algorithm="kd_tree").fit(X[train])
    distances, _ = searched.kneighbors(X[test])
    clear = distances[:, 5] > distances[:, 4] * (1 + 1e-9)
    assert clear.mean() > 0.95
    options = {"n_neighbors": 5, "weights": weights}
    ours = KNeighborsClassifier(**options).fit(X[train], y[train])
    # A tree's distances are exact; those of algorithm="brute" lose digits where rows are close.
    theirs = sklearn.neighbors.KNeighborsClassifier(algorithm="kd_tree", **options).fit(X[train], y[train])
    assert np.array_equal(ours.predict(X[test])[clear], theirs.predict(X[test])[clear])
    P, Q = (np.reshape(model.predict_proba(X[test]), (outputs, len(clear), 2)) for model in (ours, theirs))
    np.testing.assert_allclose(P[:, clear], Q[:, clear], rtol=1e-9, atol=1e-12)
    target = X[:, :outputs].squeeze()
    ours = KNeighborsRegressor(**options).fit(X[train], target[train])
    theirs = sklearn.neighbors.KNeighborsRegressor(algorithm="kd_tree", **options).fit(X[train], target[train])
    np.testing.assert_allclose(ours.predict(X[test])[clear], theirs.predict(X[test])[clear], rtol=1e-9, atol=1e-12)


def test_text_neighbours_are_scikit_learns():
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, _ = datasets.newsgroups("train")
    X = TfidfVectorizer().fit_transform(texts[::4])
    for metric in ("cosine", "euclidean"):
        ours = NearestNeighbors(n_neighbors=10, metric=metric).fit(X).kneighbors(X[:400])
        theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=10, metric=metric, algorithm="brute").fit(X)
        distances, rows = theirs.kneighbors(X[:400])
        np.testing.assert_allclose(ours[0], distances, rtol=1e-10, atol=3e-8 if metric == "euclidean" else 1e-14)
        differs = ours[1] != rows
        np.testing.assert_allclose(ours[0][differs], distances[differs], rtol=1e-10, atol=1e-12)


def test_rows_of_zeros_are_at_cosine_distance_one_and_repeats_at_zero():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, 1.0]])
    for data in (X, sp.csr_matrix(X)):
        distances, rows = NearestNeighbors(metric="cosine", n_neighbors=4).fit(data).kneighbors(data[:2])
        assert np.array_equal(distances[0], [1, 1, 1, 1])
        assert np.array_equal(rows[0], [0, 1, 2, 3])
        assert np.array_equal(distances[1][:2], [0, 0])
        assert np.array_equal(rows[1][:2], [1, 2])


def test_dense_and_sparse_queries_and_rows_mix():
    rng = np.random.default_rng(5)
    X, Q = rng.random((50, 6)), rng.random((9, 6))
    expected = NearestNeighbors().fit(X).kneighbors(Q)[1]
    assert np.array_equal(NearestNeighbors().fit(sp.csr_array(X)).kneighbors(Q)[1], expected)
    assert np.array_equal(NearestNeighbors().fit(X).kneighbors(sp.coo_array(Q))[1], expected)
    assert np.array_equal(NearestNeighbors().fit(X).kneighbors(Q.astype(np.float32).astype(np.float64))[1], expected)


def test_precomputed_distances_dense_and_sparse():
    rng = np.random.default_rng(6)
    X, Q = rng.random((40, 3)), rng.random((7, 3))
    plain = NearestNeighbors(n_neighbors=4, radius=0.4).fit(X)
    given = NearestNeighbors(n_neighbors=4, radius=0.4, metric="precomputed").fit(
        reference.distances(X, X, "euclidean")
    )
    assert np.array_equal(given.kneighbors(reference.distances(Q, X, "euclidean"))[1], plain.kneighbors(Q)[1])
    assert np.array_equal(given.kneighbors()[1], plain.kneighbors()[1])
    graph = plain.radius_neighbors_graph(X, radius=2.0, mode="distance")
    by_graph = NearestNeighbors(n_neighbors=4, radius=0.4, metric="precomputed").fit(graph)
    assert np.array_equal(by_graph.kneighbors()[1], plain.kneighbors()[1])
    ours, theirs = by_graph.radius_neighbors(return_distance=False), plain.radius_neighbors(return_distance=False)
    assert all(np.array_equal(np.sort(a), b) for a, b in zip(ours, theirs, strict=True))
    with pytest.raises(ValueError, match="Expected n_neighbors <"):
        by_graph.kneighbors(n_neighbors=40)
    with pytest.raises(ValueError, match="must be square"):
        NearestNeighbors(metric="precomputed").fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match="Negative values"):
        NearestNeighbors(metric="precomputed").fit(-np.ones((3, 3)))


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "manhattan", "hamming", "jaccard"])
def test_order_of_storage_changes_no_byte(metric):
    rng = np.random.default_rng(10)
    X = sp.random(300, 80, 0.1, format="csr", random_state=1)
    shuffled = X.copy()
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        order = begin + rng.permutation(end - begin)
        shuffled.indices[begin:end], shuffled.data[begin:end] = X.indices[order], X.data[order]
    before = shuffled.indices.copy()
    ours, again = (NearestNeighbors(metric=metric).fit(M).kneighbors(M[:40]) for M in (X, shuffled))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(ours, again, strict=True))
    assert np.array_equal(shuffled.indices, before)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "manhattan"])
def test_nearly_equal_sparse_rows_keep_their_digits(metric):
    """Where two rows differ in a tiny entry alone, that entry is the distance."""
    X = sp.csr_matrix(
        np.array([[1.0, 2.0, 0.0, 0.0], [1.0, 2.0, 1e-9, 0.0], [1.0, 2.0, 0.0, 3e-9], [0.0, 0.0, 1.0, 1.0]])
    )
    distances, rows = NearestNeighbors(n_neighbors=4, metric=metric).fit(X).kneighbors(X[:1])
    gaps = np.array([0.0, 1e-9, 3e-9])
    expected = gaps**2 / 5 / 2 if metric == "cosine" else gaps
    np.testing.assert_allclose(distances[0, :3], expected, rtol=1e-6)
    assert rows[0].tolist() == [0, 1, 2, 3]


def test_text_longer_than_a_block_of_matches_is_measured_whole():
    rng = np.random.default_rng(11)
    X = sp.csr_matrix(rng.random((40, 3000)) * (rng.random((40, 3000)) < 0.5))
    D = reference.distances(X.toarray(), X.toarray(), "cosine", 2)
    assert_same_neighbours(NearestNeighbors(n_neighbors=5, metric="cosine").fit(X).kneighbors(X), D, 5)


def test_sparse_input_that_cannot_be_meant_is_refused():
    with pytest.raises(TypeError, match="handling of explicit zeros"):
        NearestNeighbors(metric="precomputed").fit(sp.bsr_matrix(np.ones((4, 4))))
    with pytest.raises(ValueError, match="Metric 'haversine' not valid for sparse input"):
        NearestNeighbors(metric="haversine").fit(sp.csr_matrix(np.ones((4, 2))))


def test_functions_and_other_metrics_are_taken():
    rng = np.random.default_rng(7)
    X = rng.random((60, 4))
    own = NearestNeighbors(metric=lambda u, v: float(np.abs(u - v).sum())).fit(X).kneighbors(X[:5])
    np.testing.assert_allclose(own[0], NearestNeighbors(metric="manhattan").fit(X).kneighbors(X[:5])[0])
    named = NearestNeighbors(metric="canberra").fit(X).kneighbors(X[:5])[1]
    assert np.array_equal(
        named, sklearn.neighbors.NearestNeighbors(metric="canberra", algorithm="brute").fit(X).kneighbors(X[:5])[1]
    )
    weighted = {"metric": "minkowski", "p": 3, "metric_params": {"w": [1.0, 2.0, 0.5, 1.0]}}
    theirs = sklearn.neighbors.NearestNeighbors(algorithm="brute", **weighted).fit(X).kneighbors(X[:5])[1]
    assert np.array_equal(NearestNeighbors(**weighted).fit(X).kneighbors(X[:5])[1], theirs)


def test_rows_come_and_go_as_if_they_had_always_or_never_been_there():
    rng = np.random.default_rng(8)
    X, y = rng.integers(0, 3, (80, 4)).astype(float), np.array(["a", "b", "c", "d"])[rng.integers(0, 3, 80)]
    for data in (X, sp.csr_matrix(X)):
        model = KNeighborsClassifier(3).fit(data[:30], y[:30]).partial_fit(data[30:], y[30:])
        whole = KNeighborsClassifier(3).fit(data, y)
        assert np.array_equal(model.kneighbors(data)[1], whole.kneighbors(data)[1])
        model.partial_fit(data[:1] + data[1:2], ["z"])
        assert "z" in model.classes_
        model.forget(data[:1] + data[1:2], ["z"])
        assert np.array_equal(model.classes_, whole.classes_)
        assert np.array_equal(model.predict_proba(data), whole.predict_proba(data))
        with pytest.raises(NotLearnedError, match="Row 1 was never learned"):
            model.forget(data[[0, 0]], [y[0], "q"])
        assert model.n_samples_fit_ == 80
    search = NearestNeighbors(n_neighbors=1).fit(X[:5]).forget(X[:4])
    assert search.n_samples_fit_ == 1
    with pytest.raises(ValueError, match="cannot forget its last row"):
        search.forget(X[4:5])
    regressor = KNeighborsRegressor(1).partial_fit(X[:9], X[:9, :2]).forget(X[2:4], X[2:4, :2])
    assert regressor.predict(X[:3]).shape == (3, 2)


def test_estimators_pickle_without_their_index_and_answer_the_same():
    X, y = datasets.wine()
    model = KNeighborsClassifier(7).fit(X, y)
    expected = model.predict_proba(X[:50])
    stored = pickle.dumps(model)
    assert len(stored) < X.nbytes + y.nbytes + 4000
    assert np.array_equal(pickle.loads(stored).predict_proba(X[:50]), expected)
    assert not hasattr(clone(model), "_fit_X")


@pytest.mark.parametrize(
    ("model", "cause"),
    [
        (NearestNeighbors(p=-0.5), r"'p' parameter of NearestNeighbors must be .* Got -0.5"),
        (NearestNeighbors(n_neighbors=0), "'n_neighbors' parameter of NearestNeighbors"),
        (NearestNeighbors(metric="nonsense"), "'metric' parameter of NearestNeighbors"),
        (NearestNeighbors(metric="cosine", algorithm="kd_tree"), "Metric .cosine. not valid"),
        (NearestNeighbors(metric_params={"p": -0.2}), "must be more than 0. Got -0.2"),
    ],
)
@pytest.mark.filterwarnings("ignore:Parameter p is found")
def test_bad_parameters_are_named(model, cause):
    with pytest.raises(ValueError, match=cause):
        model.fit(np.eye(8))


def test_bad_data_are_named():
    model = NearestNeighbors(n_neighbors=4).fit(np.eye(4))
    with pytest.raises(ValueError, match="Expected n_neighbors < n_samples_fit"):
        model.kneighbors()
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        model.kneighbors(np.eye(4), n_neighbors=5)
    with pytest.raises(ValueError, match="NaN"):
        model.kneighbors([[np.nan, 0, 0, 0]])
    with pytest.raises(ValueError, match="4 features"):
        model.kneighbors([[1.0, 2.0]])
    with pytest.raises(ValueError, match="0 sample"):
        model.kneighbors(np.empty((0, 4)))
    with pytest.raises(ValueError, match="'radius' of a search"):
        model.radius_neighbors(radius=-1)
    with pytest.raises(TypeError, match="n_neighbors does not take"):
        model.kneighbors(n_neighbors=1.5)
    with pytest.raises(ValueError, match="zero weights"):
        KNeighborsClassifier(2, weights=np.zeros_like).fit(np.eye(3), [0, 1, 1]).predict(np.eye(3))


def test_rows_come_out_of_fitted_searches_and_trees():
    rng = np.random.default_rng(9)
    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    expected = NearestNeighbors(n_neighbors=3).fit(X).kneighbors(X[:5])[1]
    fitted = [NearestNeighbors().fit(X), sklearn.neighbors.NearestNeighbors().fit(X)]
    for source in [*fitted, sklearn.neighbors.KDTree(X), sklearn.neighbors.BallTree(X)]:
        assert np.array_equal(NearestNeighbors(n_neighbors=3).fit(source).kneighbors(X[:5])[1], expected)
        assert np.array_equal(
            KNeighborsClassifier().fit(source, y).predict(X), KNeighborsClassifier().fit(X, y).predict(X)
        )


@pytest.mark.filterwarnings("ignore:Mind that for 0 < p < 1")
@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("minkowski", {"p": 0.5}),
        ("seuclidean", {"metric_params": {"V": np.array([1.0, 4.0, 9.0])}}),
        ("mahalanobis", {"metric_params": {"VI": np.diag([1.0, 0.5, 0.25])}}),
        (sklearn.metrics.DistanceMetric.get_metric("manhattan"), {}),
        ("nan_euclidean", {}),
    ],
)
def test_every_metric_of_scikit_learn_finds_its_neighbours(metric, options):
    rng = np.random.default_rng(10)
    X, Q = rng.random((60, 3)), rng.random((7, 3))
    if metric == "nan_euclidean":
        X[::7, 0] = np.nan
    ours, theirs = (
        search(n_neighbors=4, metric=metric, algorithm="brute", **options).fit(X).kneighbors(Q)
        for search in (NearestNeighbors, sklearn.neighbors.NearestNeighbors)
    )
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-10)
    assert np.array_equal(ours[1], theirs[1])


def test_a_metric_that_its_algorithm_does_not_know_is_refused():
    X = np.random.default_rng(11).random((20, 3))
    for algorithm, metric, cause in [
        ("kd_tree", "cosine", "Metric 'cosine' not valid"),
        ("ball_tree", "cosine", "Metric 'cosine' not valid"),
        ("kd_tree", lambda u, v: abs(u - v).sum(), "does not support callable metric"),
    ]:
        with pytest.raises(ValueError, match=cause):
            NearestNeighbors(algorithm=algorithm, metric=metric).fit(X)
    with pytest.raises(ValueError, match="does not support 0 < p < 1"):
        NearestNeighbors(algorithm="kd_tree", p=0.5).fit(X)
