"""`open_data` and `train`: what data are, in one reading, and one result for all of them."""

import builtins
import io
import json
import pathlib

import pytest

import tallywise
from tallywise.cli import main
from tallywise.reading import LabelledTable, LabelledTexts, LabelSets, Shards, UnclearLabelError

TEXTS = [(f"win a prize now {k}", "spam") if k % 3 else (f"see you at noon {k}", "ham") for k in range(40)]


def write(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def kinds(tmp_path):
    shards = tmp_path / "shards"
    shards.mkdir()
    for part in range(2):
        write(shards / f"{part}.csv", "text,label", TEXTS)
    (tmp_path / "sets.jsonl").write_text(
        "".join(json.dumps({"text": text, "labels": ["x"] if k % 2 else ["x", "y"][k % 4 // 2 :]}) + "\n"
                for k, (text, _) in enumerate(TEXTS))
    )  # fmt: skip
    return {
        "texts": write(tmp_path / "texts.csv", "text,label", TEXTS),
        "sets": tmp_path / "sets.jsonl",
        "table": write(tmp_path / "t.csv", "x,z,price", [(k % 7, k % 5, 3 * (k % 7) + 0.5) for k in range(60)]),
        "shards": shards,
    }


@pytest.mark.parametrize(
    ("kind", "type_", "model"),
    [
        ("texts", LabelledTexts, "multinomial_nb"),
        ("sets", LabelSets, "linear_svm"),
        ("table", LabelledTable, "ridge"),
        ("shards", Shards, "multinomial_nb"),
    ],
)
def test_every_kind_of_data_is_trained_summed_up_reported_and_saved_alike(kinds, kind, type_, model, tmp_path):
    data = tallywise.open_data(kinds[kind], label="price" if kind == "table" else None)
    assert type(data) is type_
    assert data.read
    trained = tallywise.train(data, model)
    assert isinstance(trained, tallywise.Trained)
    found = json.loads(json.dumps(trained.as_dict()))
    assert found["kept"] in trained.summary()
    assert found["figures"]
    assert trained.report().startswith("<!doctype html>")
    assert trained.save(tmp_path / "m.tally", tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == trained.report()
    assert tallywise.load(tmp_path / "m.tally").meta["kind"]


def opened(monkeypatch, path, run):
    """How often a file is opened while something runs."""
    count = 0
    first, second = io.open, pathlib.Path.open

    def note(name):
        nonlocal count
        count += isinstance(name, str | pathlib.Path) and pathlib.Path(name).name == path.name

    def open_(file, *rest, **how):
        note(file)
        return first(file, *rest, **how)

    def path_open(self, *rest, **how):
        note(self)
        return second(self, *rest, **how)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", open_)
        patch.setattr(pathlib.Path, "open", path_open)
        run()
    return count


@pytest.mark.parametrize("name", ["texts.csv", "texts.tsv", "texts"])
def test_a_file_of_texts_is_opened_once_by_the_command(name, tmp_path, monkeypatch, capfd):
    path = tmp_path / name
    sign = "\t" if name.endswith("tsv") else ","
    path.write_text("\n".join(["text" + sign + "label", *(sign.join(row) for row in TEXTS)]) + "\n")
    how = ["train", str(path), "--no-report", "-o", str(tmp_path / "m.tally"), "--json", "--cv", "2"]

    def run():
        with pytest.raises(SystemExit) as leave:
            main(how)
        assert not leave.value.code

    assert opened(monkeypatch, path, run) == 1
    assert json.loads(capfd.readouterr().out)["texts"] == 40


def test_the_library_decides_what_the_command_decides(kinds):
    assert isinstance(tallywise.open_data(kinds["table"], label="price"), LabelledTable)
    assert isinstance(tallywise.open_data(kinds["texts"], text="text"), LabelledTexts)
    assert isinstance(tallywise.open_data(kinds["texts"], kind="table"), LabelledTable)
    assert isinstance(tallywise.open_data(kinds["texts"], kind="shards"), Shards)
    with pytest.raises(TypeError, match="open_data"):
        tallywise.train([1, 2])


def test_a_label_that_is_not_clear_has_its_candidates(tmp_path):
    path = write(tmp_path / "t.csv", "words,area,mood", [(f"a b {k}", f"x{k % 3}", f"y{k % 4}") for k in range(40)])
    with pytest.raises(UnclearLabelError) as error:
        tallywise.open_data(path)
    assert [one.name for one in error.value.candidates] == ["area", "mood"]
    assert tallywise.open_data(path, label="mood", kind="texts").labels[:2] == ["y0", "y1"]


def test_a_terminal_is_asked_for_a_label_that_is_not_clear(tmp_path, monkeypatch):
    from tallywise.cli import _options_and_output

    path = write(tmp_path / "t.csv", "words,area,mood", [(f"a b {k}", f"x{k % 3}", f"y{k % 4}") for k in range(40)])
    asked = []

    class Terminal:
        isatty = staticmethod(lambda: True)

    monkeypatch.setattr(_options_and_output.click, "prompt", lambda *a, **k: asked.append(k["type"].choices) or "mood")
    monkeypatch.setattr(_options_and_output.click, "echo", lambda *a, **k: None)
    monkeypatch.setattr(_options_and_output.sys, "stdin", Terminal())
    monkeypatch.setattr(_options_and_output.sys, "stderr", Terminal())
    found = _options_and_output.read_data(str(path), None, None, kind="texts")
    monkeypatch.undo()
    assert [list(names) for names in asked] == [["area", "mood"]]
    assert found.labels[0] == "y0"
