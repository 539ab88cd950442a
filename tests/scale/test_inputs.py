"""Every kind of shard that is promised gives the model, and the verdicts, of the same rows in plain files."""

import gzip
import json

import pytest

from tallywise.cli import _shard_commands
from tallywise.reading import InputError
from tallywise.scale import Progress, classify, train
from tallywise.scale.jobs import Done
from tests.scale.corpus import corpus, digest, write_shards

TEXTS, LABELS = corpus(2, 240)
ROWS = list(zip(TEXTS, LABELS, strict=True))
OPTIONS = {"model": "multinomial_nb", "workers": 2, "held_out": 0.2}


def jsonl(rows):
    return "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows).encode()


def separated(separator):
    return lambda rows: "".join(f"{text}{separator}{label}\n" for text, label in [("text", "label"), *rows]).encode()


def mailbox(rows):
    return "".join(f"From a@b Thu Jan  1 00:00:00 1970\nSubject: {text}\n\n{text}\n\n" for text, _ in rows).encode()


def zstd(data):
    pa = pytest.importorskip("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


KINDS = {"jsonl": jsonl, "csv": separated(","), "tsv": separated("\t")}
PACKINGS = {"": bytes, ".gz": gzip.compress, ".zst": zstd}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    trained = train(write_shards(folder / "parts", TEXTS, LABELS, shards=3), **OPTIONS)
    return digest(trained, folder), folder / "digest.tally"


def write(folder, name, data_of):
    for k in range(3):
        (folder / f"part-{k}.{name}").write_bytes(data_of(ROWS[80 * k : 80 * k + 80]))
    return f"{folder}/*.{name}"


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_each_kind_and_packing_give_the_same_model(tmp_path, expected, kind, packing):
    shards = write(tmp_path, kind + packing, lambda rows: PACKINGS[packing](KINDS[kind](rows)))
    assert digest(train(shards, **OPTIONS), tmp_path) == expected[0]
    done = classify(expected[1], shards, tmp_path / "out", workers=2)
    assert done.rows == 240


@pytest.mark.parametrize("packing", ["snappy", "gzip", "zstd"])
def test_parquet_of_each_packing_gives_the_same_model(tmp_path, expected, packing):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for k in range(3):
        rows = ROWS[80 * k : 80 * k + 80]
        table = pa.table({"text": [text for text, _ in rows], "label": [label for _, label in rows]})
        parquet.write_table(table, tmp_path / f"part-{k}.parquet", compression=packing)
    assert digest(train(f"{tmp_path}/*.parquet", **OPTIONS), tmp_path) == expected[0]


@pytest.mark.parametrize("packing", PACKINGS)
def test_mailboxes_are_classified(tmp_path, expected, packing):
    shards = write(tmp_path, "mbox" + packing, lambda rows: PACKINGS[packing](mailbox(rows)))
    assert classify(expected[1], shards, tmp_path / "out", workers=2).rows == 240


def test_folders_of_mail_are_shards(tmp_path, expected):
    for k in range(3):
        for i, (text, label) in enumerate(ROWS[80 * k : 80 * k + 80]):
            folder = tmp_path / f"day-{k}" / label
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{i:03}.eml").write_text(f"Subject: a message\n\n{text}\n")
    trained = train(f"{tmp_path}/day-*", **OPTIONS)
    assert trained.rows == 240
    assert [shard.rsplit("/", 1)[1] for shard in trained.shards] == ["day-0", "day-1", "day-2"]
    one = train([f"{tmp_path}/day-{k}" for k in range(3)], **{**OPTIONS, "workers": 1})
    assert digest(one, tmp_path) == digest(trained, tmp_path)


def test_shards_at_a_url_give_the_same_model(tmp_path, expected):
    fsspec = pytest.importorskip("fsspec")
    fs = fsspec.filesystem("memory")
    for k in range(3):
        fs.pipe(f"/scale/part-{k}.jsonl.gz", gzip.compress(jsonl(ROWS[80 * k : 80 * k + 80])))
    assert digest(train("memory://scale/*.jsonl.gz", **OPTIONS), tmp_path) == expected[0]
    done = classify(expected[1], "memory://scale/*.jsonl.gz", tmp_path / "out", workers=1)
    assert [path.rsplit("/", 1)[1] for path in done.outputs] == [f"part-{k}.jsonl" for k in range(3)]


@pytest.mark.parametrize("damage", ["cut", "missing column", "empty"])
def test_bad_shards_of_packed_tables_are_skipped_and_listed(tmp_path, damage):
    shards = write(tmp_path, "csv.gz", lambda rows: gzip.compress(KINDS["csv"](rows)))
    bad = tmp_path / "part-1.csv.gz"
    data = bad.read_bytes()
    bad.write_bytes(
        {"cut": data[: len(data) // 2], "missing column": gzip.compress(b"a,b\n1,2\n"), "empty": b""}[damage]
    )
    with pytest.raises(InputError, match=r"part-1\.csv\.gz"):
        train(shards, **OPTIONS)
    trained = train(shards, skip_bad=True, **OPTIONS)
    assert list(trained.skipped) == [str(bad)]
    assert trained.rows == 160


def test_texts_with_several_labels_are_refused_in_one_line(tmp_path):
    rows = [{"text": text, "labels": ["a", "b"][: 1 + k % 2]} for k, text in enumerate(TEXTS[:20])]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=r"a\.jsonl gives texts several labels each"):
        train(str(tmp_path / "a.jsonl"), workers=1)


def test_the_progress_bar_names_the_shards_that_are_slow_and_those_that_are_left():
    said = []
    show = _shard_commands.shard_progress(said.append)
    progress = Progress("counting", 9)
    for shard, seconds in enumerate([1.0, 1.2, 0.9, 1.1, 9.0]):
        progress.done.append(Done(shard, 1000, 5000, seconds))
        show(progress)
    assert said[0].startswith("counting ██░░")
    assert "5 of 9 shards" in said[-1]
    assert said[-1].endswith("texts per second; slow: no. 5 (9 s)")
    assert "slow" not in said[-2]
    for shard in (5, 7):
        progress.done.append(Done(shard, 1000, 5000, 1.0))
        show(progress)
    assert said[-1].endswith("; slow: no. 5 (9 s); left: no. 7, no. 9")
    progress.line = "iteration 3"
    show(progress)
    assert said[-1] == "iteration 3"


def test_no_more_workers_are_said_to_have_worked_than_there_are_shards(tmp_path):
    (tmp_path / "one.jsonl").write_bytes(jsonl(ROWS))
    made = train(tmp_path / "one.jsonl", model="multinomial_nb", workers=8)
    assert made.workers == "1 thread of one process, 1 shard"
