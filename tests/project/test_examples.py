"""The scripts of examples/ run as they are, without a warning, and are listed in its README."""

import subprocess
import sys

import pytest

from tests.places import ROOT

FOLDER = ROOT / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
SAID = {  # what the example is about, in its own output
    "active_labelling": "least certain first",
    "fair_comparison": "always the most frequent class",
    "forget_a_customer": "probabilities equal, bit for bit: True",
    "language_identification": "Italiano",
    "near_duplicates": "5 found, 5 pairs in all",
    "reviews_with_stars": "ordered logit",
    "several_labels": "-> food, price, staff",
    "spam_from_a_mailbox": "exactly as if it had never been learned: True",
    "support_tickets": "outage    Orders fail with error 503",
    "swapped_pipeline": "chosen by tallywise:",
    "topics_of_a_newspaper": "<- best",
}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_runs_and_shows_what_it_is_about(script):
    if script.stem == "spam_from_a_mailbox":
        pytest.importorskip("apsw")
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert SAID[script.stem] in done.stdout
    assert f"({script.name})" in (FOLDER / "README.md").read_text()
