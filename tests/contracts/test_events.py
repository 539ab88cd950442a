"""Laws that every event model of the registry keeps, a newcomer included."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.utils import get_tags

from benchmarks import datasets
from tallywise import _native
from tallywise.errors import NoPossibleClassError, NotLearnedError
from tallywise.naive_bayes import JointBayes
from tests.contracts.event_models import (
    CLASSES,
    VARIANTS,
    assert_leaves_one_out,
    reads_sparse,
    real_rows,
    refitted,
    smoothed,
    sms,
    state,
)
from tests.reference import naive_bayes as twin

SPARSE = [model for model in CLASSES if reads_sparse(model)]
# Without smoothing the Gaussian has no density, and the complement is sure of words that but one class has.
UNSMOOTHED = [model for model in CLASSES if model._event not in ("gaussian", "complement")]

models = pytest.mark.parametrize("model", CLASSES)
sparse_models = pytest.mark.parametrize("model", SPARSE)
with_variants = pytest.mark.parametrize("model", [*(model() for model in CLASSES), *VARIANTS], ids=repr)
few_rows = arrays(np.int64, (12, 5), elements=st.integers(0, 3))
few_examples = settings(max_examples=20, deadline=None)


@pytest.mark.parametrize("name", _native.events())
def test_every_event_model_has_a_public_class_and_a_twin(name):
    assert name in {model._event for model in CLASSES}
    assert hasattr(twin, name), f"Write the formula of '{name}', slowly, in tests/reference/naive_bayes.py."


# --- the formula ---


@models
@settings(max_examples=25, deadline=None)
@given(X=arrays(np.int64, (7, 4), elements=st.integers(0, 3)), alpha=st.sampled_from([0.01, 0.5, 1.0, 3.0]))
def test_scores_match_the_direct_likelihood(model, X, alpha):
    y = np.array([0, 1, 0, 1, 2, 2, 1])
    X[0, 0] += 1  # some variance
    rows = np.vstack([X, [[5, 0, 1, 0]]])
    expected = getattr(twin, model._event)(X, y, rows, alpha)
    found = smoothed(model, alpha).fit(X, y).predict_joint_log_proba(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@models
@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 12, 13, 31, 33, 70])
def test_any_number_of_classes_and_rows_is_scored(model, K):
    rng = np.random.default_rng(K)
    X, y = rng.poisson(1.0, (3 * K + 2, 9)), np.arange(3 * K + 2) % K
    rows = X[:23]
    learned = smoothed(model, 0.5).fit(X, y)
    expected = getattr(twin, model._event)(X, y, rows, 0.5)
    np.testing.assert_allclose(learned.predict_joint_log_proba(rows), expected, rtol=1e-11, atol=1e-12)
    if reads_sparse(model):
        found = learned.predict_joint_log_proba(sp.csr_array(rows))
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert np.array_equal(learned.predict(rows), learned.predict_joint_log_proba(rows).argmax(axis=1))


@sparse_models
def test_smoothing_may_differ_by_feature(model):
    rng = np.random.default_rng(0)
    X, y, alpha = rng.poisson(0.8, (40, 6)), rng.integers(0, 3, 40), rng.uniform(0.1, 2, 6)
    expected = getattr(twin, model._event)(X, y, X, alpha)
    np.testing.assert_allclose(smoothed(model, alpha).fit(X, y).predict_joint_log_proba(X), expected, rtol=1e-12)


@sparse_models
@pytest.mark.parametrize("value", [np.float32, np.float64, np.int64, np.int8, bool])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_dense_and_sparse_of_any_type_agree(model, index, value):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 6)), np.array(["a", "b", "c"])[rng.integers(0, 3, 40)]
    expected = model().fit(X, y).predict_joint_log_proba(X)
    S = sp.csr_matrix(X.astype(value))
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    for same in (X.astype(value), S, sp.csr_array(S), S.tocsc()):
        assert np.array_equal(model().fit(same, y).predict_joint_log_proba(same), expected)


@sparse_models
def test_rows_in_any_order_and_with_repeats_are_read_right(model):
    data, indices, indptr = np.array([1, 2, 3, 1]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    repeated = sp.csr_matrix((data, indices, indptr), shape=(2, 3))
    plain = repeated.toarray()
    unsorted = sp.csr_matrix((np.array([4, 2, 1]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    expected = model().fit(plain, [0, 1]).predict_joint_log_proba(plain)
    for same in (repeated, unsorted):
        assert np.array_equal(model().fit(same, [0, 1]).predict_joint_log_proba(same), expected)


@sparse_models
def test_models_of_sparse_rows_are_linear_rules(model):
    texts, y = datasets.sms()
    X = CountVectorizer(binary=True).fit_transform(texts)
    for labels in (y, np.array([f"{label}{len(text) > 60}" for label, text in zip(y, texts, strict=True)])):
        learned = model().fit(X, labels)
        w, b = learned.to_linear()
        joint = learned.predict_joint_log_proba(X)
        expected = joint[:, 1:] - joint[:, :1] if len(b) == 1 else joint
        np.testing.assert_allclose(X @ w.T + b, expected, rtol=1e-12, atol=1e-12 * np.abs(joint).max())


@sparse_models
def test_probabilities_of_a_long_document_sum_to_one(model):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.3, (60, 5000)), np.arange(60) % 7
    long = sp.csr_array(rng.multinomial(100_000, np.full(5000, 1 / 5000), size=4))
    learned = model().fit(X, y)
    assert np.abs(learned.predict_proba(long).sum(axis=1) - 1).max() < 1e-12
    assert np.abs(np.exp(learned.predict_log_proba(long)).sum(axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize("model", UNSMOOTHED)
def test_without_smoothing_zero_means_impossible_not_nan(model):
    X, y = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, 1]]), np.array([0, 0, 1, 1])
    learned = smoothed(model, 0.0).fit(X, y)
    expected = getattr(twin, model._event)(X, y, X, 0.0)
    np.testing.assert_allclose(learned.predict_joint_log_proba(X), expected, rtol=1e-12)
    assert np.array_equal(np.isneginf(learned.predict_log_proba(X)), np.isneginf(expected))
    assert not np.isnan(learned.predict_proba(X)).any()
    # One row has what no class has together; some events have no such row here.
    hopeless = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0]])
    rows = np.flatnonzero(np.isneginf(getattr(twin, model._event)(X, y, hopeless, 0.0)).all(axis=1))
    if len(rows):
        with pytest.raises(NoPossibleClassError, match="probability 0 under every class") as caught:
            learned.predict(hopeless)
        assert caught.value.rows == rows.tolist()
        assert pickle.loads(pickle.dumps(caught.value)).rows == rows.tolist()


# --- learning ---


@models
@few_examples
@given(X=few_rows, cut=st.integers(1, 11))
def test_learning_in_parts_is_learning_at_once(model, X, cut):
    y = np.arange(12) % 3
    parts = model().partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    whole = model().fit(X, y)
    assert np.array_equal(parts.classes_, whole.classes_)
    assert state(parts) == state(whole)


@models
@few_examples
@given(X=few_rows, order=st.permutations(range(12)))
def test_the_order_of_learning_does_not_matter(model, X, order):
    y = np.arange(12) % 3
    assert state(model().fit(X[order], y[order])) == state(model().fit(X, y))


@models
@few_examples
@given(X=few_rows, weights=arrays(np.int64, 12, elements=st.integers(1, 3)))
def test_a_row_of_weight_two_is_two_rows(model, X, weights):
    y = np.arange(12) % 3
    rows = np.repeat(np.arange(12), weights)
    assert state(model().fit(X, y, weights)) == state(model().fit(X[rows], y[rows]))


@models
@few_examples
@given(X=few_rows, cut=st.integers(2, 11))
def test_forgetting_gives_back_the_same_bits(model, X, cut):
    y = np.array([0, 1] * 6)
    X[0], X[1] = 0, 3  # categories stay known
    kept = model().fit(X[:cut], y[:cut])
    both = model().fit(X, y).forget(X[cut:], y[cut:])
    assert state(both) == state(kept)
    assert np.array_equal(both.class_log_prior_, kept.class_log_prior_)


@sparse_models
def test_forgetting_half_of_the_messages_equals_never_learning_them(model):
    X, y = sms()
    both, kept = model().fit(X, y).forget(X[700:], y[700:]), model().fit(X[:700], y[:700])
    assert state(both) == state(kept)
    assert np.array_equal(both.predict_proba(X), kept.predict_proba(X))


@sparse_models
def test_fractions_and_weights_are_forgotten_too(model):
    X, y = sms(TfidfVectorizer)
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    both = model().fit(X, y, weights).forget(X[700:], y[700:], weights[700:])
    kept = model().fit(X[:700], y[:700], weights[:700])
    np.testing.assert_allclose(both.feature_count_, kept.feature_count_, rtol=1e-25, atol=1e-25)
    assert np.array_equal(both.class_count_, kept.class_count_)


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


@sparse_models
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


@with_variants
def test_leave_one_out_equals_refitting_for_each_row(model):
    X, y = real_rows(model)
    default = model.get_params()[model._smoothing_name]
    assert_leaves_one_out(clone(model), X, y, sorted({default, 0.05, 1.0, 2.5}))


@pytest.mark.parametrize("model", UNSMOOTHED)
def test_leave_one_out_without_smoothing(model):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40)
    X[:, 0] += 1
    found = model().leave_one_out(X, y, alphas=[0.0])
    labels, own = refitted(model(), X, y, 0.0)
    possible = np.array([label is not None for label in labels])
    assert np.array_equal(found.labels[0][possible], np.array(labels)[possible].astype(int))
    np.testing.assert_allclose(found.log_probability[0], own, rtol=1e-9, atol=1e-12)


# --- files, processes, threads ---


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


@models
def test_pickles_score_alike_and_keep_learning(model):
    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.8, (40, 6)), rng.integers(0, 3, 40)
    learned = model().fit(X, y)
    copy = pickle.loads(pickle.dumps(learned))
    assert copy._cache == {}
    assert np.array_equal(copy.predict_proba(X), learned.predict_proba(X))
    assert np.array_equal(copy.partial_fit(X, y).class_count_, 2 * learned.class_count_)


@models
def test_bytes_do_not_depend_on_threads(model, monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.poisson(0.5, (3000, 600)), rng.integers(0, 3, 3000)
    weights = rng.uniform(0, 1, 3000)
    rows = sp.csr_array(X * 0.3) if reads_sparse(model) else X
    seen = set()
    for threads in (1, 2, 4, 8):
        monkeypatch.setenv("TALLYWISE_NUM_THREADS", str(threads))
        learned = model().fit(rows, y, weights)
        tables = (learned._sums.value, learned._weights()[0], learned.predict_proba(rows))
        seen.add(b"".join(table.tobytes() for table in tables))
    assert len(seen) == 1


# --- what is refused ---


@models
def test_no_rows_nan_and_mismatched_columns_are_refused(model):
    learner = model()
    with pytest.raises(ValueError, match="0 sample"):
        learner.fit(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="NaN"):
        learner.fit([[np.nan, 1]], [0])
    with pytest.raises(ValueError, match=r"weight|zero"):
        learner.fit([[1, 2], [2, 1]], [0, 1], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        learner.fit([[1, 2], [2, 1]], [0, 1], sample_weight=[1, -1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        learner.fit([[1, 2], [2, 1]], [0, 1, 1])
    learner.fit([[1, 2], [2, 1], [2, 0]], [0, 1, 1])
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 2"):
        learner.predict([[1, 2, 3]])


@with_variants
def test_negative_counts_are_refused_by_name_where_there_are_none(model):
    X, y = [[1, -1], [0, 1], [1, 0]], [0, 1, 1]
    if not get_tags(model).input_tags.positive_only:
        clone(model).fit(X, y)
        return
    with pytest.raises(ValueError, match=f"Negative values in data passed to {type(model).__name__}"):
        clone(model).fit(X, y)
