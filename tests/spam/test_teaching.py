"""How people teach: one class after the other, one class alone, with mistakes."""

import random

import pytest

from tallywise.spam import SpamFilter
from tests.mail import messages, tally


def ordered(stream, order):
    """The same messages in another order."""
    by_label = {name: [pair for pair in stream if pair[1] == name] for name in ("ham", "spam")}
    if order == "interleaved":
        return [pair for pairs in zip(*by_label.values(), strict=False) for pair in pairs]
    first, second = order.split()
    return by_label[first] + by_label[second]


def misjudged(mail, stream):
    """Shares of ham flagged and of spam missed, in per cent."""
    found = {"ham": [], "spam": []}
    for raw, label in stream:
        found[label].append((mail.classify(raw).label == "spam") != (label == "spam"))
    return [100 * sum(wrong) / len(wrong) for wrong in found.values()]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", ["ham spam", "spam ham"])
def test_any_order_of_teaching_ends_within_two_points_of_the_interleaved_one(order, seed):
    taught, judged = messages(300, seed), messages(1000, seed + 10)
    found = {}
    for name in ("interleaved", order):
        mail = SpamFilter()
        mail.learn_many(ordered(taught, name))
        found[name] = misjudged(mail, judged)
    for one, other in zip(*found.values(), strict=True):
        assert abs(one - other) <= 2


def runs(seed, n=120):
    """A stream with runs of one class of all lengths."""
    draw, pools = random.Random(seed), {"ham": [], "spam": []}
    for raw, label in messages(3 * n, seed):
        pools[label].append(raw)
    stream = []
    while len(stream) < n:
        label = draw.choice(["ham", "spam"])
        stream += [(pools[label].pop(), label) for _ in range(draw.choice([1, 3, 12, 25])) if pools[label]]
    return stream


def state(mail):
    return mail._weights.learner.state()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_learned_again_is_the_same_in_a_stream_a_file_and_after_forgetting(seed, tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    stream = runs(seed)
    draw = random.Random(seed)
    gone = draw.sample(range(len(stream)), 9)
    with SpamFilter() as never, SpamFilter() as memory, SpamFilter(tmp_path / "f") as mail:
        scores = []
        for raw, label in stream:
            scores.append(memory.score(raw))
            memory.learn(raw, label)
        assert SpamFilter().replay(stream) == scores
        never.learn_many([pair for k, pair in enumerate(stream) if k not in gone])
        for start in range(0, len(stream), 17):  # in pieces, with what another process learns between them
            with SpamFilter(tmp_path / "f") as other:
                other.learn_many(stream[start : start + 5])
            mail.learn_many(stream[start : start + 17])
        assert state(mail) == state(memory)
        mail.compact()
        with SpamFilter(tmp_path / "f", read_only=True) as opened:
            assert state(opened) == state(mail)
        for k in gone:
            mail.forget(stream[k][0])
        mail.settle()
        assert mail.verify() == []
        assert state(mail) == state(never)


def test_weights_kept_in_the_middle_of_a_run_go_on_with_it(tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    stream = ordered(messages(90), "ham spam")
    with SpamFilter(tmp_path / "f") as mail, SpamFilter() as memory:
        memory.learn_many(stream)
        mail.learn_many(stream[:70])
        mail.compact()  # keeps the weights
    with SpamFilter(tmp_path / "f") as mail:
        mail.learn_many(stream[70:])
        assert state(mail) == state(memory)
    with SpamFilter(tmp_path / "f", read_only=True) as mail:
        assert state(mail) == state(memory)
        assert mail.verify() == []


def test_a_class_taught_alone_flags_little_more_of_the_other():
    """100 of each, mixed, then 200 more of one class: new mail of the other is still recognised."""
    mixed, judged = messages(200, 1), messages(600, 2)
    for label in ("ham", "spam"):
        mail = SpamFilter()
        mail.learn_many(mixed)
        mail.learn_many([pair for pair in messages(450, 3) if pair[1] == label][:200])
        assert max(misjudged(mail, judged)) <= 3


def test_learn_says_when_one_class_is_taught_alone(tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    boxes = {}
    for label in ("ham", "spam"):
        boxes[label] = tmp_path / label
        boxes[label].mkdir()
        for k, (raw, _) in enumerate([pair for pair in messages(60) if pair[1] == label][:20]):
            (boxes[label] / f"{k}.eml").write_bytes(raw)
    store = ("--store", tmp_path / "f")
    one = tally("spam", "learn", *store, "--ham", boxes["ham"])
    assert b"the last 20 are all ham: teach as much spam" in one.stdout
    both = tally("spam", "learn", *store, "--spam", boxes["spam"])
    assert b"teach as much" not in both.stdout
