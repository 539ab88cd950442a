"""Tables read natively in blocks: the texts, line numbers and errors of the reader that goes record by record."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tallywise import TextClassifier, _native
from tallywise.cli import classify
from tallywise.reading import InputError, encodings_and_limits, native_text_blocks, open_blocks, open_source
from tests.commands import tally

CELLS = st.text(alphabet='ab"\n\r\t,; \u00a0é\u2028\U0001f600\0\ufeff', max_size=6)
PLAIN = [b"a", b"bc", b" ", b",", b'"', b'""', b"\n", b"\r\n", b"\r", b";", b"\t", b"\0"]
ODD = [b"\xc3\xa9", b"\xe9", b"\xed\xa0\x80", b"\xc2\xa0", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80"]
WHOLE = [b'"x, y"', b'"x\ny"', b"text,id\n", b"a,1\n", b'"b ""c""",2\n']
PIECES = st.sampled_from([*PLAIN, *ODD, *WHOLE])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


def one_by_one(path, **how):
    """(text, source) of every record, and the error that ended it."""
    found = []
    try:
        for record in open_source(path, labelled=False, every_row=True, **how):
            found.append((record.text, record.source))
    except InputError as error:
        return found, str(error)
    return found, None


def in_blocks(path, **how):
    found = []
    try:
        opened = open_blocks(str(path), **how)
        if opened is None:
            return None
        for block in opened:
            lines = json_lines(block, str(path))
            found += [(text, row["source"]) for text, row in zip(block.texts(), lines, strict=True)]
    except InputError as error:
        return found, str(error)
    return found, None


def json_lines(block, path):
    n = len(block)
    style = _native.AnswerStyle([b'"x"'], json.dumps(f"{path}:", ensure_ascii=False)[:-1].encode())
    out = block.lines(style, np.zeros(n, dtype=np.int64), np.full(n, 0.5), None, 1)
    return [json.loads(line) for line in out.decode().splitlines()]


def alike(path, **how):
    there = in_blocks(path, **how)
    if there is not None:
        assert there == one_by_one(path, **how)
    return there


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30), st.integers(1, 40))
@example([b"text,id\n", b'"a', b"\n", b"\0", b'"'], 3)
@example([b"text,id\n", b"a\rb,1\n"], 2)
@example([b"\n", b"\r\n", b"text,id\n", b"a,1\n"], 1)
@example([b"\n", b"text,id\n"], 1)
@example([b"text,id\n", b'"a"b,1\n', b"c,2\n"], 7)
@example([b"\xef\xbb\xbf", b"text,id\n", b"a,1\n", b'"open', b"\n"], 5)
def test_any_bytes_give_what_python_reads(tmp_path_factory, pieces, chunk):
    path = tmp_path_factory.mktemp("any") / "a.csv"
    path.write_bytes(b"".join(pieces))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_text_blocks, "_CHUNK", chunk)  # records that go on in the next chunk, at every place
        alike(path)
        alike(path, format="tsv")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=8),
    st.sampled_from(",;\t|"),
    st.integers(1, 60),
)
def test_tables_that_python_writes_are_read_back(tmp_path_factory, rows, delimiter, chunk):
    import csv

    path = tmp_path_factory.mktemp("tables") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerows([["text", "id", "more"], *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_text_blocks, "_CHUNK", chunk)
        there = alike(path, text="text")
    if there is not None and not any("\0" in cell for row in rows for cell in row):
        assert there[1] is None
        assert [text for text, _ in there[0]] == [row[0] for row in rows]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from(["text", "b", "te\\u0078t"]), JSON, max_size=3), min_size=1, max_size=6),
    st.booleans(),
)
def test_objects_give_what_python_reads(tmp_path_factory, rows, ascii_only):
    path = tmp_path_factory.mktemp("objects") / "a.jsonl"
    lines = [json.dumps(row, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass") for row in rows]
    path.write_bytes(b'{"text": "first", "b": 1}\n' + b"\n".join(lines))
    alike(path, text="text")


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": "a"}',
        b' \t{ "text" : "a" , "b" : [ 1 , {"c": null} ] } \r',
        b'{"text": "\\u00e9\\ud83d\\ude00\\n\\"\\\\\\/"}',
        b'{"text": "\\ud83d"}',
        b'{"text": "a", "text": "b"}',
        b'{"te\\u0078t": "a"}',
        b'{"text": NaN}',
        b'{"text": "x", "b": NaN, "c": -Infinity}',
        b'{"text": 01}',
        b'{"text": "a", "b": 1.}',
        b'{"text": "a", "b": -1.5e+10}',
        b'{"text": "a\tb"}',
        b'{"text": "a"} x',
        b'{"text": "a",}',
        b'{"text": ["a"]}',
        b'{"text": null}',
        b'{"text": "  \\u00a0 "}',
        b"[1]",
        b'{"text": "\xe9"}',
        b'{"text": "a", "b": ' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"text": "a", "b": ' + b"1" * 5000 + b"}",
        b'{"text": "a\0"}',
        b"\x0b \x0c",
        b"",
        b'{"text": "\\x"}',
        b'{"text": "\\u00g0"}',
        b'{"text": "a"',
        b"{}",
    ],
)
def test_lines_of_json_strange_and_plain(tmp_path, line):
    path = tmp_path / "a.jsonl"
    for content in (line, line + b"\n", line + b'\n{"text": "last"}\n'):
        path.write_bytes(b'{"text": "first"}\n' + content)
        assert alike(path, text="text") is not None


def test_a_record_that_is_too_long_is_refused_without_being_held(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,id\n" + b"short,1\n" * 1500 + b"x" * 5000 + b",2\n")
    monkeypatch.setattr(encodings_and_limits, "LONGEST_LINE", 1000)
    monkeypatch.setattr(native_text_blocks, "_CHUNK", 100)
    monkeypatch.setattr(encodings_and_limits, "_CHUNK", 100)
    found, error = in_blocks(path)
    assert [text for text, _ in found] == ["short"] * 1500
    assert "a line of more than" in error


def test_packed_files_and_windows_1252_are_read_and_utf_16_is_left_alone(tmp_path):
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(b"text,id\n" + b"caf\xe9,1\ncaf\xc3\xa9,2\n" * 100))
    found, error = alike(packed)
    assert error is None
    assert {text for text, _ in found} == {"caf\u00e9"}
    wide = tmp_path / "a.csv"
    wide.write_bytes("text,id\nhello,1\n".encode("utf-16"))
    assert open_blocks(str(wide)) is None


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    texts = [f"{word} {rest}" for word in ("win", "prize", "lunch", "noon", "ΟΔΟΣ") for rest in ("now", "today", "é")]
    labels = ["spam"] * 6 + ["ham"] * 9
    path = tmp_path_factory.mktemp("model") / "m.tally"
    TextClassifier("multinomial_nb", cv=2).fit(texts, labels).save(path)
    return path


def test_verdicts_are_written_as_record_by_record(model, tmp_path, monkeypatch):
    path = tmp_path / "né.csv"
    strange = ["win a prize", "  much\twhite\u00a0\u2003space  ", "x" * 59, "x" * 60, "x" * 61, "é" * 61, "a " * 40]
    strange += ["ΟΔΟΣ now", "e\u0301\U0001f600" * 40, 'say ""hi""', "a" * 58 + " b", "a" * 59 + " b", "\x1c\x1d a", "İ"]
    path.write_text("text,id\n" + "".join(f'"{text}",{i}\n' for i, text in enumerate(strange)), encoding="utf-8")
    for how in ([], ["--json"]):
        fast = tally("classify", model, path, *how)
        with monkeypatch.context() as patch:
            patch.setattr(classify, "open_blocks", lambda *_, **__: None)
            assert tally("classify", model, path, *how) == fast
        assert fast[0] == 0
        assert len(fast[1].splitlines()) == len(strange) or not how


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 1) | st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1e16)
@example(123456789012345680.0)
@example(1e-4)
@example(0.0)
@example(-0.0)
@example(1e22)
def test_numbers_are_written_as_python_writes_them(x):
    block = _native.TextBlock()
    block.append(b"a", 7)
    style = _native.AnswerStyle([b'"x"'], b'"f:')
    line = block.lines(style, np.zeros(1, dtype=np.int64), np.array([x]), np.array([x]), 1).decode()
    assert line == f'{{"source": "f:7", "label": "x", "probability": {x!r}, "unknown_words": {x!r}}}\n'


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab \t\n\u00a0\u3000é\U0001f600", max_size=150))
def test_beginnings_of_texts_are_those_that_python_cuts(text):
    from tallywise.plain_text import shorten

    block = _native.TextBlock()
    block.append(text.encode(), 1)
    style = _native.AnswerStyle([b"x"], None)
    line = block.lines(style, np.zeros(1, dtype=np.int64), np.array([0.5]), None, 1).decode()
    assert line == f"x\t0.500\t{shorten(text, 60)}\n"


def test_verdicts_without_a_label_are_refused():
    block = _native.TextBlock()
    block.append(b"a", 1)
    style = _native.AnswerStyle([b"x"], None)
    for verdict in (-1, 1):
        with pytest.raises(ValueError, match="no label"):
            block.lines(style, np.array([verdict]), np.array([0.5]), None, 1)
    with pytest.raises(ValueError, match="one verdict per text"):
        block.lines(style, np.zeros(2, dtype=np.int64), np.zeros(2), None, 1)
