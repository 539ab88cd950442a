"""Texts that were read before: counted from the numbers of their runs as from themselves."""

import numpy as np
import pytest

from tallywise import CountVectorizer, HashingVectorizer
from tallywise._native import Analyzer, CodedTexts
from tallywise.text._coded import CodedCorpus, coded, packed, unpacked

TEXTS = [
    "It's 5 o'clock, SIR: it's late!",
    "",
    "  Ένας ΔΡΟΜΟΣ\u2003και\x1fάλλος  ",
    "na\u00efve \u0130stanbul \U0001f600\U0001f600 x" + "y" * 90,
    "it's 5 5 5 o'clock " * 40,
    "<b>bold</b> &amp;lt; plain",
] * 3
MARKS = r"(?u)\w+|[^\w\s]"


def corpus(texts, cuts=(0, 5, 5, 11), strip=False):
    analyzer = Analyzer("char_wb", True, 1, 1, 1, False, [], False, strip)
    ends = [*cuts[1:], len(texts)]
    parts = [coded([texts[a:b][:2], texts[a:b][2:]], analyzer) for a, b in zip(cuts, ends, strict=True)]
    return CodedCorpus(parts.__getitem__, [b - a for a, b in zip(cuts, ends, strict=True)])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {"token_pattern": MARKS, "ngram_range": (1, 3)},
        {"token_pattern": MARKS, "ngram_range": (2, 2), "min_df": 4},
        {"stop_words": ["it", "o", "clock"], "ngram_range": (1, 2)},
        {"token_pattern": MARKS},
        {"analyzer": "char_wb", "ngram_range": (1, 5), "min_df": 2},
    ],
)
def test_counts_of_runs_are_those_of_the_texts(options, threads):
    here, there = (CountVectorizer(n_jobs=threads, **options) for _ in range(2))
    X, Z = here.fit_transform(TEXTS), there.fit_transform(corpus(TEXTS))
    assert here.get_feature_names_out().tolist() == there.get_feature_names_out().tolist()
    assert (X != Z).nnz == 0
    assert np.array_equal(X.indices, Z.indices)


def test_markup_is_stripped_once_where_texts_are_read():
    here, there = (CountVectorizer(token_pattern=MARKS) for _ in range(2))
    here._strip_markup = there._strip_markup = True
    X, Z = here.fit_transform(TEXTS), there.fit_transform(corpus(TEXTS, strip=True))
    assert "lt" in here.vocabulary_  # &amp;lt; is the text of an entity, not an entity
    assert here.vocabulary_ == there.vocabulary_
    assert (X != Z).nnz == 0


def test_hashed_columns_are_those_of_the_texts():
    vectorizer = HashingVectorizer(n_features=64, token_pattern=MARKS, ngram_range=(1, 2))
    assert (vectorizer.transform(TEXTS) != vectorizer.transform(corpus(TEXTS))).nnz == 0


@pytest.mark.parametrize("number", [0, 127, 128, 16383, 16384, 2**21, 2**28 - 1, 2**32 - 1])
def test_numbers_of_every_length_come_back(number):
    ids = np.array([number, 1, number], dtype=np.uint32)
    parts = np.frombuffer(b"ab", dtype=np.uint8), np.array([0, 1, 2]), ids, np.array([0, 2, 3])
    for before, after in zip(parts, unpacked(packed(parts)), strict=True):
        assert np.array_equal(before, after)


def test_damaged_parts_are_refused():
    whole = coded([TEXTS], Analyzer("char_wb", True, 1, 1, 1, False, [], False, False))
    for damaged in (b"", whole[:70], whole[:-9], whole[:64] + b"x" * (len(whole) - 64), b"\xff" * 64 + whole[64:]):
        with pytest.raises(ValueError, match="no packed texts"):
            unpacked(damaged)
    text, offsets, ids, ends = unpacked(whole)
    for parts in ((text, offsets, ids + 1000, ends), (text, offsets, ids, ends - 1), (text, offsets[::-1], ids, ends)):
        with pytest.raises(ValueError, match=r"must|no texts"):
            CodedTexts(*(np.ascontiguousarray(part) for part in parts))
