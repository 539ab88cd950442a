"""From the command to a running service: socket, store, model and data."""

import contextlib
import ctypes
import math
import os
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tallywise.errors import TallywiseError
from tallywise.reading import InputError, Record, date_formats, open_source
from tallywise.serve import queries, store_writes
from tallywise.serve.model_versions import readable, table_model
from tallywise.serve.server import Server
from tallywise.serve.service import Service
from tallywise.serve.settings import Settings
from tallywise.serve.table_service import TableService
from tallywise.serve.text_store import Store

_TOGETHER = 200  # records a transaction: a learn never waits long for a file that is being read
_SWITCH = 0.001  # seconds after which a thread that scored a batch gets Python's lock back from the event loop
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3  # of malloc.h
_LARGE = 1 << 18


class AddressError(TallywiseError, OSError):
    """The address cannot be listened on."""


def store_folder(inputs: Sequence[str]) -> str:
    """Where the store goes when nobody says: beside the first input."""
    return f"{inputs[0].rstrip('/')}.store" if inputs else "tally.store"


def listen(host: str, port: int) -> socket.socket:
    """A socket on the address, or one line on why not."""
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((bare, port))
        found.listen(2048)
    except OSError as error:
        found.close()
        taken = "the port is in use" if error.errno == 98 else (error.strerror or str(error))
        msg = f"Cannot listen on {host}:{port}: {taken}. Choose another with --port, or --port 0 for any."
        raise AddressError(msg) from None
    return found


def take(
    service: Service,
    path: str,
    *,
    who: str,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    date: str | None = None,
    name: str | None = None,
) -> Callable[[], int]:
    """Look at a file of texts; returns the job that reads it into the store and says how many it has read.

    A file that has been read before is not read again, and one whose reading was cut short goes on where it ended.

    Raises
    ------
    InputError
        At once, for what cannot be read.
    """
    days = Days(date)
    source = open_source(path, text=text, label=label, format=format, unlabelled=True, is_date=days.recognise)
    records = iter(source)
    first = list(islice(records, 1))
    if not first:
        msg = f"{name or source.name} holds no texts"
        raise InputError(msg)
    days.require(name or source.name)
    found = os.stat(path)
    key = f"read:{os.path.abspath(path) if name is None else name}:{found.st_size}:{found.st_mtime_ns}"
    shown = name or path
    done = int(service.store.read(lambda db: queries.value(db, key, 0)))

    def read() -> int:
        count = 0
        try:
            for part in _parts(islice(chain(first, records), done, None)):
                at = days.of([r.date for r in part])
                rows = [
                    (r.text, _label(r), r.source.replace(path, shown, 1), day) for r, day in zip(part, at, strict=True)
                ]
                total = done + count + len(rows)

                def write(db: Any, rows: list[Any] = rows, total: int = total) -> None:
                    store_writes.add_records(db, rows, who)
                    store_writes.set_value(db, key, total)

                service.store.write(write).result()
                count += len(rows)
                service.reading = f"reading {shown}: {total:,} texts"
            service.reading = ""
        except (TallywiseError, OSError) as error:
            service.reading = f"reading {shown} stopped after {done + count:,} texts: {error}"
        return count

    return read


class Days:
    """The column of dates of a table: the one that is named, or the first whose cells are all dates.

    Parameters
    ----------
    name : str, optional
        Its name, or its number from 1 in a table without a header.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name, self._format = name, ""

    def recognise(self, name: str, column: Sequence[str]) -> bool:
        """Whether a column is the one; how its dates are written is then known."""
        if self._name not in (None, name):
            return False
        self._format = date_formats.date_format(column) or ""
        return bool(self._format)

    def require(self, where: str) -> None:
        """Refuse a name that no column of dates has."""
        if self._name is not None and not self._format:
            msg = f'{where} has no column "{self._name}" whose cells are all dates written alike'
            raise InputError(msg)

    def of(self, written: Sequence[str | None]) -> list[float | None]:
        """Days since 1970, None where there is no date."""
        if not self._format:
            return [None] * len(written)
        return [None if math.isnan(day) else day for day in date_formats.dates(written, self._format).tolist()]


def _label(record: Record) -> str | None:
    """The label, or none where it is unfit for one."""
    try:
        return None if record.label is None else store_writes.clean_label(record.label)
    except ValueError:
        return None


def _parts(records: Iterator[Record]) -> Iterator[list[Record]]:
    while part := list(islice(records, _TOGETHER)):
        yield part


def prepare(
    inputs: Sequence[str], folder: str, settings: Settings, **columns: str | None
) -> tuple[Service, list[Callable[[], int]]]:
    """A service over the inputs, and the reading that is left to do."""
    for path in inputs:
        if not Path(path).exists():
            msg = f"{path} does not exist"
            raise InputError(msg)
    brought = [path for path in inputs if not Path(path).is_dir() and readable(path)]
    data = [path for path in inputs if path not in brought]
    store = Store(folder)
    try:
        service = Service(store, settings)
        for path in brought:
            service.models.bring(path, has_texts=bool(data))
        jobs = [take(service, path, who=settings.user, **columns) for path in data]
    except BaseException:
        store.close()
        raise
    return service, jobs


def run(
    inputs: Sequence[str],
    folder: str,
    settings: Settings,
    *,
    tell: Callable[[str], None],
    browser: bool,
    **columns: str | None,
) -> None:
    """Serve until told to stop."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a client that hangs up must not end the service
    os.umask(0o077)  # texts, models and uploads are for their owner alone; the learner's process inherits it
    sys.setswitchinterval(_SWITCH)
    _share_heap()
    with contextlib.closing(listen(settings.host, settings.port)) as listening:
        port = listening.getsockname()[1]
        settings = replace(settings, port=port)
        shown = "localhost" if settings.local else settings.host
        address = f"http://{shown}:{port}{settings.root_path}/"
        model = table_model(inputs)
        app: Any
        jobs: list[Callable[[], int]]
        if model is not None:
            app, jobs = TableService(model, settings), []
        else:
            app, jobs = prepare(inputs, folder, settings, **columns)
            tell(f"texts and models in {folder}")
        tell(f"serving at {address}   stop with Ctrl-C")
        if jobs:
            threading.Thread(target=_read_all, args=(app, jobs), daemon=True, name="reading").start()
        if browser and _desktop():
            threading.Timer(0.5, webbrowser.open, [address]).start()
        Server(app, listening).run()


def _share_heap() -> None:
    """One heap for all threads, where the C library gives each its own.

    What one thread frees another can use then: 105 MB instead of 115 after 20,000 mixed requests, and 218 instead of
    249 with 100,000 texts. Threads seldom allocate at the same time, because few of them run without Python's lock.
    Large arrays, which are those of models, lie outside of it and go back to the system with their model: the C library
    would put them into the heap once it has seen one freed, and what is allocated since would lie between them.
    """
    limit = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if limit is not None:
        limit(_M_ARENA_MAX, 1)
        limit(_M_MMAP_THRESHOLD, _LARGE)


def _read_all(service: Service, jobs: list[Callable[[], int]]) -> None:
    for job in jobs:
        job()
        deadline = time.monotonic() + 5
        while service.loop is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if service.loop is not None:
            service.loop.call_soon_threadsafe(service.trainer.changed)


def _desktop() -> bool:
    """Whether a browser could be shown to the person who typed the command."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
