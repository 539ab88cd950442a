"""Pipelines as model files: equal answers without scikit-learn, and refusals that name the part."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.feature_extraction import text as sklearn_text
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tallywise
from benchmarks import datasets
from tallywise import (
    BernoulliNB,
    ComplementNB,
    CountVectorizer,
    HashingVectorizer,
    KNeighborsClassifier,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    Perceptron,
    PoissonNB,
    TfidfTransformer,
    TfidfVectorizer,
)
from tallywise.bridges import save_pipeline

WORDS_AND_MARKS = r"(?u)\w+|[^\w\s]"
FIRST = {
    "counts": lambda: [CountVectorizer()],
    "scikit-learn's counts": lambda: [sklearn_text.CountVectorizer(min_df=2)],
    "presence, pairs of words": lambda: [CountVectorizer(binary=True, ngram_range=(1, 2), stop_words="english")],
    "tf-idf": lambda: [TfidfVectorizer(sublinear_tf=True, token_pattern=WORDS_AND_MARKS)],
    "scikit-learn's tf-idf": lambda: [sklearn_text.TfidfVectorizer(lowercase=False, token_pattern=r"\b\w{3,}\b")],
    "tf-idf in two steps": lambda: [CountVectorizer(analyzer="char", ngram_range=(2, 3)), TfidfTransformer(norm=None)],
    "characters": lambda: [TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), use_idf=False, min_df=3)],
    "hashes": lambda: [HashingVectorizer(n_features=1 << 12, alternate_sign=False)],
    "a union": lambda: [
        FeatureUnion([("w", TfidfVectorizer(min_df=2)), ("c", TfidfVectorizer(analyzer="char_wb", min_df=5))])
    ],
}
LAST = [
    LogisticRegression(),
    LinearSVC(),
    Perceptron(),
    MultinomialNB(),
    ComplementNB(),
    BernoulliNB(),
    PoissonNB(),
]


@pytest.fixture(scope="module")
def messages():
    texts, labels = datasets.sms()
    return texts[:1500], labels[:1500], [*texts[1500:3000], "", "日本語 ÄÖÜ", "\n\t"]


@pytest.fixture(scope="module")
def intents():
    texts, labels = datasets.banking("train")
    few = np.isin(labels, np.unique(labels)[:5])
    return np.array(texts, dtype=object)[few].tolist(), labels[few], datasets.banking("test")[0][:1000]


@pytest.mark.parametrize("last", LAST, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("first", FIRST)
def test_a_saved_pipeline_answers_as_it_did(messages, intents, tmp_path, first, last):
    for texts, labels, new in (messages, intents):
        pipeline = make_pipeline(*FIRST[first](), last).fit(texts, labels)
        path = tmp_path / "m.tally"
        assert save_pipeline(pipeline, path) == path.stat().st_size
        model = tallywise.load(path)
        np.testing.assert_array_equal(model.predict(new), pipeline.predict(new))
        if hasattr(pipeline, "predict_proba"):
            np.testing.assert_allclose(model.predict_proba(new), pipeline.predict_proba(new), atol=1e-9)
        else:
            z = pipeline.decision_function(new)
            np.testing.assert_allclose(model.scores(new), z.reshape(len(z), -1), atol=1e-9)
        found = model.explain(texts[0])
        assert found.score == pytest.approx(found.bias + sum(word.contribution for word in found.words))


def test_baselines_and_labels_that_are_numbers_are_kept(intents, tmp_path):
    texts, labels, new = intents
    numbers = np.unique(labels, return_inverse=True)[1] + 3
    for y, baseline in ((numbers, 5), (numbers == 3, True)):
        model = LogisticRegression(baseline=baseline)
        pipeline = make_pipeline(CountVectorizer(), model).fit(texts, y)
        save_pipeline(pipeline, tmp_path / "m.tally")
        loaded = tallywise.load(tmp_path / "m.tally")
        np.testing.assert_allclose(loaded.predict_proba(new), pipeline.predict_proba(new), atol=1e-9)
        assert loaded.classes == np.unique(y).tolist()


REFUSED = {
    "tokenizer": [CountVectorizer(tokenizer=str.split, token_pattern=None), MultinomialNB()],
    "preprocessor": [CountVectorizer(preprocessor=str.upper), MultinomialNB()],
    "strip_accents": [CountVectorizer(strip_accents="unicode"), MultinomialNB()],
    "unknown": [CountVectorizer(unknown="<unk>"), MultinomialNB()],
    "analyzer of its own": [CountVectorizer(analyzer=str.split), MultinomialNB()],
    "token_pattern": [CountVectorizer(token_pattern=r"[a-z]+"), MultinomialNB()],
    "alternate_sign": [HashingVectorizer(n_features=64), LogisticRegression()],
    "norm='l1'": [TfidfVectorizer(norm="l1"), LogisticRegression()],
    "FunctionTransformer": [CountVectorizer(), FunctionTransformer(), MultinomialNB()],
    "transformer_weights": [FeatureUnion([("w", CountVectorizer())], transformer_weights={"w": 2.0}), MultinomialNB()],
    "after a FeatureUnion": [
        FeatureUnion([("w", CountVectorizer()), ("c", CountVectorizer(analyzer="char"))]),
        TfidfTransformer(),
        MultinomialNB(),
    ],
    "binarize=0.3": [TfidfVectorizer(), BernoulliNB(binarize=0.3)],
    "not 0 or 1": [CountVectorizer(), BernoulliNB(binarize=None)],
    "KNeighborsClassifier": [CountVectorizer(), KNeighborsClassifier(1)],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", REFUSED)
def test_what_the_file_cannot_express_is_refused_by_name(tmp_path, part):
    pipeline = make_pipeline(*REFUSED[part]).fit(["free prize money", "lunch at noon"], ["spam", "ham"])
    with pytest.raises((ValueError, TypeError), match=part):
        save_pipeline(pipeline, tmp_path / "m.tally")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"win": 10**6}, "whose columns are not 0, 1, 2"),
        ({"win": -1}, "whose columns are not 0, 1, 2"),
        ({"win": 0}, "whose columns are not 0, 1, 2"),
        ({"win": "x"}, "whose columns are not numbers"),
        ({5: 6}, "terms that are not texts|whose columns"),
    ],
)
def test_a_vocabulary_that_was_tampered_with_is_refused(tmp_path, change, cause):
    """Terms were put in the order of their columns, so that each had the weights of another."""
    pipeline = make_pipeline(CountVectorizer(), MultinomialNB()).fit(["win a prize", "lunch at noon"], ["a", "b"])
    pipeline[0].vocabulary_ = {**pipeline[0].vocabulary_, **change}
    with pytest.raises(ValueError, match=cause):
        save_pipeline(pipeline, tmp_path / "m.tally")
    assert not list(tmp_path.iterdir())


def test_n_grams_that_could_not_be_read_back_are_not_written(tmp_path):
    pipeline = make_pipeline(CountVectorizer(ngram_range=(1, 65)), MultinomialNB()).fit(
        ["a prize", "lunch"], ["a", "b"]
    )
    with pytest.raises(ValueError, match="n-grams of more than 64"):
        save_pipeline(pipeline, tmp_path / "m.tally")


def test_a_saved_pipeline_is_served_without_scikit_learn(tmp_path):
    pipeline = make_pipeline(CountVectorizer(), MultinomialNB()).fit(["free prize", "lunch at noon"], ["spam", "ham"])
    save_pipeline(pipeline, tmp_path / "m.tally")
    code = (
        f"import sys, tallywise\nprint(tallywise.load({str(tmp_path / 'm.tally')!r}).predict(['a prize'])[0])\n"
        "assert not {'sklearn', 'scipy'} & set(sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "spam\n"
