"""Does the service stand bad clients? ``python -m reliability.run clients [--full]``.

silent   connections that send nothing, many more than the service may open files; a quick client must be answered
halves   requests of all kinds, cut at a random byte and left open; memory under way stays within its bound, and a whole
         request is answered
lines    streams with bad lines among good ones, cut into pieces at random; each line has its own answer
"""

import contextlib
import json
import random
import re
import resource
import socket
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from reliability.results import Limit, Measured
from tallywise import TextClassifier, load
from tests.serving import Running, messages, running

PARTS = ("silent", "halves", "lines")
_FILES = 400  # that the service may open
_BUDGET = 64 << 20  # bytes under way, as docs/serve.md says
_TITLES = {
    "silent": ("silent connections, with 400 open files allowed", "a quick client is answered all the while"),
    "halves": ("requests cut at a random byte and left open", "64 MiB under way at most; whole requests are answered"),
    "lines": ("streams of lines, some of them bad", "one answer for each line, with the model's label for good ones"),
}


def measure(full: bool = False, seconds: float | None = None, only: str | None = None) -> Iterator[Measured]:
    """Each kind of client against a service of its own."""
    jobs = {"silent": _silent, "halves": _halves, "lines": _lines}
    for part in [only] if only else PARTS:
        limit = Limit(seconds)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.tally"
            texts, labels = zip(*messages(), strict=True)
            TextClassifier("multinomial_nb", cv=2).fit(list(texts), list(labels)).save(path)
            with running(path, "--store", Path(folder) / "s", files=_FILES) as server:
                figures, wrong = jobs[part](server, path, full, limit)
        title, claim = _TITLES[part]
        command = f"python -m reliability.run clients/{part} --full"
        yield Measured(f"clients_{part}", title, claim, figures, wrong, command)


Found = tuple[dict[str, Any], list[str]]


def _silent(server: Running, path: Path, full: bool, limit: Limit) -> Found:
    """Connections that send nothing, or a few bytes of a request."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 20_000 if full else 1100
    room = min(count + 200, most) if most != resource.RLIM_INFINITY else count + 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, room), most))
    wrong, asked, opened = list[str](), 0, 0
    with contextlib.ExitStack() as stack:
        for k in range(min(count, room - 200)):
            if limit.over():
                break
            link = stack.enter_context(_connect(server))
            with contextlib.suppress(OSError):  # an idle one may be dropped at any time
                link.sendall((b"", b"GET / HT", b"POST /classify HTTP/1.1\r\nHost: loc")[k % 3])
            opened += 1
            if k % 100 == 99:
                asked += 1
                wrong += _answered(server, f"after {opened} silent connections")
    return {"connections": opened, "answered meanwhile": asked}, wrong


def _halves(server: Running, path: Path, full: bool, limit: Limit) -> Found:
    """Requests of all kinds, cut at a random byte."""
    rng = random.Random(1)
    wrong, sent, asked = list[str](), 0, 0
    with contextlib.ExitStack() as stack:
        for k in range(2000 if full else 60):
            if limit.over():
                break
            whole = _request(rng)
            link = stack.enter_context(_connect(server))
            with contextlib.suppress(OSError):  # it may be refused before all of it is sent
                link.sendall(whole[: rng.randrange(len(whole))])
            sent += 1
            if k % 20 == 19:
                asked += 1
                wrong += _answered(server, f"after {sent} half requests")
                with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as page:
                    taken = re.search(rb"^tally_bytes_under_way (\S+)$", page.read(), re.M)
                if taken is None or float(taken[1]) > _BUDGET:
                    wrong.append(f"after {sent} half requests: {taken and taken[1]!r} bytes are under way")
    return {"half requests": sent, "answered meanwhile": asked}, wrong


def _request(rng: random.Random) -> bytes:
    kind = rng.choice(["/classify", "/learn", "/explain", "/flip", "/forget", "/login", "/data/upload", "/texts"])
    body = json.dumps({"text": "free prize " * rng.choice([1, 1000, 300_000])}).encode()
    stream = "application/x-ndjson" if kind == "/classify" and rng.random() < 0.3 else "application/json"
    lines = [f"POST {kind} HTTP/1.1", "Host: localhost", f"Content-Type: {stream}"]
    if rng.random() < 0.3:
        lines.append("Transfer-Encoding: chunked")
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    else:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _lines(server: Running, path: Path, full: bool, limit: Limit) -> Found:
    """Streams with bad lines among good ones."""
    rng = random.Random(2)
    model = load(path)
    texts = [text for text, _ in messages()]
    labels = model.predict(texts).tolist()
    wrong, streams, total, bad = list[str](), 0, 0, 0
    for _ in range(1000 if full else 20):
        if limit.over():
            break
        lines, expected = list[bytes](), list[str | None]()
        for _ in range(rng.randrange(1, 700)):
            k = rng.randrange(len(texts))
            if rng.random() < 0.1:
                lines.append(_bad_line(rng))
                expected.append(None)
            else:
                lines.append(json.dumps(texts[k] if rng.random() < 0.5 else {"text": texts[k], "id": k}).encode())
                expected.append(labels[k])
        found = _streamed(server, b"\n".join(lines) + b"\n", rng)
        answers = [json.loads(line).get("label") for line in found.splitlines()]
        streams, total, bad = streams + 1, total + len(lines), bad + expected.count(None)
        if answers != expected:
            wrong.append(f"stream {streams}: {len(answers)} answers to {len(lines)} lines, or other ones")
    return {"streams": streams, "lines": total, "bad lines": bad}, wrong


def _bad_line(rng: random.Random) -> bytes:
    fixed = (b"NaN", b'{"text": "a", "id": NaN}', b'{"text": "a", "id": 1e999}', b"", b"   ", b"{", b"\xff", b"[]")
    odd = (b"null", b'{"text": 7}', b'{"text": "a", "id": [1]}', b'"\\ud800"', b"[" * 5000, b'"a" "b"')
    noise = rng.randbytes(3).replace(b"\n", b"\0") + b"{"
    return rng.choice((*fixed, *odd, noise))


def _streamed(server: Running, body: bytes, rng: random.Random) -> bytes:
    """The answer to a stream that is sent in pieces, each a chunk."""
    head = "POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n"
    with _connect(server) as link:
        link.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        place = 0
        while place < len(body):
            piece = body[place : place + rng.choice([1, 7, 1000, 100_000])]
            link.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            place += len(piece)
        link.sendall(b"0\r\n\r\n")
        stream = link.makefile("rb")
        while stream.readline().strip():
            pass
        found = b""
        while size := int(stream.readline() or b"0", 16):
            found += stream.read(size)
            stream.readline()
        stream.close()
    return found


def _answered(server: Running, when: str) -> list[str]:
    """Nothing, or what was wrong with the answer to a good request."""
    request = urllib.request.Request(
        f"{server.url}/classify", b'{"text": "free prize"}', {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return [] if "label" in json.load(answer) else [f"{when}: no label"]
    except OSError as error:
        return [f"{when}: {error}"]


def _connect(server: Running) -> socket.socket:
    url = urlsplit(server.url)
    return socket.create_connection((url.hostname or "", url.port or 0), 60)
