"""One answer per row of `tally classify`, whatever the row lacks and whoever reads it."""

import gzip
import json
import zipfile

import pytest

from tallywise import TableModel, TextClassifier
from tallywise.cli import classify
from tallywise.reading import native_text_blocks, open_blocks, open_source
from tests.commands import tally

TEXTS = ["win a prize", "", "lunch at noon", "  ", "", "win now"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.tally"
    TextClassifier("multinomial_nb", cv=2).fit(["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5).save(path)
    return path


@pytest.fixture(scope="module")
def table_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "t.tally"
    rows = [{"x": k % 7, "kind": "ab"[k % 2], "class": "no" if k % 2 else "yes"} for k in range(40)]
    TableModel("logistic", cv=2).fit(rows, "class").save(path)
    return path


def write(folder, kind):
    """A file of this kind with one row per text."""
    path = folder / f"a.{kind.replace('one_', '')}"
    if kind in ("csv", "tsv"):
        sign = "," if kind == "csv" else "\t"
        path.write_text(f"id{sign}text\n" + "".join(f"{k}{sign}{text}\n" for k, text in enumerate(TEXTS)))
    elif kind == "one_csv":
        path.write_text("text\n" + "".join(f"{text}\n" for text in TEXTS))
    elif kind in ("jsonl", "json"):
        given = [{"text": TEXTS[0]}, {"text": None}, {"text": TEXTS[2]}, {"text": TEXTS[3]}, {}, {"text": TEXTS[5]}]
        path.write_text(json.dumps(given) if kind == "json" else "".join(json.dumps(row) + "\n" for row in given))
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(("text\n" + "".join(f"{text}\n" for text in TEXTS)).encode()))
    elif kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as parquet

        given = [TEXTS[0], None, *TEXTS[2:]]
        parquet.write_table(pa.table({"id": list(range(6)), "text": given}), path)
    elif kind == "xlsx":
        pytest.importorskip("python_calamine")
        spreadsheet(path, [["text"], *([text] if text else [] for text in TEXTS)])
    elif kind == "lines":
        path.write_text("".join(f"{text}\n" for text in TEXTS))
    return path


def spreadsheet(path, rows):
    """The smallest file that Excel would open: empty rows are not in it at all."""
    body = "".join(
        f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t xml:space="preserve">{row[0]}</t></is></c></row>'
        for n, row in enumerate(rows, 1)
        if row
    )
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    link = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packed = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{packed}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        )
        one = f'<Relationships xmlns="{packed}/relationships"><Relationship Id="rId1" Type="{link}'
        book.writestr("_rels/.rels", f'{one}/officeDocument" Target="xl/workbook.xml"/></Relationships>')
        book.writestr(
            "xl/_rels/workbook.xml.rels", f'{one}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook {space} xmlns:r="{link}"><sheets><sheet name="s" sheetId="1" r:id="rId1"/></sheets></workbook>',
        )
        book.writestr("xl/worksheets/sheet1.xml", f"<worksheet {space}><sheetData>{body}</sheetData></worksheet>")


KINDS = ["csv", "tsv", "one_csv", "jsonl", "json", "csv.gz", "parquet", "xlsx", "lines"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", ["", "--json", "-p", "-e"])
def test_every_row_gets_an_answer(tmp_path, model, kind, option):
    path = write(tmp_path, kind)
    how = [*([option] if option else []), *(["--format", "lines"] if kind == "lines" else [])]
    code, out, said = tally("classify", model, path, *how)
    assert code == 0
    answers = [line for line in out.splitlines() if not line.startswith("      ")]
    assert len(answers) == len(TEXTS)
    labels = [json.loads(line)["label"] if option == "--json" else line.split("\t")[0] for line in answers]
    assert (labels[0], labels[2], labels[5]) == ("spam", "ham", "spam")
    assert "3 of 6 rows have no text" in said
    if option == "--json":
        lines = [int(json.loads(line)["source"].rsplit(":", 1)[1]) for line in answers]
        assert lines == list(range(lines[0], lines[0] + len(TEXTS)))


@pytest.mark.parametrize("kind", ["csv", "tsv", "one_csv", "jsonl", "csv.gz"])
def test_both_readers_see_the_same_rows(tmp_path, model, monkeypatch, kind):
    path = write(tmp_path, kind)
    for chunk in (1, 7, 1 << 20):
        monkeypatch.setattr(native_text_blocks, "_CHUNK", chunk)
        assert [text for block in open_blocks(str(path)) for text in block.texts()] == [
            record.text for record in open_source(path, labelled=False, every_row=True)
        ]
    fast = tally("classify", model, path, "--json")
    monkeypatch.setattr(classify, "open_blocks", lambda *_, **__: None)
    assert tally("classify", model, path, "--json") == fast


def test_every_line_of_standard_input_gets_an_answer(model):
    code, out, said = tally("classify", model, "-", stdin="win a prize\n\nlunch\n \n\n")
    assert code == 0
    assert len(out.splitlines()) == 5
    assert [line.split("\t")[0] for line in out.splitlines()][:3:2] == ["spam", "ham"]
    assert "3 of 5 rows have no text" in said


@pytest.mark.parametrize("kind", ["csv", "one_csv", "jsonl", "parquet", "xlsx"])
@pytest.mark.parametrize("output", ["jsonl", "parquet"])
def test_every_row_of_a_shard_gets_an_answer(tmp_path, model, kind, output):
    path = write(tmp_path, kind)
    code, _, _ = tally("classify", model, path, "-o", tmp_path / "out", "--verdicts", output, "-p")
    assert code == 0
    if output == "jsonl":
        rows = [json.loads(line) for line in (tmp_path / "out" / "a.jsonl").read_text().splitlines()]
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert len(rows) == len(TEXTS)
    assert (rows[0]["label"], rows[2]["label"]) == ("spam", "ham")


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("\n\nid,text\n1,a\n\n2,b\n\n\n", ["a", "", "b"]),  # before the header and behind the last row: no rows
        ("id,text\n\n\n1,a\n", ["", "", "a"]),
        ("text\n\na\n\n\n", ["", "a", "", ""]),  # one column: a line is a row
        ("text\r\n\r\na\r\n\r\n", ["", "a", ""]),
        ("id,text\n1\n2,b\n,\n", ["", "b", ""]),  # cells that are missing
        ('id,text\n1,"a\n\nb"\n\n2,c\n', ["a\n\nb", "", "c"]),
        ("text\n", []),
    ],
)
def test_blank_lines_between_rows_are_rows(tmp_path, content, texts):
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    assert [record.text for record in open_source(path, text="text", every_row=True, header=True)] == texts
    assert [text for block in open_blocks(str(path), text="text") for text in block.texts()] == texts


def test_a_file_of_blank_lines_is_read_in_blocks(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("text\n" + "\n" * 1000)
    monkeypatch.setattr(native_text_blocks, "_BLANKS", 64)
    assert [len(block) for block in open_blocks(str(path), text="text")] == [64] * 15 + [40]


@pytest.mark.parametrize("bad", ['{"text": "x"', "[1]", "nonsense", '{"text": "a"} {"text": "b"}'])
@pytest.mark.parametrize("option", ["--json", "-p"])
@pytest.mark.parametrize("before", [1, 500])
def test_a_bad_line_of_json_is_an_error_with_its_number(tmp_path, model, bad, option, before):
    """Of the rows that are looked at to find the columns none is answered; others are, up to the bad one."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "win"}\n\n{"text": null}\n' * before + bad + '\n{"text": "lunch"}\n')
    code, out, said = tally("classify", model, path, option)
    assert code == 1
    assert len(out.splitlines()) == (0 if before == 1 else 3 * before)
    assert f"{path}:{3 * before + 1}: not a JSON object on one line" in said


def test_numbers_and_lists_of_json_are_texts_and_no_row_is_lost(tmp_path, model):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "win"}\n{"text": NaN}\n{"text": 1e400}\n{"text": []}\n{"other": 1}\n')
    code, out, _ = tally("classify", model, path, "--json")
    assert (code, len(out.splitlines())) == (0, 5)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_every_row_of_a_table_gets_an_answer(tmp_path, table_model, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        path.write_text("x,kind\n1,a\n\n,\n2,b\n\n")
    else:
        path.write_text('{"x": 1, "kind": "a"}\n\n{"x": null, "kind": null}\n{"x": 2, "kind": "b"}\n')
    code, out, _ = tally("classify", table_model, path, "--json")
    assert (code, len(out.splitlines())) == (0, 4)
    first = 2 if kind == "csv" else 1
    assert [int(json.loads(line)["source"].rsplit(":", 1)[1]) for line in out.splitlines()] == list(
        range(first, first + 4)
    )


def test_training_leaves_rows_without_a_text_out_as_ever(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "win a prize,spam\n,ham\n\nlunch,ham\n" * 6)
    code, out, _ = tally("train", path, "-o", tmp_path / "m.tally", "--no-report", "--model", "multinomial_nb")
    assert code == 0
    assert "6 rows without text or label left out" in out
