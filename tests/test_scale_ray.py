"""Shards on Ray: the bytes of one process, whatever happens to workers and nodes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tallywise.scale import classify, train
from tests.scale_corpus import corpus, digest, write_shards

pytest.importorskip("ray")
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray")
    write_shards(folder / "parts", *corpus(3, 900), shards=5)
    train(str(folder / "parts"), model="multinomial_nb", workers=1).save(folder / "model.tally")
    (folder / "bad.jsonl").write_text('{"text": "a b", "label": "1"}\n{broken\n')
    return folder


@pytest.fixture(scope="module")
def expected(folder):
    shards = str(folder / "parts")
    return {model: digest(train(shards, model=model, workers=1), folder) for model in ("multinomial_nb", "logistic")}


def on_ray(scenario, folder):
    command = [sys.executable, "-m", "tests.scale_ray_jobs", scenario, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def one_machine(folder):
    return on_ray("one_machine", folder)


@pytest.mark.parametrize(
    ("model", "workers"), [("multinomial_nb", 2), ("multinomial_nb", 5), ("logistic", 1), ("logistic", 2)]
)
def test_ray_gives_the_bytes_of_one_process_with_any_number_of_workers(one_machine, expected, model, workers):
    title = f"{workers} Ray worker{'s' * (workers > 1)} on 1 node, 5 shards"
    assert one_machine[f"{model} {workers}"] == [expected[model], title]


@pytest.mark.parametrize("stage", ["counting", "fitting"])
def test_a_killed_worker_costs_its_shards_to_be_read_again_and_nothing_else(one_machine, expected, stage):
    assert one_machine[f"killed while {stage}"] == [expected["logistic"], 1]


def test_verdicts_from_ray_are_those_of_one_process(one_machine, folder):
    here = classify(folder / "model.tally", str(folder / "parts"), folder / "here", workers=1)
    assert [Path(path).name for path in one_machine["verdicts"]] == [Path(path).name for path in here.outputs]
    for there, local in zip(one_machine["verdicts"], here.outputs, strict=True):
        assert Path(there).read_bytes() == Path(local).read_bytes()


def test_errors_of_workers_are_ours_in_one_line(one_machine, folder):
    assert one_machine["error"] == f"{folder}/bad.jsonl:2: not a JSON object on one line"


def test_a_node_removed_in_the_middle_of_a_fit_changes_no_byte(folder, expected):
    found = on_ray("two_nodes", folder)
    assert found == {"digest": expected["logistic"], "workers": "2 Ray workers on 2 nodes, 5 shards", "removed": 1}
