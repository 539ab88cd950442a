"""The command on tables: which model it trains, what it says, and files of every kind."""

import csv
import datetime
import gzip
import json
import subprocess
import sys

import numpy as np
import pytest

from tallywise.reading import InputError, read_table
from tallywise.table_model import as_table, from_rows, recognise

NAMES = ["size", "city", "rent", "kind"]


def rows(n=80):
    random = np.random.default_rng(0)
    found = []
    for _ in range(n):
        size, city = int(random.integers(20, 120)), ["Bonn", "Jena"][random.integers(2)]
        rent = 9.5 * size + 200 * (city == "Bonn") + random.normal(0, 10)
        found.append([str(size), city, f"{rent:.2f}", "large" if size > 70 else "small"])
    return found


def write(path, table, names=NAMES):
    opened = gzip.open(path, "wt", newline="") if path.suffix == ".gz" else path.open("w", newline="")
    with opened as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        writer.writerows(table)
    return path


def tally(*arguments, given=None):
    """Exit code and output, errors included; `given` are the bytes of standard input."""
    program = "from tallywise.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        input=given,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def test_rules_of_decision_a_time_limit_and_reasons_on_the_command_line(tmp_path):
    path, model = write(tmp_path / "homes.csv", rows()), tmp_path / "m.tally"
    how = ("--label", "kind", "--ignore", "rent", "--model", "logistic", "-o", model, "--no-report")
    code, said = tally("train", path, *how, "--max-flagged", "large=0.05", "--time-limit", "60")
    assert code == 0, said
    assert "of large flagged" in said
    code, said = tally("train", path, *how, "--costs", "small:large=9", "--json")
    assert code == 0, said
    code, said = tally("explain", model, path, "--json")
    assert code == 0, said
    found = json.loads(said)
    assert found["bias"] + sum(c["contribution"] for c in found["columns"]) == pytest.approx(found["score"])
    code, said = tally("explain", model, path, "--class", "large")
    assert code == 0, said
    assert "average row" in said
    code, said = tally("train", path, *how, "--costs", "tiny:large=9")
    assert code != 0
    assert "tiny" in said


def test_numbers_are_trained_classified_evaluated_and_inspected(tmp_path):
    path, model = write(tmp_path / "homes.csv.gz", rows()), tmp_path / "m.tally"
    code, said = tally(
        "train", path, "--label", "rent", "--ignore", "kind", "--model", "ridge", "-o", model, "--no-report"
    )
    assert code == 0, said
    assert "always the mean" in said
    assert "ignored" in said
    code, said = tally("classify", model, path, "--json", "--explain")
    assert code == 0, said
    first = json.loads(said.splitlines()[0])
    assert first["interval"][0] < first["value"] < first["interval"][1]
    assert first["bias"] + sum(added for _, _, added in first["columns"]) == pytest.approx(first["value"])
    figures = json.loads(tally("evaluate", model, path, "--json")[1])["figures"]
    assert figures["r2"][0] > 0.9
    assert 'predict "rent" (numbers)' in tally("inspect", model)[1]


def test_losses_of_numbers_and_weights_of_classes_on_the_command_line(tmp_path):
    path, model = write(tmp_path / "homes.csv", rows()), tmp_path / "m.tally"
    common = ("-o", model, "--no-report", "--cv", "2")
    code, said = tally("train", path, "--label", "rent", "--loss", "absolute", "--model", "linear_svr", *common)
    assert code == 0, said
    assert "absolute loss" in said
    called = {}
    for weight in ("0.001", "1000"):
        how = ("--label", "city", "--ignore", "rent", "--class-weight", f"Bonn={weight}", "--model", "logistic")
        code, said = tally("train", path, *how, *common)
        assert code == 0, said
        lines = tally("classify", model, path, "--json")[1].splitlines()
        called[weight] = sum(json.loads(line)["label"] == "Bonn" for line in lines)
    assert called["0.001"] < called["1000"]


def test_models_of_tables_are_compared_by_nested_cross_validation(tmp_path):
    path = write(tmp_path / "homes.csv", rows())
    how = ("--ignore", "kind", "--label", "rent", "--models", "ridge,additive,boosted", "--cv", "3")
    code, said = tally("compare", path, *how)
    assert code == 0, said
    assert "always the mean" in said
    assert "Friedman" in said
    found = json.loads(tally("compare", path, *how, "--json")[1])
    assert found["models"][0]["name"] == "ridge"
    assert found["models"][0]["figures"]["rmse"][0] < found["constant_error"] / 5
    code, said = tally("compare", path, "--ignore", "rent", "--label", "kind", "--models", "logistic,additive")
    assert code == 0, said
    assert "McNemar" in said
    code, said = tally("compare", path, "--ignore", "rent", "--label", "kind", "--models", "ridge")
    assert code != 0
    assert "does not take a target of classes" in said


def test_a_table_gives_a_report_unless_none_is_wanted(tmp_path):
    path, model, page = write(tmp_path / "homes.csv", rows()), tmp_path / "m.tally", tmp_path / "r.html"
    how = ("--label", "rent", "--ignore", "kind", "--model", "ridge", "-o", model, "--report", page)
    code, said = tally("train", path, *how, "--no-report")
    assert code == 0, said
    assert not page.exists()
    code, said = tally("train", path, *how)
    assert code == 0, said
    assert "<h2>Intervals</h2>" in page.read_text()
    assert str(page) in said


def test_classes_say_what_would_change_them(tmp_path):
    path, model = write(tmp_path / "homes.csv", rows()), tmp_path / "m.tally"
    code, said = tally(
        "train",
        path,
        "--label",
        "kind",
        "--ignore",
        "rent",
        "--model",
        "logistic",
        "-o",
        model,
        "--json",
        "--no-report",
    )
    assert code == 0, said
    document = json.loads(said)
    assert document["task"] == "classes"
    assert {column["name"]: column["kind"] for column in document["columns"]}["city"] == "category"
    _, said = tally("classify", model, path, "--explain", "-p")
    assert "would be" in said
    assert "size = " in said


def test_bad_tables_give_one_line(tmp_path):
    path = write(tmp_path / "t.csv", [[str(k), "a", "x", "yz"[k % 2]] for k in range(30)])
    for arguments, cause in (
        (["--label", "kind", "--number", "city"], "cannot be read as numbers"),
        (["--label", "kind", "--ignore", "none"], "no column 'none'"),
        (["--label", "city", "--task", "classes"], "in every row"),
        (["--label", "kind", "--task", "classes", "--ngrams", "2"], "models of texts alone"),
        (["--label", "size", "--task", "numbers", "--costs", "a:b=1"], "are of classes"),
    ):
        code, said = tally("train", path, "-o", tmp_path / "m.tally", *arguments)
        assert code != 0
        assert cause in said
    assert not (tmp_path / "m.tally").exists()


def test_names_of_columns_are_made_distinct(tmp_path):
    path = write(tmp_path / "t.csv", [["1", "2", "3", "x"], ["4", "5", "6", "y"]], ["a", "", "a", "label"])
    assert read_table(str(path)).names == ["a", "column 2", "a (3)", "label"]


def test_excel_and_parquet_keep_their_values(tmp_path):
    pytest.importorskip("python_calamine")
    openpyxl, arrow = pytest.importorskip("openpyxl"), pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    book = openpyxl.Workbook()
    book.active.title = "homes"
    for row in [["size", "label"], [20.5, "a"], [7, "b"]]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    found = read_table(str(tmp_path / "t.xlsx"))
    assert found.description == 'excel, sheet "homes"'
    assert found.rows == [["20.5", "a"], ["7", "b"]]
    (tmp_path / "bad.xlsx").write_bytes(b"PK\3\4 not a book")
    with pytest.raises(InputError, match="not a readable Excel file"):
        read_table(str(tmp_path / "bad.xlsx"))
    parquet.write_table(arrow.table({"size": [20.5, 7.0], "label": ["a", "b"]}), tmp_path / "t.parquet")
    assert read_table(str(tmp_path / "t.parquet")).frame.num_rows == 2


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_gzip_changes_nothing_in_any_format_of_rows(ending, tmp_path):
    table = [{"size": 20.5, "city": "Bonn"}, {"size": 7.0, "city": "Jena"}, {"size": 9.25, "city": "Bonn"}]
    mark = {"csv": ",", "tsv": "\t"}.get(ending)
    lines = [json.dumps(row) for row in table]
    if mark:
        lines = [mark.join(table[0]), *(mark.join(map(str, row.values())) for row in table)]
    plain, packed = tmp_path / f"t.{ending}", tmp_path / f"t.{ending}.gz"
    plain.write_text("\n".join(lines) + "\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    first, second = (read_table(str(path)) for path in (plain, packed))
    assert first.names == second.names == ["size", "city"]
    assert first.rows == second.rows
    assert [(c.name, c.kind) for c in recognise(from_rows(first.names, first.rows))] == [
        ("size", "number"),
        ("city", "category"),
    ]


def test_packed_parquet_is_read_as_it_is(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"size": [20.5, 7.0], "label": ["a", "b"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    found = read_table(str(tmp_path / "t.parquet.gz"))
    assert found.names == ["size", "label"]
    assert found.frame.equals(table)


@pytest.mark.parametrize("packed", [False, True])
def test_tables_on_standard_input_give_the_answers_of_files(packed, tmp_path):
    data, model = write(tmp_path / "flats.csv", rows()), tmp_path / "m.tally"
    given = gzip.compress(data.read_bytes()) if packed else data.read_bytes()
    options = ["--label", "rent", "--model", "ridge", "--no-report", "-o", model]
    code, out = tally("train", "-", *options, given=given)
    assert code == 0, out
    assert 'read 80 rows from standard input (csv), label = "rent"' in out
    _, of_file = tally("classify", model, data)
    code, out = tally("classify", model, "-", given=given)
    assert code == 0
    assert [line.split("\t")[:2] for line in out.splitlines()] == [
        line.split("\t")[:2] for line in of_file.splitlines()
    ]
    assert "rmse" in tally("evaluate", model, "-", given=given)[1]
    assert "adds" in tally("explain", model, "-", given=given)[1]


def test_empty_standard_input_is_said():
    assert tally("train", "-", given=b"") == (1, "error: standard input is empty\n")


def test_parquet_keeps_the_types_of_its_columns(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "level": arrow.array(["1", "2", "1"]).dictionary_encode(),
        "size": arrow.array([1, 2, None]),
        "day": arrow.array([datetime.date(2024, 1, k) for k in (1, 2, 3)]),
        "price": arrow.array([1, 2, 3]).cast(arrow.decimal128(22, 2)),
        "yes": [True, False, None],
        "code": ["007", "012", "007"],
    }
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet")
    found = recognise(as_table(read_table(str(tmp_path / "t.parquet")).frame))
    assert {c.name: c.kind for c in found} == {
        "level": "category",
        "size": "number",
        "day": "date",
        "price": "number",
        "yes": "category",
        "code": "category",
    }


def test_a_coverage_gives_sets_of_classes_and_abstains_where_they_say_nothing(tmp_path):
    path, model = write(tmp_path / "homes.csv", rows()), tmp_path / "m.tally"
    how = ("--label", "kind", "--ignore", "rent", "--model", "additive", "-o", model, "--no-report")
    code, said = tally("train", path, *how)
    assert code == 0, said
    sizes = {}
    for coverage in ("0.5", "0.999"):
        found = [
            json.loads(line)
            for line in tally("classify", model, path, "--coverage", coverage, "--json")[1].splitlines()
        ]
        assert all(one["abstains"] == (len(one["set"]) in (0, 2)) for one in found)
        sizes[coverage] = sum(len(one["set"]) for one in found)
    assert sizes["0.5"] < sizes["0.999"]
    assert "abstains\t" in tally("classify", model, path, "--coverage", "0.999")[1]
    code, said = tally("classify", model, path, "--coverage", "1")
    assert code != 0


def test_the_sum_is_kept_where_it_is_asked_for(tmp_path):
    path = write(tmp_path / "homes.csv", rows())
    how = ("--label", "kind", "--ignore", "rent", "--additive", "--no-report", "-o", tmp_path / "m.tally", "--json")
    code, said = tally("train", path, *how)
    assert code == 0, said
    assert "two splits" in json.loads(said)["kept"]
