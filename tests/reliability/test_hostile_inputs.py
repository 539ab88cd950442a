"""Texts, labels, tables, files and streams that nobody meant to hand over: the right answer, or what is wrong."""

import datetime
import decimal
import json
import os
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

from tallywise import MultiLabelTextClassifier, TableModel, TextClassifier, load
from tallywise.errors import ModelFileError
from tallywise.reading import InputError, open_blocks, open_source
from tallywise.reading.input_formats import table_rows
from tallywise.reading.table_formats import cell_text
from tallywise.reading.whole_table import read_table
from tallywise.spam import raw_messages
from tallywise.table_model import as_table

TEXTS, LABELS = ["win a prize", "lunch at noon"] * 10, ["spam", "ham"] * 10


def fitted(texts=TEXTS, labels=LABELS, **options):
    return TextClassifier("multinomial_nb", **{"cv": 2, **options}).fit(texts, labels)


# --- texts and labels ---


@pytest.mark.parametrize("wrong", [None, 3, b"bytes", float("nan"), ["nested"], np.array(["a"])])
def test_a_text_that_is_none_is_refused_with_its_row(wrong):
    with pytest.raises(TypeError, match="must be a str, but row 3 is"):
        fitted([*TEXTS[:3], wrong, *TEXTS[4:]])


@pytest.mark.parametrize("texts", ["one text", None, 7, {"a": 1}, {"a", "b"}, np.array([["a"], ["b"]]), np.array("a")])
def test_what_is_no_column_of_texts_is_refused_in_fits_and_predictions(texts):
    model = fitted()
    for call in (lambda: fitted(texts), lambda: model.predict(texts), lambda: model.runtime_.predict(texts)):
        with pytest.raises((TypeError, ValueError), match="Texts are wanted as a list"):
            call()


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, np.float32("nan")])
@pytest.mark.parametrize("rest", [["a", "b"], [1, 2], [0.5, 1.5]])
def test_a_missing_label_is_no_class(missing, rest):
    with pytest.raises(ValueError, match="label of row 2 is missing"):
        fitted(TEXTS, [*rest, missing, *rest * 8, rest[0]])


def test_missing_labels_of_pandas_are_no_classes():
    pandas = pytest.importorskip("pandas")
    for kind in ("string", "category", "object"):
        with pytest.raises(ValueError, match="label of row 0 is missing"):
            fitted(TEXTS, pandas.Series([None, *LABELS[1:]], dtype=kind))
    with pytest.raises(ValueError, match="label of row 1 is missing"):
        fitted(TEXTS, pandas.Series([1, None] * 10, dtype="Int64"))
    assert fitted(pandas.Series(TEXTS, dtype="string"), pandas.Series([1, 2] * 10, dtype="Int64")).predict(["win"]) == 1


@pytest.mark.parametrize("label", [b"spam", 1j, (1, 2), ["a"], {"a"}, object(), np.datetime64("2020-01-01")])
def test_a_label_that_is_neither_text_nor_number_is_refused(label):
    with pytest.raises(TypeError, match="text or a number, but that of row 0"):
        fitted(TEXTS, [label, *LABELS[1:]])
    with pytest.raises(TypeError, match="text or a number, but that of row 0"):
        MultiLabelTextClassifier().fit(TEXTS, [[label], *([x] for x in LABELS[1:])])


def test_labels_that_would_become_others_are_refused():
    """NumPy makes "1" of 1 beside texts, and "a" of "a" with a NUL behind."""
    with pytest.raises(TypeError, match="all texts or all numbers"):
        fitted(TEXTS, [1, "1"] * 10)
    with pytest.raises(TypeError, match="all texts or all numbers"):
        MultiLabelTextClassifier().fit(TEXTS, [[1], ["1"]] * 10)
    with pytest.raises(ValueError, match="NUL"):
        fitted(TEXTS, ["a", "a\0"] * 10)
    with pytest.raises(ValueError, match="infinite"):
        fitted(TEXTS, [1.0, float("inf")] * 10)


@pytest.mark.parametrize("labels", [[True, False], [0, 1], [0.5, 2.0], ["", " "], ["\ud800", "b"], [10**30, 1]])
def test_labels_of_any_text_or_number_come_back_as_they_were(tmp_path, labels):
    model = fitted(TEXTS, labels * 10)
    model.save(tmp_path / "m.tally")
    for found in (model, load(tmp_path / "m.tally")):
        assert found.predict(["win a prize", "lunch at noon"]).tolist() == labels


def test_columns_of_arrow_are_texts_and_labels():
    arrow = pytest.importorskip("pyarrow")
    expected = fitted().predict_proba(["a prize"])
    texts = [
        arrow.array(TEXTS),
        arrow.chunked_array([TEXTS[:3], [], TEXTS[3:]]),
        arrow.array(TEXTS).dictionary_encode(),
    ]
    for column in texts:
        model = fitted(column, arrow.array(LABELS))
        assert (model.predict_proba(arrow.array(["a prize"])) == expected).all()
    with pytest.raises(TypeError, match="row 0 is None"):
        fitted(arrow.array([None, *TEXTS[1:]]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("cv", value) for value in (0, 1, -1, 2.5, "x", True)),
        *(("time_limit", value) for value in (-1, "x", float("nan"), float("inf"))),
        *(("model", value) for value in (None, 1, [])),
    ],
)
def test_settings_of_a_comparison_that_mean_nothing_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        TextClassifier(**{name: value}).fit(TEXTS, LABELS)


def test_learning_and_forgetting_nothing_changes_nothing():
    model = fitted()
    before = model.predict_proba(["a prize"])
    assert (model.learn([], []).forget([], []).predict_proba(["a prize"]) == before).all()


# --- tables ---


def test_missing_values_of_every_type_of_pandas_are_absent():
    pandas = pytest.importorskip("pandas")
    columns = {
        "string": pandas.array(["x", None], dtype="string"),
        "boolean": pandas.array([True, None], dtype="boolean"),
        "whole": pandas.array([1, None], dtype="Int64"),
        "object": pandas.array([np.array([1, 2]), pandas.NA], dtype="object"),
    }
    table = as_table(pandas.DataFrame(columns))
    assert {name: cells.strings()[1] for name, cells in table.columns.items()} == dict.fromkeys(columns)
    assert all(cells.strings()[0] for cells in table.columns.values())


def test_one_record_is_not_taken_for_columns():
    rows = [{"a": float(k % 7), "b": "xyz"[k % 3]} for k in range(40)]
    model = TableModel(cv=2).fit(rows, ["pq"[k % 2] for k in range(40)])
    with pytest.raises(TypeError, match=r"'a' is one value .* put a record into a list"):
        model.predict({"a": 1.0, "b": "x"})
    with pytest.raises(TypeError, match="'b' is one value"):
        model.predict({"b": "x"})


def test_a_hundred_thousand_columns_are_read(tmp_path):
    names = ["text", "label", *(f"c{k}" for k in range(100_000))]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(names), *(f"win {k},{'ab'[k % 2]}" + "," * 100_000 for k in range(4))]))
    assert [record.label for record in open_source(path)] == ["a", "b", "a", "b"]
    assert read_table(str(path)).names == names
    assert as_table({name: [1, 2] for name in names}).shape == (2, len(names))


# --- files ---


@pytest.mark.parametrize("start", ["", "a,ham\n", '"a ""b""",ham\n' * 1500])
def test_a_quotation_mark_that_is_never_closed_is_refused_with_its_line(tmp_path, start):
    """What follows it would be one cell: rows would be lost without a word."""
    path = tmp_path / "a.csv"
    path.write_text(f'text,label\n{start}"never closed,ham\nmore,spam\n')
    for read in (lambda: list(open_source(path)), lambda: list(open_blocks(str(path))), lambda: read_table(str(path))):
        with pytest.raises(InputError, match=rf"a.csv:{2 + start.count(chr(10))}: a quotation mark opens a cell"):
            read()
    path.write_text(f'text,label\n{start}"closed\n",ham\n"at the end",spam')
    assert [record.text for record in open_source(path)][-2:] == ["closed\n", "at the end"]
    assert [text for block in open_blocks(str(path)) for text in block.texts()][-2:] == ["closed\n", "at the end"]


def test_lines_that_end_in_carriage_returns_alone_are_refused_with_a_remedy(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"text,label\ra,ham\rb,spam\r")
    with pytest.raises(InputError, match="carriage return without a line feed"):
        list(open_source(path))


def test_a_model_replaces_files_alone(tmp_path):
    model = fitted()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"a device or a pipe, not a file: .*pipe"):
        model.save(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nowhere/m\.tally"):
        model.save(tmp_path / "nowhere" / "m.tally")
    with pytest.raises(TypeError, match="not int"):
        load(1)  # would be standard output, and closed after reading
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_what_is_no_model_is_not_read_to_its_end(tmp_path):
    """/dev/zero has none, and took all memory."""
    os.mkfifo(tmp_path / "pipe")
    handle = os.open(tmp_path / "pipe", os.O_RDWR)  # nobody closes it: a reader that wants the end waits for ever
    os.write(handle, b"tell me what this is")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ModelFileError, match="not a tallywise model"):
            load(path)
    os.close(handle)


def test_a_model_is_read_from_a_pipe(tmp_path):
    model = fitted()
    model.save(tmp_path / "m.tally")
    os.mkfifo(tmp_path / "pipe")
    handle = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(handle, (tmp_path / "m.tally").read_bytes())
    end = threading.Timer(0.5, os.close, [handle])
    end.start()
    assert (load(tmp_path / "pipe").predict_proba(TEXTS) == model.predict_proba(TEXTS)).all()
    end.join()


def test_cells_are_what_they_are_called_elsewhere():
    """Decimals and dates of Parquet had quotation marks, and NaN in JSON was a class."""
    values = [decimal.Decimal("1.50"), datetime.date(2020, 1, 2), float("nan"), b"caf\xc3\xa9 \xff", True, None, [1]]
    assert [cell_text(value) for value in values] == ["1.50", "2020-01-02", "", "caf\u00e9 \ufffd", "true", "", "[1]"]


_BOOK = {
    "[Content_Types].xml": """<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
        <Default Extension="xml" ContentType="application/xml"/></Types>""",
    "_rels/.rels": """<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
        <Relationship Id="a" Target="xl/workbook.xml"
        Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/></Relationships>""",
    "xl/workbook.xml": """<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>
        <sheet name="s" sheetId="1" r:id="a"/></sheets></workbook>""",
    "xl/_rels/workbook.xml.rels": """<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
        <Relationship Id="a" Target="worksheets/sheet1.xml"
        Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"/></Relationships>""",
}
_CELL = '<row r="{row}"><c r="{place}" t="inlineStr"><is><t>win a prize</t></is></c></row>'


@pytest.mark.parametrize(
    ("last", "cause"), [(("B2", 2), None), (("XFD1048576", 1048576), "not a readable Excel file, or takes more than")]
)
def test_a_cell_in_the_last_corner_of_a_sheet_ends_no_process_but_its_reader(tmp_path, last, cause):
    """The reader asks for room for all cells before it: half a terabyte for a file of a kilobyte."""
    pytest.importorskip("python_calamine")
    rows = "".join(_CELL.format(place=place, row=row) for place, row in (("A1", 1), last))
    sheet = f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}'
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in {**_BOOK, "xl/worksheets/sheet1.xml": sheet + "</sheetData></worksheet>"}.items():
            packed.writestr(name, content)
    if cause is None:
        assert list(table_rows(str(tmp_path / "a.xlsx"))[1]) == [(1, ["win a prize", ""]), (2, ["", "win a prize"])]
    else:
        with pytest.raises(InputError, match=cause):
            list(open_source(tmp_path / "a.xlsx"))


def test_a_long_cell_of_parquet_that_is_stored_once_is_not_unpacked_a_thousand_times(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    long = arrow.array(["win " * 250_000]).take(arrow.array([0] * 2000))
    parquet.write_table(arrow.table({"text": long, "label": ["a", "b"] * 1000}), tmp_path / "a.parquet")
    program = (
        "import resource, sys; from tallywise.reading import open_source;"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30));"
        "print(sum(len(record.text) for record in open_source(sys.argv[1])))"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "a.parquet"], capture_output=True, text=True)
    assert done.stdout == f"{2000 * 1_000_000}\n", done.stderr[-500:]


def test_one_column_is_not_both_text_and_label(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nwin,spam\n")
    with pytest.raises(InputError, match='"label" cannot be both the text and the label'):
        list(open_source(tmp_path / "a.csv", text="label", label="2"))


def test_an_empty_file_of_mail_teaches_nothing(tmp_path):
    (tmp_path / "empty.mbox").touch()
    (tmp_path / "one.eml").write_text("Subject: x\n\nhello\n")
    assert [where for _, where in raw_messages(tmp_path)] == [str(tmp_path / "one.eml")]


# --- the command ---


def tally(shell, *arguments, cwd):
    """The command under a shell that closes or redirects its streams; code, output, errors."""
    program = 'exec "$0" -c "from tallywise.cli import main; main()" "$@" ' + shell
    done = subprocess.run(["sh", "-c", program, sys.executable, *arguments], capture_output=True, text=True, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    fitted().save(folder / "m.tally")
    (folder / "a.csv").write_text("text\nwin a prize\nlunch\n")
    (folder / "a.eml").write_text("Subject: x\n\nhello\n")
    return folder


def test_data_are_not_written_over_by_what_is_learned_from_them(place):
    text = "text,label\n" + "win a prize,spam\nlunch at noon,ham\n" * 10
    (place / "data.csv").write_text(text)
    (place / "link.csv").symlink_to("data.csv")
    for name in ("data.csv", "./data.csv", "link.csv"):
        for options in (["-o", name], ["-o", "new.tally", "--report", name]):
            for data in ("data.csv", "dat*.csv"):
                code, _, said = tally("", "train", data, *options, cwd=place)
                assert code == 2
                assert f"{name} is the file " in said
    assert (place / "data.csv").read_text() == text


@pytest.mark.parametrize("name", ["empty.txt", "empty.eml", "empty.csv", "empty.jsonl", "/dev/null"])
@pytest.mark.parametrize("command", ["train", "compare"])
def test_an_empty_input_is_called_empty(place, name, command):
    if not os.path.isabs(name):
        (place / name).touch()
    assert tally("", command, name, cwd=place) == (1, "", f"error: {name} is empty\n")


def test_a_text_without_labels_is_not_asked_for_a_column(place):
    (place / "one.txt").write_text("a text\n")
    _, _, said = tally("", "train", "one.txt", cwd=place)
    assert said.startswith("error: one.txt was read as text, which has no labels")


@pytest.mark.parametrize(
    "options",
    [
        ["train", "a.csv", "--time-limit", "nan"],
        ["train", "a.csv", "--time-limit", "inf"],
        ["train", "a.csv", "--seed", "-1"],
        ["train", "a.csv", "--stream", "--n-features", "99999999999999"],
        ["serve", "--timeout", "nan"],
        ["serve", "--time-limit", "-1"],
        ["spam", "serve", "--timeout", "inf"],
    ],
)
def test_numbers_that_mean_nothing_are_refused_with_the_option(place, options):
    code, _, said = tally("", *options, cwd=place)
    assert code == 2
    assert f"Invalid value for '{options[-2]}'" in said


# --- streams of the command ---


@pytest.mark.parametrize(
    ("shell", "arguments"),
    [("<&-", ["classify", "m.tally", "-"]), (">&-", ["classify", "m.tally", "a.csv"]), (">&-", ["inspect", "m.tally"])],
)
def test_a_closed_stream_is_a_failure_of_one_line(place, shell, arguments):
    assert tally(shell, *arguments, cwd=place) == (1, "", "error: standard input or output is closed\n")


def test_streams_that_are_not_needed_may_be_closed(place):
    code, said, _ = tally("<&- 2>&-", "classify", "m.tally", "a.csv", cwd=place)
    assert (code, said.count("\n")) == (0, 2)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("shell", ["<a.eml >/dev/full", "<&-", "<a.eml >&-"])
def test_a_message_that_cannot_be_passed_on_is_tried_again_and_never_called_ham(place, shell):
    """bogofilter's code of ham, 1, is Python's of any failure."""
    code, _, said = tally(shell, "spam", "filter", "--store", "none.spam", "--exit-code", "bogofilter", cwd=place)
    assert code == 75
    assert said.splitlines()[-1].startswith("tally spam filter: [Errno")


def test_labels_that_the_terminal_cannot_show_are_written_otherwise(place):
    odd = [{"text": f"win {k}", "label": ("\ud800", "caf\u00e9")[k % 2]} for k in range(20)]
    rows = "".join(json.dumps(row) + "\n" for row in odd)
    (place / "odd.jsonl").write_text(rows)
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    program = "from tallywise.cli import main; main()"
    command = [sys.executable, "-c", program, "train", "odd.jsonl", "--model", "multinomial_nb", "-o", "odd.tally"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\ud800" in done.stdout
    assert "caf\u00e9" in done.stdout


@pytest.mark.parametrize("command", [["topics"], ["explain", "m.tally"]])
def test_commands_that_need_no_labels_read_rows_without_one(place, command):
    (place / "unlabelled.csv").write_text("text,label\n" + "win a prize,\nlunch at noon,\n" * 5)
    code, said, errors = tally("", *command, "unlabelled.csv", cwd=place)
    assert (code, errors) == (0, "")
    assert "prize" in said
