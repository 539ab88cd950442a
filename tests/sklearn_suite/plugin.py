"""A pytest plugin that puts our classes where scikit-learn's tests import theirs from, and writes down what fails.

The names are replaced in scikit-learn's public modules before a test module is imported, so that lists of estimators
in its decorators hold ours, too. ``SKLEARN_SUITE_REPORT`` names the file that gets a line a test: outcome and name.
"""

import importlib
import os
from pathlib import Path

import pytest

import tallywise

HOMES = (
    "sklearn.decomposition",
    "sklearn.feature_extraction.text",
    "sklearn.kernel_approximation",
    "sklearn.kernel_ridge",
    "sklearn.linear_model",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.svm",
)


def swap() -> list[str]:
    """Replace every class that tallywise has under the same name; says which."""
    swapped = []
    modules = [importlib.import_module(home) for home in HOMES]
    for name in tallywise.__all__:
        for module in modules:
            if isinstance(vars(module).get(name), type):
                setattr(module, name, getattr(tallywise, name))
                swapped.append(name)
    return swapped


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Swap, once a process."""
    swap()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A line for each test that ran, or that failed before it could."""
    if report.when != "call" and not report.failed:
        return
    with Path(os.environ["SKLEARN_SUITE_REPORT"]).open("a") as out:
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        out.write(f"{outcome} {report.nodeid.rpartition('::')[2]}\n")
