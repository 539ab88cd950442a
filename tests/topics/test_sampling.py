"""Native learning of topics: against slow twins, exact enumeration and Geweke's joint test."""

import numpy as np
import pytest
import scipy.sparse as sp

from tallywise import _arrays
from tallywise._native import CollapsedTopics, FoldDouble, GibbsTopics, left_to_right, prior_sums
from tallywise.topics import Dirichlet
from tests.reference import topics as twin

F = np.float32
ALPHA, BETA = np.array([0.7, 0.4]), np.array([0.3, 0.5, 0.6])
X_TINY = np.array([[2, 1, 0], [0, 1, 1], [1, 0, 1]])


def tokens_of(X):
    documents, words = np.nonzero(X)
    counts = X[documents, words]
    return np.repeat(documents, counts), np.repeat(words, counts)


def test_collapsed_sweeps_are_those_of_the_formula():
    random = np.random.default_rng(0)
    X, K = random.poisson(0.8, (9, 12)), 3
    alpha, beta = random.uniform(0.1, 1, K), random.uniform(0.05, 0.5, 12)
    topic = random.random((12, K))
    native = CollapsedTopics(_arrays.rows(sp.csr_matrix(X)), alpha.astype(F), beta.astype(F), 0)
    native.start(None, topic.astype(F), 1)
    native.run(3, 1)
    gamma = np.broadcast_to(topic / topic.sum(1, keepdims=True), (9, 12, K))
    words, documents = twin.cvb0(X, alpha, beta, gamma, 3)
    assert native.word_topic() == pytest.approx(words, abs=2e-3)
    assert native.document_topic() == pytest.approx(documents, abs=2e-3)


def test_leave_one_out_likelihood_is_that_of_the_formula():
    X, alpha, beta = np.array([[3.0, 0], [1, 2]]), np.array([0.5]), np.array([0.1, 0.1])
    native = CollapsedTopics(_arrays.rows(X), alpha.astype(F), beta.astype(F), 0)
    native.start(None, np.ones((2, 1), F), 1)
    expected = sum(
        X[d, w] * np.log((X[d].sum() - X[d, w] + 0.5) * (X[:, w].sum() - X[d, w] + 0.1) / (6 + 0.2))
        - X[d, w] * np.log(X[d].sum() - X[d, w] + 0.5)
        for d, w in zip(*np.nonzero(X), strict=True)
    )
    assert native.run(1, 1) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("K", [70, 150])
def test_with_many_topics_no_count_is_lost(K):
    random = np.random.default_rng(1)
    X = random.poisson(0.4, (120, 90))
    native = CollapsedTopics(_arrays.rows(sp.csr_matrix(X)), np.full(K, 0.1, F), np.full(90, 0.01, F), 3)
    native.start(None, random.random((90, K), dtype=F), 1)
    native.run(23, 1)
    assert native.word_topic().sum(axis=1) == pytest.approx(X.sum(axis=0), rel=2e-3)
    assert native.document_topic().sum(axis=1) == pytest.approx(X.sum(axis=1), rel=2e-3)


def test_gibbs_visits_states_as_often_as_exact_enumeration_says():
    documents, words = tokens_of(X_TINY)
    states, p = twin.posterior(words, documents, ALPHA, BETA)
    place = {state: i for i, state in enumerate(states)}
    native = GibbsTopics(_arrays.rows(sp.csr_matrix(X_TINY)), ALPHA.astype(F), BETA.astype(F), 5)
    seen, draws = np.zeros(len(states)), 40_000
    for _ in range(draws):
        native.run(1, 1)
        seen[place[tuple(native.assignments().tolist())]] += 1
    # With independent draws the mean of this distance is about 0.4 sqrt(states / draws) = 0.02.
    assert 0.5 * np.abs(seen / draws - p).sum() < 0.04


def test_gibbs_passes_gewekes_joint_test():
    # If draws of z given w leave p(z | w) alone, then going back and forth between z | w and w | z gives the prior.
    random = np.random.default_rng(7)
    lengths, K, V = [3, 2, 4], ALPHA.size, BETA.size
    documents = np.repeat(np.arange(3), lengths)
    alpha, beta = ALPHA.astype(F), BETA.astype(F)

    def words_given(z):
        phi = random.dirichlet(BETA, size=K)
        return np.array([random.choice(V, p=phi[k]) for k in z])

    def figures(w, z):
        nd, nw = np.zeros((3, K)), np.zeros((K, V))
        np.add.at(nd, (documents, z), 1)
        np.add.at(nw, (z, w), 1)
        return [nd[:, 0].sum(), (nd**2).sum(), (nw**2).sum(), nw[0, 0], (nw.sum(1) ** 2).sum()]

    prior, chain = [], []
    z = None
    for step in range(6000):
        fresh = np.concatenate([random.choice(K, size=n, p=random.dirichlet(ALPHA)) for n in lengths])
        prior.append(figures(words_given(fresh), fresh))
        z = fresh if z is None else z
        w = words_given(z)
        order = np.lexsort((w, documents))
        X = sp.csr_matrix((np.ones(len(w)), (documents, w)), shape=(3, V))
        X.sum_duplicates()
        native = GibbsTopics(_arrays.rows(X), alpha, beta, step, 0, np.ascontiguousarray(z[order], dtype=np.uint32))
        native.run(1, 1)
        z = np.empty(len(w), dtype=int)
        z[order] = native.assignments()
        chain.append(figures(w, z))
    prior, chain = np.array(prior), np.array(chain)[100:]
    batches = chain[: len(chain) // 50 * 50].reshape(-1, 50, 5).mean(axis=1)
    error = np.sqrt(batches.var(axis=0) / len(batches) + prior.var(axis=0) / len(prior))
    assert (np.abs(chain.mean(axis=0) - prior.mean(axis=0)) < 4 * error).all()


def test_gibbs_counts_add_up_with_weights_and_in_many_blocks():
    random = np.random.default_rng(2)
    X = random.poisson(1.0, (60, 40)) * random.choice([1.0, 0.5, 1.7], size=(60, 40))
    design = _arrays.rows(sp.csr_matrix(X))
    native = GibbsTopics(design, np.full(5, 0.1, F), np.full(40, 0.01, F), 1, 4)
    native.run(30, 2)
    assert native.word_topic().sum(axis=1) == pytest.approx(X.sum(axis=0), abs=1e-2)
    assert native.document_topic().sum(axis=1) == pytest.approx(X.sum(axis=1), abs=1e-2)


def test_first_topics_of_gibbs_come_back_in_the_order_of_the_entries():
    X = sp.csr_matrix(np.random.default_rng(3).poisson(1.0, (30, 20)))
    z = np.random.default_rng(4).integers(0, 4, int(X.sum())).astype(np.uint32)
    native = GibbsTopics(_arrays.rows(X), np.full(4, 0.1, F), np.full(20, 0.01, F), 1, 3, z)
    assert np.array_equal(native.assignments(), z)


def test_gibbs_starts_from_topics_in_proportion():
    X = sp.csr_matrix(np.full((200, 2), 50))
    native = GibbsTopics(_arrays.rows(X), np.full(3, 0.1, F), np.full(2, 0.01, F), 1)
    topic = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]], F)
    native.start(None, topic, 1)
    assert native.word_topic() / 10_000 == pytest.approx(topic, abs=0.02)
    native.start(np.tile(np.array([1, 0, 1], F), (200, 1)), topic, 1)
    assert native.word_topic()[0] / 10_000 == pytest.approx([2 / 7, 0, 5 / 7], abs=0.02)


def test_fold_in_is_the_e_step_of_variational_bayes():
    random = np.random.default_rng(5)
    X, alpha = random.poisson(1.0, (7, 15)).astype(float), np.array([0.2, 0.5, 1.0])
    weights = random.dirichlet(np.ones(15), size=3)
    start = random.gamma(100, 0.01, (7, 3))
    gamma = start.copy()
    fold = FoldDouble(np.ascontiguousarray(weights.T), alpha, True, 12, 0.0)
    assert fold.fold_in(_arrays.rows(X), gamma, 1) == 12
    expected = twin.e_step(X, weights, alpha, start, 12)
    assert gamma == pytest.approx(expected, rel=1e-10)
    statistics = fold.statistics(_arrays.rows(X), gamma, 2)
    assert statistics.sum(axis=1) == pytest.approx(X.sum(axis=0))


def test_left_to_right_agrees_with_the_sum_over_all_assignments():
    random = np.random.default_rng(6)
    phi, alpha = random.dirichlet(np.ones(4), size=3), np.array([0.3, 0.6, 0.2])
    X = np.array([[2, 1, 0, 2], [0, 0, 1, 0], [3, 0, 2, 1], [0, 0, 0, 0]])
    logs = left_to_right(_arrays.rows(X), np.ascontiguousarray(phi.T), alpha, 20_000, 0, 2)
    for row, found in zip(X, logs, strict=True):
        assert found == pytest.approx(twin.log_probability(np.repeat(np.arange(4), row), phi, alpha), abs=0.02)


def test_prior_updates_climb_to_the_fit_of_the_dirichlet():
    random = np.random.default_rng(8)
    n = np.array([random.multinomial(30, t) for t in random.dirichlet([0.3, 1.0, 2.0], size=800)])
    alpha = np.ones(3)
    for _ in range(300):
        sums = prior_sums(n.astype(F), alpha, False, 2)
        alpha = alpha * sums[:-1] / sums[-1]
    assert alpha == pytest.approx(Dirichlet.fit_counts(n).alpha, rel=1e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda X: GibbsTopics(X, np.ones(2, F), np.ones(5, F), 0),
        lambda X: GibbsTopics(X, np.ones(2, F), np.ones(3, F), 0, 0, np.zeros(2, np.uint32)),
        lambda X: GibbsTopics(X, np.ones(2, F), np.ones(3, F), 0, 0, np.full(9, 7, np.uint32)),
        lambda X: CollapsedTopics(X, np.ones(2, F), np.ones(3, F), 0).start(None, np.ones((2, 2), F), 1),
        lambda X: FoldDouble(np.ones((4, 2)), np.ones(2), True, 1, 0).fold_in(X, np.ones((3, 2)), 1),
        lambda X: left_to_right(X, np.ones((3, 2)), np.ones(3), 1, 0, 1),
    ],
)
def test_arrays_that_do_not_fit_are_refused_before_they_are_read(call):
    with pytest.raises(ValueError, match="does not fit"):
        call(_arrays.rows(X_TINY))
