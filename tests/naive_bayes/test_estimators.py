"""Naive Bayes says what the formulas, the notes and scikit-learn say."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import naive_bayes as theirs
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import OrdinalEncoder

from benchmarks import datasets
from tallywise.errors import NoPossibleClassError
from tallywise.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    JointBayes,
    MultinomialNB,
    PoissonNB,
)
from tests.reference import naive_bayes as twin

DISCRETE = {"bernoulli": BernoulliNB, "multinomial": MultinomialNB, "complement": ComplementNB}
ALL = {**DISCRETE, "categorical": CategoricalNB, "gaussian": GaussianNB}


# --- the formula ---


def test_shared_variance_matches_the_direct_likelihood():
    X, y = datasets.wine()
    rows = X[:50]
    model = GaussianNB(shared_variance=True).fit(X, y)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(rows), twin.gaussian(X, y, rows, 1e-9, shared=True), rtol=1e-11
    )


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


def test_smoothed_priors_add_to_the_documents_or_tokens_of_each_class():
    """S0, S4: (n_c + 1) / (n + 2) by documents; S1: (N_c + l) / (N + K l) by tokens; 0 of 3 documents is 1 / 6."""
    X, y = np.array([[3, 3], [1, 0], [1, 0]]), np.array([0, 1, 1])
    prior = lambda kind, **given: np.exp(kind(**given).fit(X, y).class_log_prior_)  # noqa: E731
    for kind in (MultinomialNB, BernoulliNB, ComplementNB, PoissonNB, CategoricalNB, GaussianNB):
        np.testing.assert_allclose(prior(kind, prior_smoothing=1), [2 / 5, 3 / 5])
    np.testing.assert_allclose(prior(MultinomialNB, prior="tokens", prior_smoothing=0.5), [6.5 / 9, 2.5 / 9])
    unseen = MultinomialNB(prior_smoothing=1).partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(np.exp(unseen.class_log_prior_), [2 / 6, 3 / 6, 1 / 6])
    empty = MultinomialNB(prior="tokens", prior_smoothing=1).fit([[0], [0], [0]], [0, 0, 1])
    np.testing.assert_allclose(np.exp(empty.class_log_prior_), [1 / 2, 1 / 2])


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
        ({"prior_smoothing": -1}, "'prior_smoothing' parameter of MultinomialNB"),
        ({"prior_smoothing": 1, "class_prior": [0.2, 0.3, 0.5]}, "With given or equal priors it must be 0. Got 1"),
        ({"prior_smoothing": 1, "fit_prior": False}, "With given or equal priors it must be 0"),
    ],
)
def test_bad_parameters_are_refused_with_their_cause(options, cause):
    X, y = np.eye(6, dtype=int), np.arange(6) % 3
    with pytest.raises(ValueError, match=cause):
        MultinomialNB(**options).fit(X, y)


def test_a_class_without_rows_has_probability_zero():
    model = MultinomialNB().partial_fit([[1, 0], [0, 1]], [0, 1], classes=[0, 1, 2])
    assert np.array_equal(model.predict_proba([[1, 0]])[:, 2], [0])


# --- as a linear rule ---


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


@pytest.mark.parametrize("event", [MultinomialNB, BernoulliNB, ComplementNB, PoissonNB])
@pytest.mark.parametrize("values", [np.int64, np.float64])
def test_labels_of_many_texts_are_those_of_the_exact_scores_ties_included(event, values):
    random = np.random.default_rng(0)
    n, p, K = 3000, 9000, 18
    X = sp.random(n, p, density=0.004, format="csr", random_state=0, data_rvs=lambda size: random.integers(1, 9, size))
    X = X.astype(values) * values(1 if values is np.int64 else 0.3)
    y = np.arange(n) % K
    X = sp.vstack([X, X[y == 0]], format="csr")  # class K is class 0 once more: all their scores are equal
    y = np.concatenate([y, np.full(X.shape[0] - n, K)])
    model = event().fit(X, y)
    rows = sp.vstack([X, X[:40] * 0, X[:40] * values(1_000_000)], format="csr")
    labels = model.predict(rows)
    assert "narrowed" in model._cache
    scores = model.predict_joint_log_proba(rows)
    np.testing.assert_array_equal(labels, scores.argmax(axis=1))
    assert (scores[:, 0] == scores[:, K]).all()
    assert not (labels == K).any()


def test_labels_of_many_texts_without_smoothing_are_those_of_the_exact_scores():
    X = sp.random(2000, 9000, density=0.004, format="csr", random_state=0)
    X.data = np.ceil(4 * X.data)
    y = np.arange(2000) % 18
    for event in (MultinomialNB, BernoulliNB):
        model = event(alpha=0).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), model.predict_joint_log_proba(X).argmax(axis=1))
