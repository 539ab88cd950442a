"""What was acknowledged survives power cuts, failing writes and full disks: a few of each; reliability/ counts more."""

import random

import pytest

pytest.importorskip("apsw")
from reliability.power import CASES, FAULTS, Event, after_cut, cuts, fault


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_power_cut_leaves_a_legal_state(case):
    for _, wrong in cuts(case, 10, 12, seed=7):
        assert not wrong


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_failing_disk_loses_nothing_that_was_acknowledged(case, name):
    for at, lasting in ((1, False), (3, True), (5, False)):
        reached, wrong = fault(case, name, at, lasting, 6, seed=1)
        assert reached
        assert not wrong


def test_a_power_cut_keeps_what_was_synced_and_may_tear_the_rest():
    events = [Event("write", "f", 0, b"a" * 2048), Event("sync", "f"), Event("write", "f", 0, b"b" * 2048)]
    seen = {after_cut(events, random.Random(seed))["f"] for seed in range(40)}
    assert all(set(content) <= set(b"ab") and len(content) == 2048 for content in seen)
    assert {b"a" * 2048, b"b" * 2048} < seen
    assert after_cut(events[:2], random.Random(0))["f"] == b"a" * 2048
