"""A journal in one SQLite file, by apsw: a commit for every acknowledgement, any number of processes.

Every process reads what others wrote before it adds its own, in one transaction, so that the order of the journal is
the order in which all of them learn. ``generation`` counts the entries taken out: weights of another generation are
not those of the journal, and are computed again from it.
"""

import contextlib
import os
import struct
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tallywise._native import spam_checksum
from tallywise.errors import TallywiseError
from tallywise.spam.journal import Entry, Errors, SetAside

if TYPE_CHECKING:
    from tallywise.spam.prior import Count, Dump, Totals

VERSION = 2  # 1 had no counts in meta
_APPLICATION = 0x54414C59  # "TALY"
_AT_ONCE = 500  # values of one query
_PIECE = 1 << 17  # bytes of weights read at a time
_WAIT = 5000  # milliseconds for which another process may hold the file

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, spam INTEGER NOT NULL,
                      errors BLOB NOT NULL, score REAL, source TEXT NOT NULL, time REAL NOT NULL);
CREATE TABLE features (id INTEGER PRIMARY KEY, code BLOB NOT NULL, text BLOB);
CREATE TABLE aside (digest BLOB PRIMARY KEY, spam INTEGER NOT NULL, score REAL NOT NULL, hurt INTEGER NOT NULL,
                    source TEXT NOT NULL, time REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE snapshot (one INTEGER PRIMARY KEY CHECK (one = 1), upto INTEGER NOT NULL, generation INTEGER NOT NULL,
                       state BLOB NOT NULL, checksum BLOB NOT NULL);
"""
_COUNTS = "SELECT count(*), coalesce(sum(spam), 0) FROM journal"
_COUNTED = "UPDATE meta SET value = value + iif(key = 'messages', ?, ?) WHERE key IN ('messages', 'spam')"
_NOTHING = struct.pack("<3d", 0, 0, 0)  # errors of a message that changed no weight

# Made when counts of another filter are taken in: few files have them.
_PRIOR = "CREATE TABLE IF NOT EXISTS prior (token BLOB PRIMARY KEY, spam INTEGER, ham INTEGER) WITHOUT ROWID"


class SpamStoreError(TallywiseError, OSError):
    """A filter's file is locked, damaged, of a newer version, or cannot be written."""


class Snapshot(NamedTuple):
    """Weights after entry `upto` of the journal."""

    upto: int
    learner: Any


class Store:
    """A journal in the file `path`, made when it is not there.

    Parameters
    ----------
    path : path
        The SQLite file.
    model : str
        Name of the model of a new file; an old one has its own, and another name is refused.
    keep_text : bool
        Whether the messages themselves are kept beside their hashed features.
    read_only : bool
        Whether to refuse writing, and to need the file to be there.
    """

    def __init__(
        self, path: str | os.PathLike[str], model: str = "online", *, keep_text: bool = False, read_only: bool = False
    ) -> None:
        try:
            import apsw
        except ImportError as error:
            msg = "A filter in a file needs apsw: pip install 'tallywise[spam]'"
            raise SpamStoreError(msg) from error
        self._apsw = apsw
        self.path = os.fspath(path)
        self.keep_text, self._read_only = keep_text, read_only
        if read_only and not os.path.exists(self.path):
            msg = f"{self.path} does not exist: 'tally spam learn' makes it"
            raise SpamStoreError(msg)
        flags = apsw.SQLITE_OPEN_READWRITE | (0 if read_only else apsw.SQLITE_OPEN_CREATE)
        with self._named():
            try:
                self._db = apsw.Connection(self.path, flags=flags)
            except apsw.CantOpenError:
                if not read_only:
                    raise
                self._db = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)
            self._db.set_busy_timeout(_WAIT)
            self._open(model)
        self._seen = self._data_version()

    def _open(self, model: str) -> None:
        self._db.execute("PRAGMA secure_delete = ON")
        version = self._db.pragma("user_version")
        if version == 0 and not self._db.pragma("schema_version"):
            self._db.pragma("journal_mode", "wal")
            self._db.pragma("synchronous", "full")
            with self.writing():
                if not self._db.pragma("schema_version"):  # another process may have been first
                    self._db.execute(_SCHEMA)
                    self._db.execute("INSERT INTO meta VALUES ('model', ?), ('generation', 0)", (model,))
                    self._db.pragma("application_id", _APPLICATION)
                    self._put_counts()
        elif self._db.pragma("application_id") != _APPLICATION:
            msg = f"{self.path} is a database, but not of a spam filter"
            raise SpamStoreError(msg)
        elif version > VERSION:
            msg = f"{self.path} is of version {version}, from a newer tallywise; this one reads version {VERSION}"
            raise SpamStoreError(msg)
        elif version < VERSION and not self._read_only:
            with self.writing():
                if self._db.pragma("user_version") < VERSION:
                    self._put_counts()
        self._db.pragma("synchronous", "full")
        self.model = str(self._one("SELECT value FROM meta WHERE key = 'model'"))

    def _put_counts(self) -> None:
        messages, spam = self._all(_COUNTS)[0]
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('messages', ?), ('spam', ?)", (messages, spam))
        self._db.pragma("user_version", VERSION)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of SQLite, in words that say what to do."""
        apsw = self._apsw
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as error:
            msg = f"{self.path} is locked by another process: try again, or stop it"
            raise SpamStoreError(msg) from error
        except (apsw.CorruptError, apsw.NotADBError) as error:
            msg = f"{self.path} is damaged ({error}): restore it from a backup or an export"
            raise SpamStoreError(msg) from error
        except apsw.FullError as error:
            msg = f"{self.path}: the disk is full; nothing of this was learned"
            raise SpamStoreError(msg) from error
        except apsw.Error as error:
            msg = f"{self.path}: {error}"
            raise SpamStoreError(msg) from error

    def _one(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        with self._named():
            row = self._db.execute(query, values).fetchone()
        return None if row is None else row[0]

    def _all(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._named():
            return self._db.execute(query, values).fetchall()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all of what happens inside is kept, or none."""
        with self._named():
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(self._apsw.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """One state of the file, whatever other processes write meanwhile."""
        with self._named():
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._db.execute("COMMIT")

    def _data_version(self) -> int:
        return int(self._one("PRAGMA data_version"))

    def changed_by_others(self) -> bool:
        """Whether another process has written since the last call."""
        before, self._seen = self._seen, self._data_version()
        return before != self._seen

    @property
    def generation(self) -> int:
        """How many times an entry that had changed weights was taken out."""
        return int(self._one("SELECT value FROM meta WHERE key = 'generation'"))

    def find(self, digest: bytes) -> Entry | None:
        """The entry of a message."""
        rows = self._all(
            "SELECT id, digest, spam, errors, score, source, time FROM journal WHERE digest = ?", (digest,)
        )
        return _entry(*rows[0]) if rows else None

    def append(
        self, digest: bytes, spam: bool, errors: Errors, score: float | None, source: str, features: bytes, text: bytes
    ) -> int:
        """Add an entry; returns its number."""
        with self._named():
            self._db.execute(
                "INSERT INTO journal (digest, spam, errors, score, source, time) VALUES (?, ?, ?, ?, ?, ?)",
                (digest, int(spam), struct.pack("<3d", *errors), score, source, time.time()),
            )
            id = self._db.last_insert_rowid()
            kept = text if self.keep_text else None
            self._db.execute("INSERT INTO features (id, code, text) VALUES (?, ?, ?)", (id, features, kept))
            self._db.execute("DELETE FROM aside WHERE digest = ?", (digest,))
            self._db.execute(_COUNTED, (1, int(spam)))
        return id

    def remove(self, digest: bytes) -> None:
        """Take an entry out."""
        entry = self.find(digest)
        if entry is None:
            return
        with self._named():
            self._db.execute("DELETE FROM features WHERE id = ?", (entry.id,))
            self._db.execute("DELETE FROM journal WHERE id = ?", (entry.id,))
            self._db.execute(_COUNTED, (-1, -int(entry.spam)))
            if any(entry.errors):
                self._db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")

    def features(self, id: int) -> bytes:
        """Coded features of an entry."""
        return bytes(self._one("SELECT code FROM features WHERE id = ?", (id,)))

    def entries(self, after: int, most: int, *, changes: bool = False) -> list[tuple[Entry, bytes]]:
        """Entries in order with their features, from the first one behind `after`; those that changed weights alone."""
        only = "AND errors != ?" if changes else ""
        rows = self._all(
            "SELECT j.id, digest, spam, errors, score, source, time, code FROM journal j JOIN features f ON f.id = j.id"
            f" WHERE j.id > ? {only} ORDER BY j.id LIMIT ?",
            (after, _NOTHING, most) if changes else (after, most),
        )
        return [(_entry(*row[:-1]), row[-1]) for row in rows]

    def set_errors(self, changed: list[tuple[int, Errors]]) -> None:
        """Put the errors of a replay in the place of those of the day."""
        with self._named():
            self._db.executemany(
                "UPDATE journal SET errors = ? WHERE id = ?",
                [(struct.pack("<3d", *errors), id) for id, errors in changed],
            )

    def counts(self) -> tuple[int, int]:
        """Messages, and spam among them."""
        found = dict(self._all("SELECT key, value FROM meta WHERE key IN ('messages', 'spam')"))
        messages, spam = (found["messages"], found["spam"]) if found else self._all(_COUNTS)[0]
        return int(messages), int(spam)

    def scores(self) -> Iterator[tuple[float, bool]]:
        """Scores before learning, with labels, in order."""
        rows = self._all("SELECT score, spam FROM journal WHERE score IS NOT NULL ORDER BY id")
        return ((score, bool(spam)) for score, spam in rows)

    def latest_ham(self, most: int) -> list[bytes]:
        """Features of the newest ham."""
        rows = self._all(
            "SELECT code FROM features WHERE id IN (SELECT id FROM journal WHERE spam = 0 ORDER BY id DESC LIMIT ?)"
            " ORDER BY id",
            (most,),
        )
        return [code for (code,) in rows]

    def set_aside(self, entry: SetAside) -> None:
        """Remember a message that was not learned."""
        with self._named():
            self._db.execute("INSERT OR REPLACE INTO aside VALUES (?, ?, ?, ?, ?, ?)", tuple(entry))

    def aside(self) -> list[SetAside]:
        """Messages set aside."""
        rows = self._all("SELECT digest, spam, score, hurt, source, time FROM aside ORDER BY time")
        return [SetAside(digest, bool(spam), *rest) for digest, spam, *rest in rows]

    def put_prior(self, dump: "Dump") -> None:
        """Keep the counts of another filter, in the place of older ones."""
        with self._named():
            self._db.execute(_PRIOR)
            self._db.execute("DELETE FROM prior")
            self._db.executemany("INSERT OR REPLACE INTO prior VALUES (?, ?, ?)", dump)
            values = [(f"prior_{name}", value) for name, value in dump.totals._asdict().items()]
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)

    def prior(self) -> "Totals | None":
        """Where the counts of another filter came from, and of how many messages."""
        found = dict(self._all("SELECT key, value FROM meta WHERE key GLOB 'prior_*'"))
        if not found:
            return None
        from tallywise.spam.prior import Totals

        return Totals(found["prior_source"], found["prior_spam"], found["prior_ham"])

    def prior_counts(self, tokens: list[bytes]) -> "list[Count]":
        """Counts of those tokens that the other filter had."""
        from tallywise.spam.prior import Count

        found: list[Count] = []
        for start in range(0, len(tokens), _AT_ONCE):
            some = tuple(tokens[start : start + _AT_ONCE])
            marks = ", ".join("?" * len(some))
            rows = self._all(f"SELECT token, spam, ham FROM prior WHERE token IN ({marks})", some)
            found += [Count(*row) for row in rows]
        return found

    def snapshot(self, make: Callable[[], Any]) -> Snapshot | None:
        """The newest weights kept, in a learner that `make` gives, when they are of this generation and whole.

        They go into its table piece by piece: a filter in a pipe would take longer to get memory for all of them beside
        it than to read them.
        """
        with self._reading():
            rows = self._all("SELECT upto, generation, checksum FROM snapshot")
            if not rows or rows[0][1] != self.generation:
                return None
            learner = make()
            with self._named():
                blob = self._db.blob_open("main", "snapshot", "state", 1, False)
                fits = blob.length() == learner.state_bytes
                for offset in range(0, learner.state_bytes if fits else 0, _PIECE):
                    learner.fill(offset, blob.read(_PIECE))
                blob.close()
        if not fits or struct.pack("<Q", learner.checksum()) != rows[0][2]:
            return None
        learner.check()
        return Snapshot(rows[0][0], learner)

    def _state(self) -> bytes:
        with self._named():
            blob = self._db.blob_open("main", "snapshot", "state", 1, False)
            state = blob.read()
            blob.close()
        return bytes(state)

    def put_snapshot(self, upto: int, generation: int, state: bytes) -> None:
        """Keep weights, in the place of older ones."""
        with self.writing():
            self._db.execute(
                "INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?, ?, ?)", (upto, generation, state, _checksum(state))
            )

    def compact(self) -> None:
        """Give back unused space; nothing of what was taken out stays in the file."""
        with self._named():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def verify(self) -> list[str]:
        """What is wrong with the file; an empty list when nothing is."""
        wrong = [row for (row,) in self._all("PRAGMA integrity_check") if row != "ok"]
        lost = self._one("SELECT count(*) FROM journal WHERE id NOT IN (SELECT id FROM features)")
        if lost:
            wrong.append(f"{lost} entries of the journal have no features")
        if self._all(_COUNTS)[0] != self.counts():
            wrong.append("the counts of messages are not those of the journal")
        checksum = self._one("SELECT checksum FROM snapshot")
        if checksum is not None and _checksum(self._state()) != checksum:
            wrong.append("the snapshot of the weights is damaged (it will be computed again from the journal)")
        return wrong

    def close(self) -> None:
        """Let go of files."""
        with self._named():
            self._db.close()


def _entry(id: int, digest: bytes, spam: int, errors: bytes, score: float | None, source: str, time: float) -> Entry:
    return Entry(id, digest, bool(spam), struct.unpack("<3d", errors), score, source, time)


def _checksum(state: bytes) -> bytes:
    return struct.pack("<Q", spam_checksum(state))
