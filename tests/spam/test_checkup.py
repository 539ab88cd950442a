"""`tally spam doctor` finds what is wrong, and says what to do."""

import os

import pytest

from tallywise.spam import SpamFilter
from tallywise.spam.checkup import examined
from tests.mail import messages, tally, taught

pytest.importorskip("apsw", reason="a filter in a file needs apsw")
NOBODY = ("127.0.0.1", 1)  # a port where nothing listens


def found(store, server=NOBODY, unit=None):
    return {finding.what: finding.sound for finding in examined(store, server, unit or store / "none")}


def wrong(store, **options):
    return [what for what, sound in found(store, **options).items() if not sound]


def test_a_sound_filter_has_no_fault_but_the_server_that_is_away(tmp_path):
    taught(tmp_path / "f", 400).close()
    assert [what[:16] for what in wrong(tmp_path / "f")] == ["no server answer"]


def test_each_fault_is_found(tmp_path):
    assert wrong(tmp_path / "f") == [f"{tmp_path / 'f'} is not there"]
    with SpamFilter(tmp_path / "f") as mail:
        mail.learn_many([pair for pair in messages(80) if pair[1] == "spam"])
    os.chmod(tmp_path / "f", 0o644)
    unit = tmp_path / "unit"
    unit.write_text("[Service]\nExecStart=/usr/bin/tally spam serve --store /elsewhere/mail.spam\n")
    says = " ".join(wrong(tmp_path / "f", unit=unit))
    for word in ("mode 644", " 0 ham learned", "learned are spam", "no server", "/elsewhere/mail.spam"):
        assert word in says


def test_the_command_says_what_to_do_and_exits_with_1(tmp_path):
    (tmp_path / "f").write_bytes(b"no database")
    os.chmod(tmp_path / "f", 0o600)
    done = tally("spam", "doctor", "--store", str(tmp_path / "f"), "--spamd", "127.0.0.1:1")
    assert done.returncode == 1
    assert b"WRONG" in done.stdout
    assert not done.stderr
