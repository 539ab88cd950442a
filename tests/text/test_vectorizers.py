"""Vectorizers against scikit-learn's, to the last entry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import text as reference

from benchmarks import datasets
from tallywise.text import CountVectorizer, HashingVectorizer, TfidfVectorizer


def same_matrix(X, Y):
    """Y is scikit-learn's, whose fit_transform leaves indices in the order in which terms were first seen."""
    Y = Y.copy()
    Y.has_sorted_indices = False
    Y.sort_indices()
    assert type(X) is type(Y)
    assert X.shape == Y.shape
    assert X.dtype == Y.dtype
    assert X.indices.dtype == Y.indices.dtype
    assert np.array_equal(X.indptr, Y.indptr)
    assert np.array_equal(X.indices, Y.indices)
    assert np.array_equal(X.data, Y.data)


def same_counts(documents, other=(), **options):
    ours, theirs = CountVectorizer(**options), reference.CountVectorizer(**options)
    try:
        Y = theirs.fit_transform(documents)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            ours.fit_transform(documents)
        return
    same_matrix(ours.fit_transform(documents), Y)
    assert ours.vocabulary_ == theirs.vocabulary_
    same_matrix(ours.transform([*other, *documents]), theirs.transform([*other, *documents]))


# All of Unicode, with what tells texts apart made likely: cases, sigma, dotted I, marks, digits, spaces, surrogates.
telling = "aAbB1_ .-'\n\t\0\x1c\x85\xa0ßÀµªΣσςİıǅ\u0301\u0345\u200b\u2028٣五々𝒜𝟘😀\ud800\udfff\uffff\ufb01"
text = st.text(st.sampled_from(telling)) | st.text(st.characters(exclude_categories=()) | st.sampled_from(telling))
texts = st.lists(text, max_size=6)


@settings(deadline=None, max_examples=300)
@given(texts, texts)
def test_words_of_any_unicode_are_counted_as_scikit_learn_does(documents, other):
    same_counts(documents, other)


@settings(deadline=None, max_examples=150)
@given(texts, texts, st.sampled_from([(1, 2), (2, 2), (1, 3), (2, 4)]), st.booleans())
def test_word_ngrams_of_any_unicode_are_counted_as_scikit_learn_does(documents, other, ngram_range, lowercase):
    same_counts(documents, other, ngram_range=ngram_range, lowercase=lowercase, token_pattern=r"(?u)\b\w+\b")


@settings(deadline=None, max_examples=200)
@given(texts, texts, st.sampled_from([(1, 1), (1, 3), (2, 2)]), st.sampled_from([r"(?u)\w+|[^\w\s]", r"[^\w\s]|\w+"]))
def test_words_and_punctuation_marks_of_any_unicode_are_counted_as_scikit_learn_does(
    documents, other, ngram_range, token_pattern
):
    same_counts(documents, other, ngram_range=ngram_range, token_pattern=token_pattern)


@settings(deadline=None, max_examples=200)
@given(texts, texts, st.sampled_from(["char", "char_wb"]), st.sampled_from([(1, 1), (1, 3), (3, 5), (2, 9), (20, 21)]))
def test_character_ngrams_of_any_unicode_are_counted_as_scikit_learn_does(documents, other, analyzer, ngram_range):
    same_counts(documents, other, analyzer=analyzer, ngram_range=ngram_range)


def test_every_character_is_lowered_and_classified_as_python_does():
    documents = ["".join(map(chr, range(first, first + 4096))) for first in range(0, 0x110000, 4096)]
    same_counts(documents, token_pattern=r"\w+")
    same_counts([f"a{c}b" for c in map(chr, range(0x110000))][::7], token_pattern=r"\w+")
    same_counts([f"a{c}b" for c in map(chr, range(0x110000))][::7], token_pattern=r"(?u)\w+|[^\w\s]")


def test_capital_sigma_becomes_final_where_python_says_so():
    same_counts(["ΟΔΥΣΣΕΥΣ ΣΑΣ. Σ ΑΣ'Β ΑΣ' İΣ İΣİΣΑ ΣΑΣ😀 aΣͅ 1Σ", "ΛΟΓΟΣ", "λογος"], token_pattern=r"\w+")


@pytest.mark.parametrize("corpus", ["train", "test", "mails"])
def test_whole_corpora_are_counted_to_the_last_entry(corpus):
    documents = datasets.mails()[0] if corpus == "mails" else datasets.newsgroups(corpus)[0]
    ours, theirs = (kind(encoding="latin-1") for kind in (CountVectorizer, reference.CountVectorizer))
    X = ours.fit_transform(documents)
    same_matrix(X, theirs.fit_transform(documents))
    assert ours.vocabulary_ == theirs.vocabulary_
    assert (ours.transform(documents) != X).nnz == 0


OPTIONS = [
    {"ngram_range": (1, 2)},
    {"analyzer": "char", "ngram_range": (2, 3)},
    {"analyzer": "char_wb", "ngram_range": (1, 4)},
    {"stop_words": "english", "ngram_range": (1, 2)},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii", "token_pattern": r"\w+"},
    {"strip_accents": str.swapcase, "lowercase": False},
    {"preprocessor": lambda text: text.upper()},
    {"token_pattern": r"[a-z]+"},
    {"token_pattern": r"\b(\w)\w+\b"},
    {"tokenizer": str.split, "token_pattern": None},
    {"analyzer": lambda text: [(c, text) for c in text]},
    {"binary": True, "dtype": np.float32},
]


@settings(deadline=None, max_examples=60)
@given(texts, texts, st.sampled_from(OPTIONS))
def test_options_mean_what_they_mean_in_scikit_learn(documents, other, options):
    same_counts(documents, other, **options)


@settings(deadline=None, max_examples=200)
@given(texts, st.sampled_from(["ascii", "unicode"]), st.booleans())
def test_accents_are_stripped_as_scikit_learn_does(documents, strip_accents, lowercase):
    same_counts(documents, strip_accents=strip_accents, lowercase=lowercase, analyzer="char")


@pytest.mark.parametrize("strip_accents", ["ascii", "unicode"])
def test_every_character_is_stripped_as_scikit_learn_does(strip_accents):
    documents = ["".join(map(chr, range(first, first + 4096))) for first in range(0, 0x110000, 4096)]
    same_counts(documents, strip_accents=strip_accents, analyzer="char")


def same_weights(ours, theirs, documents, other=()):
    """Bits equal where scikit-learn sums in the order of columns; its fit_transform sums in another order."""
    Y = theirs.fit_transform(documents)
    X = ours.fit_transform(documents)
    same_matrix(X, theirs.transform(documents))
    Y.has_sorted_indices = False
    Y.sort_indices()
    np.testing.assert_allclose(X.data, Y.data, rtol=1e-12)
    assert np.array_equal(ours.idf_, theirs.idf_)
    same_matrix(ours.transform(other), theirs.transform(other))


@pytest.mark.parametrize("norm", ["l1", "l2", None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sublinear_tf", [False, True])
def test_tfidf_weights_are_those_of_scikit_learn(norm, dtype, sublinear_tf):
    documents, other = datasets.banking()[0], datasets.banking("test")[0]
    options = {"norm": norm, "dtype": dtype, "sublinear_tf": sublinear_tf, "ngram_range": (1, 2)}
    same_weights(TfidfVectorizer(**options), reference.TfidfVectorizer(**options), documents, other)


def test_tfidf_of_newsgroups_is_that_of_scikit_learn():
    train, test = datasets.newsgroups()[0][::5], datasets.newsgroups("test")[0][::5]
    same_weights(TfidfVectorizer(), reference.TfidfVectorizer(), train, test)


@settings(deadline=None, max_examples=150)
@given(
    texts.filter(len),
    st.sampled_from(OPTIONS[:11]),
    st.sampled_from([1, 2, 7, 2**20, 2**31 - 1]),
    st.booleans(),
    st.sampled_from(["l1", "l2", None]),
)
def test_hashed_counts_are_those_of_scikit_learn(documents, options, n_features, alternate_sign, norm):
    options = {**options, "n_features": n_features, "alternate_sign": alternate_sign, "norm": norm}
    try:
        expected = reference.HashingVectorizer(**options).transform(documents)
    except UnicodeEncodeError:
        with pytest.raises(ValueError, match="surrogates not allowed"):
            HashingVectorizer(**options).transform(documents)
        return
    same_matrix(HashingVectorizer(**options).transform(documents), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.int16])
def test_hashed_counts_of_any_type_are_those_of_scikit_learn(dtype):
    documents = datasets.banking()[0][:500]
    for norm in ("l2", None):
        options = {"dtype": dtype, "norm": norm, "ngram_range": (1, 3), "n_features": 1000}
        expected = reference.HashingVectorizer(**options).transform(documents)
        same_matrix(HashingVectorizer(**options).transform(documents), expected)
