"""An installation that only serves a model needs neither scikit-learn nor SciPy."""

import importlib.util
import os
import subprocess
import sys

import pytest

import tallywise
from tallywise.models.loading import load

_WITHOUT = """
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in ("sklearn", "scipy", "threadpoolctl", "joblib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Without)
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A saved model, and the environment of processes in which these packages are not there."""
    folder = tmp_path_factory.mktemp("alone")
    texts = ["free prize now", "claim your free prize", "see you at lunch", "lunch at noon then"] * 10
    tallywise.TextClassifier(model="multinomial_nb").fit(texts, ["spam", "spam", "ham", "ham"] * 10).save(
        folder / "m.tally"
    )
    (folder / "sitecustomize.py").write_text(_WITHOUT)
    return folder, {**os.environ, "PYTHONPATH": str(folder)}


def run(served, *arguments, given=None):
    folder, environment = served
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True, timeout=120
    )


def tally(served, *arguments, given=None):
    return run(served, "-c", "from tallywise.cli import main; main()", *arguments, given=given)


def test_the_packages_are_not_there(served):
    done = run(served, "-c", "import sklearn")
    assert "ModuleNotFoundError" in done.stderr


def test_a_loaded_model_answers_as_with_them(served):
    text = "free lunch"
    done = run(
        served, "-c", f"import tallywise; print(tallywise.load('m.tally').predict_proba([{text!r}])[0, 0].hex())"
    )
    assert done.stdout.strip() == load(served[0] / "m.tally").predict_proba([text])[0, 0].hex(), done.stderr


@pytest.mark.parametrize(
    "command", [("classify", "m.tally", "-", "--explain"), ("explain", "m.tally", "-"), ("inspect", "m.tally")]
)
def test_commands_that_use_a_model_run(served, command):
    done = tally(served, *command, given="free prize\n")
    assert done.returncode == 0, done.stderr
    assert "spam" in done.stdout


def test_the_mail_filter_runs(served):
    pytest.importorskip("apsw")
    for label, word in (("spam", "prize"), ("ham", "lunch")):
        done = tally(
            served, "spam", "learn", "--store", "f.spam", f"--{label}", "-", given=f"Subject: {word}\n\n{word}\n"
        )
        assert done.returncode == 0, done.stderr
    assert "X-Tally-Spam" in tally(served, "spam", "filter", "--store", "f.spam", given="Subject: prize\n\nx\n").stdout


def test_the_service_starts_and_answers(served):
    for name in ("fastapi", "apsw", "httptools"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    code = """
import re, subprocess, sys, urllib.request
command = [sys.executable, "-c", "from tallywise.cli import main; main()", "serve", "m.tally", "--port", "0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
    for line in process.stdout:
        if found := re.search(r"http://\\S+?:\\d+", line):
            kind = {"Content-Type": "application/json"}
            asked = urllib.request.Request(found[0] + "/classify", b'{"text": "free prize"}', kind)
            print(urllib.request.urlopen(asked, timeout=30).read().decode())
            break
    process.terminate()
"""
    done = run(served, "-c", code)
    assert '"label":"spam"' in done.stdout, done.stdout + done.stderr


def test_learning_says_what_it_lacks(served):
    (served[0] / "x.csv").write_text("text,label\n" + "free prize,spam\nlunch at noon,ham\n" * 20)
    done = tally(served, "train", "x.csv")
    assert done.returncode == 1
    assert "pip install scikit-learn" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_finds_no_problem(served):
    done = tally(served, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no problem found" in done.stdout
