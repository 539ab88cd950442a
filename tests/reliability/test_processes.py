"""Signals, forks and spawned processes, a few of each; `reliability.run processes` has every long call."""

import os

import pytest

from reliability import processes


def test_ctrl_c_in_a_long_prediction_ends_it_and_spoils_nothing():
    assert processes.in_child("KNeighborsClassifier.predict", 0.2)[1] == []


def test_signals_that_are_handled_change_no_bit_of_a_fit():
    handled, wrong = processes.signalled(lambda: {"several": processes.small_fits()})
    assert wrong == []
    assert handled > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_amid_fits_of_other_threads_answers_as_its_parent():
    assert processes.forked(3) == (3, [])


def test_spawned_processes_answer_as_their_parent():
    assert processes.spawned(2) == (2, [])
