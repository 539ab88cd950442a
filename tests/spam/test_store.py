import os
import signal
import subprocess
import sys
import time

import pytest

from tallywise._native import SpamLearner
from tallywise.spam import SpamFilter, SpamStoreError, digest_of
from tests.mail import messages

apsw = pytest.importorskip("apsw", reason="a filter in a file needs apsw")


def filled(path, stream, **options):
    mail = SpamFilter(path, **options)
    mail.learn_many(stream)
    return mail


@pytest.mark.parametrize("model", ["online", "naive_bayes"])
@pytest.mark.parametrize("n", [40, 400])
def test_a_filter_is_the_same_after_it_was_closed(tmp_path, model, n):
    stream = messages(n)
    with filled(tmp_path / "f", stream, model=model) as mail:
        scores, state = [mail.score(raw) for raw, _ in stream], mail._weights.learner.state()
    with SpamFilter(tmp_path / "f") as again:
        assert again.model == model
        assert again._weights.learner.state() == state
        assert [again.score(raw) for raw, _ in stream] == scores
        assert again.verify() == []


def test_snapshot_and_journal_agree_after_forgetting(tmp_path):
    stream = messages(300)
    with filled(tmp_path / "f", stream) as mail:
        mail.forget(stream[2][0])
    with SpamFilter(tmp_path / "f") as again, filled(None, stream[:2] + stream[3:]) as never:
        assert again._weights.learner.state() == never._weights.learner.state()
        assert again.stats()["messages"] == 299


def test_two_processes_learn_in_one_order(tmp_path):
    stream = messages(60)
    with SpamFilter(tmp_path / "f") as one, SpamFilter(tmp_path / "f") as two:
        for k, (raw, label) in enumerate(stream):
            (one, two)[k % 2].learn(raw, label)
        one.forget(stream[30][0])
        one.settle()
        two.refresh()
        one.refresh()
        assert one._weights.learner.state() == two._weights.learner.state()
        assert one.verify() == two.verify() == []


def test_a_rolled_back_batch_leaves_nothing(tmp_path, monkeypatch):
    stream = messages(20)
    with filled(tmp_path / "f", stream[:10]) as mail:
        state = mail._weights.learner.state()
        append = mail._store.append
        calls = iter(range(100))

        def fails(*entry):
            if next(calls) == 5:
                raise apsw.FullError
            return append(*entry)

        monkeypatch.setattr(mail._store, "append", fails)
        with pytest.raises(SpamStoreError, match="disk is full"):
            mail.learn_many(stream[10:])
        monkeypatch.undo()
        assert mail._weights.learner.state() == state
        assert mail.stats()["messages"] == 10
        assert mail.verify() == []


def test_weights_that_cannot_be_written_are_said_and_not_tried_for_ever(tmp_path, monkeypatch):
    stream = messages(20)
    with filled(tmp_path / "f", stream) as mail:

        def fails(changed):
            msg = "the disk is full"
            raise SpamStoreError(msg)

        monkeypatch.setattr(mail._store, "set_errors", fails)
        mail.forget(stream[3][0])
        with pytest.raises(SpamStoreError, match="disk is full"):
            mail.settle()
        monkeypatch.undo()
        mail.settle()
        assert mail.exact
        assert mail.verify() == []


def test_purged_means_gone_from_the_file(tmp_path):
    secret = b"From: x@y.example\nSubject: plan\n\nthe Zwiebelkuchen secret\n"
    path = tmp_path / "f"
    with filled(path, messages(30), keep_text=True) as mail:
        mail.learn(secret, "ham")
        code = mail._journal.features(mail._journal.find(digest_of(secret)).id)
        mail.forget(secret, purge=True)
        for name in os.listdir(tmp_path):
            bytes_ = (tmp_path / name).read_bytes()
            assert b"Zwiebelkuchen" not in bytes_
            assert code[20:60] not in bytes_
            assert digest_of(secret) not in bytes_


def test_text_is_kept_only_when_asked(tmp_path):
    for keep in (False, True):
        path = tmp_path / str(keep)
        with filled(path, [(b"Subject: s\n\nZwiebelkuchen\n", "ham")], keep_text=keep) as mail:
            mail.compact()
        assert (b"Zwiebelkuchen" in path.read_bytes()) == keep


def test_a_file_that_cannot_serve_says_why(tmp_path):
    (tmp_path / "noise").write_bytes(b"this is not a database at all, not even close" * 100)
    with pytest.raises(SpamStoreError, match="damaged"):
        SpamFilter(tmp_path / "noise")
    with pytest.raises(SpamStoreError, match="does not exist"):
        SpamFilter(tmp_path / "absent", read_only=True)
    other = apsw.Connection(str(tmp_path / "other"))
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(SpamStoreError, match="not of a spam filter"):
        SpamFilter(tmp_path / "other")
    SpamFilter(tmp_path / "new").close()
    newer = apsw.Connection(str(tmp_path / "new"))
    newer.pragma("user_version", 99)
    newer.close()
    with pytest.raises(SpamStoreError, match="newer tallywise"):
        SpamFilter(tmp_path / "new")


def test_a_locked_file_says_so_and_nothing_is_learned(tmp_path, monkeypatch):
    monkeypatch.setattr("tallywise._sqlite._WAIT", 50)
    stream = messages(12)
    with filled(tmp_path / "f", stream[:10]) as mail:
        other = apsw.Connection(str(tmp_path / "f"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SpamStoreError, match="locked"):
            mail.learn(*stream[10])
        other.execute("ROLLBACK")
        other.close()
        assert mail.learn(*stream[10]).outcome == "learned"
        assert mail.verify() == []


def test_a_damaged_snapshot_is_computed_again(tmp_path):
    stream = messages(300)
    with filled(tmp_path / "f", stream) as mail:
        state = mail._weights.learner.state()
    db = apsw.Connection(str(tmp_path / "f"))
    db.execute("UPDATE snapshot SET state = zeroblob(length(state))")
    db.close()
    with SpamFilter(tmp_path / "f") as again:
        assert again._weights.learner.state() == state
        assert "snapshot" in again.verify()[0]


def test_an_export_taken_in_is_the_same_filter(tmp_path):
    stream = messages(50)
    with filled(tmp_path / "f", stream) as mail, SpamFilter(tmp_path / "g") as copy:
        entries = list(mail.export())
        assert copy.take_in(entries) == 50
        assert copy.take_in(entries) == 0
        assert copy._weights.learner.state() == mail._weights.learner.state()
        with pytest.raises(ValueError, match="Entry 1 is not of an export"):
            copy.take_in([{"digest": "zz"}])


WORKER = """
import sys
from tallywise.spam import SpamFilter
from tests.mail import messages
mail = SpamFilter(sys.argv[1])
print("ready", flush=True)
for k, (raw, label) in enumerate(messages(5000, seed=int(sys.argv[2]))):
    mail.learn(raw, label)
    print(k, flush=True)
    if k % 7 == 3:
        mail.forget(raw)
        print(-k, flush=True)
"""


def test_kills_while_learning_lose_nothing(tmp_path):
    path = tmp_path / "f"
    expected = set()
    unsure = set()
    for seed in range(int(os.environ.get("TALLYWISE_KILLS", "5"))):
        stream = messages(5000, seed=seed)
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), str(seed)], stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout.readline() == "ready\n"
        time.sleep(0.05 + 0.03 * seed)
        worker.send_signal(signal.SIGKILL)
        lines = [int(line) for line in worker.stdout.read().splitlines()]
        worker.wait()
        worker.stdout.close()
        for k in lines:
            (expected.add if k >= 0 and k == abs(k) else expected.discard)(digest_of(stream[abs(k)][0]))
            if k < 0:
                expected.discard(digest_of(stream[-k][0]))
        last = abs(lines[-1]) if lines else -1
        # What was under way when the end came may be there or not: the next message, or the forgetting of the last.
        unsure |= {digest_of(stream[k][0]) for k in (last, last + 1) if k >= 0}
        with SpamFilter(path) as mail:
            assert mail.verify() == []
            there = {bytes.fromhex(entry["digest"]) for entry in mail.export()}
        assert expected - unsure <= there
        assert there <= expected | unsure
        expected = there
        unsure = set()


def of_version(path, version):
    """Make a file one of an older version: 1 had no counts, 2 no checksums, 3 learned nothing again."""
    old = apsw.Connection(str(path))
    old.execute("DROP INDEX by_label; DROP TABLE seen; DROP TABLE days; CREATE TABLE aside (digest BLOB)")
    if version == 3:
        from tallywise.spam.database import figures_checksum

        old.execute("DELETE FROM meta WHERE key IN ('kept_run', 'kept_again_ham', 'kept_again_spam', 'checksum')")
        old.execute(
            "INSERT INTO meta VALUES ('checksum', ?)", (figures_checksum(dict(old.execute("SELECT * FROM meta"))),)
        )
        old.pragma("user_version", version)
        old.close()
        return
    old.execute("ALTER TABLE journal DROP COLUMN checksum; ALTER TABLE journal DROP COLUMN code_checksum")
    old.execute("DELETE FROM meta WHERE key GLOB 'kept_*' OR key IN ('checksum', 'scores', 'reader')")
    if version == 1:
        old.execute("DELETE FROM meta WHERE key IN ('messages', 'spam'); UPDATE snapshot SET checksum = zeroblob(16)")
    if list(old.execute("SELECT 1 FROM sqlite_schema WHERE name = 'prior'")):
        old.execute("ALTER TABLE prior DROP COLUMN checksum")
    old.pragma("user_version", version)
    old.close()


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_older_version_is_read_again_from_its_text_and_gets_its_checksums(tmp_path, version):
    stream = messages(300)
    with filled(tmp_path / "f", stream, keep_text=True) as mail:
        mail.take_prior([".MSG_COUNT 2 3 20240101", "pills 2 0 20240101"])
        scores = [mail.score(raw) for raw, _ in stream]
    of_version(tmp_path / "f", version)
    with pytest.raises(SpamStoreError, match="tally spam compact"):
        SpamFilter(tmp_path / "f", read_only=True)
    for read_only in (False, True):
        with SpamFilter(tmp_path / "f", read_only=read_only, max_flagged=0.01) as mail:
            assert mail._store.checked
            assert mail.stats()["messages"] == 300
            assert [mail.score(raw) for raw, _ in stream] == scores
            assert mail.verify() == []
            assert len(list(mail.export())) == 300
    with SpamFilter(tmp_path / "f") as mail:
        mail.forget(stream[0][0])
        assert mail.counts()[0] + mail.counts()[1] == mail.stats()["messages"] == 299


def test_weights_of_a_version_that_learned_nothing_again_are_computed_anew(tmp_path):
    """Messages of one class and then of the other: only with rehearsal are the weights those of the journal."""
    stream = sorted(messages(60), key=lambda pair: pair[1])
    with filled(tmp_path / "f", stream) as mail:
        mail.compact()
        scores = [mail.score(raw) for raw, _ in stream]
        mail._store.put_snapshot(60, 0, (0, 0, 0), SpamLearner().state())
    of_version(tmp_path / "f", 3)
    for read_only in (True, False, True):
        with SpamFilter(tmp_path / "f", read_only=read_only) as mail:
            assert [mail.score(raw) for raw, _ in stream] == scores
            assert mail.verify() == []


def test_features_of_an_older_reader_of_mail_are_never_taken_for_todays(tmp_path):
    """Without the text there is no way from one to the other: the answer says what to do."""
    with filled(tmp_path / "f", messages(30)) as mail:
        entries = list(mail.export())
    of_version(tmp_path / "f", 2)
    for read_only in (True, False):
        with pytest.raises(SpamStoreError, match="was not kept: teach a new file with 'tally spam learn'"):
            SpamFilter(tmp_path / "f", read_only=read_only)
    with pytest.raises(ValueError, match="read mail in another way"):
        SpamFilter().take_in([{name: value for name, value in entries[0].items() if name != "reader"}])


def test_text_read_again_gives_the_filter_of_todays_reader(tmp_path):
    stream = messages(80)
    with filled(tmp_path / "f", stream, keep_text=True) as mail:
        state = mail._weights.learner.state()
    of_version(tmp_path / "f", 2)
    old = apsw.Connection(str(tmp_path / "f"))
    old.execute("UPDATE features SET code = (SELECT code FROM features WHERE id = 1)")
    old.execute("UPDATE journal SET errors = zeroblob(24)")
    old.close()
    with SpamFilter(tmp_path / "f") as mail, filled(None, stream[1:]) as never:
        assert mail._weights.learner.state() == state
        mail.forget(stream[0][0])
        mail.settle()
        assert mail._weights.learner.state() == never._weights.learner.state()


def test_a_reader_has_the_scores_of_the_writer_beyond_the_snapshot(tmp_path):
    stream = messages(700)
    with filled(tmp_path / "f", stream[:400]) as mail:
        mail.compact()
        mail.learn_many(stream[400:])
        with SpamFilter(tmp_path / "f", read_only=True) as reader:
            assert [reader.score(raw) for raw, _ in stream] == [mail.score(raw) for raw, _ in stream]


def test_forgetting_leaves_a_snapshot_that_can_be_used(tmp_path):
    stream = messages(600)
    with filled(tmp_path / "f", stream) as mail:
        mail.compact()
        mail.forget(stream[0][0])
    with SpamFilter(tmp_path / "f") as mail:
        assert mail._store.snapshot(SpamLearner) is not None
        assert mail.verify() == []
