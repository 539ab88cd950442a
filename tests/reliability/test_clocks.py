"""Clocks that are set forward and back: durations and sessions do not follow them."""

import time

import pytest

from tallywise.serve.access import AccessControl
from tallywise.serve.answers import ServiceError
from tallywise.serve.service import Service
from tallywise.serve.settings import Settings
from tallywise.serve.text_store import Store
from tallywise.spam import SpamFilter

YEAR = 365 * 86400


@pytest.fixture
def shift(monkeypatch):
    """Set the clock to so many seconds from now."""
    real = time.time

    def set_to(seconds):
        monkeypatch.setattr(time, "time", lambda: real() + seconds)

    return set_to


def test_a_session_ends_in_time_though_the_clock_was_ahead_when_it_began(shift):
    guard = AccessControl(Settings(token="a-long-token"), b"secret")

    def may(cookie):
        headers = [(b"host", b"127.0.0.1"), (b"cookie", f"{guard.cookie}={cookie}".encode())]
        try:
            return guard.check("GET", "/data", headers, ("127.0.0.1", 4000)).role
        except ServiceError as error:
            return error.status

    now = guard.new_session("admin", "ann")
    shift(YEAR)
    later = guard.new_session("admin", "ann")
    assert (may(now), may(later)) == (401, "admin")
    shift(0)
    assert (may(now), may(later)) == ("admin", 401)
    shift(-60)
    assert may(now) == "admin"


@pytest.mark.parametrize("seconds", [-YEAR, YEAR])
def test_the_service_has_been_up_as_long_as_it_has(tmp_path, shift, seconds):
    with Store(tmp_path / "store") as store:
        service = Service(store, Settings())
        try:
            shift(seconds)
            assert 0 <= service.gauges()["uptime_seconds"] < 3600
        finally:
            service.gather.close()


@pytest.mark.parametrize("seconds", [-YEAR, YEAR, 2**40])
def test_a_filter_learns_and_forgets_at_any_time(tmp_path, shift, seconds):
    with SpamFilter(tmp_path / "x.spam") as mail:
        mail.learn(b"Subject: a\n\nwin a prize\n", "spam")
        shift(seconds)
        mail.learn(b"Subject: b\n\nlunch at noon\n", "ham")
        shift(0)
        assert [entry["label"] for entry in mail.export()] == ["spam", "ham"]  # as learned, not by the clock
        assert mail.forget(b"Subject: b\n\nlunch at noon\n").found
        assert mail.verify() == []
