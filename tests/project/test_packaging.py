"""What a newcomer and a packager need: completion, manual pages, the version, files that agree with each other."""

import os
import re
import shutil
import subprocess
import sys

import click
import pytest

import tallywise
from tallywise.cli._commands import group
from tallywise.installation import build_facts
from tests.places import ROOT
from tools import man


def tally(*arguments, **env):
    code = "from tallywise.cli import main; main()"
    environment = {**os.environ, **env}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_the_version_says_what_a_report_of_a_defect_needs():
    code, out, _ = tally("--version")
    assert code == 0
    assert out.strip() == build_facts()
    for part in (tallywise.__version__, "native build", "Python", "scikit-learn"):
        assert part in out


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "share/bash-completion/completions/tally"),
        ("zsh", ".zfunc/_tally"),
        ("fish", "fish/completions/tally.fish"),
    ],
)
def test_completion_is_installed_by_one_command(tmp_path, shell, place):
    homes = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "share"), "XDG_CONFIG_HOME": str(tmp_path)}
    code, out, err = tally("completion", SHELL=f"/bin/{shell}", **homes)
    assert (code, err) == (0, "")
    assert str(tmp_path / place) in out
    printed = tally("completion", shell, "--print", **homes)[1]
    assert (tmp_path / place).read_text() == printed
    code, out, err = tally("completion", SHELL="/bin/ksh", **homes)
    assert code == 2
    assert 'The shell in use ("ksh")' in err


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_commands_and_options(tmp_path):
    script = tmp_path / "tally"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from tallywise.cli import main; main()" "$@"\n')
    script.chmod(0o755)
    asked = """eval "$(tally completion bash --print)"
    COMP_WORDS=(tally {}); COMP_CWORD={}; _tally_completion tally; echo "${{COMPREPLY[@]}}" """

    def completed(words, position):
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-c", asked.format(words, position)], capture_output=True, text=True, env=environment, check=True
        )
        return done.stdout.split()

    assert completed("cl", 1) == ["classify"]
    assert "--max-flagged" in completed("train --max", 2)


def test_every_command_has_a_manual_page_without_warnings(tmp_path):
    pages = man.pages(("tally",), group)
    commands = group.list_commands(click.Context(group))
    assert {f"tally-{name}.1" for name in commands} <= set(pages)
    for name, text in pages.items():
        assert ".SH NAME" in text
        assert "--help" in text.replace("\\-", "-")
        if shutil.which("groff"):
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-z"], input=text, capture_output=True, text=True, check=False
            )
            assert done.stderr == "", name


def test_the_version_is_the_same_wherever_it_is_written():
    version = tallywise.__version__
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(), re.M)
