"""What may be passed as documents, and what is said about what may not."""

import io
import pickle
import struct

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import text as reference

from tallywise.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

TEXTS = ["Hello World", "", "ΟΔΥΣΣΕΥΣ ΣΑΣ İΣ", "été, ünï 😀 and longer than twelve bytes", "hello again"]


def columns():
    pa, pd, pl = pytest.importorskip("pyarrow"), pytest.importorskip("pandas"), pytest.importorskip("polars")
    yield from (np.array(TEXTS), np.array(TEXTS, dtype=object), tuple(TEXTS), iter(TEXTS), dict.fromkeys(TEXTS))
    yield [text.encode() for text in TEXTS]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        array = pa.array(["before", *TEXTS], kind)[1:]
        yield from (array, pa.chunked_array([array[:2], array[2:2], array[2:]]))
    yield pa.array(["before", *TEXTS]).dictionary_encode()[1:]
    yield pa.array(TEXTS).cast(pa.binary())
    yield from (pd.Series(TEXTS), pd.Series(TEXTS, dtype=object), pd.Series(TEXTS, dtype="category"), pd.Index(TEXTS))
    yield pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.large_string()))
    yield from (pl.Series(TEXTS), pl.Series(TEXTS, dtype=pl.Categorical), pl.Series(["before", *TEXTS])[1:])


@pytest.mark.parametrize("options", [{}, {"token_pattern": "[a-z]+"}, {"preprocessor": str.lower}])
def test_every_kind_of_column_gives_the_same_counts(options):
    expected = reference.CountVectorizer(**options).fit(TEXTS).transform(TEXTS)
    for column in columns():
        vectorizer = CountVectorizer(**options)
        assert (vectorizer.fit_transform(column) != expected).nnz == 0
        assert expected.shape == (len(TEXTS), len(vectorizer.vocabulary_))


@pytest.mark.parametrize(
    ("documents", "kind", "cause"),
    [
        (["a", "b", "c", None], TypeError, "row 3 is None"),
        (["a", 3], TypeError, r"row 1 is 3 \(int\)"),
        (["a", float("nan")], ValueError, "np.nan is an invalid document.* row 1"),
        (["a", ["b"]], TypeError, "row 1 is .*list"),
        (np.array([["a"], ["b"]]), ValueError, r"a table of shape \(2, 1\)"),
        ("a text", ValueError, "string object received"),
        (b"a text", ValueError, "string object received"),
    ],
)
@pytest.mark.parametrize("vectorizer", [CountVectorizer(), TfidfVectorizer(), HashingVectorizer()])
def test_what_is_no_document_is_refused_by_its_row(vectorizer, documents, kind, cause):
    with pytest.raises(kind, match=cause):
        clone(vectorizer).fit_transform(documents)


def test_missing_rows_of_arrow_columns_and_tables_are_refused():
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="row 1 is None"):
        CountVectorizer().fit(pl.Series(["a", None]))
    with pytest.raises(ValueError, match="a table of shape"):
        CountVectorizer().fit(pl.DataFrame({"text": ["a"]}))
    with pytest.raises(TypeError, match=r"row 0 is 1 \(int\)"):
        CountVectorizer().fit(pl.Series([1, 2]))


@pytest.mark.parametrize("kind", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_dictionaries_may_have_codes_of_any_width(kind):
    pa = pytest.importorskip("pyarrow")
    codes = pa.array([1, 0, 1, 2], getattr(pa, kind)())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["red", "green", "blue"]))
    counts = CountVectorizer().fit_transform(column)
    assert (counts != CountVectorizer().fit_transform(["green", "red", "green", "blue"])).nnz == 0


def test_arrow_columns_that_point_nowhere_are_refused():
    pa = pytest.importorskip("pyarrow")
    codes = pa.array([0, 7], pa.int8())
    broken = pa.DictionaryArray.from_arrays(codes, pa.array(["red"]), safe=False)
    with pytest.raises(ValueError, match="a code outside of its dictionary"):
        CountVectorizer().fit(broken)
    cases = [(20, 3, 0, "outside"), (20, 1, 0, "outside"), (20, 0, -4, "outside"), (-1, 0, 0, "negative length")]
    cases += [(30, 0, 0, "outside"), (20, 0, 10, "outside")]  # beyond the end of its buffer
    for length, buffer, offset, cause in cases:
        view = struct.pack("<i4sii", length, b"text", buffer, offset)
        buffers = [None, pa.py_buffer(view), pa.py_buffer(b"text that is long enough")]
        with pytest.raises(ValueError, match=cause):
            CountVectorizer().fit(pa.Array.from_buffers(pa.string_view(), 1, buffers))


def test_undecodable_bytes_name_their_row():
    with pytest.raises(UnicodeDecodeError) as caught:
        CountVectorizer().fit([b"fine", b"\xff"])
    assert "row 1" in caught.value.__notes__[0]


def test_errors_of_a_users_code_name_their_row():
    with pytest.raises(AttributeError) as caught:
        CountVectorizer(tokenizer=str.split, token_pattern=None).fit(["fine", None])
    assert "row 1" in caught.value.__notes__[0]


def test_files_and_names_of_files_are_read(tmp_path):
    paths = [tmp_path / f"{k}.txt" for k in range(3)]
    for path, text in zip(paths, ["one two", "zwei \xe4", ""], strict=True):
        path.write_bytes(text.encode("latin-1"))
    by_name = CountVectorizer(input="filename", encoding="latin-1", token_pattern=r"\w+").fit(paths)
    assert sorted(by_name.vocabulary_) == ["one", "two", "zwei", "ä"]
    by_file = CountVectorizer(input="file", decode_error="ignore").fit(
        [io.BytesIO(b"one\xff two"), io.StringIO("x ab")]
    )
    assert sorted(by_file.vocabulary_) == ["ab", "one", "two"]


def test_documents_of_an_iterator_pass_through_in_portions(monkeypatch):
    from tallywise.text import _documents

    monkeypatch.setattr(_documents, "PORTION_ROWS", 3)
    monkeypatch.setattr(_documents, "PORTION_CHARACTERS", 20)
    documents = [f"word{k % 5} word{k % 7} and more" for k in range(50)]
    whole, portions = CountVectorizer(), CountVectorizer()
    assert (whole.fit_transform(documents) != portions.fit_transform(iter(documents))).nnz == 0
    assert whole.vocabulary_ == portions.vocabulary_


@pytest.mark.parametrize("options", [{}, {"ngram_range": (1, 3)}, {"analyzer": "char_wb", "ngram_range": (2, 4)}])
def test_results_are_the_same_bytes_for_any_number_of_threads(options):
    documents = [" ".join(f"w{(i * k) % 997}" for k in range(i % 90)) for i in range(9000)]
    one = CountVectorizer(n_jobs=1, **options)
    X = one.fit_transform(documents)
    for n_jobs in (2, 4, 8):
        many = CountVectorizer(n_jobs=n_jobs, **options)
        Y = many.fit_transform(documents)
        for part in ("indptr", "indices", "data"):
            assert getattr(X, part).tobytes() == getattr(Y, part).tobytes()
        assert one._terms.bytes.tobytes() == many._terms.bytes.tobytes()
        assert (many.transform(documents) != X).nnz == 0


def test_hostile_texts_are_counted():
    million = "x" * 1_000_000
    documents = [
        million,
        million[:-1] + " " + million,
        "\0\0a\0b",
        "\ud800 ab \udfff",
        "",
        " " * 100_000,
        "a" * 16 + " " + "a" * 17,
    ]
    X = CountVectorizer().fit_transform(documents)
    expected = reference.CountVectorizer().fit(documents).transform(documents)
    assert (X != expected).nnz == 0
    wide = CountVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(documents)
    expected = reference.CountVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(documents)
    assert (wide != expected).nnz == 0


@pytest.mark.parametrize("vectorizer", [CountVectorizer(ngram_range=(1, 2)), TfidfVectorizer(), HashingVectorizer()])
def test_vectorizers_survive_pickling(vectorizer):
    vectorizer = clone(vectorizer)
    X = vectorizer.fit_transform(TEXTS)
    vectorizer.transform(TEXTS)
    again = pickle.loads(pickle.dumps(vectorizer))
    assert (again.transform(TEXTS) != X).nnz == 0
    assert "_native_index" not in again.__getstate__()


def test_a_vocabulary_changed_by_hand_counts():
    vectorizer = CountVectorizer().fit(["one two"])
    vectorizer.transform(["one"])
    vectorizer.vocabulary_["three"] = 2
    assert vectorizer.transform(["three two"]).toarray().tolist() == [[0, 1, 1]]
    vectorizer.vocabulary_ = {"four": 0}
    assert vectorizer.transform(["four two"]).toarray().tolist() == [[1]]
