"""Naive Bayes learns, forgets, merges and leaves one out as if it had been so from the start."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import OrdinalEncoder

from benchmarks import datasets
from tallywise.errors import NotLearnedError
from tallywise.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, JointBayes, MultinomialNB

COUNTS = [BernoulliNB, MultinomialNB, ComplementNB]
ALL = [*COUNTS, CategoricalNB, GaussianNB]
models = pytest.mark.parametrize("model", ALL)


def state(model):
    """All that a model remembers, as bytes."""
    sums = model._sums
    carry = np.zeros_like(sums.value) if sums.carry is None else sums.carry
    return b"".join(a.tobytes() for a in (np.ascontiguousarray(sums.value), np.ascontiguousarray(carry), sums.totals))


def sms(vectorizer=CountVectorizer, n=1500):
    texts, y = datasets.sms()
    return vectorizer().fit_transform(texts[:n]), y[:n]


# --- learning in parts ---


@models
@settings(max_examples=20, deadline=None)
@given(X=arrays(np.int64, (12, 5), elements=st.integers(0, 3)), cut=st.integers(1, 11))
def test_learning_in_parts_is_learning_at_once(model, X, cut):
    y = np.arange(12) % 3
    parts = model().partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    whole = model().fit(X, y)
    assert np.array_equal(parts.classes_, whole.classes_)
    assert state(parts) == state(whole)


@models
@settings(max_examples=20, deadline=None)
@given(X=arrays(np.int64, (12, 5), elements=st.integers(0, 3)), cut=st.integers(1, 11))
def test_forgetting_gives_back_the_same_bits(model, X, cut):
    y = np.array([0, 1] * 6)
    kept = model().partial_fit(X[:cut], y[:cut], classes=[0, 1])
    both = model().partial_fit(X[:cut], y[:cut], classes=[0, 1]).partial_fit(X[cut:], y[cut:])
    both.forget(X[cut:], y[cut:])
    if model is not CategoricalNB:
        assert state(both) == state(kept)
    else:  # categories stay known
        known = [n[:, : a.shape[1]] for n, a in zip(both.category_count_, kept.category_count_, strict=True)]
        assert all(np.array_equal(a, b) for a, b in zip(known, kept.category_count_, strict=True))
    assert np.array_equal(both.class_log_prior_, kept.class_log_prior_)


@pytest.mark.parametrize("model", COUNTS)
def test_forgetting_half_of_the_messages_equals_never_learning_them(model):
    X, y = sms()
    both = model().fit(X, y).forget(X[700:], y[700:])
    assert state(both) == state(model().fit(X[:700], y[:700]))
    assert np.array_equal(both.predict_proba(X), model().fit(X[:700], y[:700]).predict_proba(X))


@pytest.mark.parametrize("model", COUNTS)
def test_fractions_and_weights_are_forgotten_too(model):
    X, y = sms(TfidfVectorizer)
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    both = model().fit(X, y, weights).forget(X[700:], y[700:], weights[700:])
    kept = model().fit(X[:700], y[:700], weights[:700])
    np.testing.assert_allclose(both.feature_count_, kept.feature_count_, rtol=1e-25, atol=1e-25)
    assert np.array_equal(both.class_count_, kept.class_count_)


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


@models
def test_forgetting_what_was_never_learned_raises_and_changes_nothing(model):
    X, y = np.array([[1, 0, 2], [0, 1, 1], [2, 2, 0], [1, 0, 0]]), np.array([0, 0, 1, 1])
    learned = model().fit(X, y)
    before = state(learned)
    for rows, labels in (
        ([[0, 2, 2]], [1]),
        ([[2, 2, 0], [2, 2, 0], [2, 2, 0]], [1, 1, 1]),
        ([[2, 0, 0], [0, 0, 0], [0, 0, 0]], [0, 0, 0]),
        ([[1, 0, 2]], [7]),
    ):
        with pytest.raises(NotLearnedError, match="Nothing has changed"):
            learned.forget(np.array(rows), labels)
        assert state(learned) == before
    learned.forget(X, y)
    assert not learned._sums.value.any()


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


# --- new classes, columns, categories ---


@pytest.mark.parametrize("model", COUNTS)
def test_new_words_and_classes_while_learning(model):
    texts, y = datasets.sms()
    texts, y = texts[:300], y[:300].astype(object)
    y[200:] = "later"
    X = CountVectorizer().fit_transform(texts)
    order = np.argsort([np.flatnonzero(X[:, [j]].toarray())[0] for j in range(X.shape[1])], kind="stable")
    X = X[:, order]  # columns in the order of their first appearance, as a growing vectoriser has them
    stream = model()
    for i in range(300):
        width = X[: i + 1].indices.max() + 1
        stream.partial_fit(X[i, :width], y[[i]])
    whole = model().fit(X, y)
    assert np.array_equal(stream.classes_, whole.classes_)
    assert np.array_equal(stream.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ValueError, match="expecting"):
        stream.partial_fit(X[0, :5], y[[0]])


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


@models
def test_merging_is_having_learned_both(model):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (30, 4)), np.repeat([0, 1, 2], 10)
    merged = model().fit(X[:18], y[:18]).merge(model().fit(X[18:], y[18:]))
    whole = model().fit(X, y)
    assert np.array_equal(merged.classes_, whole.classes_)
    assert state(merged) == state(whole)
    assert np.array_equal(merged.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(TypeError, match="its own kind"):
        merged.merge(JointBayes().fit(X, y))


def test_merging_matches_categories_by_name_and_pads_columns():
    X, y = datasets.categorical("car")
    merged = CategoricalNB().fit(X[:400], y[:400]).merge(CategoricalNB().fit(X[400:], y[400:]))
    np.testing.assert_allclose(merged.predict_proba(X), CategoricalNB().fit(X, y).predict_proba(X), rtol=1e-12)
    wide = MultinomialNB().fit([[1, 0, 3]], [0]).merge(MultinomialNB().fit([[1, 1]], [1]))
    assert wide.feature_count_.tolist() == [[1, 0, 3], [1, 1, 0]]
    narrow = MultinomialNB().fit([[1, 1]], [1]).merge(MultinomialNB().fit([[1, 0, 3]], [0]))
    assert state(narrow) == state(wide)
    assert narrow.n_features_in_ == 3


# --- as plain arrays ---


@models
def test_statistics_are_plain_arrays_that_restore_the_model(model):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (30, 4)), np.repeat(["a", "b", "c"], 10)
    learned = model().fit(X, y, rng.uniform(0, 1, 30))
    restored = model().restore(learned.statistics())
    assert state(restored) == state(learned)
    assert np.array_equal(restored.predict_proba(X), learned.predict_proba(X))
    assert np.array_equal(restored.partial_fit(X, y).class_count_, learned.partial_fit(X, y).class_count_)
    with pytest.raises(ValueError, match="not statistics"):
        model().restore({**learned.statistics(), "totals": np.zeros((4, 9))})


# --- leaving one out ---


def refitted(model, X, y, alpha):
    """Labels and log-probabilities by refitting for each row."""
    name = "var_smoothing" if isinstance(model, GaussianNB) else "alpha"
    labels, own = [], []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        model.set_params(**{name: alpha}).fit(X[rest], y[rest])
        joint = model.predict_joint_log_proba(X[[i]])[0]
        top = joint.max()
        labels.append(model.classes_[joint.argmax()] if np.isfinite(top) else None)
        own.append(
            joint[np.searchsorted(model.classes_, y[i])] - top - np.log(np.exp(joint - top).sum())
            if np.isfinite(top)
            else -np.inf
        )
    return labels, np.array(own)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (MultinomialNB(), "sms"),
        (MultinomialNB(prior="tokens"), "sms"),
        (MultinomialNB(fit_prior=False), "sms"),
        (BernoulliNB(), "sms"),
        (ComplementNB(), "sms"),
        (ComplementNB(norm=True), "sms"),
        (CategoricalNB(), "car"),
        (GaussianNB(), "wine"),
        (GaussianNB(shared_variance=True), "wine"),
        (GaussianNB(), "mnist"),
    ],
)
def test_leave_one_out_equals_refitting_for_each_row(model, data):
    if data == "sms":
        X, y = sms(n=120)
    elif data == "car":
        X, y = datasets.categorical("car")
        X = OrdinalEncoder().fit_transform(X).astype(int)[4::9]
        y = np.where(y[4::9] == "unacc", "no", "yes")
        model.set_params(min_categories=(X.max(axis=0) + 1).tolist())
    elif data == "wine":
        X, y = datasets.wine()
        X, y = X[:150], y[:150] > 5
    else:
        X, y = datasets.mnist("test")
        X, y = X[:100].astype(np.float64), y[:100] % 3
    alphas = [1e-3, 1e-9] if isinstance(model, GaussianNB) else [0.05, 1.0, 2.5]
    found = model.leave_one_out(X, y, alphas=alphas)
    for k, alpha in enumerate(alphas):
        labels, own = refitted(model, X, y, alpha)
        assert np.array_equal(found.labels[k], labels)
        np.testing.assert_allclose(found.log_probability[k], own, rtol=1e-9, atol=1e-9)
        assert found.log_loss[k] == pytest.approx(-own.mean(), rel=1e-9)
        assert found.accuracy[k] == pytest.approx((np.array(labels) == y).mean())


@pytest.mark.parametrize("model", [MultinomialNB(), BernoulliNB()])
def test_leave_one_out_without_smoothing(model):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40)
    X[:, 0] += 1
    found = model.leave_one_out(X, y, alphas=[0.0])
    labels, own = refitted(model, X, y, 0.0)
    possible = np.array([label is not None for label in labels])
    assert np.array_equal(found.labels[0][possible], np.array(labels)[possible].astype(int))
    np.testing.assert_allclose(found.log_probability[0], own, rtol=1e-9, atol=1e-12)


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
    assert peak < 2 * model.feature_count_.nbytes + 1_000_000
