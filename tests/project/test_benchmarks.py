"""A benchmark's row says what was compared, how close it came, and nothing where nothing was."""

import dataclasses
import os
import subprocess
import sys

import pytest

from benchmarks import growth, speed_tables
from benchmarks.problems import Problem
from benchmarks.run import compared
from tests.places import TESTS

PROBLEM = Problem("p", "title", load=lambda: None, check=lambda data, result: {}, tolerance=1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ({}, {}, "not compared"),
        ({"accuracy": 0.9}, {"accuracy": 0.9}, "not compared"),  # shown, not compared
        ({"matrix": "aa"}, {"matrix": "aa"}, "matrix equal"),
        ({"matrix": "aa", "words": "b"}, {"matrix": "ab", "words": "b"}, "matrix DIFFERENT, words equal"),
        ({"objective": 2.0}, {"objective": 2.0}, "objective equal"),
        ({"objective": 1.0}, {"objective": 1.25}, "objective 20 % lower"),
        ({"objective": 1 + 1e-7}, {"objective": 1.0}, "objective 1.0e-07 higher"),
        ({"objective": 1.5}, {"objective": 1.0}, "objective TOO HIGH: 1.5 against 1"),
        ({"objective": -1.0}, {"objective": -2.0}, "objective TOO HIGH: -1 against -2"),
        ({"objective": float("nan")}, {"objective": 1.0}, "objective TOO HIGH: nan against 1"),
        ({"labels": [1, 2, 3]}, {"labels": [1, 2, 0]}, "2 of 3 labels equal"),
        ({"labels": [1, 2]}, {"labels": [1, 2, 0]}, "labels DIFFERENT: 2 of ours, 3 of theirs"),
        ({"values": [1.0, 3.5]}, {"values": [1.0, 3.0]}, "values within 5.0e-01 standard deviations"),
    ],
)
def test_a_row_says_what_was_compared_and_how_close_it_came(ours, theirs, said):
    assert compared(PROBLEM, ours, theirs) == said


def test_the_compared_number_is_the_one_the_problem_names():
    topics = dataclasses.replace(PROBLEM, lower="perplexity", tolerance=0.0)
    assert compared(topics, {"perplexity": 900.0}, {"perplexity": 1000.0}) == "perplexity 10 % lower"
    assert compared(topics, {"objective": 900.0}, {"objective": 1000.0}) == "not compared"


def test_every_kept_row_says_what_was_compared_and_none_came_out_worse():
    for result in speed_tables.results():
        for rival, solver in result["solvers"].items():
            assert "same" not in solver
            if "ratio" in solver:
                assert solver["compared"], (result["problem"], rival)
                assert "DIFFERENT" not in solver["compared"]
                assert "TOO HIGH" not in solver["compared"]
    assert speed_tables.comparison([(2.0, "rival", {})]) == "not compared"


def test_the_tables_of_speeds_are_those_of_the_kept_results():
    found = speed_tables.results()
    assert "\n".join(speed_tables.summary(found)) in speed_tables.README.read_text()
    assert "\n".join(speed_tables.rows(found)) in speed_tables.PAGE.read_text()


@pytest.mark.parametrize(("required", "outcome"), [("0", "1 skipped"), ("1", "1 failed")])
def test_missing_data_are_a_skip_or_where_they_are_required_a_failure(required, outcome, tmp_path):
    env = os.environ | {"TALLYWISE_DATA": str(tmp_path), "TALLYWISE_REQUIRE_DATA": required}
    (file,) = TESTS.rglob("test_*options.py")  # of texts
    test = f"{file}::test_tfidf_learned_in_parts_is_tfidf_learned_at_once"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert outcome in done.stdout.splitlines()[-1]
    assert "set TALLYWISE_DATA to the folder that has it" in done.stdout


def test_an_exponent_of_growth_is_that_of_the_power_it_was_made_from():
    sizes = [100, 200, 400, 800]
    assert growth.exponent(sizes, [1e-6 * size**1.5 for size in sizes]) == pytest.approx(1.5)


@pytest.mark.parametrize("name", growth.JOBS)
def test_every_job_of_the_growth_table_runs_at_small_sizes(name):
    job = growth.JOBS[name]
    job.make({size: max(4, largest // 64) for size, largest in job.sizes.items()})()


def test_the_growth_table_has_a_cell_for_each_size_of_a_job_and_leaves_others_empty():
    row = {"title": "t", "held": {"n": 2000}, "seconds": 0.5, "exponents": {"n": 1.0, "threads": -0.9}}
    assert growth.lines({"machine": "m", "jobs": [row]})[-1] == "| t | n = 2,000: 500 ms | 1.00 |  |  | -0.90 |"


def test_tables_are_written_between_their_marks_and_nothing_else_changes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n<!-- a -->\nold\n<!-- end -->\n\nmore\n")
    speed_tables.write_between(page, "<!-- a -->", "<!-- end -->", ["new", "rows"])
    assert page.read_text() == "# Title\n\n<!-- a -->\nnew\nrows\n<!-- end -->\n\nmore\n"


def test_the_table_of_text_classification_has_a_row_for_each_set_and_blanks_for_what_was_not_measured():
    from benchmarks.text_classification import table

    own = {"accuracy": 91.0, "log_loss": 0.3, "calibration_error": 1.5, "cpu": 8.0, "megabytes": 2.7}
    machine, bayes = {"accuracy": 90.0, "cpu": 20.0}, {"accuracy": 89.0, "cpu": 2.0, "log_loss": 0.5}
    results = {"a": {"tallywise": own}, "b": {"tallywise": own, "rivals": {"LinearSVC": machine, "Bayes": bayes}}}
    head, _, first, second = (line.split("|")[1:-1] for line in table(results))
    assert len(head) == len(first) == len(second)
    assert [cell.strip() for cell in first[:5]] == ["a", "91.00 %", "", "0.300", ""]
    assert [cell.strip() for cell in second[:5]] == ["b", "91.00 %", "90.00 % (LinearSVC)", "0.300", "0.500"]
    assert second[7].strip() == "20.0 s"
