"""The generators of hostile mail and the attacks on filters do what they say; their bounds are measured elsewhere."""

import pytest

from reliability import attacks, mail
from reliability.hostile_mail import GENERATORS
from tests.mail import messages


@pytest.mark.parametrize("name", GENERATORS)
def test_hostile_mail_is_read_and_judged_without_an_exception(name):
    raw = GENERATORS[name](20_000)
    assert 5_000 < len(raw) < 60_000
    for read in mail.READERS.values():
        read(raw)


def test_a_reader_that_fails_hangs_or_takes_too_much_is_noticed(monkeypatch):
    monkeypatch.setitem(mail.READERS, "fails", lambda raw: 1 / 0)
    monkeypatch.setitem(mail.READERS, "takes", lambda raw: (b"x" * (200 << 20)).count(b"y"))
    assert "ZeroDivisionError" in mail.breaches("fails", "nul", 1 << 16)[0][0]
    assert any("of memory" in line for line in mail.breaches("takes", "nul", 1 << 16)[0])
    assert mail.breaches("text", "one line", 1 << 12)[0] == []


def test_other_readers_take_plain_mail():
    for name, read in mail.peers().items():
        assert any("lunch" in part for part in read(b"Subject: x\n\nlunch at noon\n")), name


def test_words_go_in_front_of_the_first_text_that_can_be_read():
    plain = b"Subject: x\n\nhello\n"
    assert attacks.with_words(plain, ["a", "b"]) == b"Subject: x\n\na b\nhello\n"
    head = b"Content-Type: multipart/mixed; boundary=b\n\n"
    parts = head + b"--b\nContent-Type: %s\n\none\n--b\nContent-Type: text/html\n\ntwo\n"
    assert b"\n\na\none" in attacks.with_words(parts % b"text/plain", ["a"])
    assert b"\n\na\ntwo" in attacks.with_words(parts % b"image/png", ["a"])


def test_the_threshold_flags_the_share_that_it_may():
    scores = [float(k) for k in range(2000)]
    assert sum(score > attacks.threshold(scores) for score in scores) == 2


def test_attacks_are_measured_on_filters_that_learned():
    stream, words = messages(600), ["lunch", "meeting", "patch", "kernel", "review"] * 40
    for name in ("tallywise", "naive Bayes"):
        shares = attacks.attacked(name, stream[:400], stream[400:], words, 5)
        assert all(0 <= share <= 1 for share in shares.values())
        assert shares["passive"] + shares["missed"] <= 1


@pytest.mark.parametrize("name", ["base64 of other bytes", "base64 of single letters"])
def test_what_is_no_base64_takes_no_memory(name):
    raw = mail.GENERATORS[name](mail.MIB)
    assert mail.cost("text", raw).memory <= 8 * len(raw)
