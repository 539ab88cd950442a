"""A pytest plugin that puts our classes where scikit-learn's tests import theirs from, and writes down what fails.

The names are replaced in scikit-learn's public modules before a test module is imported, so that lists of estimators
in its decorators hold ours, too. ``SKLEARN_SUITE_REPORT`` names the file that gets a line a test: outcome and name.
"""

import os
from pathlib import Path

import pytest

import tallywise


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Swap, once a process."""
    tallywise.patch_sklearn()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A line for each test that ran, or that failed before it could."""
    if report.when != "call" and not report.failed:
        return
    with Path(os.environ["SKLEARN_SUITE_REPORT"]).open("a") as out:
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.outcome == "skipped" else report.outcome
        out.write(f"{outcome} {report.nodeid.rpartition('::')[2]}\n")
