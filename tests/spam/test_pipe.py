import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallywise.cli import _spam_pipe, spam_filter
from tallywise.spam import fields, marked, rspamd
from tests.mail import HAM, SPAM, store, tally, taught
from tests.reference import spam as twin

__all__ = ["store"]  # a fixture


PIECES = [
    b"X-Tally-Spam: ham\n",
    b"x-spam-status : a\n\tb\n",
    b"X-Spam-Flag: YES",
    b"X-Bogosity: Spam\r\n",
    b"Subject: x\n",
    b" goes on\n",
    b"\t\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"no field\n",
    b"From x\n",
    b">From y\n",
    b"A:",
    b":",
    b"a b: c\n",
    b"x",
    b"\0",
    b"\xff: y\n",
    b"x-spam-level:\n \n",
    b"X-Tally-Spam\x0b : ham\n",
    b"From : a@x.example\n",
    b"\rX-Tally-Spam: ham\r",
    b" X-Tally-Spam: ham\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join))
@settings(max_examples=500, deadline=None)
def test_a_message_is_marked_as_line_by_line(raw):
    names = {b"x-tally-spam", b"x-spam-flag", b"x-spam-status", b"x-spam-level"}
    assert marked(raw, ["X-Tally-Spam: spam"], ("tally", "spamassassin")) == twin.marked(
        raw, b"X-Tally-Spam: spam", names
    )


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join))
@settings(max_examples=500, deadline=None)
def test_a_message_marked_twice_has_one_mark(raw):
    once = marked(raw, ["X-Tally-Spam: spam"])
    assert marked(once, ["X-Tally-Spam: spam"]) == once


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"no header",
        b"Subject: x\r\n\r\nbody\r\n",
        b"Subject: x\n\nNUL \0 and bare CR \r here\n",
        b"From me Mon Jan 1\nSubject: x\n\ny",
        b"Subject: x\n fold\n\ty\n\nz\n",
    ],
)
def test_a_marked_message_is_the_same_message(raw):
    lines = fields(taught(n=10).classify(raw), "online")
    out = marked(raw, lines)
    end = b"\r\n" if b"\r\n" in raw else b"\n"
    line = lines[0].encode() + end
    assert out.count(line) == 1
    rest = out.replace(line, b"", 1)
    assert rest in (raw, end + raw)
    assert marked(out, lines) == out


@pytest.mark.parametrize("lines", [b"From a Mon\nFrom b Tue\n", b"From a Mon\n>From b Tue\n", b">From b Tue\nFrom c\n"])
def test_the_header_stays_a_header_behind_any_number_of_mbox_lines(lines):
    raw = lines + b"Subject: x\nX-Tally-Spam: ham\nTo: y\n\nbody\n"
    assert marked(raw, ["X-Tally-Spam: spam"]) == lines + b"X-Tally-Spam: spam\nSubject: x\nTo: y\n\nbody\n"
    assert marked(b"From : a@x.example\nTo: y\n\nz", ["X-Tally-Spam: spam"]).startswith(b"X-Tally-Spam: spam\nFrom : a")


BEFORE = {
    "no colon": b"Subject: x\nno colon here\n",
    "no colon in the first line": b"no colon here\nSubject: x\n",
    "a blank in the name": b"Subject: x\nReply To: y\n",
    "a From line": b"Subject: x\nFrom a Mon\n",
    "a line of blanks": b"Subject: x\n  \n",
    "a folded first line": b" folded\nSubject: x\n",
    "a lone CR": b"Subject: x\r",
    "a byte above 127": b"Subject: x\nPr\xfcfung: y\n",
    "a long name": b"Subject: x\n" + b"a" * 500 + b": y\n",
}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(
    "forged", [b"X-Tally-Spam: ham\n", b"x-tally-spam\t :ham,\n more\n", b"X-TALLY-SPAM\x0b: ham\r\n"]
)
def test_a_forged_verdict_is_taken_out_wherever_a_mail_reader_could_find_it(before, forged):
    raw = BEFORE[before] + forged + b"To: y\n\nX-Tally-Spam: text of the body\n"
    out = marked(raw, ["X-Tally-Spam: spam"])
    header = out.partition(b"\n\n")[0]
    assert header.lower().count(b"x-tally-spam") == 1
    assert b"\nX-Tally-Spam: spam\n" in b"\n" + out.replace(b"\r\n", b"\n")
    assert b"\nTo: y\n\nX-Tally-Spam: text of the body\n" in out


def test_a_folded_first_line_does_not_continue_our_verdict():
    out = marked(b" , probability=0\nSubject: x\n\nbody\n", ["X-Tally-Spam: spam"])
    assert out == b" , probability=0\nX-Tally-Spam: spam\nSubject: x\n\nbody\n"


def test_rspamd_clients_are_told_to_take_forged_verdicts_out():
    verdict = taught().classify(SPAM)
    found = rspamd.told(verdict, fields(verdict, "online"))["milter"]
    assert found["remove_headers"] == {"X-Tally-Spam": 0, "X-Tally-Reason": 0}
    assert found["add_headers"]["X-Tally-Spam"]["value"].startswith("spam, probability=")


def test_a_forged_verdict_does_not_pass():
    raw = b"Subject: x\nX-Tally-Spam: ham,\n probability=0\nTo: y\n\nbody\n"
    out = marked(raw, ["X-Tally-Spam: spam"])
    assert out == b"X-Tally-Spam: spam\nSubject: x\nTo: y\n\nbody\n"


def test_the_pipe_marks_and_exits_as_asked(store):
    for kind, codes in {"plain": (0, 0), "bogofilter": (0, 1), "spamc": (1, 0)}.items():
        for raw, label, code in ((SPAM, b"spam", codes[0]), (HAM, b"ham", codes[1])):
            done = tally("spam", "filter", "--store", store, "--exit-code", kind, raw=raw)
            assert done.returncode == code
            assert done.stdout.startswith(b"X-Tally-Spam: " + label)
            assert done.stdout.endswith(raw)


def test_a_pipe_without_its_filter_passes_the_message(tmp_path):
    done = tally("spam", "filter", "--store", str(tmp_path / "none"), "--exit-code", "spamc", raw=SPAM)
    assert done.returncode == 75
    assert done.stdout == SPAM


def test_a_usage_error_of_the_pipe_is_no_verdict(store):
    for arguments in (["--exit-code", "sapmc"], ["--no-such-option"], ["--max-flagged", "2"], ["new.eml"]):
        done = tally("spam", "filter", "--store", store, *arguments, raw=SPAM)
        assert (done.returncode, done.stdout) == (75, SPAM)
        assert b"Error" in done.stderr
    assert tally("spam", "filter", "--help").returncode == 0


@pytest.mark.parametrize("kib", [40_000, 60_000, 90_000, 120_000])
def test_where_memory_ends_a_large_message_passes_unchanged(store, kib):
    """50 MB through a process that may hold less: it is never an empty message, and never the code of spam."""
    large = HAM + b"a line of the body, of which there are many\n" * 1_200_000
    command = f"ulimit -v {kib}; exec {sys.executable} -c 'from tallywise.cli import main; main()' spam filter"
    done = subprocess.run(
        ["sh", "-c", f"{command} --store {store} --exit-code spamc"], input=large, capture_output=True
    )
    if done.returncode == 75:
        assert done.stdout == large
    else:
        assert done.returncode == 0
        assert done.stdout.partition(b"\n")[2] == large


def test_a_large_message_is_marked_without_being_held(store):
    large = SPAM + b"a line of the body\n" * 1_000_000
    done = tally("spam", "filter", "--store", store, raw=large)
    assert done.returncode == 0
    assert done.stdout.startswith(b"X-Tally-Spam: spam")
    assert done.stdout.partition(b"\n")[2] == large
    endless = tally("spam", "filter", "--store", store, raw=b"Subject: " + b"x" * 20_000_000)
    assert (endless.returncode, len(endless.stdout)) == (75, 20_000_009)


RAISES = "import tallywise.cli._spam_filters as f\ndef stop(*a, **k): raise {}\nf.open_filter = stop"
BROKEN = {
    "native module": "import sys; sys.modules['tallywise._native'] = None",
    "database": "import sys; sys.modules['apsw'] = None",
    "marking": "import sys; sys.modules['tallywise.spam.marking'] = None",
    "interrupt": RAISES.format("KeyboardInterrupt"),
    "memory": RAISES.format("MemoryError"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_whatever_is_broken_the_message_passes_unchanged(store, what):
    program = f"{BROKEN[what]}\nfrom tallywise.cli import main\nmain()"
    arguments = [sys.executable, "-c", program, "spam", "filter", "--store", store, "--exit-code", "spamc"]
    done = subprocess.run(arguments, input=SPAM, capture_output=True)
    assert (done.returncode, done.stdout) == (75, SPAM)
    assert done.stderr.startswith(b"tally spam filter: ")


def started(*arguments, **streams):
    program = [sys.executable, "-c", "from tallywise.cli import main; main()", "spam", "filter", *arguments]
    return subprocess.Popen(program, stdin=subprocess.PIPE, **{"stdout": subprocess.PIPE, **streams})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_pipe_with_the_message_and_the_code_of_a_failure(store, number):
    with started("--store", store) as process:
        process.stdin.write(SPAM)
        process.stdin.flush()
        while not _catches(process.pid, signal.SIGHUP):  # the last that it takes over
            time.sleep(0.01)
        process.send_signal(number)
        assert process.stdout.read() == SPAM
        assert process.wait() == 75


def _catches(pid, number):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) >> (number - 1) & 1 and "python" in status


def test_an_output_that_cannot_be_written_is_a_failure(store):
    reader, writer = os.pipe()
    os.close(reader)
    with started("--store", store, stdout=writer, stderr=subprocess.DEVNULL) as process:
        os.close(writer)
        process.communicate(SPAM)
        assert process.returncode == 75
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full, started("--store", store, stdout=full) as process:
            process.communicate(SPAM)
            assert process.returncode == 75
    closed = subprocess.run(
        [sys.executable, "-c", "from tallywise.cli import main; main()", "spam", "filter", "--store", store],
        input=SPAM,
        preexec_fn=lambda: os.close(1),
        stderr=subprocess.PIPE,
    )
    assert closed.returncode == 75


def _newer(path):
    import apsw

    with contextlib.closing(apsw.Connection(str(path))) as database:
        database.pragma("user_version", 99)


SPOILED = {
    "cut in half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "no database": lambda path: path.write_bytes(b"nothing\n" * 1000),
    "noise on every page": lambda path: path.write_bytes(
        b"".join(path.read_bytes()[k : k + 4096][:-200] + b"\xa5" * 200 for k in range(0, path.stat().st_size, 4096))
    ),
    "a newer version": _newer,
}


@pytest.mark.parametrize("how", SPOILED)
def test_mail_passes_unchanged_where_the_file_cannot_serve(store, tmp_path, how):
    path = tmp_path / "mail.spam"
    shutil.copy(store, path)
    SPOILED[how](path)
    piped = tally("spam", "filter", "--store", str(path), "--exit-code", "spamc", raw=SPAM)
    assert (piped.returncode, piped.stdout) == (75, SPAM)
    assert str(path).encode() in piped.stderr
    served = tally("spam", "serve", "--store", str(path), "--spamd", "127.0.0.1:0", timeout=120)
    assert served.returncode == 1
    assert b"listening" not in served.stderr


def test_the_flag_of_spamassassin_is_written_on_spam_alone():
    # spamass-milter -r -1 refuses whatever has the field, as SpamAssassin writes it on spam alone.
    spam, ham = (fields(taught().classify(raw), "online", ["spamassassin"]) for raw in (SPAM, HAM))
    assert "X-Spam-Flag: YES" in spam
    assert not any(line.startswith("X-Spam-Flag") for line in ham)


def test_a_pipe_loads_neither_click_nor_numpy(store):
    program = (
        "import sys; from tallywise.cli import _spam_pipe; from tallywise.cli._spam_filters import open_filter\n"
        f"mail = open_filter({store!r}, None, None, 0.001, (), read_only=True)\n"
        f"mail.classify({SPAM!r})\n"
        "sys.exit(sorted({'click', 'numpy', 'rich', 'dataclasses', 'hashlib'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {}),
        (["--store", "a", "--exit-code=spamc"], {"store": "a", "exit_code": "spamc"}),
        (["--max-flagged", "ham=0.01", "--user", "ann"], {"max_flagged": 0.01, "user": "ann"}),
        (["--trust", "a", "--trust=b", "--headers", "bogofilter"], {"trust": ("a", "b"), "headers": ("bogofilter",)}),
        (["--help"], None),
        (["--store"], None),
        (["--store", "--user"], None),
        (["--exit-code", "other"], None),
        (["--max-flagged", "spam=2"], None),
        (["--user", "../x"], None),
        (["new.eml"], None),
    ],
)
def test_plain_arguments_of_the_pipe_are_read_as_click_reads_them(arguments, expected):
    found = _spam_pipe.options(arguments)
    assert found is None if expected is None else found.items() >= expected.items()
    if expected is not None:
        read = spam_filter.command.make_context("filter", list(arguments)).params
        assert found == read
