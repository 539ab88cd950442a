"""Texts gathered from shards: the model of one machine to the byte, whoever read them, however often."""

import json

import numpy as np
import pytest

from tallywise import TextClassifier
from tallywise.reading import InputError, Layout, find_shards, open_data
from tallywise.scale import gathering, train
from tallywise.scale.checkpoints import Checkpoints
from tallywise.scale.engines import Threads
from tallywise.scale.gathering import Reading, ShardTexts, Spill, gather
from tallywise.text_model import report_data
from tests.scale.corpus import corpus, digest, write_shards


def saved(model, folder):
    path = folder / "local.tally"
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "logistic", "class_weight": "balanced"},
        {"model": "ordinal"},
        {"model": ["linear_svm", "nb_svm"], "ngram_range": (1, 2), "analyzer": "word", "min_df": 2, "cv": 3},
        {"n_features": 512, "deobfuscate": True},
    ],
)
def test_a_model_of_shards_is_that_of_one_machine_to_the_byte(tmp_path, classes, options):
    if options.get("model") == "ordinal" and classes == 2:
        pytest.skip("two grades are two classes")
    texts, labels = corpus(classes, 500)
    texts[7:9], labels[7:9] = texts[5:7], labels[5:7]  # repeats
    texts[11] = "M0rtgage  \u0395\u03a3\u03a9\u03a3 <b>not a tag of many</b>"
    expected = saved(TextClassifier(**options).fit(texts, labels), tmp_path)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=5)
    for workers in (1, 3):
        made = train(folder, workers=workers, **options)
        assert saved(made.model, tmp_path) == expected
        assert (made.rows, made.characters) == (500, sum(map(len, texts)))
    assert np.array_equal(made.model.groups_, TextClassifier(**options).fit(texts, labels).groups_)


def test_the_command_gives_the_bytes_of_one_file_for_several(tmp_path, monkeypatch):
    from tallywise.cli import main

    monkeypatch.chdir(tmp_path)
    texts, labels = corpus(3, 300)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=4)
    write_shards(tmp_path / "whole", texts, labels, shards=1)
    for data, output in ((folder, "a.tally"), (str(tmp_path / "whole" / "part-0.jsonl"), "b.tally")):
        with pytest.raises(SystemExit) as left:
            main(["train", data, "-o", output, "--report", output + ".html"])
        assert left.value.code == 0
    assert (tmp_path / "a.tally").read_bytes() == (tmp_path / "b.tally").read_bytes()
    assert (tmp_path / "a.tally.html").stat().st_size > 10_000


def test_markup_is_found_in_all_shards_together(tmp_path, monkeypatch):
    texts, labels = corpus(2, 200)
    texts = [f"<p>{text}</p>" if k % 20 == 0 else text for k, text in enumerate(texts)]
    folder = write_shards(tmp_path / "parts", texts, labels, shards=3)
    made = train(folder, workers=2)
    assert made.corpus.markup
    assert saved(made.model, tmp_path) == saved(TextClassifier().fit(texts, labels), tmp_path)


def test_many_texts_are_cut_to_words_and_frequent_pairs_as_on_one_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("tallywise.text_model.views.MOST_CHARACTERS", 1000)
    texts, labels = corpus(2, 300)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=3)
    made = train(folder, workers=2)
    assert made.model.views_[0].many
    assert saved(made.model, tmp_path) == saved(TextClassifier().fit(texts, labels), tmp_path)


def test_parts_and_the_place_where_they_are_kept_change_nothing(tmp_path, monkeypatch):
    texts, labels = corpus(2, 300)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=2)
    expected = digest(train(folder, workers=2), tmp_path)
    monkeypatch.setattr(Spill.__init__, "__defaults__", (1000,))
    monkeypatch.setattr(Layout.pieces, "__kwdefaults__", {**Layout.pieces.__kwdefaults__, "rows": 20})
    monkeypatch.setattr(gathering.Reading, "part", 900)
    made = train(folder, workers=2)
    assert made.corpus.spill.size > 1000
    assert made.corpus.spill._held == []  # all of it is in a file
    assert digest(made, tmp_path) == expected


def test_coded_texts_are_a_third_of_their_text_at_most(tmp_path):
    random = np.random.default_rng(0)
    words = np.array([f"{a}{b}" for a in ("com", "re", "un", "inter", "sub") for b in ("port", "act", "view", "ning")])
    texts = [" ".join(words[np.minimum(random.zipf(1.5, 200), 20) - 1]) for _ in range(300)]
    folder = write_shards(tmp_path / "parts", texts, ["a", "b"] * 150, shards=2)
    reading = Reading(Layout("text", "label"))
    corpus_ = gather(find_shards(folder), reading, Threads(2), Checkpoints(None, ""), lambda _: None, markup=True)
    assert corpus_.spill.size < sum(map(len, texts)) / 3


def test_a_job_that_died_goes_on_with_the_shards_that_are_left(tmp_path, monkeypatch):
    texts, labels = corpus(2, 300)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=4)
    expected = digest(train(folder, workers=1), tmp_path)

    def die(progress):
        if len(progress.done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(folder, workers=1, resume=tmp_path / "resume", progress=die)
    read = []
    real = gathering.read_shard
    monkeypatch.setattr(gathering, "read_shard", lambda how, k, shard: read.append(k) or real(how, k, shard))
    assert digest(train(folder, workers=2, resume=tmp_path / "resume"), tmp_path) == expected
    assert len(read) == 2
    read.clear()
    train(folder, workers=2, resume=tmp_path / "resume", deobfuscate=True)  # another job
    assert len(read) == 4


def test_texts_are_read_again_by_their_number(tmp_path):
    texts, labels = corpus(2, 100)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=3)
    made = train(folder, workers=1)
    again = made.corpus.texts
    assert list(again) == texts
    assert [again[k] for k in (99, 3, 4, 60, 0)] == [texts[k] for k in (99, 3, 4, 60, 0)]
    assert again[10:90:7] == texts[10:90:7]
    with pytest.raises(IndexError):
        again[100]
    shown = report_data(made.model, again, made.corpus.labels, "shards")
    local = report_data(TextClassifier().fit(texts, labels), texts, labels, "shards")
    assert [one.text for one in shown.mistakes] == [one.text for one in local.mistakes]
    short = ShardTexts(Layout("text", "label"), [(f"{folder}/part-0.jsonl", 90)])
    with pytest.raises(InputError, match="fewer texts than"):
        short[80]


def test_shards_without_any_text_are_refused_and_bad_ones_listed(tmp_path):
    texts, labels = corpus(2, 90)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=3)
    (tmp_path / "parts" / "part-1.jsonl").write_text("{broken\n")
    made = train(folder, workers=2, skip_bad=True)
    assert (made.rows, list(made.skipped)) == (60, [f"{folder}/part-1.jsonl"])
    expected = [k for k in range(90) if not 30 <= k < 60]
    local = TextClassifier().fit([texts[k] for k in expected], [labels[k] for k in expected])
    assert saved(made.model, tmp_path) == saved(local, tmp_path)


def test_a_file_beyond_memory_is_read_in_parts_to_the_same_bytes(tmp_path, monkeypatch):
    texts, labels = corpus(2, 200)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=1)
    data = open_data(f"{folder}/part-0.jsonl", kind="shards")
    assert data.paths == [f"{folder}/part-0.jsonl"]
    made = train(data.paths, workers=2)
    assert saved(made.model, tmp_path) == saved(TextClassifier().fit(texts, labels), tmp_path)
    assert json.dumps(made.trials)
