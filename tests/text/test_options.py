"""What our vectorizers add: unknown words, look-alikes, growth, places of terms; and bins."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import text as feature_extraction
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import datasets
from tallywise.text import Binner, CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer

# --- terms of few documents ---


@pytest.mark.parametrize(
    "options",
    [
        {"ngram_range": (1, 3), "min_df": 2},
        {"ngram_range": (2, 3), "min_df": 3, "max_df": 0.2},
        {"ngram_range": (1, 2), "min_df": 0.01, "max_features": 40},
        {"ngram_range": (3, 3)},
        {"min_df": 4},
        {"analyzer": "char_wb", "ngram_range": (2, 4), "min_df": 5},
    ],
)
def test_terms_of_few_documents_are_left_out_as_in_scikit_learn_on_any_number_of_threads(options):
    texts = [*datasets.sms()[0][:1500], "", "once"]
    theirs = feature_extraction.CountVectorizer(**options)
    expected = theirs.fit_transform(texts)
    for threads in (1, 3):
        ours = CountVectorizer(n_jobs=threads, **options)
        assert (ours.fit_transform(texts) != expected).nnz == 0
        assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_the_reason_for_an_empty_vocabulary_is_scikit_learns():
    for texts, options in [
        (["a b", "c d"], {"ngram_range": (1, 2)}),
        (["aa bb", "cc"], {"ngram_range": (1, 2), "min_df": 2}),
        (["aa", "bb"], {"ngram_range": (2, 2), "min_df": 2}),
        (["aa bb"], {"ngram_range": (1, 2), "min_df": 2}),
    ]:
        causes = []
        for vectorizer in (CountVectorizer(**options), feature_extraction.CountVectorizer(**options)):
            with pytest.raises(ValueError, match=r".") as caught:
                vectorizer.fit_transform(texts)
            causes.append(str(caught.value))
        assert causes[0] == causes[1]


# --- unknown words ---


def test_rare_and_unseen_words_share_the_column_of_the_unknown():
    vectorizer = CountVectorizer(unknown="<UNK>", min_df=2)
    X = vectorizer.fit_transform(["zebra send money", "send love", "10 zebra"])
    assert vectorizer.get_feature_names_out().tolist() == ["<UNK>", "send", "zebra"]
    assert X.toarray().tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 1]]
    assert vectorizer.transform(["quite new words send"]).toarray().tolist() == [[3, 1, 0]]


@pytest.mark.parametrize("options", [{}, {"ngram_range": (1, 2)}, {"analyzer": "char_wb", "ngram_range": (2, 3)}])
@pytest.mark.parametrize("native", [True, False])
def test_the_unknown_column_holds_all_that_is_left_out(options, native):
    texts = datasets.sms()[0][:800]
    if not native:
        options = {**options, "analyzer": CountVectorizer(**options).build_analyzer(), "ngram_range": (1, 1)}
    every = CountVectorizer(**options).fit_transform(texts)
    vectorizer = CountVectorizer(unknown="<UNK>", min_df=3, max_features=500, **options)
    X = vectorizer.fit_transform(texts)
    assert X.shape[1] == 501
    assert np.array_equal(X.sum(axis=1), every.sum(axis=1))
    assert (vectorizer.transform(texts) != X).nnz == 0


def test_an_unknown_that_is_a_word_itself_takes_in_the_others():
    vectorizer = CountVectorizer(unknown="send", min_df=2)
    assert vectorizer.fit_transform(["send money", "send love zebra", "zebra"]).toarray().tolist() == [
        [2, 0],
        [2, 1],
        [0, 1],
    ]


def test_a_given_vocabulary_gets_a_last_column_for_the_unknown():
    vectorizer = CountVectorizer(unknown="<UNK>", vocabulary=["money", "love"])
    assert vectorizer.fit_transform(["send money"]).toarray().tolist() == [[1, 0, 1]]


# --- look-alikes ---


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("m0rtgage v1agra", "mortgage viagra"),
        ("ｆｒｅｅ 𝐟𝐫𝐞𝐞 ⓕⓡⓔⓔ", "free free free"),
        ("fr\u200bee fr\u00adee", "free free"),
        ("раypal", "paypal"),  # Cyrillic er and a
        ("v!agra c@sh pa$$word", "viagra cash password"),
        ("h3ll0", "hell0"),  # a digit at the end may be a version
    ],
)
def test_look_alikes_are_read_as_what_they_imitate(written, meant):
    vectorizer = CountVectorizer(deobfuscate=True).fit([written])
    assert sorted(vectorizer.vocabulary_) == sorted(set(meant.split()))
    in_python = CountVectorizer(deobfuscate=True, tokenizer=str.split, token_pattern=None).fit([written])
    assert sorted(in_python.vocabulary_) == sorted(set(meant.split()))


@pytest.mark.parametrize(
    "ordinary", ["mp3 2nd 1999 win95", "рост сор вера", "λόγος και", "joe@site.com", "x86 b2b 4x4"]
)
def test_ordinary_text_is_left_alone(ordinary):
    assert (
        CountVectorizer(deobfuscate=True).fit([ordinary]).vocabulary_ == CountVectorizer().fit([ordinary]).vocabulary_
    )


# --- growth ---


def test_columns_keep_their_place_while_the_vocabulary_grows():
    vectorizer = CountVectorizer(grow=True)
    vectorizer.partial_fit(["pear apple"]).partial_fit(["banana apple", "aardvark"])
    assert vectorizer.get_feature_names_out().tolist() == ["apple", "pear", "aardvark", "banana"]
    assert vectorizer.transform(["banana pear pear"]).toarray().tolist() == [[0, 2, 0, 1]]


@pytest.mark.parametrize("limit", [{"max_df": 2}, {"max_features": 2}])
@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
def test_rare_terms_left_out_already_are_in_no_sum(analyzer, limit):
    options = {"analyzer": analyzer, "min_df": 2, **limit}
    said = ["the cat sat", "", "the dog \ufb01", "a cat and the dog", "unique"]
    ours, theirs = CountVectorizer(**options), feature_extraction.CountVectorizer(**options)
    np.testing.assert_array_equal(ours.fit_transform(said).toarray(), theirs.fit_transform(said).toarray())
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_rare_terms_wait_for_their_column():
    vectorizer = CountVectorizer(grow=True, min_df=2, unknown="<UNK>").partial_fit(["a1 b1", "b1"])
    assert vectorizer.vocabulary_ == {"<UNK>": 0, "b1": 1}
    assert vectorizer.partial_fit(["a1"]).vocabulary_ == {"<UNK>": 0, "b1": 1, "a1": 2}


@pytest.mark.parametrize(
    "options", [{"grow": False}, {"grow": True, "max_df": 0.5}, {"grow": True, "vocabulary": ["a"]}]
)
def test_growth_that_would_need_all_documents_is_refused(options):
    with pytest.raises(ValueError, match=r"partial_fit needs CountVectorizer\(grow=True\)"):
        CountVectorizer(**options).partial_fit(["some text"])


def test_tfidf_learned_in_parts_is_tfidf_learned_at_once():
    texts = datasets.sms()[0][:600]
    parts = TfidfVectorizer(grow=True)
    for k in range(0, 600, 100):
        parts.partial_fit(texts[k : k + 100])
    whole = TfidfVectorizer().fit(texts)
    order = [parts.vocabulary_[term] for term in whole.get_feature_names_out()]
    np.testing.assert_allclose(parts.transform(texts).toarray()[:, order], whole.transform(texts).toarray(), rtol=1e-12)


# --- where terms stand ---


@settings(deadline=None, max_examples=150)
@given(
    st.text(st.sampled_from("abAB1_ .\n\tÀßΣσİ\u0301五😀")),
    st.sampled_from([{"token_pattern": r"\w+", "ngram_range": (1, 3)}, {"analyzer": "char", "ngram_range": (2, 3)}]),
    st.sampled_from([None, "unicode"]),
)
def test_spans_lie_on_the_text_that_gives_the_term(text, options, strip_accents):
    vectorizer = CountVectorizer(**options, strip_accents=strip_accents)
    try:
        X = vectorizer.fit_transform([text])
    except ValueError:
        return
    columns, begins, ends = vectorizer.token_spans(text)
    assert np.array_equal(np.bincount(columns, minlength=X.shape[1]), X.toarray()[0])
    terms = vectorizer.get_feature_names_out()
    for column, begin, end in zip(columns, begins, ends, strict=True):
        assert 0 <= begin < end <= len(text)
        if "analyzer" not in options and strip_accents is None and "Σ" not in text and "İ" not in text:
            assert " ".join(re.findall(r"\w+", text[begin:end].lower())) == terms[column]


def test_spans_of_char_wb_and_hashed_terms_stay_inside_their_words():
    text = "Ünïted states"
    wb = CountVectorizer(analyzer="char_wb", ngram_range=(3, 4)).fit([text])
    for column, begin, end in zip(*wb.token_spans(text), strict=True):
        assert wb.get_feature_names_out()[column].strip() == text[begin:end].lower()
    hashed = HashingVectorizer(n_features=64, ngram_range=(1, 2))
    columns, begins, ends = hashed.token_spans(text)
    assert sorted(text[b:e] for b, e in zip(begins, ends, strict=True)) == ["states", "Ünïted", text]
    assert set(columns) == set(hashed.transform([text]).indices)


def test_spans_point_through_look_alikes():
    vectorizer = CountVectorizer(deobfuscate=True).fit(["viagra"])
    columns, begins, ends = vectorizer.token_spans("buy v\u200b1agra now")
    assert (columns.tolist(), begins.tolist(), ends.tolist()) == ([0], [4], [11])


# --- bins ---


def test_bins_by_given_edges_take_what_is_outside_into_the_end_bins():
    binner = Binner(edges=[0, 400, 800, 1200], encode="ordinal")
    assert binner.fit_transform([[-5.0], [0], [399.9], [400], [1199], [1200], [1e9]]).ravel().tolist() == [
        0,
        0,
        0,
        1,
        2,
        2,
        2,
    ]


def test_bins_of_equal_width_and_of_equal_size():
    x = np.array([[0.0], [1], [2], [3], [100]])
    assert Binner(4, encode="ordinal").fit_transform(x).ravel().tolist() == [0, 0, 0, 0, 3]
    assert Binner(5, strategy="quantile", encode="ordinal").fit_transform(x).ravel().tolist() == [0, 1, 2, 3, 4]
    assert Binner(5, strategy="quantile").fit(np.zeros((4, 1))).n_bins_.tolist() == [1]


def test_one_column_a_bin_in_a_pipeline():
    from sklearn.naive_bayes import MultinomialNB

    X, y = datasets.wine()
    binner = Binner(8, strategy="quantile")
    bins = binner.fit_transform(X)
    assert (bins.sum(axis=1) == X.shape[1]).all()
    assert len(binner.get_feature_names_out()) == bins.shape[1]
    assert make_pipeline(binner, MultinomialNB()).fit(X, y > 5).score(X, y > 5) > 0.7


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"edges": [1]}, "at least two increasing numbers"),
        ({"edges": [1, 1]}, "at least two increasing numbers"),
        ({"edges": [[0, 1], [0, 1]]}, "one for each of 1 features. Got 2"),
        ({"n_bins": 0}, "The 'n_bins' parameter of Binner must be"),
    ],
)
def test_wrong_edges_are_refused(options, cause):
    with pytest.raises(ValueError, match=cause):
        Binner(**options).fit([[1.0], [2.0]])


def test_bins_of_nan_are_refused():
    with pytest.raises(ValueError, match="contains NaN"):
        Binner().fit([[np.nan]])


# scikit-learn has no checks for estimators of strings: its own test file was run against ours instead.
@parametrize_with_checks([Binner(), Binner(strategy="quantile", encode="ordinal"), TfidfTransformer()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_runs_of_words_are_found_whatever_beginnings_they_share_and_in_whatever_order_they_come():
    terms = ["a b c", "a b", "b", "a b d", "x y z", "c d a", "a c", "x y q", "c", "a b c d"]
    documents = ["a b c d a c", "x y z x y q", "b c d a b d", "x y", ""]
    options = {"vocabulary": terms, "ngram_range": (1, 3), "token_pattern": r"\w"}
    ours, theirs = CountVectorizer(**options), feature_extraction.CountVectorizer(**options)
    np.testing.assert_array_equal(ours.transform(documents).toarray(), theirs.transform(documents).toarray())
