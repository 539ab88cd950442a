"""The schema of model files: one place reads and writes each kind."""

from pathlib import Path

import numpy as np
import pytest

import tallywise
from tallywise.models import model_file
from tallywise.models.loading import READERS
from tallywise.models.model_file import Contents
from tallywise.models.table_schema import TableModelFile
from tallywise.models.table_serving import TableRuntime
from tallywise.models.text_schema import TextModelFile
from tests.places import STORED

FILES = sorted(STORED.glob("*.tally"))
SOURCES = Path(tallywise.__file__).parent


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_read_and_written_again_is_the_same_model(path, tmp_path):
    model = tallywise.load(path)
    model_file.write(tmp_path / "again.tally", *model.file.contents())
    again = tallywise.load(tmp_path / "again.tally")
    given = ["claim the cash prize", "see you at noon", ""]
    if isinstance(model, TableRuntime):
        given = [{column.name: None for column in model.columns}]
    assert np.array_equal(again.scores(given), model.scores(given))
    assert again.file.rule.meta == model.file.rule.meta


@pytest.mark.parametrize("path", [path for path in FILES if path.stem.startswith("0.2.0_table")], ids=lambda p: p.stem)
def test_a_table_model_is_written_part_by_part_as_it_was_read(path):
    before = model_file.read(path)
    after = TableModelFile.read(before).contents()
    for key, value in before.meta.items():
        if key == "columns":  # later releases may say more of each
            assert all(old.items() <= new.items() for old, new in zip(value, after.meta[key], strict=True))
        elif key not in ("texts", "second"):
            assert after.meta[key] == value
    for name, array in before.arrays.items():
        if not name.startswith("text"):
            assert np.array_equal(after.arrays[name], array)


def test_a_text_model_says_of_itself_what_the_file_said():
    for path in FILES:
        contents = model_file.read(path)
        if contents.meta["kind"] in ("text classifier", "multi-label text classifier") and "views" in contents.meta:
            kept = {key: value for key, value in contents.meta.items() if key not in ("precision", "left_out")}
            assert TextModelFile.read(contents).contents().meta == kept


def test_an_unknown_kind_of_model_is_named_with_those_that_can_be_read(tmp_path):
    model_file.write(tmp_path / "odd.tally", {"kind": "forest"}, {})
    with pytest.raises(tallywise.ModelFileError, match=r"holds a 'forest'.*text classifier.*table model"):
        tallywise.load(tmp_path / "odd.tally")


def test_every_stored_kind_has_a_reader():
    assert {model_file.read(path).meta["kind"] for path in FILES} == {*READERS}


@pytest.mark.parametrize("rule", [{"kind": "thresholds"}, {"kind": "threshold", "class": "no class"}, {"kind": "coin"}])
def test_a_rule_that_the_classes_do_not_have_is_refused(rule):
    for name in ("0.2.0_text_sum", "0.2.0_table_classes"):
        meta, arrays = model_file.read(next(path for path in FILES if path.stem == name))
        with pytest.raises(ValueError, match=r"rule|threshold"):
            (TextModelFile if "text" in name else TableModelFile).read(Contents({**meta, "rule": rule}, arrays))


def test_nothing_outside_of_models_knows_the_parts_of_a_model_file():
    for path in SOURCES.rglob("*.py"):
        if path.parent.name != "models":
            text = path.read_text()
            assert not [part for part in ("term_offsets", "memory_M", "Contents(") if part in text], path
