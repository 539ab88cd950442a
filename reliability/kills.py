"""Is anything lost when the mail filter is killed? ``python -m reliability.run kills [--full]``.

SIGKILL at random moments while messages are learned, forgotten and relabelled through the command and through spamd,
and texts through the service's HTTP interface. After each kill: what was acknowledged is there with its label, what was
acknowledged as forgotten is not, nothing is there twice, nothing is there that was not sent, the filter's weights are
those of its journal, and the service's store is sound by SQLite's check. Ten kills a door by default, 700 with --full.
Processes are forked from one that has imported everything, and the files lie in memory: see `reliability.children`.
"""

import contextlib
import http.client
import json
import random
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from reliability.children import Tally, service
from reliability.results import MEMORY, Limit, Measured, ended
from tallywise.spam import SpamFilter, digest_of

Message = tuple[bytes, str]
States = dict[bytes, str | None]  # what a door acknowledged: digest -> label, None for forgotten
Wishes = dict[bytes, set[str | None]]  # what it was asked to do and may have done: the last acknowledged, all since

_KILLS_A_STORE = 20
_WORDS = {"spam": "cheap pills winner prize click casino offer", "ham": "lunch meeting patch kernel review notes draft"}


def stream(seed: int, n: int) -> list[Message]:
    """Made-up messages, each one another, in an order drawn from the seed."""
    draw = random.Random(seed)
    found = []
    for k in range(n):
        label = draw.choice(["spam", "ham"])
        text = " ".join(draw.choices([*_WORDS[label].split(), "the", "and", str(draw.randrange(99))], k=20))
        found.append(
            (f"From: a{draw.randrange(9)}@x.example\nSubject: {text[:20]}\n\n{text} {seed} {k}\n".encode(), label)
        )
    return found


def kill(process: Tally) -> None:
    """End a process at once, and wait until it is gone."""
    process.kill()
    process.wait()


def through_command(store: Path, seed: int, draw: random.Random) -> tuple[States, Wishes]:
    """`tally spam learn` folder by folder, where a run that exits has acknowledged.

    The first run is left to end, and says how long one takes; the kill comes within the next few.
    """
    acknowledged: States = {}
    asked: Wishes = {}
    usual = 0.0
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for part in range(50):
            messages = stream(1000 * seed + part, 20)
            places = {label: Path(folder, str(part), label) for label in ("spam", "ham")}
            for place in places.values():
                place.mkdir(parents=True)
            for k, (raw, label) in enumerate(messages):
                (places[label] / f"{k}.eml").write_bytes(raw)
            wanted: States = {digest_of(raw): label for raw, label in messages}
            asked |= {digest: {label} for digest, label in wanted.items()}
            given = [word for label, place in places.items() for word in (f"--{label}", place)]
            start = time.monotonic()
            process = Tally("spam", "learn", "--store", store, *given)
            with process.stdout:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(draw.uniform(0.0, 1.5 * usual) if part else None)
                usual = time.monotonic() - start if part == 0 else usual
                if process.poll() is None:
                    kill(process)
                    break
                assert process.poll() == 0, process.stdout.read()
            acknowledged |= wanted
    return acknowledged, asked


def through_spamd(store: Path, seed: int, draw: random.Random) -> tuple[States, Wishes]:
    """TELL by eight clients at once, each message learned, some then forgotten or told to be the other class."""
    server = Tally(*SPAMD, "--store", store)
    with server.stdout:
        port = port_of(server.stdout)
        return killed_amid(server, lambda: lambda raw, wish: tell(port, raw, wish), seed, draw)


SPAMD = ["spam", "serve", "--spamd", "127.0.0.1:0"]


def port_of(said: TextIO) -> int:
    """Where `tally spam serve` listens, by what it says."""
    return int(said.readline().rsplit(":", 1)[1])


def through_http(store: Path, seed: int, draw: random.Random) -> tuple[States, Wishes]:
    """The same by POST /learn and /forget of the service, each client over one connection."""
    server = service(store)
    address = server.url.removeprefix("http://")

    connections: list[http.client.HTTPConnection] = []

    def client() -> Ask:
        connection = http.client.HTTPConnection(address, timeout=60)
        connections.append(connection)

        def ask(raw: bytes, wish: str | None) -> bool:
            body = {"text": raw.decode()} | ({} if wish is None else {"label": wish})
            connection.request(
                "POST", "/forget" if wish is None else "/learn", json.dumps(body), {"content-type": "application/json"}
            )
            answer = connection.getresponse()
            answer.read()
            return answer.status == 200

        return ask

    found = killed_amid(server.process, client, seed, draw)
    for connection in connections:
        connection.close()
    server.process.stdout.close()
    return found


Ask = Callable[[bytes, str | None], bool]  # asks for a label, or to forget; whether it was acknowledged


def killed_amid(server: Tally, client: Callable[[], Ask], seed: int, draw: random.Random) -> tuple[States, Wishes]:
    """What eight clients asked of a server, and what it acknowledged, until it was killed."""
    acknowledged: States = {}
    asked: Wishes = {}

    def drive(number: int) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            ask = client()
            for k, (raw, label) in enumerate(stream(1000 * seed + number, 5000)):
                wishes: list[str | None] = [label]
                if k % 5 == 2:
                    wishes.append(None if k % 2 else "ham" if label == "spam" else "spam")
                for wish in wishes:
                    digest = digest_of(raw)
                    asked.setdefault(digest, set()).add(wish)
                    # Without an answer (the end came) nothing was promised or ruled out.
                    if ask(raw, wish):
                        acknowledged[digest], asked[digest] = wish, {wish}

    clients = [threading.Thread(target=drive, args=(number,)) for number in range(8)]
    for thread in clients:
        thread.start()
    while not acknowledged and any(thread.is_alive() for thread in clients):
        time.sleep(0.01)  # a server that has promised nothing yet has nothing to lose
    time.sleep(draw.uniform(0.0, 0.5))
    kill(server)
    for thread in clients:
        thread.join()
    return acknowledged, asked


def tell(port: int, raw: bytes, wish: str | None) -> bool:
    """Whether the server acknowledged that a message was learned, or forgotten."""
    lines = ["TELL SPAMC/1.5", f"Content-length: {len(raw)}"]
    lines += ["Remove: local"] if wish is None else [f"Message-class: {wish}", "Set: local"]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + raw)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    return b"DidRemove: local" in answer if wish is None else b"DidSet: local" in answer


def in_filter(store: Path) -> tuple[list[tuple[bytes, str | None]], list[str]]:
    """What a filter's file holds, and what is wrong with it by itself."""
    with SpamFilter(store) as mail:
        entries = [(bytes.fromhex(entry["digest"]), entry["label"]) for entry in mail.export()]
        wrong = mail.verify()
        if mail.stats()["messages"] != len(entries):
            wrong.append("the count of messages is not that of the journal")
    return entries, wrong


def in_service(store: Path) -> tuple[list[tuple[bytes, str | None]], list[str]]:
    """What a service's store holds, and what is wrong with it by itself."""
    from tallywise.serve import Store, queries

    opened = Store(store)

    def look(db: Any) -> tuple[list[tuple[bytes, str | None]], str, int]:
        entries, before = [], None
        while True:
            items, before = queries.page(db, before=before, limit=500)
            entries += [(digest_of(item.text.encode()), item.label) for item in items]
            if before is None:
                return entries, db.execute("PRAGMA integrity_check").get, queries.totals(db)["texts"]

    entries, sound, count = opened.read(look)
    opened.close()
    wrong = [] if sound == "ok" else [f"SQLite's check says {sound}"]
    wrong += [] if count == len(entries) else ["the count of texts is not that of the store"]
    return entries, wrong


class Door(NamedTuple):
    """A way in, what is behind it, and what happens there."""

    press: Callable[[Path, int, random.Random], tuple[States, Wishes]]
    look: Callable[[Path], tuple[list[tuple[bytes, str | None]], list[str]]]
    title: str
    claim: str


_FILTER = "everything acknowledged is there once and nothing else, and the weights are those of the journal"
_SERVICE = "everything acknowledged is there once and nothing else, and the store is sound by SQLite's check"
DOORS = {
    "command": Door(
        through_command, in_filter, "SIGKILL of the mail filter while it learns through `tally spam learn`", _FILTER
    ),
    "spamd": Door(
        through_spamd,
        in_filter,
        "SIGKILL of the mail filter while it learns, forgets and relabels through spamd's protocol",
        _FILTER,
    ),
    "http": Door(
        through_http, in_service, "SIGKILL of the service while it learns, forgets and relabels over HTTP", _SERVICE
    ),
}


def judged(
    store: Path, before: States, acknowledged: States, asked: Wishes, door: str = "command"
) -> tuple[States, list[str]]:
    """What the file holds now, and what is wrong with it."""
    entries, wrong = DOORS[door].look(store)
    there: States = dict(entries)
    if len(there) != len(entries):
        wrong.append("a message is there twice")
    for digest in before.keys() | asked.keys() | there.keys():
        sure = acknowledged.get(digest, before.get(digest))
        # What was under way when the end came may have happened or not.
        legal = {sure} | asked.get(digest, set())
        if there.get(digest) not in legal:
            wrong.append(f"{digest.hex()} is {there.get(digest)}, and must be one of {legal}")
    return there, wrong


def run(door: str, kills: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """One result a kill; a new store after every 20, because judging one takes the longer the more it holds."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        for number in range(kills):
            if number % _KILLS_A_STORE == 0:
                store, before = Path(folder, f"store {number}"), States()
                DOORS[door].look(store)
            acknowledged, asked = DOORS[door].press(store, number, draw)
            before, wrong = judged(store, before, acknowledged, asked, door)
            yield {"acknowledged": len(acknowledged), "asked": len(asked), "there": len(before), "wrong": wrong}


def measure(full: bool, seconds: float | None, only: str = "") -> Iterator[Measured]:
    """Ten kills a door, 700 for the published figures, or as many as there is time for."""
    for name, door in DOORS.items():
        if only not in ("", name):
            continue
        wanted = 700 if full else 10
        limit = Limit(seconds)
        results = []
        for result in run(name, wanted):
            results.append(result)
            if limit.over():
                break
        yield Measured(
            f"kills_{name}",
            door.title + ended(len(results), wanted),
            door.claim,
            {
                "kills": len(results),
                "acknowledged": sum(result["acknowledged"] for result in results),
                "under way when killed": sum(result["asked"] - result["acknowledged"] for result in results),
            },
            [line for result in results for line in result["wrong"]],
            "python -m reliability.run kills --full",
        )
