"""A file of a filter that is not as it was written: right answers or a refusal, and what is whole can be saved."""

import os
import random
import stat
from pathlib import Path

import pytest

from reliability import stores
from tallywise.spam import SpamFilter, SpamStoreError
from tallywise.spam.recovery import recover
from tests.mail import SPAM, messages, tally

apsw = pytest.importorskip("apsw", reason="a filter in a file needs apsw")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return stores.Good(tmp_path_factory.mktemp("stores"), 120)


@pytest.mark.parametrize("kind", stores.DAMAGES)
def test_damage_leaves_right_answers_or_a_refusal(good, kind):
    draw = random.Random(7)
    outcomes = [good.outcome(kind, draw) for _ in range(15)]
    assert [wrong for _, wrong in outcomes if wrong] == []


CHANGES = {
    "a label": "UPDATE journal SET spam = 1 - spam WHERE id = 90",
    "errors": "UPDATE journal SET errors = zeroblob(24) WHERE id = (SELECT max(id) FROM journal)",
    "features": "UPDATE features SET code = (SELECT code FROM features WHERE id = 8) WHERE id = 70",
    "an entry": "DELETE FROM journal WHERE id = 75",
    "a count": "UPDATE meta SET value = value + 1 WHERE key = 'messages'",
    "the generation": "UPDATE meta SET value = value + 1 WHERE key = 'generation'",
    "where the weights stand": "UPDATE meta SET value = value - 1 WHERE key = 'kept_upto'",
    "a score": "UPDATE journal SET score = -score WHERE id = 20",
}


@pytest.fixture
def store(tmp_path):
    with SpamFilter(tmp_path / "f", keep_text=True) as mail:
        mail.learn_many(messages(60))
        mail.compact()
        mail.learn_many(messages(40, seed=1))
    return tmp_path / "f"


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_changed_is_noticed_before_it_is_exported(store, tmp_path, what):
    backup = tmp_path / "backup.jsonl"
    assert tally("spam", "export", "--store", str(store), str(backup)).returncode == 0
    before = backup.read_bytes()
    database = apsw.Connection(str(store))
    database.execute(CHANGES[what])
    database.close()
    done = tally("spam", "export", "--store", str(store), str(backup))
    if what == "a score":  # no export has it; who asks for it is refused
        with SpamFilter(store, max_flagged=0.1) as mail, pytest.raises(SpamStoreError, match="scores have another"):
            mail.threshold()
    else:
        assert done.returncode == 1
        assert b"tally spam recover --store" in done.stderr
    assert backup.read_bytes() == before
    assert tally("spam", "verify", "--store", str(store)).returncode == 1


def test_mail_passes_unchanged_where_an_entry_that_matters_is_damaged(store):
    database = apsw.Connection(str(store))
    database.execute(CHANGES["errors"])
    database.close()
    done = tally("spam", "filter", "--store", str(store), "--exit-code", "spamc", raw=SPAM)
    assert (done.returncode, done.stdout) == (75, SPAM)
    assert b"is damaged" in done.stderr


def test_what_is_whole_is_saved_features_from_kept_text_too(store, tmp_path):
    with SpamFilter(store, read_only=True) as mail:
        entries = list(mail.export())
    database = apsw.Connection(str(store))
    database.execute("UPDATE features SET code = zeroblob(50) WHERE id IN (5, 6)")
    database.execute("UPDATE features SET code = zeroblob(50), text = zeroblob(9) WHERE id = 7")
    database.execute("UPDATE journal SET spam = 1 - spam WHERE id = 8")
    database.close()
    done = tally("spam", "recover", "--store", str(store), str(tmp_path / "new"))
    assert b"saved 98 of 100 messages" in done.stdout
    assert b"2 of them read again from their kept text" in done.stdout
    with SpamFilter(tmp_path / "new") as mail:
        saved = list(mail.export())
        assert mail.verify() == []
    expected = [entry for number, entry in enumerate(entries, 1) if number not in (7, 8)]
    assert [entry["features"] for entry in saved] == [entry["features"] for entry in expected]
    with pytest.raises(SpamStoreError, match="is there already"):
        recover(store, tmp_path / "new")
    with pytest.raises(SpamStoreError, match="does not exist"):
        recover(tmp_path / "absent", tmp_path / "other")
    (tmp_path / "noise").write_bytes(b"nothing of a database" * 1000)
    with pytest.raises(SpamStoreError, match="backup or an export"):
        recover(tmp_path / "noise", tmp_path / "other")


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_files_of_filters_are_for_their_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        for user in (None, "ann"):
            options = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "PATH": os.environ["PATH"]}
            arguments = [] if user is None else ["--user", user]
            assert tally("spam", "learn", *arguments, "--spam", "-", raw=SPAM, env=options).returncode == 0
        folder = tmp_path / "data" / "tallywise"
        assert [mode(folder), mode(folder / "users")] == [0o700, 0o700]
        assert [mode(folder / "mail.spam"), mode(folder / "users" / "ann.spam")] == [0o600, 0o600]
        with SpamFilter(tmp_path / "f") as mail:
            mail.learn(SPAM, "spam")
            assert {mode(path) for path in tmp_path.glob("f*")} == {0o600}
            assert len(list(tmp_path.glob("f*"))) == 3
    finally:
        os.umask(before)


@pytest.mark.parametrize("read_only", [True, False])
def test_files_that_all_users_may_read_are_corrected_with_a_note(store, caplog, read_only):
    store.chmod(0o644)
    SpamFilter(store, read_only=read_only).close()
    assert mode(store) == 0o600
    assert f"{store} could be read by all users" in caplog.text


def test_who_only_asks_for_a_user_without_a_filter_makes_no_file(store):
    done = tally("spam", "filter", "--store", str(store), "--user", "bob", raw=SPAM)
    assert done.returncode == 0
    assert done.stdout.startswith(b"X-Tally-Spam: ")
    assert not Path(store.parent / "users").exists()
