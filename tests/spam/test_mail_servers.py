"""The filter behind real mail servers, where they are installed: the scripts of tools/mail_servers."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.places import ROOT

SCRIPTS = ROOT / "tools" / "mail_servers"
NEEDS = {
    "exim.sh": ["exim4"],
    "postfix.sh": ["postfix"],
    "postfix.sh spamass-milter": ["postfix", "spamass-milter", "spamc"],
    "dovecot.sh": ["dovecot", "sievec", "spamc"],
    "pipes.sh": ["procmail", "maildrop"],
}


@pytest.mark.parametrize("script", NEEDS)
def test_real_mail_servers_are_filtered(script, tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    absent = [program for program in NEEDS[script] if shutil.which(program) is None]
    if absent:
        pytest.skip(f"{', '.join(absent)} not installed")
    if os.geteuid() != 0:
        pytest.skip("mail servers need root")
    tally = tmp_path / "tally"
    tally.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from tallywise.cli import main; main()" "$@"\n')
    tally.chmod(0o755)
    environment = {**os.environ, "TALLY": str(tally), "IMAP_PORT": str(20000 + os.getpid() % 20000)}
    command = [SCRIPTS / script.split()[0], *script.split()[1:]]
    done = subprocess.run(["sh", *command], env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok: " in done.stdout
