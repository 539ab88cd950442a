"""Reading topics: words, coherence, neighbours, merging, labels, and the choice of K."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from tallywise.topics import LatentDirichletAllocation, choose_topics

SPACE = ["rocket orbit moon launch", "moon orbit nasa rocket launch", "nasa launch pad moon", "orbit moon rocket nasa"]
COURT = ["judge court law trial", "law court judge appeal trial", "appeal judge trial law", "supreme court law judge"]


@pytest.fixture(scope="module")
def texts():
    random = np.random.default_rng(0)
    return [" ".join([*random.choice(kind, 3), "the the"]) for kind in (SPACE, COURT) for _ in range(30)]


@pytest.fixture(scope="module")
def fitted(texts):
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(texts)
    lda = LatentDirichletAllocation(2, random_state=0, doc_topic_prior=0.1, topic_word_prior=0.01).fit(X)
    return lda, X, list(vectorizer.get_feature_names_out())


def test_topics_by_probability_relevance_and_frex(fitted):
    lda, _, names = fitted
    top = {
        by: [[word for word, _ in topic] for topic in lda.topics(4, by, names=names)]
        for by in ("probability", "relevance", "frex")
    }
    phi = lda.phi_
    assert top["probability"][0] == [names[w] for w in np.argsort(-phi[0])[:4]]
    for by in ("relevance", "frex"):
        kinds = [set(words) for words in top[by]]
        assert all("the" not in words for words in kinds)
        assert any(words <= set(" ".join(SPACE).split()) for words in kinds)
        assert any(words <= set(" ".join(COURT).split()) for words in kinds)
    # relevance = 1 is the logarithm of probability.
    scores = [score for _, score in lda.topics(3, "relevance", names=names, relevance=1.0)[0]]
    assert scores == pytest.approx(np.log(np.sort(phi[0])[::-1][:3]))
    with pytest.raises(ValueError, match="'by' parameter"):
        lda.topics(by="beauty")
    with pytest.raises(ValueError, match=r"'relevance' parameter of topics must be in \[0, 1\]"):
        lda.topics(by="relevance", relevance=2)
    with pytest.raises(ValueError, match="must name"):
        lda.topics(names=["one"])


def test_npmi_is_that_of_the_formula(fitted):
    lda, X, _ = fitted
    present = X.toarray() > 0
    expected = []
    for row in lda.phi_:
        best = np.argsort(-row, kind="stable")[:4]
        scores = []
        for i in range(4):
            for j in range(i):
                a, b = present[:, best[i]].mean(), present[:, best[j]].mean()
                both = (present[:, best[i]] & present[:, best[j]]).mean() + 1e-12
                scores.append(np.clip(np.log(both / (a * b)) / -np.log(both), -1, 1))
        expected.append(np.mean(scores))
    assert lda.coherence(X, n=4) == pytest.approx(expected)


def test_coherence_tells_topics_from_mixtures(fitted, texts):
    lda, X, names = fitted
    mixed = LatentDirichletAllocation(2, random_state=0).fit(X)
    mixed.components_ = np.random.default_rng(0).permuted(mixed.components_, axis=1)
    tokens = [text.split() for text in texts]
    for measure in ("npmi", "c_v"):
        for reference in ({"X": X}, {"texts": tokens, "window": 5, "names": names}):
            good, bad = (m.coherence(measure=measure, n=5, **reference).mean() for m in (lda, mixed))
            assert good > bad
    with pytest.raises(ValueError, match="'measure' parameter"):
        lda.coherence(X, "umass")
    with pytest.raises(ValueError, match="either X or texts"):
        lda.coherence()


def test_windows_count_as_sliding_does(fitted):
    from tallywise.topics._interpretation import _windows

    tokens = ["a", "b", "x", "a", "c", "x", "x"]
    found = _windows([tokens, ["b"]], ["a", "b", "c"], np.array([0, 1, 2]), 3).toarray()
    slides = [tokens[i : i + 3] for i in range(5)] + [["b"]]
    assert np.array_equal(found, [[word in slide for word in "abc"] for slide in slides])


def test_correlation_and_neighbours(fitted):
    lda, X, _ = fitted
    correlation = lda.correlation()
    assert correlation.shape == (2, 2)
    assert correlation[0, 1] < -0.9
    distances, indices = lda.nearest_documents(X[:2], n=7)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert (indices < 30).all()
    assert (lda.nearest_documents(X[40:41], n=3, reference=X[30:])[1] < 30).all()


def test_merged_topics_hold_the_counts_of_both():
    X = sp.csr_matrix(np.random.default_rng(0).poisson(0.5, (80, 30)))
    lda = LatentDirichletAllocation(5, random_state=0).fit(X)
    merged = lda.merge_topics([1, 3], [0, 4])
    counts = lda.components_ - lda.beta_
    assert merged.components_.shape == (3, 30)
    assert merged.components_[0] == pytest.approx(counts[0] + counts[4] + lda.beta_)
    assert merged.components_[1] == pytest.approx(counts[1] + counts[3] + lda.beta_)
    assert merged.theta_.sum(axis=1) == pytest.approx(1)
    assert merged.transform(X).shape == (80, 3)
    assert lda.components_.shape == (5, 30)
    assert merged.fit_more(X, 10).components_.shape == (3, 30)
    with pytest.raises(ValueError, match="disjoint"):
        lda.merge_topics([0, 1], [1, 2])


def test_labels_are_phrases_of_the_topics_own_documents(fitted, texts):
    lda, X, names = fitted
    labels = [label for (label,) in lda.labels(texts)]
    kinds = {"space" if any(label in text for text in texts[:30]) else "court" for label in labels}
    assert all(" " in label for label in labels)
    assert kinds == {"space", "court"}
    assert lda.labels(X, names, n=2)[0][0] in names
    with pytest.raises(ValueError, match="60 documents"):
        lda.labels(X[:5], names)


def test_choose_topics_prefers_the_number_that_made_the_data():
    from tests.reference import topics as twin

    random = np.random.default_rng(1)
    X = twin.generate(300, 60, np.full(4, 0.1), random.dirichlet(np.full(60, 0.1), size=4), random)
    choice = choose_topics(X, [1, 2, 4, 8], cv=3, estimator=LatentDirichletAllocation(max_iter=60))
    assert choice.best == 4
    assert (choice.perplexity[:, 0] < choice.perplexity[:, 1]).all()
    assert (choice.perplexity[:, 1] < choice.perplexity[:, 2]).all()
    assert choice.coherence.shape == (4, 3)
    assert choice.estimator == "document completion"
    drawn = str(choice)
    assert drawn.count("\n") == 4
    assert "4 " in drawn[drawn.index("<- best") - 80 : drawn.index("<- best")]
    svg = choice.svg()
    assert svg.startswith("<svg")
    assert svg.count("<circle") == 4
    with pytest.raises(ValueError, match="whole numbers > 0"):
        choose_topics(X, [0, 2])
