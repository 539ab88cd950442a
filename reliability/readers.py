"""Readers written in Python under atheris (libFuzzer's engine, guided by the coverage of Python's bytecode).

``python -m reliability.readers TARGET FOLDER [FLAGS]`` fuzzes one in this process. Mail, mbox, Maildir, CSV, TSV,
JSONL, HTML, requests of spamd: whatever the bytes, records or `InputError` (a request: `ProtocolError`), and nothing
that grows faster than its input.
"""

import os
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reliability.results import MEMORY, Measured, ended

ROOT = Path(__file__).parent.parent
RUNS, SECONDS = 2_000_000, 20

SEEDS: dict[str, list[bytes]] = {
    "mail": [
        b"Subject: =?utf-8?q?Caf=C3=A9?= =?iso-8859-1?b?6Q==?=\nFrom: a@b\n c\n\nSee <b>you</b>.",
        b'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: text/html; charset=utf-8\n'
        b"Content-Transfer-Encoding: base64\n\nPGI+aGk8L2I+\n"
        b"--x\nContent-Transfer-Encoding: quoted-printable\n\n=41=\n--x--",
        b"Content-Type: message/rfc822\n\nContent-Type: text/plain; charset=idna\n\nxn--a",
        b"From x\r\nA: 1\r\n\r\nbody",
    ],
    "mbox": [b"From a\nSubject: x\n\nbody\n>From b\n\nFrom c\n\nmore\n", b"no mbox"],
    "maildir": [b"Subject: one\n\nbody\0Subject: two\n\nbody"],
    "csv": [b'text,label\n"a, ""b""",ham\nc,spam\n', b"a;b\n1;2\n", b"\xff\xfea\0,\0b\0\n\0", b'"open'],
    "tsv": [b'label\ttext\nham\t"quoted"\nspam\tsaid "x"\n', b'a\t"b\nc"\n'],
    "jsonl": [b'{"text": "a", "label": 1}\n{"text": null, "x": [1, {"y": 2}]}\n', b"[1]\n", b'{"a": "\\ud800"}\n'],
    "html": [
        b'<p>a <a href="http://x">b</a> &amp; &#65; &#xD800;<style>p{}</style><!-- c --></p>',
        b"<a a=<a a=",
        b"<script>",
    ],
    "spamd": [
        b"CHECK SPAMC/1.5\r\nContent-length: 3\r\n\r\nabc",
        b"TELL SPAMC/1.5\r\nMessage-class: spam\r\nSet: local, remote\r\n\r\nSubject: x\n\ny",
        b"POST /checkv2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        b"PROCESS SPAMC/1.2\nCompress: zlib\n\nx\x9cKL\x04\x00\x02I\x01\x26",
    ],
}


@cache
def _place() -> "tempfile.TemporaryDirectory[str]":
    """A folder whose files are written over for each input: making them anew took a third of the time."""
    return tempfile.TemporaryDirectory(dir=MEMORY)


def _records(raw: bytes, format: str) -> None:
    """Every record of a file of these bytes, as a source or, for half of them, as a table where that is one."""
    from tallywise.reading import InputError, open_source
    from tallywise.reading.whole_table import read_table

    name = f"{_place().name}/input"
    with open(name, "wb") as stream:
        stream.write(raw)
    try:
        if format in ("csv", "tsv", "jsonl") and zlib.crc32(raw) % 2:
            table = read_table(name, format=format)
            assert table is not None
            assert len(table.names) == len(set(table.names))
            return
        for record in open_source(name, format=format):
            assert isinstance(record.text, str)
            assert len(record.text) <= 6 * len(raw) + 100
    except InputError as error:
        _one_line(error)


def _one_line(error: Exception) -> None:
    assert "\n" not in str(error)


def _mail(raw: bytes) -> None:
    from tallywise.reading.mail import mail_text

    text = mail_text(raw)
    assert len(text) <= 30 * len(raw) + 1000
    text.encode("utf-8", "surrogatepass")


def _maildir(raw: bytes) -> None:
    from tallywise.reading import open_source

    folder = _place().name
    messages = raw.split(b"\0")[:20]
    for part in ("cur", "new"):
        os.makedirs(f"{folder}/{part}", exist_ok=True)
    names = [f"{folder}/{('cur', 'new')[k % 2]}/{k}" for k in range(len(messages))]
    try:
        for name, message in zip(names, messages, strict=True):
            with open(name, "wb") as stream:
                stream.write(message)
        assert len(list(open_source(folder, format="maildir"))) == len(messages)
    finally:
        for name in names:
            os.unlink(name)


def _html(raw: bytes) -> None:
    from tallywise.reading.mail import html_text

    html = raw.decode("utf-8", "replace")
    assert len(html_text(html)) <= 3 * len(html) + 3


def _request(pieces: list[bytes]) -> tuple[Any, bytes]:
    """The request that comes in these pieces, or what its client is told instead."""
    from tallywise.spam.client_connection import Reader
    from tallywise.spam.spamd import Refused

    reader = Reader(1 << 20)
    try:
        for piece in pieces:
            if (request := reader.feed(piece)) is not None:
                return request, b""
        return reader.feed(b"", True), b""
    except Refused as error:
        return None, error.answer


def _spamd(raw: bytes) -> None:
    from tallywise.spam import rspamd, spamd

    request, answer = _request([raw])
    assert (request, answer) == _request([raw[k : k + 7] for k in range(0, len(raw), 7)]), "pieces make a difference"
    try:
        if isinstance(request, spamd.Request):
            assert len(request.message) <= 1 << 20
            if request.command == "TELL":
                spamd.tell_wants(request)
                answer = spamd.tell_answer(request, "")
            else:
                answer = spamd.answer(request, _filter(), spamd.Manner())
        elif request is not None and request.checks:
            answer = rspamd.check_answer(_filter().classify(request.message, 10), "online", spamd.Manner())
    except spamd.Refused as error:
        answer = error.answer
    assert not answer or answer.startswith((b"SPAMD/", b"HTTP/1."))
    if answer.startswith(b"SPAMD/1.0"):  # a refusal
        assert answer.count(b"\n") == 1


_kept: list[Any] = []


def _filter() -> Any:
    """A filter that has learned a little."""
    if not _kept:
        from tallywise.spam import SpamFilter

        mail = SpamFilter()
        for k in range(20):
            mail.learn(
                f"Subject: {k}\n\n{'cheap pills' if k % 2 else 'lunch'} {k}".encode(), "spam" if k % 2 else "ham"
            )
        _kept.append(mail)
    return _kept[0]


TARGETS: dict[str, Callable[[bytes], None]] = {
    "mail": _mail,
    "mbox": lambda raw: _records(raw, "mbox"),
    "maildir": _maildir,
    "csv": lambda raw: _records(raw, "csv"),
    "tsv": lambda raw: _records(raw, "tsv"),
    "jsonl": lambda raw: _records(raw, "jsonl"),
    "html": _html,
    "spamd": _spamd,
}


def fuzz(target: str, runs: int | None, seconds: float | None) -> tuple[int, list[str]]:
    """Executions of a target in a child process, and what was found."""
    folder = ROOT / "build" / "fuzz" / "readers" / target
    folder.mkdir(parents=True, exist_ok=True)
    for k, seed in enumerate(SEEDS[target]):
        (folder / f"seed{k}").write_bytes(seed)
    limits = [
        "-timeout=25",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={folder.parent}/{target}-",
        "-entropic=0",
        "-max_len=600",
    ]
    limits += [] if runs is None else [f"-atheris_runs={runs}"]
    limits += [] if seconds is None else [f"-max_total_time={int(seconds)}"]
    command = [sys.executable, "-m", "reliability.readers", target, str(folder), *limits]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    found = re.findall(r"(?:stat::number_of_executed_units:|Done|#)\s*(\d+)", done.stderr)
    wrong = [] if done.returncode == 0 else [f"{target}: {(done.stdout + done.stderr)[-3000:]}"]
    return max(map(int, found), default=0), wrong


def measure(full: bool, seconds: float | None = None, only: str = "") -> Iterator[Measured]:
    """Each reader: two million executions with `full`, else 20 s. Nothing where atheris is not installed."""
    if find_spec("atheris") is None:
        print("readers: atheris is not installed", file=sys.stderr)
        return
    limit = seconds if full or seconds else SECONDS
    with ThreadPoolExecutor(1 if full else 2) as pool:  # hours of work leave a processor to others
        every = [only] if only else [*TARGETS]
        found = pool.map(lambda name: fuzz(name, RUNS if full else None, limit), every)
        for target, (executions, wrong) in zip(every, found, strict=True):
            yield Measured(
                f"fuzz-reader-{target}",
                f"fuzzing: reader of {target}" + (ended(executions, RUNS) if full else ""),
                "records or an error of one line, never another exception; 25 s and 2 GiB at most",
                {"executions": executions},
                wrong,
                "python -m reliability.run readers --full",
            )


def main() -> None:
    """Fuzz one target in this process."""
    import atheris

    target = TARGETS[sys.argv[1]]
    with atheris.instrument_imports(include=["tallywise.reading", "tallywise.spam", "email", "quopri", "csv", "json"]):
        import tallywise.reading
        import tallywise.reading.whole_table
        import tallywise.spam.client_connection  # noqa: F401
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
