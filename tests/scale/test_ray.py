"""Shards on a Ray of two nodes: the bytes of one process, whatever happens to workers and nodes."""

import contextlib
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tallywise.scale import classify, find_topics, train
from tests.places import ROOT
from tests.scale.corpus import corpus, digest, write_shards

pytest.importorskip("ray", reason="Ray is not installed")
if not Path("/proc/self/stat").exists():
    pytest.skip("processes are found by /proc", allow_module_level=True)

LIMIT = 500  # seconds for all jobs together; a minute or two on a machine with nothing else to do


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray")
    write_shards(folder / "parts", *corpus(3, 900), shards=5)
    (folder / "bad.jsonl").write_text('{"text": "a b", "label": "1"}\n{broken\n')
    return folder


@pytest.fixture(scope="module")
def expected(folder):
    """Digests of the models of one thread."""
    found = {}
    for model in ("auto", "multinomial_nb"):
        trained = train(str(folder / "parts"), model=model, workers=1)
        trained.save(folder / "model.tally")
        found[model] = digest(trained, folder)
    return found


@pytest.fixture(scope="module")
def on_ray(folder, expected):
    """What all jobs on Ray gave. A job that hangs is ended with every process that it has started."""
    command = [sys.executable, "-m", "tests.scale.ray_jobs", str(folder)]
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=err, start_new_session=True)
        try:
            code = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = f"none after {LIMIT} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        assert code == 0, (folder / "err").read_text()[-3000:]
    return json.loads((folder / "out").read_text().strip().splitlines()[-1])


@pytest.mark.parametrize("job", ["multinomial_nb 2", "auto 1", "auto 5"])
def test_ray_gives_the_bytes_of_one_process_with_any_number_of_workers(on_ray, expected, job):
    model, workers = job.split()
    title = f"{workers} Ray worker{'s' * (workers != '1')} on 2 nodes, 5 shards"
    assert on_ray[job] == [expected[model], title]


def test_topics_from_ray_have_the_bits_of_one_process(on_ray, folder):
    here = find_topics(str(folder / "parts"), 3, passes=3, workers=1)
    assert on_ray["topics"] == hashlib.sha256(here.model.components_.tobytes()).hexdigest()


def test_killed_workers_cost_their_shards_to_be_read_again_and_nothing_else(on_ray, expected):
    assert on_ray["killed"] == ["counting", "reading"]
    assert on_ray["sums, worker killed"] == [expected["multinomial_nb"], "2 Ray workers on 2 nodes, 5 shards"]
    assert on_ray["worker killed"] == [expected["auto"], "2 Ray workers on 2 nodes, 5 shards"]


def test_a_node_removed_while_texts_are_gathered_changes_no_byte(on_ray, expected):
    assert on_ray["lost"] in ([1], [2])  # workers that were on that node
    assert 0 < on_ray["moved"] < 1  # texts travel once, and coded
    assert on_ray["node removed"] == [expected["auto"], "2 Ray workers on 2 nodes, 5 shards"]


def test_verdicts_from_ray_are_those_of_one_process(on_ray, folder):
    here = classify(folder / "model.tally", str(folder / "parts"), folder / "here", workers=1)
    assert [Path(path).name for path in on_ray["verdicts"]] == [Path(path).name for path in here.outputs]
    for there, local in zip(on_ray["verdicts"], here.outputs, strict=True):
        assert Path(there).read_bytes() == Path(local).read_bytes()


def test_no_more_tasks_run_at_once_than_there_are_workers(on_ray):
    spells = on_ray["spells"]
    assert len(spells) == 4
    assert all(ended <= began for (_, ended), (began, _) in itertools.pairwise(spells))


def test_errors_of_workers_are_ours_in_one_line(on_ray, folder):
    assert on_ray["bad shard"] == f"{folder}/bad.jsonl:2: not a JSON object on one line"
    assert on_ray["cannot start"].startswith("a Ray worker could not be started")
    assert "no such package here" in on_ray["cannot start"]
