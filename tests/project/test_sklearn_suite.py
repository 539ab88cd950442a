"""The list of scikit-learn's tests that our classes fail on purpose; the run itself is `make sklearn-suite`."""

from pathlib import Path

import pytest
import sklearn

from tests.sklearn_suite import run


def test_every_meant_failure_names_a_test_of_scikit_learn_and_has_a_reason():
    folder = Path(sklearn.__file__).parent
    for name, reason in run.meant().items():
        file, _, test = name.partition("::")
        assert reason
        assert file in run.FILES
        if (folder / file).exists():  # some distributions leave the tests out
            assert f"def {test.partition('[')[0]}(" in (folder / file).read_text()


def test_the_page_on_swapping_lists_the_meant_failures():
    assert run.section() in run.PAGE.read_text(), "write it with: python -m tests.sklearn_suite.run --docs"


@pytest.mark.parametrize(
    ("outcomes", "unlisted", "gone"),
    [
        ({"f.py::whole[a]": "failed", "f.py::whole[b]": "failed", "f.py::part[a]": "failed"}, [], []),
        ({"f.py::new": "failed", "f.py::whole[a]": "failed", "f.py::part[a]": "failed"}, ["f.py::new"], []),
        ({"f.py::whole[a]": "failed", "f.py::part[a]": "failed", "f.py::part[b]": "failed"}, ["f.py::part[b]"], []),
        ({"f.py::whole[a]": "failed", "f.py::whole[b]": "passed", "f.py::part[a]": "failed"}, [], ["f.py::whole"]),
        ({"f.py::whole[a]": "failed", "f.py::part[a]": "passed"}, [], ["f.py::part[a]"]),
        ({"f.py::other": "passed"}, [], ["f.py::part[a]", "f.py::whole"]),
        ({"another.py::other": "passed"}, [], []),
    ],
)
def test_failures_are_compared_with_the_list_both_ways(outcomes, unlisted, gone):
    reasons = {"f.py::whole": "why", "f.py::part[a]": "why"}
    found = [(outcome, test) for test, outcome in outcomes.items()]
    assert run.judge(found, reasons) == (unlisted, gone)
