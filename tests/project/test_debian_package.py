"""The Debian package of the mail filter: installed, asked by a real spamc, taught, and removed without a trace.

It needs root and the package in dist/ (``make deb``), and is left out where a tally-spam is installed already.
"""

import os
import pwd
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.mail import HAM, SPAM
from tests.places import ROOT

STORE = Path("/var/lib/tally-spam/mail.spam")
INSTALLED = Path("/usr/bin/tally-spam")


def run(*command, given=b"", code=0):
    done = subprocess.run([str(part) for part in command], input=given, capture_output=True, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until_answering(port, service):
    while service.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
    return pytest.fail(f"the service ended with {service.returncode}")


@pytest.fixture(scope="module")
def installed():
    """The package, installed; purged at the end, which must leave nothing."""
    made = sorted((ROOT / "dist").glob("tally-spam_*.deb"))
    if not made:
        pytest.skip("dist/ has no Debian package: make deb")
    if os.geteuid() != 0 or shutil.which("dpkg") is None or shutil.which("spamc") is None:
        pytest.skip("this takes root, dpkg and spamc")
    if INSTALLED.exists() or STORE.parent.exists():
        pytest.skip("tally-spam is installed here already")
    if not Path("/usr/bin/python3.11").exists() and "cp311" in str(made[-1]):
        pytest.skip("the package is for another Python than this system's")
    run("dpkg", "--install", made[-1])
    try:
        yield
    finally:
        run("dpkg", "--purge", "tally-spam")
    places = (INSTALLED, STORE.parent, Path("/usr/lib/tally-spam"), Path("/etc/default/tally-spam"))
    assert [path for path in places if path.exists()] == []
    with pytest.raises(KeyError):
        pwd.getpwnam("tally-spam")


def test_the_package_serves_learns_and_keeps_its_files_private(installed):
    for number in range(8):
        run(INSTALLED, "learn", "--ham", "-", given=HAM.replace(b"@", b"%d@" % number))
        run(INSTALLED, "learn", "--spam", "-", given=SPAM.replace(b"@", b"%d@" % number))
    owner = pwd.getpwnam("tally-spam").pw_uid
    for path in (STORE.parent, *STORE.parent.iterdir()):
        assert path.stat().st_uid == owner, path
        assert path.stat().st_mode & 0o077 == 0, path
    port = free_port()
    with subprocess.Popen([INSTALLED, "serve", "--spamd", f"127.0.0.1:{port}"]) as service:
        try:
            until_answering(port, service)
            status = Path(f"/proc/{service.pid}/status").read_text()
            assert f"Uid:\t{owner}\t{owner}" in status  # root's rights are gone
            answer = run("spamc", "-d", "127.0.0.1", "-p", port, given=SPAM)
            assert b"X-Tally-Spam: spam" in answer or b"X-Spam-Flag: YES" in answer
            assert b"X-Spam-Flag: YES" not in run("spamc", "-d", "127.0.0.1", "-p", port, given=HAM)
        finally:
            service.terminate()


def test_the_configuration_is_kept_as_conffile(installed):
    listed = run("dpkg-query", "--show", "--showformat=${Conffiles}", "tally-spam")
    assert b"/etc/default/tally-spam" in listed
