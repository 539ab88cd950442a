"""Does the service hold under load? ``python -m reliability.run load [--full]``; ``-m reliability.load --minutes 3``.

First the maximum of mixed traffic is measured, of the service and of spamd in turn, then half of it is sent for the
given time (3 minutes by default, 60 with --full), while the memory, the descriptors and the write-ahead log of the
process are watched. At the end 500 clients connect and send a byte of a request now and then; a quick client must not
notice.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from reliability.kills import SPAMD, port_of, stream
from reliability.results import Limit, Measured, ended
from tallywise import TextClassifier
from tallywise.spam import SpamFilter
from tests.serving import messages, start, until

_CONNECTIONS = 32
_CROWD = 4 * _CONNECTIONS  # connections of the steady load: on a busy machine all of them have a request under way
_SLOW = 500
_WAITING = 1000
_REST = 20.0  # seconds after which a connection is opened anew: the service closes those that rest for 30
_WATCH = 2.0  # seconds between two looks at the process
# The family is given: of labels drawn at random nothing can be learned, each fit would put another family in place, and
# memory would be that of the one it happens to be (95 MB of naive Bayes; 120 of a Gaussian machine, and 9 more for each
# of its explanations under way). This one is replaced after most labels, and fitted anew after a text is forgotten.
_FAMILY = "multinomial_nb"
_KINDS = {"classify": 80, "batch": 3, "explain": 4, "learn": 7, "forget": 1, "texts": 2, "history": 2, "metrics": 1}


class Client:
    """One connection to the service, one request at a time."""

    FINE = 200
    HALF = "POST /classify HTTP/1.1\r\nhost: localhost\r\n"
    MORE = b"x: y\r\n"

    def __init__(self, url: str) -> None:
        self.host, self.port = urlsplit(url).hostname or "", urlsplit(url).port or 0
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None
        self.used = 0.0

    async def begin(self) -> None:
        """Connect and send half a request."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        self.writer.write(self.HALF.encode())

    async def ask(self, method: str, path: str, body: bytes = b"") -> int:
        """Send a request and read its whole answer; returns the status."""
        if time.monotonic() - self.used > _REST:
            self.close()
        self.used = time.monotonic()
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        assert self.reader is not None
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost:{self.port}\r\ncontent-length: {len(body)}\r\n"
        head += "content-type: application/json\r\n\r\n" if body else "\r\n"
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        status = int(answer[9:12])
        length = next(
            int(line.split(b":")[1]) for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:")
        )
        await self.reader.readexactly(length)
        return status

    def close(self) -> None:
        """Hang up."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None


class SpamdClient(Client):
    """A connection a request, as spamc makes them."""

    FINE = 0
    HALF = "CHECK SPAMC/1.5\r\n"
    MORE = b"X: y\r\n"

    async def ask(self, method: str, path: str, body: bytes = b"") -> int:
        """Send a command with its header lines and read its whole answer; returns the code."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        head = f"{method} SPAMC/1.5\r\nContent-length: {len(body)}\r\n{path}\r\n"
        self.writer.write(head.encode() + body)
        answer = await self.reader.read(-1)
        self.close()
        return int(answer.split()[1])


class Traffic:
    """Requests as several programs and a person would send them, in shares by weight.

    What is learned comes from a limited number of texts, whatever the seed: neither the store nor the model grows by
    what is learned again.
    """

    def __init__(self, seed: int = 0) -> None:
        draw = random.Random(0)
        words = " ".join(text for text, _ in messages(200)).split()
        self.texts = [" ".join(draw.choices(words, k=draw.randrange(5, 400))) for _ in range(500)]
        self.draw = random.Random(seed)

    def request(self) -> tuple[str, str, bytes]:
        """The next request: method, path, body."""
        (kind,) = self.draw.choices(list(_KINDS), list(_KINDS.values()))
        text = self.draw.choice(self.texts)
        bodies: dict[str, Any] = {
            "classify": {"text": text},
            "batch": {"texts": self.draw.choices(self.texts, k=20)},
            "explain": {"text": text},
            "learn": {"text": text, "label": self.draw.choice(["spam", "ham"])},
            "forget": {"text": text},
        }
        if kind in bodies:
            return "POST", "/classify" if kind == "batch" else f"/{kind}", json.dumps(bodies[kind]).encode()
        word = quote(self.draw.choice(text.split()))
        return (
            "GET",
            {"texts": "/texts?limit=20", "history": "/history", "metrics": "/metrics"}[kind]
            + (f"&q={word}" if kind == "texts" else ""),
            b"",
        )


class MailTraffic:
    """Mail to be judged, and now and then a person who says what a message is."""

    def __init__(self, seed: int = 0) -> None:
        self.draw = random.Random(seed)
        self.mail = stream(0, 500)

    def request(self) -> tuple[str, str, bytes]:
        """The next request: command, header lines, message."""
        (command,) = self.draw.choices(["CHECK", "PROCESS", "SYMBOLS", "PING", "TELL"], [70, 10, 5, 5, 10])
        raw, label = self.draw.choice(self.mail)[0], self.draw.choice(["spam", "ham"])
        lines = f"Message-class: {label}\r\nSet: local\r\n" if command == "TELL" else ""
        return command, lines, b"" if command == "PING" else raw


class Outcome:
    """What happened to the requests."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.failures: list[str] = []
        self.held_back = 0

    async def send(self, client: Client, request: tuple[str, str, bytes]) -> None:
        """Send one request, and note how it went."""
        began = time.perf_counter()
        try:
            status = await client.ask(*request)
            if status != client.FINE:
                self.failures.append(f"{request[0]} {request[1]}: {status}")
        except (OSError, asyncio.IncompleteReadError, ValueError, IndexError) as error:
            self.failures.append(f"{request[0]} {request[1]}: {error!r}")
            client.close()
        self.seconds.append(time.perf_counter() - began)

    def percentile(self, share: float) -> float:
        """Milliseconds."""
        found = sorted(self.seconds)
        return round(1000 * found[min(int(share * len(found)), len(found) - 1)], 2) if found else 0.0


class Side(NamedTuple):
    """A server under load: how its clients and its traffic are made."""

    client: Callable[[], Client]
    traffic: Callable[[int], Any]


async def at_most(side: Side, seconds: float, connections: int = _CONNECTIONS) -> float:
    """Requests a second when each connection sends the next as soon as it has an answer."""
    outcome, traffic, end = Outcome(), side.traffic(0), time.perf_counter() + seconds

    async def one() -> None:
        client = side.client()
        while time.perf_counter() < end:
            await outcome.send(client, traffic.request())
        client.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return len(outcome.seconds) / seconds


async def steadily(side: Side, rate: float, seconds: float) -> Outcome:
    """So many requests a second, whether answers come or not; what has to wait for a connection counts as waiting.

    Once `_WAITING` wait, further ones are held back: on a machine that others use, the server may get less than it had
    when its maximum was measured, and what waits would fill the memory of this process.
    """
    outcome, traffic = Outcome(), side.traffic(1)
    free: asyncio.Queue[Client] = asyncio.Queue()
    clients = [side.client() for _ in range(_CROWD)]
    for client in clients:
        free.put_nowait(client)
    tasks: set[asyncio.Task[None]] = set()

    async def one(request: tuple[str, str, bytes]) -> None:
        client = await free.get()
        try:
            await outcome.send(client, request)
        finally:
            free.put_nowait(client)

    began = time.perf_counter()
    sent = 0
    while (passed := time.perf_counter() - began) < seconds and not Limit.told:
        while sent < rate * passed:
            sent += 1
            if len(tasks) > _WAITING:
                outcome.held_back += 1
                continue
            task = asyncio.ensure_future(one(traffic.request()))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.005)
    await asyncio.gather(*tasks)
    for client in clients:
        client.close()
    return outcome


class Watch:
    """Memory, descriptors and write-ahead log of a process, looked at now and then."""

    def __init__(self, pid: int, wal: Path) -> None:
        self.pid, self.wal = pid, wal
        self.looks: list[tuple[float, int, int]] = []

    def look(self) -> None:
        """Note the present figures: megabytes, descriptors, bytes."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        memory = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        self.looks.append(
            (memory, len(os.listdir(f"/proc/{self.pid}/fd")), self.wal.stat().st_size if self.wal.exists() else 0)
        )

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(_WATCH)

    async def rest(self) -> int:
        """Descriptors in use when nobody asks: connections that are under way are not lost ones."""
        await asyncio.sleep(1)
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def ends(self, which: int) -> tuple[float, float]:
        """Medians of a figure over the second and the last tenth of the time; the first tenth warms up."""
        values = [look[which] for look in self.looks]
        tenth = max(1, len(values) // 10)
        return median(values[tenth : 2 * tenth] or values), median(values[-tenth:])


async def beside_slow_clients(side: Side, seconds: float) -> dict[str, Any]:
    """Times of a quick client while 500 others sit there with half a request."""
    slow = [side.client() for _ in range(_SLOW)]
    for client in slow:
        await client.begin()
    outcome, traffic, end = Outcome(), side.traffic(2), time.perf_counter() + seconds
    quick = side.client()
    while time.perf_counter() < end:
        await outcome.send(quick, traffic.request())
        for client in slow[:: max(1, _SLOW // 20)]:
            assert client.writer is not None
            client.writer.write(client.MORE)
        await asyncio.sleep(0.01)
    for client in [*slow, quick]:
        client.close()
    return {
        "requests": len(outcome.seconds),
        "ms at 50 %": outcome.percentile(0.5),
        "ms at 99 %": outcome.percentile(0.99),
        "failures": outcome.failures[:20],
    }


def teach(url: str) -> None:
    """Let the service learn the texts of its traffic and put a model of them in place.

    Its memory grows once when it goes over to a model of its own, which has other words than the one it was started
    with: by 20 MB of 95 here, in the first minutes of a load that teaches it little by little.
    """
    texts = Traffic().texts
    examples = [{"text": text, "label": ("spam", "ham")[k % 2]} for k, text in enumerate(texts)]
    request = urllib.request.Request(
        f"{url}/learn", json.dumps({"examples": examples}).encode(), {"content-type": "application/json"}
    )

    def version() -> Any:
        with urllib.request.urlopen(f"{url}/health", timeout=60) as answer:
            return json.load(answer)["version"]

    before = version()
    urllib.request.urlopen(request, timeout=60).close()
    until(lambda: version() != before)


async def load(side: Side, watch: Watch, minutes: float) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Figures of the load, figures of a client beside slow ones, and failed requests."""
    most = await at_most(side, min(15.0, 20 * minutes))
    # What so many requests under way need is no growth: it is asked for before, and not when the machine gets busy.
    await at_most(side, min(15.0, 20 * minutes), _CROWD)
    resting = await watch.rest()
    watch.look()
    at_rest = watch.looks.pop()[0]
    watching = asyncio.ensure_future(watch.run())
    began = time.perf_counter()
    outcome = await steadily(side, most / 2, 60 * minutes)
    watching.cancel()
    memory, wal = watch.ends(0), watch.ends(2)
    found = {
        "minutes": round((time.perf_counter() - began) / 60, 1),
        "requests a second at most": round(most),
        "requests": len(outcome.seconds),
        **({"held back, as the machine was busy": outcome.held_back} if outcome.held_back else {}),
        "ms at 50 %": outcome.percentile(0.5),
        "ms at 99 %": outcome.percentile(0.99),
        "MB at first": round(memory[0], 1),
        "MB at last": round(memory[1], 1),
        "MB at rest before": round(at_rest, 1),
        "descriptors at rest before": resting,
        "descriptors at rest after": await watch.rest(),
        "KiB of log at first": int(wal[0]) >> 10,
        "KiB of log at last": int(wal[1]) >> 10,
    }
    watch.look()
    found["MB at rest after"] = round(watch.looks[-1][0], 1)
    tenth = max(1, len(watch.looks) // 10)
    steps = [f"{median(look[0] for look in watch.looks[k : k + tenth]):.1f}" for k in range(0, len(watch.looks), tenth)]
    print(f"MB by tenths of the time: {' '.join(steps)}", file=sys.stderr, flush=True)
    return found, await beside_slow_clients(side, 20), outcome.failures[:20]


def wrong_with(found: dict[str, Any]) -> list[str]:
    """What is not as it should be."""
    wrong = []
    if found["MB at last"] > 1.03 * found["MB at first"]:
        wrong.append(f"memory grew from {found['MB at first']} to {found['MB at last']} MB")
    if found["descriptors at rest after"] > found["descriptors at rest before"] + 8:
        wrong.append("descriptors are not given back")
    if found["KiB of log at last"] > max(2 * found["KiB of log at first"], 16 << 10):
        wrong.append("the write-ahead log grows")
    return wrong


def measure(full: bool, seconds: float | None, only: str = "") -> Iterator[Measured]:
    """Start the service, then spamd, load it, and judge it."""
    minutes = seconds / 60 if seconds is not None else 60.0 if full else 3.0
    if only in ("", "service"):
        yield from of_service(minutes, full)
    if only in ("", "spamd"):
        yield from of_spamd(minutes, full)


def of_service(minutes: float, full: bool) -> Iterator[Measured]:
    """The rows of the service."""
    texts, labels = zip(*messages(), strict=True)
    with tempfile.TemporaryDirectory() as folder:
        TextClassifier("linear_svm", cv=2).fit(list(texts), list(labels)).save(Path(folder, "m.tally"))
        store = Path(folder, "store")
        server = start(Path(folder, "m.tally"), "--store", store, "--model", _FAMILY)
        try:
            teach(server.url)
            side = Side(lambda: Client(server.url), Traffic)
            found = asyncio.run(load(side, Watch(server.process.pid, store / "texts.db-wal"), minutes))
        finally:
            server.stop()
    yield from judged("service", "the service", found, full)


def of_spamd(minutes: float, full: bool) -> Iterator[Measured]:
    """The rows of spamd."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "mail.spam")
        with SpamFilter(place) as mail:
            mail.learn_many(stream(0, 500))
        command = [sys.executable, "-c", "from tallywise.cli import main; main()", *SPAMD, "--store", str(place)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        port = port_of(process.stderr)
        try:
            side = Side(lambda: SpamdClient(f"http://127.0.0.1:{port}"), MailTraffic)
            found = asyncio.run(load(side, Watch(process.pid, Path(f"{place}-wal")), minutes))
        finally:
            process.terminate()
            process.wait(60)
    yield from judged("spamd", "spamd", found, full)


def judged(
    name: str, whose: str, load_found: tuple[dict[str, Any], dict[str, Any], list[str]], full: bool
) -> Iterator[Measured]:
    """The two rows of a server."""
    found, slow, failures = load_found
    yield Measured(
        f"load_{name}",
        f"mixed traffic at half of the maximum of {whose}" + (ended(found["minutes"], 60) if full else ""),
        "no failure; memory grows at most 3 %, descriptors and write-ahead log do not",
        found,
        failures + wrong_with(found),
        "python -m reliability.run load --full",
    )
    yield Measured(
        f"load_slow_clients_{name}",
        f"a quick client of {whose} beside {_SLOW} that send a byte now and then",
        "no failure, 99 % of answers within a second",
        {key: value for key, value in slow.items() if key != "failures"},
        slow["failures"] + (["slow clients stop a quick one"] if slow["ms at 99 %"] > 1000 else []),
        "python -m reliability.run load --full",
    )


def main() -> None:
    """Load the service for so many minutes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=3.0)
    options = parser.parse_args()
    failed = False
    for found in measure(False, 60 * options.minutes):
        print(json.dumps({found.name: found.figures, "wrong": found.wrong}), flush=True)
        failed = failed or bool(found.wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
