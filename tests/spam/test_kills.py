import pytest

from reliability import kills

pytest.importorskip("apsw", reason="a filter in a file needs apsw")


@pytest.mark.parametrize("door", kills.DOORS)
def test_kills_lose_nothing_that_was_acknowledged(door):
    if door == "http":
        pytest.importorskip("fastapi")
        pytest.importorskip("httptools")
    for result in kills.run(door, 2, seed=1):
        assert result["wrong"] == []


def test_a_lost_message_and_a_doubtful_one_are_told_apart(tmp_path):
    store = tmp_path / "mail.spam"
    (raw, label), (other, _) = kills.stream(0, 2)
    with kills.SpamFilter(store) as mail:
        mail.learn(raw, label)
    here, there = kills.digest_of(raw), kills.digest_of(other)
    asked = {here: {label}, there: {"spam"}}
    assert kills.judged(store, {}, {here: label}, {here: {label}})[1] == []
    assert kills.judged(store, {}, {}, asked)[1] == []
    assert (
        kills.judged(store, {}, {}, {here: {label, None}})[1] == []
    )  # learned without an answer, then to be forgotten
    assert len(kills.judged(store, {}, {here: None}, {here: {None}})[1]) == 1
    assert len(kills.judged(store, {}, {here: label, there: "spam"}, asked)[1]) == 1
    assert len(kills.judged(store, {}, {}, {})[1]) == 1
