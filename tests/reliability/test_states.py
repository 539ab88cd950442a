"""The stores against dictionaries, a few sequences of steps each; `reliability.run states` has more."""

import pytest

for needed in ("apsw", "fastapi", "httptools", "hypothesis"):
    pytest.importorskip(needed)

from reliability import states  # noqa: E402


@pytest.mark.parametrize("name", ["store", "filter"])
def test_after_every_step_the_store_holds_what_a_dictionary_holds(name):
    assert states.run(name, 5) == ""


def test_the_service_holds_what_a_dictionary_holds():
    assert states.run("service", 1) == ""


def test_a_store_that_forgets_is_caught(monkeypatch):
    real = states.store_writes.learn
    monkeypatch.setattr(
        states.store_writes,
        "learn",
        lambda db, text, label, who: real(db, text, "ham" if "prize" in text else label, who=who),
    )
    assert states.run("store", 25).startswith("store: ")
