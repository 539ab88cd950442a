"""Mutated model files, with and without repaired checksums, in a child process; what mutations found stays refused."""

import json
import os
import pickle
import shutil
import struct
import zlib

import numpy as np
import pytest

from reliability import bridge_files
from reliability.model_files import in_child, sealed
from reliability.models import rows
from tallywise import ModelFileError, TableModel, TextClassifier, load
from tallywise.models import model_file
from tallywise.models.compression import terms_of
from tallywise.models.table_serving import TableRuntime
from tallywise.models.text_serving import TextModel
from tallywise.reading import InputError
from tallywise.scale.checkpoints import Checkpoints, fingerprint
from tallywise.scale.counting import count_shards, planned
from tallywise.scale.jobs import Features
from tallywise.scale.statistics import Statistics
from tests.places import STORED


@pytest.fixture(scope="module")
def table_model():
    given = [{key: row[key] for key in ("x", "kind", "class")} for row in rows(40)]
    return TableModel("boosted", cv=2).fit(given, "class")


def test_mutated_files_are_refused_or_answer_and_execute_nothing(tmp_path, table_model):
    for path in STORED.glob("*.tally"):
        shutil.copy(path, tmp_path)
    table_model.save(tmp_path / "table.tally")
    found = in_child(tmp_path, seed=3, count=900)
    assert found["wrong"] == []
    assert found["mutations"] == 900
    assert min(found["refused"], found["answered"], found["repaired"]) > 20


@pytest.mark.parametrize("change", ["missing", "short", "deep"])
def test_an_average_row_that_does_not_fit_is_refused(change):
    meta, arrays = model_file.read(STORED / "0.2.0_table_nearest.tally")
    others = {"short": arrays["average"][:-1], "deep": arrays["average"][None]}
    found = {name: array for name, array in arrays.items() if name != "average"}
    found |= {"average": others[change]} if change in others else {}
    with pytest.raises(ModelFileError):
        TableRuntime(model_file.Contents(meta, found))


def test_terms_that_are_no_utf8_are_shown_and_not_raised():
    texts, labels = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
    meta, arrays = TextClassifier("multinomial_nb", analyzer="word", cv=2).fit(texts, labels).runtime_.contents
    terms, offsets = terms_of(arrays, "")
    found = {**arrays, "terms": np.full_like(terms, 0xDC), "term_offsets": offsets}
    assert "�" in TextModel(model_file.Contents(meta, found)).top_terms("spam")[0][0]


@pytest.mark.parametrize("name", ["starts", "rows", "values", "A"])
def test_remembered_rows_of_another_kind_of_number_are_refused(name):
    texts, labels = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
    meta, arrays = TextClassifier("nearest", cv=2).fit(texts, labels).runtime_.contents
    other = arrays[f"memory_{name}"].astype(np.float64 if name in ("starts", "rows") else np.int64)
    with pytest.raises(ModelFileError, match="remembered rows"):
        TextModel(model_file.Contents(meta, {**arrays, f"memory_{name}": other}))


def test_a_row_that_is_remembered_twice_in_a_column_is_refused():
    texts, labels = ["win a prize today", "lunch at noon today"] * 5, ["spam", "ham"] * 5
    meta, arrays = TextClassifier("gaussian_svm", cv=2).fit(texts, labels).runtime_.contents
    twice = np.zeros_like(arrays["memory_rows"])
    with pytest.raises(ModelFileError, match="not sound"):
        TextModel(model_file.Contents(meta, {**arrays, "memory_rows": twice}))


@pytest.mark.parametrize("name", ["W", "thresholds"])
def test_arrays_of_a_table_model_have_their_dimensions(table_model, name):
    meta, arrays = table_model.runtime_.contents
    with pytest.raises(ModelFileError):
        TableRuntime(model_file.Contents(meta, {**arrays, name: arrays[name][None]}))


def test_classes_are_texts_or_numbers(table_model):
    meta, arrays = table_model.runtime_.contents
    with pytest.raises(ModelFileError, match="neither text nor number"):
        TableRuntime(model_file.Contents({**meta, "classes": ["high", ["low"]]}, arrays))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
def test_a_header_is_read_as_utf8_and_in_no_encoding_that_it_looks_like(encoding):
    """Of bytes, json would guess UTF-16 or UTF-32 from their zeros and import that codec."""
    raw = '{"meta": {}, "arrays": []}'.encode(encoding)
    start = model_file.MAGIC + struct.pack("<IQ", model_file.VERSION, len(raw)) + raw
    with pytest.raises(ModelFileError, match="header is malformed"):
        model_file.parse(sealed(start + bytes(-len(start) % 64)))


@pytest.mark.parametrize("name", ["units", "exponents"])
@pytest.mark.parametrize("change", ["empty", "long", "deep"])
def test_units_of_weights_that_do_not_fit_are_refused(name, change):
    """The native scorer took an empty array for none, and explanations raised IndexError."""
    texts, labels = ["win a prize", "lunch at noon", "rain on monday"] * 5, ["spam", "ham", "news"] * 5
    meta, arrays = TextClassifier("linear_svm", cv=2).fit(texts, labels).runtime_.contents
    whole = arrays[name]
    other = {"empty": whole[:0], "long": np.repeat(whole, 2), "deep": whole[None]}[change]
    with pytest.raises(ModelFileError):
        TextModel(model_file.Contents(meta, {**arrays, name: other}))


@pytest.mark.parametrize("kind", [None, [], {}, ["text"], 1, "other"])
def test_a_file_of_another_kind_is_no_model(tmp_path, kind):
    model_file.write(tmp_path / "m.tally", {"kind": kind}, {})
    with pytest.raises(ModelFileError, match="as a model: it holds a"):
        load(tmp_path / "m.tally")


def test_mutated_files_of_other_programs_are_refused_or_answer(tmp_path):
    bridge_files.save_all(tmp_path)
    found = bridge_files.in_child(tmp_path, seed=5, count=300)
    assert found["wrong"] == []
    assert found["mutations"] == 300
    assert min(found["refused"], found["answered"]) > 20


# --- what a job has finished ---


class Executed:
    """A pickle of it makes a file."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.fixture
def job(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n" + "win a prize,spam\nlunch at noon,ham\n" * 20)
    return planned([str(tmp_path / "a.csv")], Features(), text=None, label=None, format=None, held_out=0.0)


def named(planned_job):
    job, sizes = planned_job
    return fingerprint(job.shards, job, sizes)


@pytest.mark.parametrize("form", ["plain", "packed", "twice"])
def test_a_job_that_is_resumed_executes_nothing_that_it_finds(tmp_path, job, form):
    data = pickle.dumps(Executed(tmp_path / "executed"))
    data = {"plain": data, "packed": zlib.compress(data), "twice": zlib.compress(pickle.dumps((data, [])))}[form]
    checkpoints = Checkpoints(tmp_path / "resume", named(job))
    checkpoints.save("statistics", data, {"done": []})
    with pytest.raises(InputError, match="cannot be resumed"):
        count_shards(job[0], None, checkpoints, None)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("change", ["cut", "type", "shape", "event", "classes", "head"])
def test_forged_sums_are_refused_with_one_line(change):
    sums = Statistics(Features(), ("MultinomialNB",))
    sums.add(["win a prize", "lunch at noon"], ["spam", "ham"], np.zeros(2, dtype=bool))
    assert Statistics.unpacked(sums.packed(), Features(), ("MultinomialNB",)).labels == sums.labels
    raw = zlib.decompress(sums.packed())
    (size,) = struct.unpack_from("<Q", raw)
    document = json.loads(raw[8 : 8 + size])
    if change == "type":
        document["arrays"][0][1] = "|O8"
    elif change == "shape":
        document["arrays"][0][2] = [1 << 60]
    elif change == "event":
        document["classes"] = {"sums __class__": ["a"]}
    elif change == "classes":
        document["classes"]["sums MultinomialNB"] = ["a", "b", "c"]
    head = b"[]" if change == "head" else json.dumps(document).encode()
    forged = struct.pack("<Q", len(head)) + head + raw[8 + size :]
    with pytest.raises(InputError, match="no statistics of texts"):
        Statistics.unpacked(zlib.compress(forged[: -9 if change == "cut" else None]), Features(), ("MultinomialNB",))


@pytest.mark.parametrize("content", ["a letter to keep", "a model"])
def test_a_file_of_another_kind_is_neither_resumed_nor_replaced(tmp_path, job, content):
    place = tmp_path / "resume" / "statistics.part"
    place.parent.mkdir()
    place.write_text(content)
    if content == "a model":
        model_file.write(place, {"kind": "text"}, {})
    before = place.read_bytes()
    with pytest.raises(InputError, match=r"statistics\.part.* another folder"):
        count_shards(job[0], None, Checkpoints(place.parent, named(job)), None)
    assert place.read_bytes() == before


def test_a_shard_that_was_written_again_is_another_job(tmp_path, job):
    """Its size may be the same; its time may lie in the future or before 1970."""
    names = {named(job)}
    for seconds in (-1, 0, 1, 2**31, 2**33):
        os.utime(tmp_path / "a.csv", (seconds, seconds))
        names.add(named(job))
    assert len(names) == 6
