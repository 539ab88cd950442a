"""Naive Bayes says what the formulas, the notes and scikit-learn say."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import naive_bayes as theirs
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import OrdinalEncoder

from benchmarks import datasets
from tallywise import _native
from tallywise.errors import NoPossibleClassError
from tallywise.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, JointBayes, MultinomialNB
from tests.reference import naive_bayes as twin

DISCRETE = {"bernoulli": BernoulliNB, "multinomial": MultinomialNB, "complement": ComplementNB}
ALL = {**DISCRETE, "categorical": CategoricalNB, "gaussian": GaussianNB}


def small(seed=0, n=40, d=6, K=3, largest=4):
    rng = np.random.default_rng(seed)
    return rng.poisson(0.8, (n, d)).clip(0, largest), np.array(["a", "b", "c"])[rng.integers(0, K, n)]


def test_every_event_model_has_a_public_class_and_a_twin():
    assert set(_native.events()) == set(ALL)
    assert {model._event for model in ALL.values()} == set(_native.events())
    assert all(hasattr(twin, name) for name in _native.events())


# --- the formula ---


@pytest.mark.parametrize("name", _native.events())
@settings(max_examples=25, deadline=None)
@given(X=arrays(np.int64, (7, 4), elements=st.integers(0, 3)), alpha=st.sampled_from([0.01, 0.5, 1.0, 3.0]))
def test_scores_match_the_direct_likelihood(name, X, alpha):
    y = np.array([0, 1, 0, 1, 2, 2, 1])
    X[0, 0] += 1  # some variance
    model = ALL[name](**{"var_smoothing" if name == "gaussian" else "alpha": alpha}).fit(X, y)
    rows = np.vstack([X, [[5, 0, 1, 0]]])
    np.testing.assert_allclose(
        model.predict_joint_log_proba(rows), getattr(twin, name)(X, y, rows, alpha), rtol=1e-12, atol=1e-12
    )


def test_shared_variance_matches_the_direct_likelihood():
    X, y = datasets.wine()
    rows = X[:50]
    model = GaussianNB(shared_variance=True).fit(X, y)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(rows), twin.gaussian(X, y, rows, 1e-9, shared=True), rtol=1e-11
    )


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 12, 13, 31, 33, 70])
@pytest.mark.parametrize("name", ["bernoulli", "multinomial", "gaussian"])
def test_any_number_of_classes_and_rows_is_scored(name, K):
    rng = np.random.default_rng(K)
    X, y = rng.poisson(1.0, (3 * K + 2, 9)), np.arange(3 * K + 2) % K
    smoothing = {"var_smoothing": 0.1} if name == "gaussian" else {}
    model = ALL[name](**smoothing).fit(X, y)
    expected = getattr(twin, name)(X, y, X, 0.1 if name == "gaussian" else 1.0)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-11)
    if name != "gaussian":
        np.testing.assert_allclose(model.predict_joint_log_proba(sp.csr_array(X)), expected, rtol=1e-11)
    assert np.array_equal(model.predict(X), model.predict_joint_log_proba(X).argmax(axis=1))


@pytest.mark.parametrize("value", [np.float32, np.float64, np.int64, np.int8, bool])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", DISCRETE)
def test_dense_and_sparse_of_any_type_agree(name, index, value):
    X, y = small(largest=1)
    expected = DISCRETE[name]().fit(X, y).predict_joint_log_proba(X)
    S = sp.csr_matrix(X.astype(value))
    S.indices, S.indptr = S.indices.astype(index), S.indptr.astype(index)
    for same in (X.astype(value), S, sp.csr_array(S), S.tocsc()):
        assert np.array_equal(DISCRETE[name]().fit(same, y).predict_joint_log_proba(same), expected)


def test_rows_in_any_order_and_with_repeats_are_read_right():
    data, indices, indptr = np.array([1, 2, 3, 1]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    repeated = sp.csr_matrix((data, indices, indptr), shape=(2, 3))
    plain = repeated.toarray()
    unsorted = sp.csr_matrix((np.array([4, 2, 1]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    for model in DISCRETE.values():
        expected = model().fit(plain, [0, 1]).predict_joint_log_proba(plain)
        for same in (repeated, unsorted):
            assert np.array_equal(model().fit(same, [0, 1]).predict_joint_log_proba(same), expected)


# --- the notes ---


def test_laplace_gives_oklahoma_one_sixth():
    """S2: four games, none won: (0 + 1) / (4 + 2)."""
    assert np.exp(BernoulliNB().fit(np.zeros((4, 1)), [0] * 4).feature_log_prob_[0, 0]) == pytest.approx(1 / 6)


def test_bernoulli_smoothing_adds_one_above_and_two_below():
    """S4 (and S0 with its slip mended): spam with the word in 2 of 3 mails, ham in 0 of 2."""
    X, y = np.array([[1], [1], [0], [0], [0]]), np.array([1, 1, 1, 0, 0])
    np.testing.assert_allclose(np.exp(BernoulliNB().fit(X, y).feature_log_prob_[:, 0]), [1 / 4, 3 / 5])


def test_multinomial_smoothing_divides_by_tokens_and_vocabulary():
    """S0, S2, S3: N_c counts tokens, plus |V| when smoothed."""
    X, y = np.array([[2, 1, 0], [0, 1, 1], [0, 0, 4]]), np.array([0, 0, 1])
    expected = [[3 / 8, 3 / 8, 2 / 8], [1 / 7, 1 / 7, 5 / 7]]
    np.testing.assert_allclose(np.exp(MultinomialNB().fit(X, y).feature_log_prob_), expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.5, 1.0])
def test_categorical_estimate_has_l_above_and_l_times_values_below(smoothing):
    """S3: (count + l) / (n_c + l K_a)."""
    X, y = np.array([[0], [0], [2], [1]]), np.array([0, 0, 0, 1])
    expected = (np.array([[2, 0, 1], [0, 1, 0]]) + smoothing) / (np.array([[3], [1]]) + 3 * smoothing)
    np.testing.assert_allclose(np.exp(CategoricalNB(alpha=smoothing).fit(X, y).feature_log_prob_[0]), expected)


def test_gaussian_estimates_are_means_and_mean_squared_distances():
    """S3: mu = mean, sigma^2 = mean squared distance (not divided by n - 1)."""
    model = GaussianNB(var_smoothing=0).fit([[1.0], [2.0], [6.0], [0.0], [4.0]], [0, 0, 0, 1, 1])
    np.testing.assert_allclose(model.theta_[:, 0], [3, 2])
    np.testing.assert_allclose(model.var_[:, 0], [14 / 3, 4])


def test_priors_count_documents_or_tokens_or_are_given():
    """S1 counts tokens, S0, S2 and S4 documents."""
    X, y = np.array([[3, 3], [1, 0], [1, 0]]), np.array([0, 1, 1])
    prior = lambda **given: np.exp(MultinomialNB(**given).fit(X, y).class_log_prior_)  # noqa: E731
    np.testing.assert_allclose(prior(), [1 / 3, 2 / 3])
    np.testing.assert_allclose(prior(prior="tokens"), [6 / 8, 2 / 8])
    np.testing.assert_allclose(prior(prior=[0.9, 0.1]), [0.9, 0.1])
    np.testing.assert_allclose(prior(class_prior=[0.9, 0.1]), [0.9, 0.1])
    np.testing.assert_allclose(prior(fit_prior=False), [0.5, 0.5])


# --- scikit-learn ---


def assert_same(ours, other, X):
    """Labels equal for every row; log-probabilities within 1e-10 of the size of the scores they come from."""
    assert np.array_equal(ours.predict(X), other.predict(X))
    joint = other.predict_joint_log_proba(X)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), joint, rtol=1e-10, atol=1e-10)
    scale = np.maximum(1, np.abs(joint).max(axis=1, keepdims=True))
    np.testing.assert_allclose(ours.predict_log_proba(X) / scale, other.predict_log_proba(X) / scale, atol=1e-10)
    assert np.abs(ours.predict_proba(X).sum(axis=1) - 1).max() < 1e-12


@pytest.fixture(scope="module")
def newsgroups():
    vectorizer = CountVectorizer()
    (texts, y), (test, _) = datasets.newsgroups("train"), datasets.newsgroups("test")
    return vectorizer.fit_transform(texts), y, vectorizer.transform(test[:3000])


@pytest.mark.parametrize("name", DISCRETE)
def test_newsgroups_parity(name, newsgroups):
    X, y, test = newsgroups
    ours, other = DISCRETE[name]().fit(X, y), getattr(theirs, DISCRETE[name].__name__)().fit(X, y)
    assert_same(ours, other, test)
    assert np.array_equal(ours.feature_count_, other.feature_count_)
    np.testing.assert_allclose(ours.feature_log_prob_, other.feature_log_prob_, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer])
def test_sms_parity_with_counts_and_fractions_and_weights(name, vectorizer):
    texts, y = datasets.sms()
    X = vectorizer().fit_transform(texts)
    rng = np.random.default_rng(0)
    weights = rng.uniform(0, 3, len(y))
    for options in ({}, {"alpha": 0.01, "fit_prior": False}, {"alpha": rng.uniform(0.1, 1, X.shape[1])}):
        if "alpha" in options and np.ndim(options["alpha"]) and name == "bernoulli":
            continue  # scikit-learn adds the array to the class counts there, and fails
        ours, other = DISCRETE[name](**options), getattr(theirs, DISCRETE[name].__name__)(**options)
        assert_same(ours.fit(X, y), other.fit(X, y), X)
        assert_same(ours.fit(X, y, weights), other.fit(X, y, weights), X)


def test_normalised_complement_parity():
    texts, y = datasets.sms()
    X = CountVectorizer().fit_transform(texts)
    assert_same(ComplementNB(norm=True).fit(X, y), theirs.ComplementNB(norm=True).fit(X, y), X)


@pytest.mark.parametrize("name", [*DISCRETE, "gaussian"])
def test_spambase_parity(name):
    X, y = datasets.spambase()
    assert_same(ALL[name]().fit(X, y), getattr(theirs, ALL[name].__name__)().fit(X, y), X)


@pytest.mark.parametrize("which", ["mushroom", "nursery", "car"])
def test_categories_parity_and_strings(which):
    X, y = datasets.categorical(which)
    codes = OrdinalEncoder().fit_transform(X).astype(int)
    ours, other = CategoricalNB().fit(codes, y), theirs.CategoricalNB().fit(codes, y)
    assert_same(ours, other, codes)
    for mine, others in zip(ours.category_count_, other.category_count_, strict=True):
        assert np.array_equal(mine, others)
    named = CategoricalNB().fit(X, y)
    assert np.array_equal(named.predict_joint_log_proba(X), ours.predict_joint_log_proba(codes))


def test_mnist_parity():
    (X, y), (test, _) = datasets.mnist("train"), datasets.mnist("test")
    X, test = X[:20000].astype(np.float64), test[:3000].astype(np.float64)
    y = y[:20000]
    ours, other = GaussianNB().fit(X, y), theirs.GaussianNB().fit(X, y)
    assert_same(ours, other, test)
    np.testing.assert_allclose(ours.theta_, other.theta_, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(ours.var_, other.var_, rtol=1e-12)
    single = GaussianNB().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.var_, ours.var_, rtol=1e-5)


def test_variance_keeps_its_digits_far_from_zero():
    x = 1e9 + np.arange(8.0)[:, None] / 16
    assert GaussianNB(var_smoothing=0).fit(x, [0] * 8).var_[0, 0] == pytest.approx(np.var(np.arange(8) / 16), rel=1e-15)


# --- the edges ---


def test_probabilities_of_a_long_document_sum_to_one():
    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.3, (60, 5000)), np.arange(60) % 7
    long = sp.csr_array(rng.multinomial(100_000, np.full(5000, 1 / 5000), size=4))
    for model in (MultinomialNB(), ComplementNB(), BernoulliNB()):
        model.fit(X, y)
        assert np.abs(model.predict_proba(long).sum(axis=1) - 1).max() < 1e-12
        assert np.abs(np.exp(model.predict_log_proba(long)).sum(axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize("name", ["bernoulli", "multinomial", "categorical"])
def test_without_smoothing_zero_means_impossible_not_nan(name):
    X, y = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 1, 1]]), np.array([0, 0, 1, 1])
    model = ALL[name](alpha=0).fit(X, y)
    expected = getattr(twin, name)(X, y, X, 0.0)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-12)
    assert np.array_equal(np.isneginf(model.predict_log_proba(X)), np.isneginf(expected))
    assert not np.isnan(model.predict_proba(X)).any()
    hopeless = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0]])
    rows = np.flatnonzero(np.isneginf(getattr(twin, name)(X, y, hopeless, 0.0)).all(axis=1))
    if len(rows):
        with pytest.raises(NoPossibleClassError, match="probability 0 under every class") as caught:
            model.predict(hopeless)
        assert caught.value.rows == rows.tolist()
        assert pickle.loads(pickle.dumps(caught.value)).rows == rows.tolist()


def test_complement_without_smoothing_is_certain_of_words_of_one_class():
    model = ComplementNB(alpha=0).fit([[3, 0, 1], [0, 2, 1]], [0, 1])
    np.testing.assert_allclose(model.predict_proba([[1, 0, 0], [0, 1, 1], [1, 1, 0]]), [[1, 0], [0, 1], [0.5, 0.5]])


def test_values_never_seen_get_the_share_of_one_more_value():
    model = CategoricalNB(alpha=0.5).fit([["x"], ["y"], ["y"]], [0, 0, 1])
    expected = np.log(0.5 / (np.array([2, 1]) + 0.5 * 3)) + model.class_log_prior_
    np.testing.assert_allclose(model.predict_joint_log_proba([["z"]])[0], expected)
    numbers = CategoricalNB(alpha=0.5).fit([[0], [1], [1]], [0, 0, 1])
    np.testing.assert_allclose(numbers.predict_joint_log_proba([[9]])[0], expected)


def test_min_categories_are_known_before_they_are_seen():
    assert CategoricalNB(min_categories=5).fit([[0], [1]], [0, 1]).n_categories_.tolist() == [5]
    with pytest.raises(ValueError, match="min_categories"):
        CategoricalNB(min_categories=[5, 5]).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("name", ALL)
def test_no_spread_no_rows_nan_and_mismatched_columns_are_refused(name):
    model = ALL[name]()
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="NaN"):
        model.fit([[np.nan, 1]], [0])
    with pytest.raises(ValueError, match=r"weight|zero"):
        model.fit([[1, 2], [2, 1]], [0, 1], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        model.fit([[1, 2], [2, 1]], [0, 1], sample_weight=[1, -1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit([[1, 2], [2, 1]], [0, 1, 1])
    model.fit([[1, 2], [2, 1], [2, 0]], [0, 1, 1])
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 2"):
        model.predict([[1, 2, 3]])


@pytest.mark.parametrize("model", [MultinomialNB(), ComplementNB(), CategoricalNB(), BernoulliNB(binarize=None)])
def test_negative_counts_are_refused_by_name(model):
    with pytest.raises(ValueError, match=f"Negative values in data passed to {type(model).__name__}"):
        model.fit([[1, -1], [0, 1]], [0, 1])


def test_gaussian_without_spread_says_so():
    with pytest.raises(ValueError, match="does not vary"):
        GaussianNB(var_smoothing=0).fit([[1.0, 2.0], [1.0, 3.0]], [0, 0]).predict([[1.0, 2.0]])


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"alpha": -1}, "'alpha' parameter of MultinomialNB"),
        ({"alpha": [1, 2]}, "2 elements instead of 6"),
        ({"alpha": [1, 1, 1, 1, 1, -1]}, "All values in alpha"),
        ({"prior": "rows"}, "'prior' parameter of MultinomialNB"),
        ({"prior": [0.5, 0.5]}, "Number of priors must match"),
        ({"class_prior": [0.5, 0.7, -0.2]}, "non-negative"),
    ],
)
def test_bad_parameters_are_refused_with_their_cause(options, cause):
    X, y = small()
    with pytest.raises(ValueError, match=cause):
        MultinomialNB(**options).fit(X, y)


def test_a_class_without_rows_has_probability_zero():
    model = MultinomialNB().partial_fit([[1, 0], [0, 1]], [0, 1], classes=[0, 1, 2])
    assert np.array_equal(model.predict_proba([[1, 0]])[:, 2], [0])


# --- as a linear rule ---


@pytest.mark.parametrize("name", DISCRETE)
def test_count_models_are_linear_rules(name):
    texts, y = datasets.sms()
    X = CountVectorizer(binary=True).fit_transform(texts)
    for labels in (y, np.array([f"{label}{len(text) > 60}" for label, text in zip(y, texts, strict=True)])):
        model = DISCRETE[name]().fit(X, labels)
        w, b = model.to_linear()
        joint = model.predict_joint_log_proba(X)
        expected = joint[:, 1:] - joint[:, :1] if len(b) == 1 else joint
        np.testing.assert_allclose(X @ w.T + b, expected, rtol=1e-12, atol=1e-12 * np.abs(joint).max())


@pytest.mark.parametrize("which", ["spam", "wine"])
def test_gaussian_with_shared_variance_is_logistic(which):
    X, y = datasets.spambase() if which == "spam" else datasets.wine()
    model = GaussianNB(shared_variance=True).fit(X, y)
    w, b = model.to_linear()
    z = X @ w.T + b
    if len(b) == 1:
        z = np.hstack([np.zeros_like(z), z])
    joint = model.predict_joint_log_proba(X)
    scale = np.abs(joint).max(axis=1, keepdims=True)
    np.testing.assert_allclose((z - z[:, :1]) / scale, (joint - joint[:, :1]) / scale, atol=1e-12)
    with pytest.raises(ValueError, match="shared_variance=True"):
        GaussianNB().fit(X, y).to_linear()


def test_a_linear_rule_of_impossible_words_is_refused():
    with pytest.raises(ValueError, match="alpha > 0"):
        MultinomialNB(alpha=0).fit([[1, 0], [0, 1]], [0, 1]).to_linear()


# --- the same for any number of threads; pickles ---


@pytest.mark.parametrize("name", ALL)
def test_bytes_do_not_depend_on_threads(name, monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.poisson(0.5, (3000, 600)), rng.integers(0, 3, 3000)
    weights = rng.uniform(0, 1, 3000)
    given = X if name in ("categorical", "gaussian") else sp.csr_array(X * 0.3)
    seen = set()
    for threads in (1, 2, 4, 8):
        monkeypatch.setenv("TALLYWISE_NUM_THREADS", str(threads))
        model = ALL[name]().fit(given, y, weights)
        seen.add(model._sums.value.tobytes() + model._weights()[0].tobytes() + model.predict_proba(given).tobytes())
    assert len(seen) == 1


@pytest.mark.parametrize("name", ALL)
def test_pickles_score_alike_and_keep_learning(name):
    X, y = small()
    model = ALL[name]().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy._cache == {}
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(copy.partial_fit(X, y).class_count_, 2 * model.class_count_)
    clone(model)


# --- whole rows ---


def test_joint_bayes_counts_whole_rows():
    X, y = datasets.categorical("car")
    model = JointBayes().fit(X, y)
    assert model.coverage(X) == 1.0
    assert (model.predict(X) == y).mean() == 1.0
    assert model.n_distinct_ == len({tuple(row) for row in X})


def test_coverage_falls_with_dimension():
    X, y = datasets.categorical("nursery")
    rng = np.random.default_rng(0)
    train, test = np.split(rng.permutation(len(y))[:7000], [6000])
    coverage = [JointBayes().fit(X[train, :d], y[train]).coverage(X[test, :d]) for d in (2, 5, 8)]
    assert coverage[0] == 1.0
    assert coverage[0] > coverage[1] - 1e-9 > coverage[2]


def test_joint_bayes_falls_back_as_asked():
    X, y = np.array([[0, 1], [0, 1], [1, 1]]), np.array([0, 1, 1])
    np.testing.assert_allclose(JointBayes().fit(X, y).predict_proba([[5, 5]]), [[1 / 3, 2 / 3]])
    with pytest.raises(NoPossibleClassError):
        JointBayes(fallback="error").fit(X, y).predict([[5, 5]])
    naive = JointBayes(fallback=MultinomialNB()).fit(X, y)
    expected = MultinomialNB().fit(X, y).predict_proba([[5, 5]])
    np.testing.assert_allclose(naive.predict_proba([[5, 5]]), expected)
    np.testing.assert_allclose(naive.predict_proba(sp.csr_array([[0, 1]])), [[0.5, 0.5]])
