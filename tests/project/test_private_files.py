import logging
import os
import stat

import pytest

from tallywise._byte_budget import ByteBudget
from tallywise._private_files import correct_mode, private_file, private_folder, write_private


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_private_files_and_folders_are_for_their_owner_alone(tmp_path):
    private_folder(tmp_path / "inner")
    private_file(tmp_path / "inner" / "new")
    write_private(tmp_path / "inner" / "written", b"text")
    assert mode(tmp_path / "inner") == 0o700
    assert mode(tmp_path / "inner" / "new") == mode(tmp_path / "inner" / "written") == 0o600
    assert sorted(path.name for path in (tmp_path / "inner").iterdir()) == ["new", "written"]


def test_what_all_users_may_read_is_corrected_with_a_note_and_keeps_its_contents(tmp_path, caplog):
    path, folder = tmp_path / "old", tmp_path / "folder"
    path.write_bytes(b"text")
    folder.mkdir(mode=0o755)
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING, "tallywise"):
        private_file(path)
        private_folder(folder)
    assert (mode(path), mode(folder), path.read_bytes()) == (0o600, 0o700, b"text")
    assert [record.message.split(" could")[0] for record in caplog.records] == [str(path), str(folder)]


def test_rights_of_a_group_and_devices_stay(tmp_path, caplog):
    path = tmp_path / "shared"
    path.write_bytes(b"")
    path.chmod(0o660)
    private_file(path)
    correct_mode(os.devnull, 0o600)
    correct_mode(tmp_path / "absent", 0o600)
    assert mode(path) == 0o660
    assert caplog.records == []


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "state"
    write_private(path, b"old")

    def fails(_):
        raise OSError

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError):  # noqa: PT011
        write_private(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_budget_never_holds_more_than_it_has():
    budget = ByteBudget(10)
    assert [budget.take(n) for n in (4, 6, 1)] == [True, True, False]
    budget.give_back(6)
    assert budget.take(6)
    assert budget.taken == 10
