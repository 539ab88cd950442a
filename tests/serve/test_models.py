"""Which files the service takes as models, and the process that makes them."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("apsw")

from tallywise import ModelFileError, TextClassifier
from tallywise.serve import store_writes
from tallywise.serve.model_versions import readable, table_model
from tallywise.serve.text_store import Store
from tallywise.table_model import TableModel
from tests.serving import messages


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


def test_a_learner_ends_in_the_midst_of_a_fit_when_its_service_is_gone(tmp_path):
    with Store(tmp_path / "s") as store:
        rows = [(text, label, "test", None) for text, label in messages(200)]
        store.write(lambda db: store_writes.add_records(db, rows, "me")).result()
    command = [sys.executable, "-m", "tallywise.serve.fit_process", str(tmp_path / "s")]
    out, facts = str(tmp_path / "m"), str(tmp_path / "f")
    order = {"do": "fit", "model": "auto", "time_limit": 600.0, "out": out, "facts": facts}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as learner:
        learner.stdin.write(json.dumps(order) + "\n")
        learner.stdin.flush()
        assert json.loads(learner.stdout.readline()) == {"ready": True}
        assert "progress" in json.loads(learner.stdout.readline())
        learner.stdin.close()  # as a killed process leaves it
        rest = learner.stdout.read()
        assert learner.wait() == 0
    assert "done" not in rest
    assert not (tmp_path / "m").exists()
