"""Which files the service takes as models."""

import pytest

pytest.importorskip("apsw")

from tallywise import ModelFileError, TextClassifier
from tallywise.serve.models import readable, table_model
from tallywise.table import TableModel


def test_a_model_of_texts_is_taken_and_one_of_tables_is_served_alone(tmp_path):
    texts, labels = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
    TextClassifier("multinomial_nb", cv=2).fit(texts, labels).save(tmp_path / "text.tally")
    assert readable(tmp_path / "text.tally")
    rows = [{"age": 20 + k, "job": "ab"[k % 2]} for k in range(40)]
    TableModel().fit(rows, ["young" if row["age"] < 40 else "old" for row in rows]).save(tmp_path / "table.tally")
    with pytest.raises(ModelFileError, match="a model of tables, which is served alone"):
        readable(tmp_path / "table.tally")
    assert table_model([str(tmp_path / "table.tally")]).task == "classes"
    assert table_model([str(tmp_path / "text.tally")]) is None
    assert table_model([str(tmp_path / "table.tally"), str(tmp_path / "text.tally")]) is None
