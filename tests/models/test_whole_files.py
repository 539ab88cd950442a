"""A file with predictions beside each row: all columns and the order of rows stay, whatever is written."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from tallywise import TableModel, TextClassifier
from tallywise.models.table_writers import WriteError, table_writer
from tallywise.models.whole_files import predict_file
from tallywise.reading import InputError, read_table
from tests.serving import messages, write_csv
from tests.table_rows import rows as table_rows


@pytest.fixture(scope="module")
def texts():
    bodies, labels = zip(*messages(), strict=True)
    return TextClassifier("multinomial_nb", cv=2).fit(list(bodies), list(labels)).runtime_


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rows = [(k, text, "=1+1", "old") for k, (text, _) in enumerate(messages(60))]
    rows[7] = (7, "", "", "")
    return write_csv(tmp_path_factory.mktemp("data") / "new.csv", [("id", "text", "note", "prediction"), *rows])


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "parquet"])
def test_all_columns_and_rows_come_back_in_order(texts, data, tmp_path, ending):
    out = tmp_path / f"out.{ending}"
    found = predict_file(texts, str(data), out)
    before, after = read_table(str(data)), read_table(str(out))
    names = list(after.names)
    assert names == [*before.names, "prediction_2", "probability", "likely", "unlike_training"]
    table = after.table()
    for name in before.names:
        cells = [cell or "" for cell in table.columns[name].strings()]
        assert cells == [row[before.names.index(name)] for row in before.rows]
    bodies = [row[1] for row in before.rows]
    assert list(table.columns["prediction_2"].strings()) == texts.predict(bodies).tolist()
    shares = [float(cell) for cell in table.columns["probability"].strings()]
    np.testing.assert_allclose(shares, texts.predict_proba(bodies).max(axis=1), rtol=1e-12)
    assert found.rows == sum(found.counts.values()) == 60
    sure = [one.probability for one in found.least_sure]
    assert sure == sorted(sure)
    assert sure[0] == pytest.approx(min(shares))


def test_numbers_come_with_their_intervals(tmp_path):
    model = TableModel("ridge", ignore=["kind", "grade"], cv=2).fit(table_rows(), "rent").runtime_
    names = list(table_rows()[0])
    data = write_csv(tmp_path / "t.csv", [names, *([row[name] for name in names] for row in table_rows()[:30])])
    predict_file(model, str(data), tmp_path / "o.csv")
    with (tmp_path / "o.csv").open(encoding="utf-8") as stream:
        found = list(csv.DictReader(stream))
    assert [float(row["prediction"]) for row in found] == pytest.approx(model.predict(table_rows()[:30]).tolist())
    assert all(float(row["low"]) < float(row["prediction"]) < float(row["high"]) for row in found if row["low"])


def test_the_command_writes_the_file_and_refuses_its_input(texts, data, tmp_path):
    texts.save(tmp_path / "m.tally")

    def run(*arguments):
        program = "from tallywise.cli import main; main()"
        command = [sys.executable, "-c", program, "classify", str(tmp_path / "m.tally"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run(data, "-o", tmp_path / "new.xlsx")
    assert "wrote 60 rows" in done.stdout
    assert run(data, "-o", data).returncode == 2
    assert run(data, "-o", tmp_path / "new.csv", "--explain").returncode == 2


def test_what_cannot_be_written_or_read_leaves_no_file(texts, tmp_path):
    with pytest.raises(WriteError, match="Choose one of these endings"):
        predict_file(texts, str(write_csv(tmp_path / "a.csv", [("text",), ("x y",)])), tmp_path / "o.pdf")
    (tmp_path / "empty.csv").write_text("text\n")
    with pytest.raises(InputError, match="holds no rows"):
        predict_file(texts, str(tmp_path / "empty.csv"), tmp_path / "o.csv")
    assert not (tmp_path / "o.csv").exists()
    with table_writer(tmp_path / "s.xlsx", ["a"], [False]) as put:
        put([["\x00\x1f &<>"]])
    assert read_table(str(tmp_path / "s.xlsx")).rows == [["\ufffd\ufffd &<>"]]
