"""The page of figures is the one that its generator writes, and measurements run in their short form."""

import json
import tomllib

import pytest

import tallywise
from reliability import fuzz, readers, table, threads
from reliability.children import Tally
from reliability.results import Limit, Measured, kept, shown
from tests.places import ROOT
from tools.supply import BILL, LOCK, canonical, pinned


def test_the_page_is_made_from_the_kept_results():
    text = table.PAGE.read_text()
    assert table.page(text, kept()) == text


def test_a_result_comes_back_as_it_was_kept(tmp_path):
    found = Measured("draws", "coins drawn", "heads or tails", {"draws": 2000}, ["an edge"])
    entry = json.loads(found.keep(tmp_path).read_text())
    assert kept(tmp_path) == [entry]
    assert entry["figures"] == {"draws": 2000}
    assert entry["wrong"] == ["an edge"]
    assert entry["command"] == "python -m reliability.run draws --full"
    (row,) = table.rows([entry])[2:]
    assert row.startswith("| coins drawn | heads or tails | 2,000 draws | 1 | ")


def test_figures_are_shown_as_numbers_of_things():
    assert shown({"calls": 1000000, "% of lines": 93.25, "oldest release read": "0.1.0"}) == (
        "1,000,000 calls, 93.2 % of lines, 0.1.0 oldest release read"
    )


def test_every_native_target_has_a_corpus_and_says_what_it_does():
    assert {path.stem for path in fuzz.CORPORA.glob("*.zip")} == {*fuzz.targets()}
    assert all(len(fuzz.title(target)) > 10 for target in fuzz.targets())


@pytest.mark.parametrize("target", readers.TARGETS)
def test_a_fuzzed_reader_takes_its_seeds(target):
    for seed in readers.SEEDS[target]:
        readers.TARGETS[target](seed)
        readers.TARGETS[target](seed[: len(seed) // 2])


def test_what_the_project_requires_is_pinned_by_hash_and_on_the_bill():
    packages = {package.name: package for package in pinned(LOCK.read_text())}
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {canonical(line.partition(">")[0]) for line in required} <= packages.keys()
    bill = json.loads(BILL.read_text())
    assert {(part["name"], part["version"], part["hashes"][0]["content"]) for part in bill["components"]} == {
        (name, package.version, package.sha256) for name, package in packages.items()
    }


def test_a_measurement_that_is_told_to_end_gives_what_it_has(monkeypatch):
    monkeypatch.setattr(Limit, "told", True)
    (found,) = threads.measure(True, None)
    assert found.figures["rounds"] == 0
    assert "ended by a limit of time" in found.title


def test_a_forked_command_prints_and_exits_as_one_that_was_started():
    tally = Tally("--version")
    with tally.stdout:
        assert tallywise.__version__ in tally.stdout.read()
        assert tally.wait() == tally.poll() == 0
