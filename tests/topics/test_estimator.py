"""Latent Dirichlet allocation: what it learns, how a fit runs, what bad input gets."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import datasets
from tallywise import _arrays
from tallywise._native import CollapsedTopics, Documents, GibbsTopics
from tallywise.topics import LatentDirichletAllocation
from tests.reference import topics as twin

METHODS = ["collapsed", "gibbs", "batch", "online"]


@parametrize_with_checks([LatentDirichletAllocation(method=method, max_iter=10) for method in METHODS])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def made():
    """Counts from known topics: 1,500 documents of 80 words, 6 topics over 120 words."""
    random = np.random.default_rng(0)
    phi = random.dirichlet(np.full(120, 0.05), size=6)
    return twin.generate(1500, 80, np.full(6, 0.2), phi, random), phi


@pytest.mark.parametrize(("method", "sweeps"), [("collapsed", 100), ("gibbs", 150), ("batch", 30)])
def test_the_generating_topics_are_found(made, method, sweeps):
    X, phi = made
    lda = LatentDirichletAllocation(6, method=method, max_iter=sweeps, random_state=1).fit(X)
    assert twin.matched_cosine(lda.phi_, phi) > 0.95


def test_the_best_of_several_starts_goes_on(made):
    X = made[0][:400]
    one = LatentDirichletAllocation(12, random_state=4, max_iter=10, learn_priors=False).fit(X)
    best = LatentDirichletAllocation(12, random_state=4, max_iter=10, learn_priors=False, n_init=5).fit(X)
    assert best.n_iter_ == one.n_iter_ == 10
    assert best.bound_ <= one.bound_


def test_priors_are_learned_and_given_ones_kept(made):
    X, _ = made
    learned = LatentDirichletAllocation(6, random_state=1).fit(X)
    assert learned.alpha_ == pytest.approx(0.2, rel=0.4)
    assert learned.topic_word_prior_ == pytest.approx(0.05, rel=0.4)
    given = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    kept = LatentDirichletAllocation(6, doc_topic_prior=given, learn_priors=False, max_iter=30).fit(X)
    assert np.array_equal(kept.alpha_, given)
    assert kept.topic_word_prior_ == pytest.approx(1 / 6)


@pytest.mark.parametrize("learning_method", ["batch", "online"])
def test_variational_methods_are_scikit_learns(made, learning_method):
    X = sp.csr_matrix(made[0][:200])
    settings = {"n_components": 6, "max_iter": 4, "random_state": 3}
    theirs = sklearn.decomposition.LatentDirichletAllocation(learning_method=learning_method, **settings).fit(X)
    ours = LatentDirichletAllocation(method=learning_method, **settings).fit(X)
    # Documents stop at a tolerance, so rounding can make one of them take a step more.
    assert ours.components_ == pytest.approx(theirs.components_, rel=1e-3, abs=1e-3)
    assert ours.transform(X) == pytest.approx(theirs.transform(X), abs=1e-3)
    assert ours.exp_dirichlet_component_ == pytest.approx(theirs.exp_dirichlet_component_, abs=1e-4)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    ours.partial_fit(X[:50])
    theirs.partial_fit(X[:50])
    assert ours.components_ == pytest.approx(theirs.components_, rel=1e-3, abs=1e-2)


@pytest.mark.parametrize(
    ("method", "K"),
    [("collapsed", 12), ("collapsed", 80), ("collapsed", 150), ("gibbs", 12), ("batch", 12)],
)
def test_same_seed_same_answer_for_any_number_of_threads(method, K):
    X, _ = datasets.kos()
    X = X[:900] if method == "batch" else X[:1500]
    answers = []
    for threads in (1, 2, 4, 8):
        sweeps = 3 if method == "batch" else 11
        lda = LatentDirichletAllocation(K, method=method, max_iter=sweeps, random_state=5, n_jobs=threads)
        lda.fit(X)
        answers.append((lda.components_.tobytes(), lda.theta_.tobytes(), lda.transform(X[:50]).tobytes(), lda.bound_))
    assert all(answer == answers[0] for answer in answers)


def test_products_of_documents_are_those_of_the_matrix_for_any_number_of_threads():
    X = datasets.kos()[0][:300].astype(np.float32)
    chosen = np.array([7, 299, 7, 0])
    for threads in (1, 3):
        assert np.array_equal(Documents(_arrays.rows(X)).products(chosen, threads), (X @ X[chosen].T).toarray())
    with pytest.raises(ValueError, match="a document"):
        Documents(_arrays.rows(X)).products(np.array([300]), 1)


def test_a_corpus_in_blocks_reaches_the_likelihood_of_one_in_a_piece():
    X = datasets.kos()[0][:1000]
    F = np.float32
    topic = np.random.default_rng(0).random((X.shape[1], 10), dtype=F)
    for make in (CollapsedTopics, GibbsTopics):
        logs = []
        for blocks in (1, 7):
            native = make(_arrays.rows(X), np.full(10, 0.1, F), np.full(X.shape[1], 0.05, F), 1, blocks)
            if make is CollapsedTopics:
                native.start(None, topic, 2)
            logs.append(native.run(40, 2) / X.sum())
        assert abs(logs[0] - logs[1]) < 0.02


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_goes_on_from_where_it_stopped(made, method):
    X = made[0][:300]
    settings = {"n_components": 4, "method": method, "random_state": 2}
    whole = LatentDirichletAllocation(max_iter=47, **settings).fit(X)
    parts = LatentDirichletAllocation(max_iter=13, **settings).fit(X).fit_more(X, 34)
    assert parts.n_iter_ == whole.n_iter_ == 47
    assert np.array_equal(parts.components_, whole.components_)
    assert np.array_equal(parts.alpha_, whole.alpha_)


@pytest.mark.parametrize("method", ["collapsed", "gibbs"])
def test_a_pickled_model_answers_the_same_and_can_go_on(made, method):
    X = made[0][:300]
    lda = LatentDirichletAllocation(4, method=method, random_state=0, max_iter=60).fit(X)
    again = pickle.loads(pickle.dumps(lda))
    assert np.array_equal(again.transform(X), lda.transform(X))
    bound = again.bound_
    again.fit_more(X, 30)
    assert again.n_iter_ == 90
    assert again.bound_ < bound * 1.05
    with pytest.raises(ValueError, match="needs the 300 documents"):
        again.fit_more(X[:10])


@pytest.fixture
def ctrl_c():
    """Ctrl-C as a terminal has it: a job in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_ends_a_fit_with_what_it_has(made, method):
    lda = LatentDirichletAllocation(5, method=method, max_iter=10**6, random_state=0)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.warns(UserWarning, match=r"interrupted after \d+ of 1000000 sweeps"):
        lda.fit(made[0])
    timer.join()
    assert lda.interrupted_
    assert 0 < lda.n_iter_ < 10**6
    assert lda.transform(made[0][:3]).sum(axis=1) == pytest.approx(1)


def test_callback_sees_perplexity_fall_and_can_stop(made):
    seen = []

    def stop(sweeps, perplexity):
        seen.append((sweeps, perplexity))
        return sweeps >= 3

    lda = LatentDirichletAllocation(6, callback=stop, evaluate_every=1, perp_tol=0, random_state=0).fit(made[0])
    assert [sweeps for sweeps, _ in seen] == [1, 2, 3]
    assert seen[-1][1] < seen[0][1]
    assert lda.n_iter_ == 3
    assert lda.history_ == seen


@pytest.mark.parametrize(("terminal", "waited", "shown"), [(True, 3.0, True), (True, 0.0, False), (False, 3.0, False)])
def test_a_bar_is_shown_on_a_terminal_after_two_seconds_only(capsys, monkeypatch, terminal, waited, shown):
    from tallywise.topics._progress import Bar

    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    bar = Bar("7 topics", 100)
    bar._began -= waited
    bar.show(50, 123.4)
    assert (bar._progress is not None) == shown
    if shown:
        assert "perplexity 123.4" in bar._progress.tasks[0].description
    bar.close()


def test_evaluate_every_stops_when_perplexity_stands_still(made):
    lda = LatentDirichletAllocation(6, max_iter=500, evaluate_every=10, perp_tol=0.05, random_state=0).fit(made[0])
    assert 20 <= lda.n_iter_ < 500


def test_a_fit_stops_when_words_left_out_are_predicted_no_better_and_has_counted_all_of_them():
    X, _ = datasets.kos()
    learned, new = X[:3000], X[3000:]
    model = LatentDirichletAllocation(3, random_state=0).fit(learned)
    assert model.n_iter_ < 100
    counts = (model.components_ - model.beta_).sum(axis=0)
    np.testing.assert_allclose(counts, np.asarray(learned.sum(axis=0)).ravel(), rtol=1e-3, atol=1e-2)
    again = LatentDirichletAllocation(3, random_state=0, n_jobs=3).fit(learned)
    assert np.array_equal(again.components_, model.components_)
    before = model.held_out(new, random_state=0).perplexity
    assert model.fit_more(learned, 50).held_out(new, random_state=0).perplexity > 0.99 * before
    ended = LatentDirichletAllocation(3, random_state=0, callback=lambda *_: True).fit(learned)
    assert ended.n_iter_ == 10
    np.testing.assert_allclose((ended.components_ - ended.beta_).sum(), learned.sum(), rtol=1e-4)


def test_fold_in_finds_the_mixture_that_made_a_long_document(made):
    lda = LatentDirichletAllocation(6, random_state=1).fit(made[0])
    theta = np.array([0.5, 0.3, 0.2, 0, 0, 0])
    X = np.random.default_rng(3).multinomial(5000, theta @ lda.phi_)[None]
    assert lda.transform(X)[0] == pytest.approx(theta, abs=0.03)
    assert lda.transform(X, normalize=False).sum() == pytest.approx(5000 + lda.alpha_.sum(), rel=1e-4)


def test_held_out_estimators_name_themselves_and_agree_on_the_better_model(made):
    X, _ = made
    good = LatentDirichletAllocation(6, random_state=1).fit(X[:1200])
    poor = LatentDirichletAllocation(2, random_state=1).fit(X[:1200])
    for estimator, name in (("completion", "document completion"), ("left-to-right", "left-to-right")):
        a, b = (lda.held_out(X[1200:1300], estimator) for lda in (good, poor))
        assert a.estimator == name
        assert a.interval[0] < a.perplexity < a.interval[1]
        assert a.perplexity < b.perplexity
        assert name in repr(a)
    with pytest.raises(ValueError, match="must be 'completion' or 'left-to-right'"):
        good.held_out(X, "harmonic mean")


def test_bound_is_below_the_left_to_right_estimate_and_does_not_grow_with_empty_topics(made):
    X, _ = made
    lda = LatentDirichletAllocation(6, random_state=1).fit(X[:1200])
    assert lda.score(X[1200:]) < lda.held_out(X[1200:], "left-to-right").log_likelihood
    assert lda.perplexity(X[1200:]) == pytest.approx(np.exp(-lda.score(X[1200:]) / X[1200:].sum()))
    # scikit-learn's bound charges the divergence of every topic to whatever documents are scored.
    half = lda.perplexity(X[1200:1350]), lda.perplexity(X[1350:])
    assert min(half) <= lda.perplexity(X[1200:]) <= max(half)


@pytest.mark.parametrize("method", METHODS)
def test_hostile_corpora_get_a_right_answer(method):
    random = np.random.default_rng(0)
    X = random.poisson(1.0, (12, 5)).astype(float)
    X[3] = 0
    X[:, 2] = 0

    def fit(X, K, **settings):
        return LatentDirichletAllocation(K, method=method, max_iter=12, random_state=0, **settings).fit(X)

    lda = fit(X, 3)
    assert np.isfinite(lda.components_).all()
    assert lda.theta_.sum(axis=1) == pytest.approx(1)
    assert lda.theta_[3] == pytest.approx(lda.alpha_ / lda.alpha_.sum(), abs=1e-2)  # an empty document: the prior
    assert np.isfinite(lda.transform(np.array([[0, 0, 9, 0, 0]]))).all()  # a word never seen
    assert fit(X, 1).transform(X) == pytest.approx(1)
    one = fit(
        X,
        1,
        doc_topic_prior=0.5,
        topic_word_prior=0.1,
        **({} if method in ("batch", "online") else {"learn_priors": False}),
    )
    if method != "online":
        assert one.components_[0] == pytest.approx(X.sum(axis=0) + 0.1, rel=1e-3)
    assert np.isfinite(fit(X, 70).components_).all()  # more topics than words and documents
    assert np.isfinite(fit(X + 0.37, 3).components_).all()  # counts that are not whole
    assert np.isfinite(fit(np.zeros((4, 3)), 2).components_).all()
    assert np.isfinite(fit(X * 1e4, 2).components_).all() if method != "gibbs" else True
    assert np.isfinite(fit(X, 2, doc_topic_prior=1e-30, topic_word_prior=1e-30).components_).all()


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"doc_topic_prior": 0.0}, "'doc_topic_prior' parameter"),
        ({"doc_topic_prior": [0.1, 0.2, 0.3]}, "'doc_topic_prior' parameter .* must be a number or 2"),
        ({"topic_word_prior": [0.1, -1.0, 1, 1]}, "'topic_word_prior' parameter .* must be finite and > 0"),
        ({"method": "magic"}, "'method' parameter"),
        ({"method": "online", "learn_priors": True}, "'learn_priors' parameter must be False or None"),
        ({"n_components": 0}, "'n_components' parameter"),
    ],
)
def test_bad_settings_are_named(settings, cause):
    with pytest.raises(ValueError, match=cause):
        LatentDirichletAllocation(**{"n_components": 2, **settings}).fit(np.ones((3, 4)))


def test_counts_beyond_floating_point_are_refused():
    model = LatentDirichletAllocation(
        10, doc_topic_prior=1e-9, topic_word_prior=1e9, method="batch", random_state=0
    ).fit([[1.0], [0.0], [2.0]])
    with pytest.raises(ValueError, match="beyond floating point"):
        model.transform([[3e228]])


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match=r"Negative values in data passed to LatentDirichletAllocation\.fit"):
        LatentDirichletAllocation(2).fit(np.array([[1, -1], [2, 3]]))
    with pytest.raises(ValueError, match="needs whole counts"):
        LatentDirichletAllocation(2).fit(np.ones((4, 3))).held_out(np.full((4, 3), 0.5), "left-to-right")
