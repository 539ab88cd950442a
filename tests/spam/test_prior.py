import math
import shutil
import subprocess

import pytest

from tallywise.spam import SpamFilter
from tallywise.spam.prior import COLD, bogofilter_tokens, spamassassin_tokens
from tests.mail import messages

BOGOFILTER = [".MSG_COUNT 9 11 20240101", ".WORDLIST_VERSION 0 20040500", "pills 9 0 20240101", "lunch 1 10 20240101"]
SPAMASSASSIN = ["v\t3\tdb_version # this must be the first line!!!", "v\t9\tnum_spam", "v\t11\tnum_nonspam"]
SPAM = b"From: a1@relay.example\nSubject: cheap pills winner\n\ncheap pills winner prize click casino now\n"
HAM = b"From: a1@mx.example\nSubject: lunch meeting\n\nlunch meeting patch kernel review notes train\n"


def needs(*programs):
    absent = [program for program in programs if shutil.which(program) is None]
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed")


def folders(tmp_path):
    """A made-up stream in two folders, one file a message."""
    for label in ("spam", "ham"):
        (tmp_path / label).mkdir()
    for k, (raw, label) in enumerate(messages(30)):
        (tmp_path / label / f"{k}.eml").write_bytes(raw)


def run(*command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, check=True, errors="surrogateescape", **options
    ).stdout


def judges_cold(lines):
    mail = SpamFilter()
    totals = mail.take_prior(lines)
    assert (mail.classify(SPAM).label, mail.classify(HAM).label) == ("spam", "ham")
    for raw in (SPAM, HAM):
        assert sum(reason.adds for reason in mail.explain(raw)) == pytest.approx(mail.score(raw), rel=1e-9)
    return totals


def test_counts_of_a_real_bogofilter_judge_before_anything_is_learned(tmp_path):
    needs("bogofilter", "bogoutil")
    folders(tmp_path)
    for label, option in (("spam", "-s"), ("ham", "-n")):
        run("bogofilter", "-d", str(tmp_path), option, "-B", str(tmp_path / label))
    totals = judges_cold(run("bogoutil", "-d", str(tmp_path / "wordlist.db")).splitlines())
    assert totals.source == "bogofilter"
    assert totals.spam == len(list((tmp_path / "spam").iterdir()))


def test_counts_of_a_real_spamassassin_judge_before_anything_is_learned(tmp_path):
    needs("sa-learn")
    folders(tmp_path)
    where = ["--dbpath", str(tmp_path / "bayes")]
    for label in ("spam", "ham"):
        run("sa-learn", "--local", *where, f"--{label}", str(tmp_path / label))
    totals = judges_cold(run("sa-learn", *where, "--backup").splitlines())
    assert totals.source == "spamassassin"
    assert totals.ham == len(list((tmp_path / "ham").iterdir()))


def test_words_are_those_of_bogofilters_own_reader():
    needs("bogolexer")
    kind = b"Content-Type: text/plain; charset=utf-8\n\n"
    raw = SPAM.replace(b"\n\n", b"\n" + kind).replace(
        b"now\n", b"now! www.x.example isn't, it's (great) 2024 caf\xc3\xa9 to a@b.example\n"
    )
    theirs = set(subprocess.run(["bogolexer", "-p"], input=raw, capture_output=True, check=True).stdout.split())
    ours = set(bogofilter_tokens(raw))
    assert theirs <= ours
    assert {word for word in ours - theirs if not word.startswith(b"head:")} == set()


def indicator(counts):
    """Log-odds of Robinson's indicator, by SciPy, from the messages and the share of spam of each token."""
    chi2 = pytest.importorskip("scipy.stats").chi2
    f = [(0.0178 * 0.52 + n * share) / (0.0178 + n) for n, share in counts]
    a, b = (chi2.sf(-2 * sum(map(math.log, sides)), 2 * len(f)) for sides in (f, [1 - share for share in f]))
    return 10 * math.tanh(math.log((1 + a - b) / (1 - a + b)) / 10)


def test_a_prior_is_the_indicator_of_robinson_on_the_counts():
    mail = SpamFilter()
    assert mail.take_prior(BOGOFILTER) == ("bogofilter", 9, 11)
    raw = b"\npills and lunch and pills\n"
    assert mail.score(raw) == pytest.approx(indicator([(9, 1.0), (11, (1 / 9) / (1 / 9 + 10 / 11))]))
    hashed = [f"t\t9\t0\t1700000000\t{token.hex()}" for token in spamassassin_tokens(b"\npills\n")]
    mail.take_prior([*SPAMASSASSIN, *hashed, "s\th\tid@x"])
    assert mail.score(raw) == pytest.approx(indicator([(9, 1.0)]))
    assert sum(reason.adds for reason in mail.explain(raw)) == pytest.approx(mail.score(raw))


def test_a_prior_speaks_less_with_each_message_learned():
    mail, without = SpamFilter(), SpamFilter()
    mail.take_prior(BOGOFILTER)
    alone = mail.score(b"\npills\n")
    for raw, label in messages(40):
        mail.learn(raw, label)
        without.learn(raw, label)
    expected = (alone * COLD + without.score(b"\npills\n") * (40 + 10)) / (40 + COLD)
    assert mail.score(b"\npills\n") == pytest.approx(expected)
    assert sum(reason.adds for reason in mail.explain(b"\npills\n")) == pytest.approx(expected)
    assert mail._weights.learner.state() == without._weights.learner.state()


def test_a_filter_with_a_prior_knows_both_classes():
    mail = SpamFilter()
    assert mail.classify(b"\npills\n").label == "unsure"
    mail.take_prior(BOGOFILTER)
    assert mail.classify(b"\npills\n").label == "spam"
    assert mail.classify(b"\nnothing of it\n").label == "unsure"
    assert SpamFilter(shared=mail).classify(b"\npills\n").label == "spam"


def test_a_prior_stays_in_the_file_and_another_takes_its_place(tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    with SpamFilter(tmp_path / "f") as mail, SpamFilter(tmp_path / "f") as other:
        mail.take_prior(BOGOFILTER)
        score = mail.score(b"\npills\n")
        other.refresh()
        assert other.score(b"\npills\n") == score > 0
        with pytest.raises(ValueError, match="Line 2 is not of 'bogoutil -d'"):
            mail.take_prior([".MSG_COUNT 5 5 20240101", "nonsense"])
        assert mail.score(b"\npills\n") == score
        assert mail.verify() == []
    with SpamFilter(tmp_path / "f") as again:
        assert again.score(b"\npills\n") == score
        again.take_prior([".MSG_COUNT 5 5 20240101", "pills 0 5 20240101"])
        assert again.score(b"\npills\n") < 0
        assert again.stats()["prior"] == {"source": "bogofilter", "spam": 5, "ham": 5}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "at least one spam and one ham"),
        (["pills 1 1 20240101"], "at least one spam and one ham"),
        ([".MSG_COUNT 5 0 20240101", "pills 5 0 20240101"], "Got 5 spam and 0 ham"),
        ([".MSG_COUNT 5 5 20240101", "pills -1 5 20240101"], "Line 2"),
        ([".MSG_COUNT 5 5 20240101", "pills 99999999999999999999 5 20240101"], "Line 2"),
        (["v\t2\tdb_version"], "Line 1 is not of 'sa-learn --backup'"),
        ([*SPAMASSASSIN, "t\t1\t2\t3\tnot hex"], "Line 4"),
        ([*SPAMASSASSIN, "t\t1"], "Line 4"),
        (["<html>"], "Line 1 is not of 'bogoutil -d'"),
    ],
)
def test_a_dump_that_is_none_is_refused_and_nothing_changes(lines, why):
    mail = SpamFilter()
    with pytest.raises(ValueError, match=why):
        mail.take_prior(lines)
    assert mail.score(b"\npills\n") == 0
    assert mail.stats()["prior"] is None


@pytest.mark.parametrize(
    "raw", [b"", b"\0" * 1000, b"x" * (1 << 20), b"a.b@" * 100_000, b"X: y\n" * 50_000, b"\xff\xfe"]
)
@pytest.mark.parametrize("lines", [BOGOFILTER, SPAMASSASSIN], ids=["bogofilter", "spamassassin"])
def test_hostile_messages_are_scored_under_a_prior(raw, lines):
    mail = SpamFilter()
    mail.take_prior(lines)
    assert mail.classify(raw).label == "unsure"
