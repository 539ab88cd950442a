"""Power cuts, failing writes and full disks under the two stores.

The stores run over a VFS of SQLite's that hands everything to the system's and writes down each write, truncation, sync
and deletion. A power cut is a moment in that list: what a file had at its last sync is there; of each later write all,
nothing, or some of its sectors. The files of that moment are opened again: what was acknowledged by then is there, what
was asked for may be, nothing else is, and nothing twice.
"""

import contextlib
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from reliability.results import Measured
from tallywise.serve import queries, store_writes
from tallywise.serve.text_store import Store, StoreError
from tallywise.spam import SpamFilter, digest_of
from tallywise.spam.journal_store import SpamStoreError

SECTOR = 512


class Event(NamedTuple):
    """One thing that happened to a file."""

    kind: str  # write, truncate, sync, delete
    path: str
    offset: int = 0
    data: bytes = b""


class Recorder(apsw.VFS):
    """A VFS that writes down what happens, and fails when it is told to."""

    def __init__(self, name: str = "recorder") -> None:
        self.events: list[Event] = []
        self.fail: Callable[[Event], None] = lambda event: None
        self.system = apsw.vfs_names()[0]
        super().__init__(name, self.system, makedefault=True)

    def note(self, event: Event) -> None:
        """Fail, or write the event down; SQLite's temporary files, without a name, do not outlive the process."""
        self.fail(event)
        if event.path:
            self.events.append(event)

    def xOpen(self, name: Any, flags: list[int]) -> "RecordedFile":  # noqa: N802
        """As SQLite has it."""
        return RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """As SQLite has it."""
        self.note(Event("delete", filename))
        super().xDelete(filename, syncdir)


class RecordedFile(apsw.VFSFile):
    """A file of the recorder."""

    def __init__(self, vfs: Recorder, name: Any, flags: list[int]) -> None:
        self.vfs = vfs
        self.path = "" if name is None else name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__(vfs.system, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        """As SQLite has it."""
        self.vfs.note(Event("write", self.path, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        """As SQLite has it."""
        self.vfs.note(Event("truncate", self.path, size))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        """As SQLite has it."""
        self.vfs.note(Event("sync", self.path))
        super().xSync(flags)


@contextlib.contextmanager
def recording() -> Iterator[Recorder]:
    """Every connection opened inside is recorded."""
    before = apsw.vfs_names()[0]
    vfs = Recorder()
    try:
        yield vfs
    finally:
        vfs.unregister()
        assert apsw.vfs_names()[0] == before


def after_cut(events: list[Event], draw: random.Random) -> dict[str, bytes]:
    """Files as a power cut behind these events may leave them."""
    synced: dict[str, int] = {}
    folder_synced = -1
    known: set[str] = set()
    for k, event in enumerate(events):
        if event.kind == "sync":
            synced[event.path] = k
            if event.path not in known:
                known.add(event.path)
                folder_synced = k  # SQLite syncs the folder with the first sync of a new journal: deletions are there
        elif event.kind == "delete":
            known.discard(event.path)
    files: dict[str, bytearray] = {}
    for k, event in enumerate(events):
        content = files.setdefault(event.path, bytearray())
        sure = k <= synced.get(event.path, -1)
        if event.kind == "delete":
            if k < folder_synced or draw.random() < 0.5:
                files[event.path] = bytearray()
        elif event.kind == "truncate":
            if sure or draw.random() < 0.5:
                del content[event.offset :]
        elif event.kind == "write":
            whole = draw.random()
            for start in range(0, len(event.data), SECTOR):
                if sure or whole < 0.4 or (whole < 0.8 and draw.random() < 0.5):
                    piece, at = event.data[start : start + SECTOR], event.offset + start
                    content.extend(bytes(max(0, at - len(content))))
                    content[at : at + len(piece)] = piece
    return {path: bytes(content) for path, content in files.items()}


class Case(NamedTuple):
    """A store under test: how it is opened, told, and read."""

    name: str
    open: Callable[[Path], Any]
    tell: Callable[[Any, int, str | None], None]  # message k has this label now; None to forget it
    read: Callable[[Any], tuple[dict[int, str], list[str]]]
    errors: tuple[type[Exception], ...]


def _message(k: int) -> bytes:
    return f"From: a@x.example\nSubject: number {k}\n\n{'cheap pills' if k % 2 else 'lunch at noon'} {k}\n".encode()


def _tell_filter(mail: Any, k: int, label: str | None) -> None:
    if label is None:
        mail.forget(_message(k))
    else:
        mail.learn(_message(k), label)


def _read_filter(mail: Any) -> tuple[dict[int, str], list[str]]:
    numbers = {digest_of(_message(k)).hex(): k for k in range(200)}
    entries = [(numbers[entry["digest"]], entry["label"]) for entry in mail.export()]
    wrong = list(mail.verify())
    if len(dict(entries)) != len(entries):
        wrong.append("a message is there twice")
    return dict(entries), wrong


def _tell_store(store: Any, k: int, label: str | None) -> None:
    text = f"text number {k}"

    def change(db: apsw.Connection) -> None:
        if label is not None:
            store_writes.learn(db, text, label, who="me")
        elif (number := store_writes.find(db, text)) is not None:
            store_writes.forget(db, number, "me")

    store.write(change).result()


def _read_store(store: Any) -> tuple[dict[int, str], list[str]]:
    wrong = [row for (row,) in store.read(lambda db: db.execute("PRAGMA integrity_check").fetchall()) if row != "ok"]
    entries = [(int(text.rsplit(" ", 1)[1]), label) for _, text, label, _ in store.read(queries.training)]
    if len(dict(entries)) != len(entries):
        wrong.append("a text is there twice")
    return dict(entries), wrong


CASES = (
    Case(
        "mail filter",
        lambda folder: SpamFilter(folder / "mail.spam"),
        _tell_filter,
        _read_filter,
        (SpamStoreError,),
    ),
    Case("text store", Store, _tell_store, _read_store, (StoreError,)),
)


class Step(NamedTuple):
    """A wish, and how many events there were before it was sent and after it was acknowledged."""

    message: int
    label: str | None
    before: int
    after: int


def wishes(n: int, draw: random.Random) -> Iterator[tuple[int, str | None]]:
    """Messages learned, some of them later relabelled or forgotten."""
    for k in range(n):
        yield k, draw.choice(["spam", "ham"])
        if draw.random() < 0.3:
            yield draw.randrange(k + 1), draw.choice(["spam", "ham", None])


def cuts(case: Case, n: int, count: int, seed: int) -> Iterator[tuple[float, list[str]]]:
    """For each of `count` power cuts: seconds until the store was ready again, and what was wrong with it."""
    draw = random.Random(seed)
    steps: list[Step] = []
    with tempfile.TemporaryDirectory() as folder, recording() as vfs:
        with case.open(Path(folder)) as store:
            for k, label in wishes(n, draw):
                before = len(vfs.events)
                case.tell(store, k, label)
                steps.append(Step(k, label, before, len(vfs.events)))
        events = [event for event in vfs.events if Path(event.path).parent == Path(folder).resolve()]
        assert len(events) == len(vfs.events)
    for number in range(count):
        moment = draw.randrange(len(events) + 1)
        with tempfile.TemporaryDirectory() as again:
            for path, content in after_cut(events[:moment], draw).items():
                if not path.endswith("-shm"):
                    (Path(again) / Path(path).name).write_bytes(content)
            legal = [state_of(step for step in steps if step.after <= moment)]
            legal.append(state_of(step for step in steps if step.before < moment))
            start = time.monotonic()
            try:
                with case.open(Path(again)) as store:
                    ready = time.monotonic() - start
                    there, wrong = case.read(store)
                    case.tell(store, 199, "ham")  # and it goes on
            except case.errors as error:
                yield 0.0, [f"{case.name}, cut {number} of seed {seed}: {error}"]
                continue
            if there not in legal:
                wrong.append(f"{len(there)} entries, which is neither of the legal states")
            yield ready, [f"{case.name}, cut {number} of seed {seed}: {line}" for line in wrong]


def state_of(steps: Iterable[Step]) -> dict[int, str]:
    """Labels after these wishes."""
    found: dict[int, str] = {}
    for step in steps:
        found.pop(step.message, None)
        if step.label is not None:
            found[step.message] = step.label
    return found


FAULTS = {
    "write fails": ("write", apsw.IOError),
    "sync fails": ("sync", apsw.IOError),
    "disk is full": ("write", apsw.FullError),
}


def fault(case: Case, name: str, at: int, lasting: bool, n: int, seed: int) -> tuple[bool, list[str]]:
    """Let the at-th event of a kind fail, once or from then on; whether it came to that, and what was wrong."""
    kind, error = FAULTS[name]
    draw = random.Random(seed)
    count, failed = 0, 0
    sure: dict[int, str | None] = {}
    maybe: dict[int, set[str | None]] = {}

    def fail(event: Event) -> None:
        nonlocal count
        if event.kind == kind:
            count += 1
            if count == at or (lasting and count > at):
                msg = "told to fail"
                raise error(msg)

    with tempfile.TemporaryDirectory() as folder:
        with recording() as vfs, contextlib.suppress(*case.errors):
            with case.open(Path(folder)) as store:
                vfs.fail = fail
                for k, label in wishes(n, draw):
                    maybe.setdefault(k, set()).add(label)
                    try:
                        case.tell(store, k, label)
                        sure[k], maybe[k] = label, {label}
                    except case.errors:
                        failed += 1
                vfs.fail = lambda event: None
        with case.open(Path(folder)) as store:
            there, wrong = case.read(store)
    for k in maybe.keys() | there.keys():
        if there.get(k) not in {sure.get(k)} | maybe.get(k, set()):
            wrong.append(f"message {k} is {there.get(k)}, and must be one of {maybe.get(k)}")
    where = f"{case.name}, {name} at {at}{', lasting' if lasting else ''}"
    return count >= at, [f"{where}: {line}" for line in wrong]


def measure(full: bool, seconds: float | None = None) -> Iterator[Measured]:
    """250 cuts a store and every write and sync failing in turn with `full`; else ten cuts and a few failures."""
    slowest, wrong, done = 0.0, [], 0
    start = time.monotonic()
    for case in CASES:
        for seed in range(5 if full else 1):
            for ready, lines in cuts(case, 30, 50 if full else 10, seed):
                slowest, done = max(slowest, ready), done + 1
                wrong += lines
                if ready > 2:
                    wrong.append(f"{case.name}: ready after {ready:.1f} s")
    yield Measured(
        "power_cuts",
        "power cuts under the mail filter and the text store (later writes lost or torn)",
        "every acknowledged change there, at most the one under way beside it, sound by SQLite's check, ready in 2 s",
        {"cuts": done, "s at most until ready": round(slowest, 2)},
        wrong,
        "python -m reliability.run power --full",
    )
    wrong, done = [], 0
    for case in CASES:
        for name in FAULTS:
            for lasting in (False, True):
                at, step = 1, 1 if full else 29
                while seconds is None or time.monotonic() - start < seconds:
                    reached, lines = fault(case, name, at, lasting, 12, 0)
                    if not reached:
                        break
                    wrong += lines
                    at, done = at + step, done + 1
    yield Measured(
        "failing_disk",
        "every write and every sync failing in turn, once or from then on; a full disk",
        "an error that says so, every acknowledged change there, nothing twice, sound by SQLite's check",
        {"failures": done},
        wrong,
        "python -m reliability.run power --full",
    )
