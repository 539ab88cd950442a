"""Every kind of input, the guesses made about it, and what hostile input gets."""

import io
import json
import os

import numpy as np
import pytest

from tallywise.reading import InputError, open_source
from tallywise.reading.mail import html_text, mail_text

ROWS = [
    ("see you at noon", "ham"),
    ("win a prize now", "spam"),
    ("lunch, maybe?", "ham"),
    ('say "yes" to cash', "spam"),
]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def pairs(source):
    return [(record.text, record.label) for record in source]


def csv_of(rows, header="body,kind\n"):
    return header + "".join(f'"{text.replace(chr(34), chr(34) * 2)}",{label}\n' for text, label in rows)


def test_csv_with_a_header(tmp_path):
    source = open_source(write(tmp_path / "a.csv", csv_of(ROWS)))
    assert pairs(source) == ROWS
    assert source.description == 'csv: text = "body", label = "kind"'


def test_tables_without_a_header(tmp_path):
    content = "".join(f"{label}\t{text}\n" for text, label in ROWS * 3)
    source = open_source(write(tmp_path / "SMSSpamCollection", content))
    assert pairs(source) == ROWS * 3
    assert source.description == 'tsv: text = "column 2", label = "column 1"'


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters(tmp_path, delimiter):
    content = f"id{delimiter}text{delimiter}label\n" + "".join(
        f"{k}{delimiter}{text.replace(',', '').replace(chr(34), '')}{delimiter}{label}\n"
        for k, (text, label) in enumerate(ROWS)
    )
    assert [label for _, label in pairs(open_source(write(tmp_path / "a.csv", content)))] == [
        label for _, label in ROWS
    ]


def test_columns_by_name_and_by_number(tmp_path):
    path = write(tmp_path / "a.csv", "one,two,three\na b,x,c d\ne f,y,g h\n")
    assert pairs(open_source(path, text="three", label="two")) == [("c d", "x"), ("g h", "y")]
    assert pairs(open_source(path, text="1", label="2")) == [("a b", "x"), ("e f", "y")]


def test_jsonl_and_parquet(tmp_path):
    lines = "".join(json.dumps({"label": label, "text": text, "n": 1}) + "\n" for text, label in ROWS)
    assert pairs(open_source(write(tmp_path / "a.jsonl", lines))) == ROWS
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert pairs(open_source(tmp_path / "a.parquet")) == ROWS


def test_a_folder_a_class_and_maildirs_in_it(tmp_path):
    for label in ("ham", "spam"):
        (tmp_path / label).mkdir()
        write(tmp_path / label / "1.txt", f"this is {label}")
    for part in ("cur", "new", "tmp"):
        (tmp_path / "list" / part).mkdir(parents=True)
    write(tmp_path / "list" / "new" / "1", "Subject: minutes\n\nattached")
    assert pairs(open_source(tmp_path)) == [
        ("this is ham", "ham"),
        ("Subject: minutes\n\nattached", "list"),
        ("this is spam", "spam"),
    ]


def test_mbox_and_eml(tmp_path):
    box = b"From a@x Thu\nSubject: one\n\nfirst\n\nFrom b@x Fri\nSubject: two\n\n>From here on\n"
    assert pairs(open_source(write(tmp_path / "inbox", box))) == [
        ("Subject: one\n\nfirst\n\n", None),
        ("Subject: two\n\nFrom here on\n", None),
    ]
    assert pairs(open_source(write(tmp_path / "a.eml", b"Subject: hi\n\nbody"))) == [("Subject: hi\n\nbody", None)]


def test_encodings_mixed_in_one_file(tmp_path):
    source = open_source(write(tmp_path / "a.csv", b"text,label\ncaf\xc3\xa9 ol\xc3\xa9,a\ncaf\xe9 ol\xe9,b\n"))
    assert pairs(source) == [("café olé", "a"), ("café olé", "b")]
    assert source.decode.fallbacks == 1
    wide = "text,label\r\ngrüß dich,a\r\nnaïve,b\r\n".encode("utf-16")
    assert pairs(open_source(write(tmp_path / "b.csv", wide))) == [("grüß dich", "a"), ("naïve", "b")]


def test_what_spreadsheets_call_unicode_text_is_a_table(tmp_path):
    content = 'label\ttext\r\na\tgrüß dich\r\nb\t"she said ""naïve"""\r\n'
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        for name in ("a.txt", "a"):
            source = open_source(write(tmp_path / name, content.encode(encoding)))
            assert pairs(source) == [("grüß dich", "a"), ('she said "naïve"', "b")]
            assert source.description == 'tsv: text = "text", label = "label"'
    assert pairs(open_source(write(tmp_path / "b.txt", "one\ttext\n"))) == [("one\ttext\n", None)]
    with pytest.raises(InputError, match="binary file"):
        pairs(open_source(write(tmp_path / "b.csv", b"\xff\xfe" + b"a\0\0\0" * 50)))


def test_tsv_quoting_is_decided_by_many_lines(tmp_path):
    plain = [(f"message number {k}", "ab"[k % 2]) for k in range(20)]

    def table(name, rows):
        return open_source(write(tmp_path / f"{name}.tsv", "label\ttext\n" + "".join(rows)))

    raw = [f"{label}\t{text}\n" for text, label in plain]
    late = [*raw, 'a\t"two\nlines, ""quoted"""\n', "b\tlast\n"]
    assert pairs(table("late", late)) == [*plain, ('two\nlines, "quoted"', "a"), ("last", "b")]
    lone = [*raw, 'a\t"an open quotation\n', 'b\t5" screen\n', 'a\tclosed"\n', 'b\t"Hello."\n']
    texts = [*plain, ('"an open quotation', "a"), ('5" screen', "b"), ('closed"', "a"), ('"Hello."', "b")]
    assert pairs(table("lone", lone)) == texts
    whole = [f'{label}\t"{text}"\n' for text, label in plain]
    assert pairs(table("whole", whole)) == plain
    assert pairs(table("first", ['a\t"Hello" she said\n', *raw])) == [('"Hello" she said', "a"), *plain]


def test_jsonl_columns_are_those_of_all_objects(tmp_path):
    lines = '{"id": 1, "text": "no label here"}\n' + "".join(
        json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS
    )
    source = open_source(write(tmp_path / "a.jsonl", lines))
    assert pairs(source) == ROWS
    assert source.skipped == 1
    assert pairs(open_source(tmp_path / "a.jsonl", label="label")) == ROWS


def test_missing_labels_and_texts_are_skipped_and_counted(tmp_path):
    source = open_source(write(tmp_path / "a.csv", "text,label\ngood one,a\n,b\nno label,\nshort\nfine too,b\n"))
    assert pairs(source) == [("good one", "a"), ("fine too", "b")]
    assert source.skipped == 3


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"text,label\n\x00\x01\x02,a\n", "binary file"),
        ("a.csv", b"text,text\na b,c d\n", 'two columns called "text"'),
        ("a.jsonl", b"{broken\n", ":1: not a JSON object"),
        ("a.jsonl", b"[" * 200_000, "not a JSON object"),
        ("a.parquet", b"PAR1nonsense", "not a readable Parquet file"),
        ("a.mbox", b"Subject: x\n\n", "no mbox"),
    ],
)
def test_bad_files_get_one_line_that_says_why(tmp_path, name, content, cause):
    with pytest.raises(InputError, match=cause) as error:
        pairs(open_source(write(tmp_path / name, content)))
    assert "\n" not in str(error.value)


def test_wrong_columns_and_paths_are_named(tmp_path):
    path = write(tmp_path / "a.csv", csv_of(ROWS))
    with pytest.raises(InputError, match=r'has no column "subject"\. It has: body, kind'):
        pairs(open_source(path, text="subject"))
    with pytest.raises(InputError, match="does not exist"):
        open_source(tmp_path / "none.csv")
    with pytest.raises(InputError, match="There is no format 'xls'"):
        open_source(path, format="xls")
    with pytest.raises(InputError, match="no subfolders"):
        pairs(open_source(os.path.join(tmp_path, "."), format="folder"))


def test_an_endless_line_is_refused_without_being_held(tmp_path, monkeypatch):
    monkeypatch.setattr("tallywise.reading.encodings_and_limits.LONGEST_LINE", 1000)
    with pytest.raises(InputError, match="not a table of texts"):
        pairs(open_source(write(tmp_path / "a.csv", b"text,label\n" + b"x" * 5000)))


def test_mail_structure_of_any_depth_is_read_without_recursion():
    deep = b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (k, k) for k in range(2000))
    assert mail_text(b"Subject: deep\n" + deep + b"\nthe end").startswith("Subject: deep")
    assert "plain words" in mail_text(
        b'Content-Type: multipart/alternative; boundary="q"\n\nignored\n--q\n'
        b"Content-Type: text/plain; charset=latin-1\n"
        b"Content-Transfer-Encoding: quoted-printable\n\nplain words =E9\n--q\n"
        b"Content-Type: application/pdf\n\nxxx\n--q--\n"
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b":",
        b"Subject: =?utf-8?b?%%%?=\n\nx",
        b"Subject: =?nonsense?q?a?=\n\nx",
        b"Content-Type: text/plain; charset=hex\n\n4142",
        b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\nabc",
        b"Content-Type: multipart/mixed; boundary=\n\n--\n",
        b" folded before any header\n\nx",
        b"X: " + b"a\n b" * 50_000,
        bytes(range(256)) * 20,
    ],
)
def test_broken_mail_gives_text(raw):
    assert isinstance(mail_text(raw), str)


def test_html_that_hangs_other_parsers_takes_linear_steps():
    for attack in ("<a a=" * 50_000, "<" * 200_000, "<!--" * 50_000, "<script>" * 50_000, "&#x" * 100_000):
        assert isinstance(html_text(attack), str)
    # the lower case of these letters is longer than they are
    assert html_text("\u0130" * 40 + "<STYLE>p {}</Style>shown<script>x</script>").split() == ["\u0130" * 40, "shown"]
    assert html_text("a<" + " " * 10 + "x>b").split() == ["a", "b"]  # no name among its first letters
    assert html_text("a&#8364;b&nbsp;&bogus;&#xD800;<script>x<y</script>c").split() == ["a€b", "&bogus;", "c"]


HOSTILE = [
    b"",
    b"\n\n",
    b"one line without an end",
    b"\xef\xbb\xbftext,label\r\na,1\r\n",
    b'text,label\n"a\r\nb ""quoted"" \n c",1\r\nd,2',
    "caf\u00e9 \u2028 \u0085 \x0b\x0c\x1c line\nnext\n".encode(),
    "caf\u00e9,1\n".encode("cp1252") + "caf\u00e9,2\n".encode(),
    b"a\rb\rc\n" * 5,
    "a,b\nc\u00e4,d\n".encode("utf-16"),
    b"good,1\nbad\0,2\nlater,3\n",
    b"\0" * 50,
]


@pytest.mark.parametrize("chunk", [1, 3, 16, 1 << 20])
@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_lines_read_in_blocks_are_those_read_one_by_one(monkeypatch, raw, chunk):
    from tallywise.reading import encodings_and_limits

    def collect(make, decode):
        found = []
        try:
            found.extend(make(io.BytesIO(raw), "name", decode))
        except InputError as error:
            return None, str(error)
        return found, decode.fallbacks

    def slowly(stream, name, decode):
        return (decode(line) for line in encodings_and_limits.lines(stream, name))

    monkeypatch.setattr(encodings_and_limits, "_CHUNK", chunk)
    assert collect(encodings_and_limits.text_lines, encodings_and_limits.Decoder()) == collect(
        slowly, encodings_and_limits.Decoder()
    )


def test_random_bytes_in_blocks_give_the_lines_read_one_by_one(monkeypatch):
    from tallywise.reading import encodings_and_limits

    random = np.random.default_rng(0)
    alphabet = np.frombuffer(b'ab,"\n\n\r;\t \xc3\xa9\xe4\xff', dtype=np.uint8)
    for _ in range(300):
        raw = random.choice(alphabet, random.integers(1, 80)).tobytes()
        if encodings_and_limits.wide_encoding(raw.split(b"\n")[0] + b"\n"):
            continue
        monkeypatch.setattr(encodings_and_limits, "_CHUNK", int(random.integers(1, 20)))
        fast, slow = encodings_and_limits.Decoder(), encodings_and_limits.Decoder()
        lines = [slow(line) for line in encodings_and_limits.lines(io.BytesIO(raw), "name")]
        assert list(encodings_and_limits.text_lines(io.BytesIO(raw), "name", fast)) == lines
        assert fast.fallbacks == slow.fallbacks


def test_a_line_beyond_the_limit_is_refused_in_blocks_too(monkeypatch):
    from tallywise.reading import encodings_and_limits

    monkeypatch.setattr(encodings_and_limits, "LONGEST_LINE", 100)
    monkeypatch.setattr(encodings_and_limits, "_CHUNK", 64)
    for raw in (b"x" * 101 + b"\n", b"short\n" * 30 + b"x" * 300, b"short\n" + b"x" * 101 + b"\nshort\n"):
        with pytest.raises(InputError, match="a line of more than"):
            list(encodings_and_limits.text_lines(io.BytesIO(raw), "name", encodings_and_limits.Decoder()))
    assert (
        len(
            list(
                encodings_and_limits.text_lines(
                    io.BytesIO(b"x" * 99 + b"\n" + b"y" * 99), "name", encodings_and_limits.Decoder()
                )
            )
        )
        == 2
    )


def test_folds_of_a_repeated_field_are_not_the_body():
    raw = b"Received: from a\n\tby b\nReceived: from c\n\tby d\nSubject: hello\n\nbody\n"
    assert mail_text(raw) == "Subject: hello\n\nbody\n"


def test_an_encoded_word_that_is_no_base64_stays_as_it_is():
    assert mail_text(b"Subject: =?iso-8859-1?b?6[==?= x\n\nbody") == "Subject: =?iso-8859-1?b?6[==?= x\n\nbody"


def test_a_header_without_measure_is_passed_over_to_its_body():
    raw = b"Subject: hello\n" + b"X: y\n" * 100_000 + b"\nbody\n"
    assert mail_text(raw) == "Subject: hello\n\nbody\n"
    assert mail_text(b"Subject: hello\n" + b":\n" * 100_000) == "Subject: hello\n\n"
