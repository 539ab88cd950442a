"""scikit-learn's own tests with our classes in place: ``python -m tests.sklearn_suite.run [part of a file name ...]``.

What fails must be in ``meant_failures.txt``, which has a heading with the reason, and under it the tests, one a line,
as file::test. docs/swapping.md says the same to users.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import sklearn

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES = (
    "decomposition/tests/test_online_lda.py",
    "feature_extraction/tests/test_text.py",
    "linear_model/tests/test_base.py",
    "linear_model/tests/test_common.py",
    "linear_model/tests/test_coordinate_descent.py",
    "linear_model/tests/test_logistic.py",
    "linear_model/tests/test_perceptron.py",
    "linear_model/tests/test_ridge.py",
    "linear_model/tests/test_sparse_coordinate_descent.py",
    "neighbors/tests/test_neighbors.py",
    "neighbors/tests/test_neighbors_pipeline.py",
    "svm/tests/test_bounds.py",
    "svm/tests/test_sparse.py",
    "svm/tests/test_svm.py",
    "tests/test_kernel_approximation.py",
    "tests/test_kernel_ridge.py",
    "tests/test_naive_bayes.py",
)


def meant() -> dict[str, set[str]]:
    """Tests that may fail, by file."""
    lines = (HERE / "meant_failures.txt").read_text().splitlines()
    pairs = [line.strip().split("::") for line in lines if "::" in line]
    return {file: {test for home, test in pairs if home == file} for file in FILES}


def outcomes(file: str, report: Path) -> list[tuple[str, str]]:
    """(outcome, test with its parameters) of a file of scikit-learn's, run in a process of its own."""
    folder = Path(sklearn.__file__).parent
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder.parent), "-q", "--tb=line"]
    options = ["-p", "tests.sklearn_suite.plugin", "-p", "no:cacheprovider", str(folder / file)]
    env = os.environ | {"SKLEARN_SUITE_REPORT": str(report)}
    env["PYTHONPATH"] = str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", "")
    env |= {"TALLYWISE_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # the problems are tiny
    done = subprocess.run([*command, *options], env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert report.exists(), done.stdout + done.stderr
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in report.read_text().splitlines()]


def judge(file: str, found: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Failures that are not meant, and meant ones that have not come."""
    failed = {test.partition("[")[0]: test for outcome, test in found if outcome == "failed"}
    allowed = meant()[file]
    return sorted(name for test, name in failed.items() if test not in allowed), sorted(allowed - set(failed))


def main() -> None:
    """Say how many pass, file by file; exit 1 where a failure is not meant, or a meant one has not come."""
    passed = total = 0
    wrong = False
    for file in FILES:
        if sys.argv[1:] and not any(part in file for part in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = outcomes(file, Path(folder) / "report.txt")
        good = sum(outcome == "passed" for outcome, _ in found)
        bad = sum(outcome == "failed" for outcome, _ in found)
        passed, total = passed + good, total + good + bad
        new, gone = judge(file, found)
        wrong = wrong or bool(new or gone)
        print(f"{file}: {good} of {good + bad} pass", *(f"\n  not meant: {name}" for name in new), flush=True)
        for name in gone:
            print(f"  passes, and is on the list of meant failures: {name}")
    print(f"in all {passed:,} of {total:,}: {100 * passed / max(total, 1):.1f} %")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
