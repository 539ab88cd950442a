"""Fixtures that every test may ask for."""

import pytest

from benchmarks import datasets


def _skip_where_data_is_missing():
    """Skip, and say so, where a test or its fixture needs an archive of real data that this machine does not have."""
    try:
        return (yield)
    except datasets.Missing as missing:
        pytest.skip(str(missing))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from _skip_where_data_is_missing())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _skip_where_data_is_missing())
