"""The text store: one SQLite file in a folder, one writer with group commit, any number of readers.

A change is acknowledged after the commit that holds it has reached the disk (WAL, ``synchronous=FULL``). Changes that
arrive while a commit is under way share the next one, so that the cost of a flush is divided among them.
"""

import contextlib
import fcntl
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import apsw

from tallywise import _sqlite
from tallywise._private_files import correct_mode, private_file, private_folder
from tallywise.errors import TallywiseError

T = TypeVar("T")
Job = Callable[[apsw.Connection], T]
_APPLICATION = 0x74616C79  # "taly"
_SCHEMA = 3
# What makes a store of an earlier release one of this: statements by the schema that they start from.
_STEPS = {
    1: """
    ALTER TABLE items ADD COLUMN date REAL;
    DROP INDEX items_folded;
    CREATE INDEX items_folded ON items (folded, label)
    """,
    2: """
    ALTER TABLE items ADD COLUMN file INTEGER;
    ALTER TABLE items ADD COLUMN drawn TEXT NOT NULL DEFAULT '';
    CREATE INDEX items_file ON items (file);
    ALTER TABLE events ADD COLUMN step INTEGER;
    ALTER TABLE events ADD COLUMN was TEXT NOT NULL DEFAULT '';
    UPDATE events SET step = seq;
    CREATE INDEX events_step ON events (step);
    CREATE TABLE classes (
      name TEXT PRIMARY KEY, place INTEGER NOT NULL, colour INTEGER NOT NULL, about TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
    INSERT INTO classes (name, place, colour)
      SELECT label, row_number() OVER (ORDER BY min(id)), (row_number() OVER (ORDER BY min(id)) - 1) % 12 + 1
      FROM items WHERE label IS NOT NULL GROUP BY label;
    CREATE TABLE imports (
      number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, path TEXT NOT NULL, stamp TEXT NOT NULL,
      who TEXT NOT NULL, columns TEXT NOT NULL, done INTEGER NOT NULL DEFAULT 0, state TEXT NOT NULL,
      problem TEXT NOT NULL DEFAULT ''
    );
    INSERT INTO imports (name, path, stamp, who, columns, done, state)
      SELECT substr(name, 6), '', name, '', '{}', value, 'read' FROM settings WHERE name LIKE 'read:%'
    """,
}
_MOST_WAITING = 4096
_MOST_TOGETHER = 512
_OURS = frozenset({"texts.db", "texts.db-wal", "texts.db-shm", "lock", "models", "uploads", "answers", "topics.json"})


class StoreError(TallywiseError, OSError):
    """The store cannot be read or written; the message says why and what to do."""


class StoreFullError(StoreError):
    """There is no room left for the store; nothing of the change was kept."""


class StoreLockedError(StoreError):
    """Another process holds the store."""


class QueueFullError(StoreError):
    """More changes wait than the writer can take; try again in a moment."""


_FAILURES: dict[str, tuple[type[StoreError], str]] = {
    "full": (StoreFullError, "There is no room left for {path}: nothing of the change was kept. Free some space."),
    "locked": (StoreLockedError, "{path} is locked by another program. Try again when it has let go."),
    "damaged": (StoreError, "{path} is damaged or no store. Choose another with --store, or bring back a copy."),
    "unusable": (StoreError, "{path} cannot be read or written ({error})."),
}


class Store:
    """Texts, labels, verdicts and model versions, in a folder.

    Parameters
    ----------
    folder : path
        Made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> from tallywise.serve import store_writes, queries
    >>> from tallywise.serve.text_store import Store
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
    ...     learned = store.write(lambda db: store_writes.learn(db, "win a prize", "spam", who="me")).result()
    ...     store.read(queries.label_counts)
    {'spam': 1}
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            _make_private(self.folder)
            private_folder(self.models)
        except OSError as error:
            msg = f"Cannot make the store {os.fspath(folder)!r}: {error.strerror}."
            raise StoreError(msg) from None
        self._lock = _lock(self.folder)
        self.path = self.folder / "texts.db"
        self._local = threading.local()
        self._readers: list[apsw.Connection] = []
        try:
            self._connection = self._open(make=True)
            with self._named():
                _prepare(self._connection, self.path)
        except BaseException:
            self._lock.close()
            raise
        self._jobs: queue.Queue[tuple[Job[Any], Future[Any]] | None] = queue.Queue(_MOST_WAITING)
        self._closed = False
        self.commits = 0
        self._overviews: dict[Job[Any], tuple[int, Any]] = {}
        self._writer = threading.Thread(target=self._write_all, name="store writer", daemon=True)
        self._writer.start()

    @property
    def models(self) -> Path:
        """Folder of the model files."""
        return self.folder / "models"

    @property
    def waiting(self) -> int:
        """Changes that wait for the writer."""
        return self._jobs.qsize()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _open(self, *, make: bool = False) -> apsw.Connection:
        with self._named():
            connection = _sqlite.connect(self.path, make=make)
            connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000")
        return connection

    def _named(self) -> contextlib.AbstractContextManager[None]:
        """SQLite's errors in our words."""
        return _sqlite.failures(self._fail)

    def _fail(self, kind: str, error: apsw.Error) -> None:
        if kind in _FAILURES:
            made, words = _FAILURES[kind]
            raise made(words.format(path=repr(os.fspath(self.path)), error=error)) from None

    # --- reading ---

    def read(self, job: Job[T]) -> T:
        """Run a query on this thread's own connection, on one state of the store."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._open()
            connection.execute("PRAGMA query_only = 1")
            self._local.connection = connection
            self._readers.append(connection)
        with self._named(), _sqlite.transaction(connection, write=False):
            return job(connection)

    def overview(self, job: Job[T]) -> T:
        """The result of a query that goes through the whole store; asked again only after the next commit.

        For functions of `queries` that need the connection alone. What comes back is shared: do not change it.
        """
        commits = self.commits
        known = self._overviews.get(job)
        if known is None or known[0] != commits:
            known = self._overviews[job] = (commits, self.read(job))
        found: T = known[1]
        return found

    # --- writing ---

    def write(self, job: Job[T]) -> "Future[T]":
        """Queue a change; the future has its result once it is on the disk, or the reason why it is not.

        Raises
        ------
        QueueFullError
            When too many changes wait.
        """
        future: Future[T] = Future()
        if self._closed:
            msg = "The store is closed."
            raise StoreError(msg)
        try:
            self._jobs.put_nowait((job, future))
        except queue.Full:
            msg = f"{_MOST_WAITING} changes wait to be written. Try again in a moment."
            raise QueueFullError(msg) from None
        return future

    def _write_all(self) -> None:
        going = True
        while going:
            batch: list[tuple[Job[Any], Future[Any]]] = []
            entry = self._jobs.get()
            while True:
                if entry is None:
                    going = False
                    break
                if entry[1].set_running_or_notify_cancel():
                    batch.append(entry)
                if len(batch) == _MOST_TOGETHER:
                    break
                try:
                    entry = self._jobs.get_nowait()
                except queue.Empty:
                    break
            if batch and not self._commit(batch):
                # The whole transaction is gone (the disk is full, say): each alone, so that one does not fail all.
                for single in batch:
                    self._commit([single], last=True)

    def _commit(self, batch: list[tuple[Job[Any], Future[Any]]], last: bool = False) -> bool:
        """One transaction for all; a job that fails is undone alone. False where nothing at all was kept."""
        done: list[tuple[Future[Any], Any, BaseException | None]] = []
        db = self._connection
        last = last or len(batch) == 1
        try:
            with self._named(), _sqlite.transaction(db, write=True):
                for job, future in batch:
                    db.execute("SAVEPOINT job")
                    try:
                        done.append((future, job(db), None))
                    except apsw.Error:
                        raise
                    except Exception as error:
                        db.execute("ROLLBACK TO job")
                        done.append((future, None, error))
                    db.execute("RELEASE job")
            self.commits += 1
        except Exception as error:
            if not last:
                return False
            for _, future in batch:
                future.set_exception(error)
            return True
        for future, result, failure in done:
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)
        return True

    def close(self) -> None:
        """Write what waits, then close."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put(None)
        self._writer.join()
        for connection in [*self._readers, self._connection]:
            with contextlib.suppress(apsw.Error):
                connection.close()
        self._lock.close()


def _make_private(folder: Path) -> None:
    """A folder for this user alone; in one that was there, what is ours is corrected, and itself if all of it is."""
    if not folder.exists():
        private_folder(folder)
        return
    ours = [path for path in folder.iterdir() if path.name in _OURS]
    for path in ours:
        for inner in path.iterdir() if path.is_dir() else ():
            correct_mode(inner, 0o600)
        correct_mode(path, 0o700 if path.is_dir() else 0o600)
    if ours and len(ours) == len(os.listdir(folder)):
        correct_mode(folder, 0o700)


def _lock(folder: Path) -> Any:
    """Hold the folder for this process; the lock goes with the process, however it ends."""
    private_file(folder / "lock")
    stream = (folder / "lock").open("w")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        stream.close()
        msg = f"The store {os.fspath(folder)!r} is in use by another process. Stop it, or choose another with --store."
        raise StoreLockedError(msg) from None
    return stream


def _prepare(connection: apsw.Connection, path: Path) -> None:
    version = connection.pragma("user_version")
    if _sqlite.is_new(connection):
        with _sqlite.transaction(connection, write=True):
            connection.execute((files("tallywise.serve") / "schema.sql").read_text())
            _sqlite.sign(connection, _APPLICATION, _SCHEMA)
    elif connection.pragma("application_id") != _APPLICATION or not (version == _SCHEMA or version in _STEPS):
        msg = f"{os.fspath(path)!r} is not a store of this release of tallywise. Choose another with --store."
        raise StoreError(msg)
    elif version != _SCHEMA:
        with _sqlite.transaction(connection, write=True):
            for step in range(version, _SCHEMA):
                connection.execute(_STEPS[step])
            _sqlite.sign(connection, _APPLICATION, _SCHEMA)
