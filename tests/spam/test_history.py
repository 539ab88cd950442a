"""What an administrator has: history, allow and block lists, reasons in the header, shadow mode, the report."""

import json
import random

import pytest

from tallywise.spam import SpamFilter, fields, marked
from tallywise.spam.lists import entry_of, sender_of
from tallywise.spam.rspamd import told
from tallywise.spam.spamd import Manner, Request, answer
from tests.mail import HAM, SPAM, messages, tally, taught

pytest.importorskip("apsw", reason="a filter in a file needs apsw")


@pytest.fixture
def store(tmp_path):
    taught(tmp_path / "f").close()
    return tmp_path / "f"


def test_the_history_has_the_newest_messages_with_reasons_and_labels(store):
    stream = messages(30, seed=5)
    with SpamFilter(store, history=20) as mail:
        verdicts = []
        for raw, _ in stream:
            verdicts.append(mail.classify(raw))
            mail.refresh()
        seen = mail.history.last(50)
        assert [entry.score for entry in seen] == [verdict.score for verdict in verdicts[:9:-1]]
        assert all(entry.reasons and "@" in entry.sender for entry in seen)
        assert {entry.learned for entry in seen} == {None}
        assert mail.learn_seen(seen[0].id, "ham").outcome == "learned"
        assert mail.history.last(1)[0].learned == "ham"
        assert mail.report(7)["judged"] == {
            label: sum(v.label == label for v in verdicts) for label in {v.label for v in verdicts}
        }


def test_noting_is_bounded_and_counting_is_not(store):
    with SpamFilter(store, history=1000) as mail:
        for _ in range(250):
            mail.classify(HAM)
        mail.refresh()
        assert len(mail.history.last(1000)) == 200
        assert mail.report(1)["judged"] == {"ham": 250}


def test_learning_by_number_is_learning_the_message(store, tmp_path):
    raw = messages(9, seed=8)[0][0]
    taught(tmp_path / "g").close()
    with SpamFilter(store, history=5) as mail, SpamFilter(tmp_path / "g") as other:
        mail.classify(raw)
        mail.refresh()
        mail.learn_seen(mail.history.last()[0].id, "spam")
        other.learn(raw, "spam")
        assert mail._weights.learner.state() == other._weights.learner.state()
        assert mail.learn(raw, "spam").outcome == "known"
        with pytest.raises(ValueError, match="has no message 99"):
            mail.learn_seen(99, "spam")


def test_what_is_purged_leaves_the_history(store):
    raw = b"From: a@b.example\nSubject: zebra-secret-zebra\n\nxyz\n"
    with SpamFilter(store, history=5) as mail:
        mail.classify(raw)
        mail.refresh()
        mail.forget(raw, purge=True)
        assert mail.history.last() == []
    assert b"zebra-secret-zebra" not in b"".join(path.read_bytes() for path in store.parent.iterdir())


def test_a_filter_without_history_notes_nothing(store):
    with SpamFilter(store) as mail:
        mail.classify(SPAM)
        assert mail.history is None
    with SpamFilter(store, history=5, read_only=True) as mail:
        mail.classify(SPAM)
        assert mail.history.last() == []


def test_the_history_command_lists_and_acts(store):
    with SpamFilter(store, history=5) as mail:
        mail.classify(SPAM)
        mail.classify(HAM)
    place = ("--store", store)
    shown = [json.loads(line) for line in tally("spam", "history", *place, "--json").stdout.splitlines()]
    assert [entry["label"] for entry in shown] == ["ham", "spam"]
    assert (
        b"learned as ham"
        in tally("spam", "history", *place, "--ham", "1").stdout + tally("spam", "history", *place).stdout
    )
    assert b"1: forgotten" in tally("spam", "history", *place, "--forget", "1").stdout
    assert b"a1@relay.example is allowed" in tally("spam", "history", *place, "--allow", "1").stdout
    assert b"allowed  a1@relay.example" in tally("spam", "lists", *place).stdout
    assert b"judged in 7 days: 1 ham, 1 spam" in tally("spam", "report", *place).stdout
    assert tally("spam", "history", *place, "--spam", "77").returncode == 2


# --- lists ---


def mail_from(value, more=b""):
    return b"From: " + value + b"\n" + more + b"Subject: x\n\ncheap pills\n"


@pytest.mark.parametrize(
    ("entry", "raw", "hit"),
    [
        ("ann@x.example", mail_from(b"Ann <ANN@X.example>"), True),
        ("x.example", mail_from(b"ann@mail.x.example"), True),
        ("x.example", mail_from(b"ann@notx.example"), False),
        ("x.example", mail_from(b"ann@x.example.evil.example"), False),
        ("ann@x.example", mail_from(b'"ann@x.example" <eve@y.example>'), False),
        ("list:news.x.example", mail_from(b"eve@y.example", b"List-Id: News <news.x.example>\n"), True),
        ("ann@x.example", mail_from(b"ann@x.example\nFrom: eve@y.example"), False),
        ("ann@x.example", mail_from(b"ann@x.example, eve@y.example"), False),
        ("ann@x.example", mail_from(b"ann@x.example\nFrom: Eve"), False),
        ("ann@x.example", b"Subject: cheap pills\n\nFrom: ann@x.example\ncheap pills winner\n", False),
    ],
)
def test_an_allowed_sender_is_ham_and_no_other(entry, raw, hit):
    mail = taught()
    assert mail.classify(raw).label == "spam"
    mail.put_on_list(entry, True)
    verdict = mail.classify(raw)
    assert verdict.label == ("ham" if hit else "spam")
    assert verdict.listed == (f"allowed: {entry}" if hit else "")


def test_blocking_goes_before_allowing_and_its_reason_is_in_the_header():
    mail = taught()
    mail.put_on_list("X.example", False)
    mail.put_on_list("ann@x.example", True)
    verdict = mail.classify(mail_from(b"ann@x.example").replace(b"cheap pills", b"lunch"))
    assert verdict.label == "spam"
    assert 'listed="blocked: x.example"' in fields(verdict, "online")[0]
    mail.put_on_list("x.example", None)
    assert mail.lists() == {"ann@x.example": True}


def test_lists_are_in_the_file_and_those_of_all_users_hold_for_each(store):
    with SpamFilter(store) as shared, SpamFilter(shared=shared) as own:
        shared.put_on_list("x.example", True)
        assert own.classify(mail_from(b"ann@x.example")).label == "ham"
        own.put_on_list("x.example", False)
        assert own.classify(mail_from(b"ann@x.example")).label == "spam"
    with SpamFilter(store, read_only=True) as opened:
        assert opened.lists() == {"x.example": True}
        assert opened.verify() == []


@pytest.mark.parametrize("text", ["", "two words", "a@b@c", "ann@", "x;y", "a" * 400])
def test_what_is_no_entry_is_refused(text):
    with pytest.raises(ValueError, match="An entry is"):
        entry_of(text)


def test_senders_of_hostile_headers_are_read_in_bounds():
    draw = random.Random(0)
    for _ in range(300):
        raw = b"From: " + bytes(draw.choice(b'<>@,;"\n :ab.\0\xff') for _ in range(draw.randrange(200)))
        sender_of(raw + b"\n\n")
    assert len(sender_of(b"From: " + b"a@b.c," * 1_000_000 + b"\n\n").addresses) < 1000


# --- reasons, shadow mode ---


def test_reasons_in_the_header_are_five_words_in_plain_ascii():
    mail = taught()
    raw = SPAM.replace(b"casino", b"\xff\x1b[31m\r casino\xc3\xa9\x00") + b"cheap, pills; (winner)\n"
    line = fields(mail.classify(raw, 5), "online")[1]
    assert line.startswith("X-Tally-Reason: ")
    assert line.isascii()
    assert line.isprintable()
    assert line.count("(") <= 5
    forged = b"X-Tally-Reason: none\n" + raw
    assert marked(forged, [line]).count(b"X-Tally-Reason") == 1


def test_in_shadow_mode_servers_are_told_that_all_is_ham():
    mail = taught()
    quiet = Manner(shadow=True)
    for command in ("CHECK", "REPORT_IFSPAM", "SYMBOLS", "HEADERS"):
        found = answer(Request(command, (1, 5), message=SPAM), mail, quiet)
        assert b"Spam: False ; 0.0 / 5.0" in found
    assert answer(Request("PROCESS", (1, 5), message=SPAM), mail, quiet).endswith(b"\r\n\r\n" + SPAM)
    assert told(mail.classify(SPAM).silent)["action"] == "no action"
    assert told(mail.classify(SPAM).silent)["milter"]["add_headers"] == {}
