"""Fixtures that every test may ask for."""

import pytest

from benchmarks import datasets


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip, and say so, where a test needs an archive of real data that this machine does not have."""
    try:
        return (yield)
    except datasets.Missing as missing:
        pytest.skip(str(missing))
