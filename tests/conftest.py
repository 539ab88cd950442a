"""Fixtures that every test may ask for."""

import os

import pytest

from benchmarks import datasets


def _skip_where_data_is_missing():
    """Skip, and say so, where a test or its fixture needs an archive of real data that this machine does not have.

    With TALLYWISE_REQUIRE_DATA=1 it fails instead: where the archives are known to be, none may be missed in silence.
    """
    try:
        return (yield)
    except datasets.Missing as missing:
        if os.environ.get("TALLYWISE_REQUIRE_DATA") == "1":
            pytest.fail(f"TALLYWISE_REQUIRE_DATA=1, but {missing}", pytrace=False)
        pytest.skip(str(missing))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from _skip_where_data_is_missing())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _skip_where_data_is_missing())
