"""scikit-learn's own tests with our classes in place: ``python -m tests.sklearn_suite.run [part of a file name ...]``.

What fails must be in ``meant_failures.txt``, which has a heading with the reason, and under it the tests, one a line:
``file::test`` where every case of a test fails, ``file::test[case]`` where only some do. What is listed must fail.
docs/swapping.md has the same by reason: ``python -m tests.sklearn_suite.run --docs`` writes it there.
"""

import os
import resource
import subprocess
import sys
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sklearn

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "swapping.md"
BEGIN, END = "<!-- meant failures: made by tests/sklearn_suite/run.py -->\n", "<!-- end of meant failures -->\n"
FILES = (  # the longest first, for the two processes
    "linear_model/tests/test_ridge.py",
    "neighbors/tests/test_neighbors.py",
    "linear_model/tests/test_logistic.py",
    "linear_model/tests/test_coordinate_descent.py",
    "decomposition/tests/test_online_lda.py",
    "feature_extraction/tests/test_text.py",
    "linear_model/tests/test_base.py",
    "linear_model/tests/test_common.py",
    "linear_model/tests/test_perceptron.py",
    "linear_model/tests/test_sparse_coordinate_descent.py",
    "neighbors/tests/test_neighbors_pipeline.py",
    "svm/tests/test_bounds.py",
    "svm/tests/test_sparse.py",
    "svm/tests/test_svm.py",
    "tests/test_kernel_approximation.py",
    "tests/test_kernel_ridge.py",
    "tests/test_naive_bayes.py",
)


def meant() -> dict[str, str]:
    """The reason why a test may fail, by file::test or file::test[case]."""
    reasons, reason = {}, ""
    for line in (HERE / "meant_failures.txt").read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            reasons[line.strip()] = reason
    return reasons


def outcomes(file: str) -> list[tuple[str, str]]:
    """(outcome, file::test[case]) of a file of scikit-learn's, run in a process of its own."""
    folder = Path(sklearn.__file__).parent
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder.parent), "-q", "--tb=line"]
    options = ["-p", "tests.sklearn_suite.plugin", "-p", "no:cacheprovider", str(folder / file)]
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.txt"
        env = os.environ | {"SKLEARN_SUITE_REPORT": str(report)}
        env["PYTHONPATH"] = str(ROOT) + os.pathsep + os.environ.get("PYTHONPATH", "")
        # The problems are tiny: threads would only wait for each other.
        env |= {"TALLYWISE_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run([*command, *options], env=env, cwd=ROOT, capture_output=True, text=True, check=False)
        # 0: all passed; 1: some failed. Anything else is no run of all tests.
        assert done.returncode in (0, 1), done.stdout + done.stderr
        lines = report.read_text().splitlines()
    return [(line.partition(" ")[0], f"{file}::{line.partition(' ')[2]}") for line in lines]


def judge(found: list[tuple[str, str]], reasons: dict[str, str]) -> tuple[list[str], list[str]]:
    """Failures that are not listed, and tests of these files that are listed and do not fail."""
    failed = {test for outcome, test in found if outcome == "failed"}
    other = {test for _, test in found} - failed
    unlisted = [test for test in failed if test not in reasons and test.partition("[")[0] not in reasons]
    files = {test.partition("::")[0] for _, test in found}
    whole = {test.partition("[")[0] for test in other}  # tests with a case that does not fail
    known = failed | {test.partition("[")[0] for test in failed}
    gone = [name for name in reasons if name.partition("::")[0] in files and (name not in known or name in whole)]
    return sorted(unlisted), sorted(gone)


def section() -> str:
    """The list for docs/swapping.md: under each reason the tests, without their cases."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in meant().items():
        test = name.partition("[")[0].rpartition("::")[2]
        if test not in by_reason.setdefault(reason, []):
            by_reason[reason].append(test)
    items = [f"- {reason}: {', '.join(f'`{test}`' for test in tests)}.\n" for reason, tests in by_reason.items()]
    return BEGIN + "".join(textwrap.fill(item, 120, subsequent_indent="  ") + "\n" for item in items) + END


def write_docs() -> None:
    """Put the list into its place on the page."""
    text = PAGE.read_text()
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text(head + section() + tail)


def main() -> None:
    """Say how many pass, file by file; exit 1 where a failure is not listed, or a listed one has not come."""
    if sys.argv[1:] == ["--docs"]:
        write_docs()
        return
    reasons = meant()
    files = [file for file in FILES if not sys.argv[1:] or any(part in file for part in sys.argv[1:])]
    passed = total = 0
    wrong = False
    with ThreadPoolExecutor(2) as pool:
        for file, found in zip(files, pool.map(outcomes, files), strict=True):
            good = sum(outcome == "passed" for outcome, _ in found)
            bad = sum(outcome == "failed" for outcome, _ in found)
            passed, total = passed + good, total + good + bad
            unlisted, gone = judge(found, reasons)
            wrong = wrong or bool(unlisted or gone)
            print(f"{file}: {good} of {good + bad} pass", flush=True)
            for name in unlisted:
                print(f"  fails, and is not listed: {name}")
            for name in gone:
                print(f"  is listed, and does not fail (or not in every case): {name}")
    print(f"in all {passed:,} of {total:,}: {100 * passed / max(total, 1):.1f} %")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} s of processor time")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
