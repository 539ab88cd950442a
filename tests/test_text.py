"""Vectorizers against scikit-learn's, to the last entry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import text as reference

from benchmarks import datasets
from tallywise.text import CountVectorizer


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


def test_every_character_is_lowered_and_classified_as_python_does():
    documents = ["".join(map(chr, range(first, first + 4096))) for first in range(0, 0x110000, 4096)]
    same_counts(documents, token_pattern=r"\w+")
    same_counts([f"a{c}b" for c in map(chr, range(0x110000))][::7], token_pattern=r"\w+")


def test_capital_sigma_becomes_final_where_python_says_so():
    same_counts(["ΟΔΥΣΣΕΥΣ ΣΑΣ. Σ ΑΣ'Β ΑΣ' İΣ İΣİΣΑ ΣΑΣ😀 aΣͅ 1Σ", "ΛΟΓΟΣ", "λογος"], token_pattern=r"\w+")


@pytest.mark.parametrize("part", ["train", "test"])
def test_newsgroups_are_counted_to_the_last_entry(part):
    same_counts(datasets.newsgroups(part)[0])


def test_mails_are_counted_to_the_last_entry():
    same_counts(datasets.mails()[0], encoding="latin-1")
