"""Sessions at the command line, as the README and the tutorials show them: each command is run, its output compared.

Numbers may differ by 2 %, for other instruction sets and versions of libraries; seconds may be anything; ``...`` stands
for any text.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


def commands(page):
    """Commands of a page in order, each with the output shown below it."""
    for block in BLOCK.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = command[:-1] + more
            yield command, output


def words(text):
    """Words of an output, its numbers apart."""
    return re.sub(r"in [\d.]+ m?s\b", "in TIME", " ".join(text.split()))


def agrees(shown, said):
    """Whether an output is the one shown, up to rounding."""
    shown, said = words(shown), words(said)
    plain = NUMBER.sub("#", shown)
    pattern = re.escape(plain).replace(r"\#", "(" + NUMBER.pattern + ")").replace("\\.\\.\\.", ".*?")
    found = re.fullmatch(pattern, said)
    if found is None:
        return False
    expected = [float(number.replace(",", "")) for number in NUMBER.findall(shown)]
    got = [float(number.replace(",", "")) for number in found.groups()]
    return got == pytest.approx(expected, rel=0.02, abs=0.02)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_session_says_what_the_page_shows(page, tmp_path):
    for folder in ("src", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "90",
        "NO_COLOR": "1",
    }
    for command, shown in commands(page):
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (command, done.stderr)
        if shown.strip():
            assert agrees(shown, done.stdout), f"$ {command}\n{done.stdout}"


def test_numbers_are_compared_up_to_rounding_and_words_exactly():
    assert agrees("error 12.2 % in 1.3 s", "error  12.3 % in 9 s")
    assert agrees("a ... z 5", "a b c z 5")
    assert not agrees("error 12.2 %", "error 15.2 %")
    assert not agrees("error 12.2 %", "accuracy 12.2 %")
