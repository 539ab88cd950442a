"""Naive Bayes learns, forgets, merges and leaves one out as if it had been so from the start."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks import datasets
from tallywise.errors import NotLearnedError
from tallywise.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    JointBayes,
    MultinomialNB,
    PoissonNB,
)
from tests.contracts.event_models import assert_leaves_one_out, sms, state

# --- learning in parts ---


def test_gaussian_forgets_single_precision_to_the_bit_and_doubles_to_all_digits():
    X, y = datasets.mnist("test")
    both = GaussianNB().fit(X[:3000], y[:3000]).forget(X[2000:3000], y[2000:3000])
    kept = GaussianNB().fit(X[:2000], y[:2000])
    assert state(both) == state(kept)
    X, y = datasets.spambase()
    shuffled = np.random.default_rng(0).permutation(len(y))
    X, y = X[shuffled], y[shuffled]
    both, kept = GaussianNB().fit(X, y).forget(X[3000:], y[3000:]), GaussianNB().fit(X[:3000], y[:3000])
    np.testing.assert_allclose(both._sums.value, kept._sums.value, rtol=1e-28)
    np.testing.assert_allclose(both.var_, kept.var_, rtol=1e-14)


def test_weights_of_one_and_forgotten_rows_leave_gaussian_sums_as_they_were_to_the_bit():
    random = np.random.default_rng(0)
    X = random.integers(-(2**20), 2**20, (9000, 30)).astype(np.float64)
    X[:, 8:10] += 0.5
    X[0, 20] = 2**20 + 1
    y = random.integers(0, 2, 9000)
    plain, weighted = GaussianNB().fit(X, y), GaussianNB().fit(X, y, np.ones(9000))
    assert state(plain) == state(weighted)
    assert state(plain.forget(X[4000:], y[4000:])) == state(GaussianNB().fit(X[:4000], y[:4000]))


def test_counts_are_exact_up_to_two_to_the_53():
    largest = 2**53
    model = MultinomialNB().fit(np.array([[largest - 5], [1]]), [0, 1])
    before = state(model)
    model.partial_fit(np.array([[5]]), [0])
    assert model.feature_count_[0, 0] == largest
    assert state(model.forget(np.array([[5]]), [0])) == before
    for more in (6, largest, 2**62):
        with pytest.raises(OverflowError, match=r"2\^53"):
            model.partial_fit(np.array([[more]]), [0])
        assert state(model) == before
    with pytest.raises(OverflowError, match=r"2\^53"):
        MultinomialNB().fit(np.array([[largest, 1]]), [0])
    full = MultinomialNB().fit(np.array([[largest - 1]]), [0])
    with pytest.raises(OverflowError, match=r"2\^53"):
        full.merge(MultinomialNB().fit(np.array([[2]]), [0]))


def test_forgetting_an_empty_document_that_was_never_learned_is_noticed():
    """Two documents with the word cannot be one document."""
    model = BernoulliNB().fit([[1], [1], [0]], [0, 0, 1])
    with pytest.raises(NotLearnedError):
        model.forget([[0]], [0])


def test_fractions_never_learned_leave_no_trace():
    X, y = sms(TfidfVectorizer)
    model = MultinomialNB().fit(X[:500], y[:500])
    before = state(model)
    with pytest.raises(NotLearnedError):
        model.forget(X, y)
    assert state(model) == before


MODELS = (BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB)


@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
@pytest.mark.parametrize("kind", MODELS)
def test_what_the_sums_show_was_never_learned_is_refused_and_changes_nothing(kind, weights):
    """Wrong labels, the same rows twice, and larger weights: after any `forget` the sums are those of some rows."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        X, y = rng.poisson(0.6, (12, 4)), rng.integers(0, 2, 12)
        s = {"none": None, "whole": rng.integers(1, 4, 12), "fractions": rng.random(12)}[weights]
        rows = rng.choice(12, 4, replace=False)
        own = None if s is None else s[rows]
        for labels, again, more in ((1 - y[rows], False, own), (y[rows], True, own), (y[rows], False, np.full(4, 2.5))):
            model = kind().fit(X, y, sample_weight=s)
            if again:
                model.forget(X[rows], labels, more)
            before = state(model)
            try:
                model.forget(X[rows], labels, more)
            except NotLearnedError:
                refused += 1
                assert state(model) == before
                continue
            found = model.statistics()
            documents = found["totals"][0]
            assert (found["totals"][[0, 2]] >= 0).all()
            assert (kind is GaussianNB) or (found["value"] >= 0).all()
            assert not found["value"][0][documents == 0].any()
            if kind is BernoulliNB:
                assert (found["value"][0] <= documents[:, None] * (1 + 1e-9)).all()
    assert refused > 60


def test_fractions_are_not_forgotten_by_a_model_that_learned_whole_numbers():
    X, y = np.array([[3, 1], [2, 2], [0, 4]]), [0, 0, 1]
    for rows, weights in ((X[:1], [1.5]), (X[:1], [0.5]), (X[:1] / 2, None)):
        model = MultinomialNB().fit(X, y)
        before = state(model)
        with pytest.raises(NotLearnedError, match="fractions"):
            model.forget(rows, [0], sample_weight=weights)
        assert state(model) == before


# --- new classes, columns, categories ---


def test_new_categories_while_learning():
    X, y = datasets.categorical("nursery")
    stream = CategoricalNB()
    for rows in np.array_split(np.arange(len(y)), 7):
        stream.partial_fit(X[rows], y[rows])
    whole = CategoricalNB().fit(X, y)
    np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_partial_fit_that_fails_changes_nothing():
    model = MultinomialNB().fit([[1, 2]], [0])
    before = state(model)
    for X, y, error in (
        ([[1, -1]], [0], "Negative"),
        ([[np.nan, 1]], [0], "NaN"),
        (np.array([[1, 2, np.inf]]), [0], "infinity"),
        ([[1, 2]], [5], "do not exist"),
    ):
        with pytest.raises(ValueError, match=error):
            model.partial_fit(X, y, classes=[0] if error == "do not exist" else None)
        assert state(model) == before
        assert model.n_features_in_ == 2


# --- merging ---


def test_merging_matches_categories_by_name_and_pads_columns():
    X, y = datasets.categorical("car")
    merged = CategoricalNB().fit(X[:400], y[:400]).merge(CategoricalNB().fit(X[400:], y[400:]))
    np.testing.assert_allclose(merged.predict_proba(X), CategoricalNB().fit(X, y).predict_proba(X), rtol=1e-12)
    wide = MultinomialNB().fit([[1, 0, 3]], [0]).merge(MultinomialNB().fit([[1, 1]], [1]))
    assert wide.feature_count_.tolist() == [[1, 0, 3], [1, 1, 0]]
    narrow = MultinomialNB().fit([[1, 1]], [1]).merge(MultinomialNB().fit([[1, 0, 3]], [0]))
    assert state(narrow) == state(wide)
    assert narrow.n_features_in_ == 3


# --- leaving one out ---


def test_leaving_out_one_image_equals_refitting():
    """Pixels that never vary, and digits that cancel."""
    X, y = datasets.mnist("test")
    assert_leaves_one_out(GaussianNB(), X[:100].astype(np.float64), y[:100] % 3, [1e-3, 1e-9])


def test_alpha_is_chosen_by_leaving_one_out():
    X, y = sms()
    model = MultinomialNB(alpha="loo").fit(X, y)
    found = MultinomialNB().leave_one_out(X, y)
    assert model.alpha_ == found.best_alpha
    assert np.array_equal(model.predict_proba(X), MultinomialNB(alpha=found.best_alpha).fit(X, y).predict_proba(X))
    with pytest.raises(ValueError, match="all rows at once"):
        model.partial_fit(X, y)


def test_a_class_of_one_row_is_an_error_without_a_loss():
    found = MultinomialNB().leave_one_out([[1, 0], [2, 0], [0, 1]], ["a", "a", "b"], alphas=[1.0])
    assert found.accuracy[0] == pytest.approx(2 / 3)
    assert np.isneginf(found.log_probability[0, 2])
    assert np.isfinite(found.log_loss[0])


# --- whole rows ---


def test_joint_bayes_learns_and_forgets():
    X, y = datasets.categorical("car")
    stream = JointBayes().partial_fit(X[:500], y[:500]).partial_fit(X[500:], y[500:])
    assert np.array_equal(stream.predict_proba(X), JointBayes().fit(X, y).predict_proba(X))
    kept = JointBayes().partial_fit(X[:500], y[:500], classes=np.unique(y))
    assert np.array_equal(stream.forget(X[500:], y[500:]).predict_proba(X), kept.predict_proba(X))
    with pytest.raises(NotLearnedError):
        stream.forget(X[600:602], y[600:602])
    assert stream.n_distinct_ == kept.n_distinct_
    assert np.array_equal(stream.class_count_, kept.class_count_)


def test_joint_bayes_that_fails_to_learn_or_forget_is_as_it_was():
    X, y = np.array([[0, 1], [0, 1], [1, 1]]), np.array([0, 1, 1])
    with pytest.raises(ValueError, match="zero"):
        JointBayes().fit(X, y, sample_weight=[0, 0, 0])
    fresh = JointBayes()
    with pytest.raises(ValueError, match="Unknown label type"):
        fresh.partial_fit(X, [0.1, 0.2, 0.3])
    assert not hasattr(fresh, "classes_")
    model = JointBayes(fallback=MultinomialNB()).fit(X, y, sample_weight=[0.1, 0.2, 0.7])
    before = model.predict_proba(X)
    for rows, labels, weights in ((X[:1], [0], [0.2]), ([[1, 0]], [1], [0.1]), (X[:1], [5], [0.1])):
        with pytest.raises(NotLearnedError):
            model.forget(np.array(rows), labels, weights)
        assert np.array_equal(model.predict_proba(X), before)
    assert model.forget(X, y, sample_weight=[0.1, 0.2, 0.7]).n_distinct_ == 0


def test_peak_memory_of_learning_is_the_model():
    """No matrix of rows by classes, no dense copy of sparse input."""
    import tracemalloc

    rng = np.random.default_rng(0)
    X = sp.random(20_000, 3_000, density=0.01, format="csr", rng=rng)
    X.data[:] = 1
    y = rng.integers(0, 20, 20_000)
    tracemalloc.start()
    model = MultinomialNB().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    own = X.indices.nbytes + X.indptr.nbytes  # copied, so that no other thread can change them
    assert peak < 2 * model.feature_count_.nbytes + own + 1_000_000


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("largest", [3, 2**30, 2**51 - 1, 2**51, 2**52 + 1])
def test_whole_numbers_of_any_size_are_counted_and_forgotten_to_the_bit(largest, sparse):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 9))
    X[7, 3] = largest
    y = rng.integers(0, 3, 40)
    rows = sp.csr_matrix(X) if sparse else X
    model = MultinomialNB().fit(rows[:30], y[:30])
    before = model.statistics()
    assert [sum(row) for row in zip(*X[:30][y[:30] == y[7]].tolist(), strict=True)] == [
        int(n) for n in model.feature_count_[model.classes_.tolist().index(y[7])]
    ]
    model.partial_fit(rows[30:], y[30:])
    with pytest.raises(NotLearnedError):
        model.forget(sp.csr_matrix(X + 1000) if sparse else X + 1000, y)
    model.forget(rows[30:], y[30:])
    for name, table in model.statistics().items():
        assert np.array_equal(table, before[name])


def test_counts_past_the_last_exact_one_change_nothing():
    X, y = np.array([[2**52, 1], [3, 2**52]]), [0, 0]
    model = MultinomialNB().fit(X[:1], [0])
    before = model.statistics()
    with pytest.raises(OverflowError, match="2\\^53"):
        model.partial_fit(X, y)
    for name, table in model.statistics().items():
        assert np.array_equal(table, before[name])
