"""The SQLite file of a filter: opening, versions, transactions, and figures with a checksum.

A flipped bit or a zeroed page often leaves a database that SQLite reads without complaint. So every entry of the
journal has a checksum over all that was learned from it, and the figures (counts, generation, where the weights kept
stand, the checksum of those weights) have one over all of them. What is read is checked: on opening these are the
figures, the weights, and the entries behind them.
"""

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn

from tallywise.errors import TallywiseError

VERSION = 4  # 1 had no counts in meta, 2 no checksums of entries and figures, 3 no rehearsal
# How mail is read: features of another reader are other numbers, of no use to this one. 1 read 4,000 bytes of the
# header and 16,000 raw bytes of the body, 2 text in other character sets than UTF-8 as it was.
READER = 3
_CHECKED = 3  # the first version with checksums
_APPLICATION = 0x54414C59  # "TALY"
_AT_ONCE = 1000  # entries of one step when an old file gets its checksums

# Mail that was judged lately, and how many messages on each day.
_HISTORY = """
CREATE TABLE seen (id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL, time REAL NOT NULL, label TEXT NOT NULL,
                   score REAL NOT NULL, threshold REAL NOT NULL, sender TEXT NOT NULL, subject TEXT NOT NULL,
                   reasons TEXT NOT NULL, code BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE days (day TEXT, label TEXT, messages INTEGER NOT NULL, PRIMARY KEY (day, label)) WITHOUT ROWID;
"""
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, spam INTEGER NOT NULL,
                      errors BLOB NOT NULL, score REAL, source TEXT NOT NULL, time REAL NOT NULL,
                      code_checksum INTEGER, checksum INTEGER);
CREATE TABLE features (id INTEGER PRIMARY KEY, code BLOB NOT NULL, text BLOB);
CREATE INDEX by_label ON journal (spam);
CREATE TABLE snapshot (one INTEGER PRIMARY KEY CHECK (one = 1), upto INTEGER NOT NULL, generation INTEGER NOT NULL,
                       state BLOB NOT NULL, checksum BLOB NOT NULL);
"""
ROW = "id, digest, spam, errors, score, source, time"


class SpamStoreError(TallywiseError, OSError):
    """A filter's file is locked, damaged, of a newer version, or cannot be written."""


Row = tuple[int, bytes, int, bytes, float | None, str, float]  # the columns of ROW


def row_checksum(row: Row, code: int) -> int:
    """The checksum of a row of the journal; `code` is that of its features."""
    id, digest, spam, errors, score, source, time = row
    numbers = struct.pack("<qqd?dq", id, spam, time, score is None, score or 0.0, code)
    return zlib.crc32(b"".join((numbers, errors, digest, source.encode("utf-8", "surrogatepass"))))


def score_bits(score: float | None, spam: int) -> int:
    """What a row adds, by exclusive or, to the checksum of all scores: 64 bits, those of spam above those of ham."""
    return 0 if score is None else int.from_bytes(struct.pack("<d", score), "little") << (64 if spam else 0)


def figures_checksum(figures: dict[str, Any]) -> int:
    """The checksum of all figures but itself."""
    return zlib.crc32(repr(sorted(item for item in figures.items() if item[0] != "checksum")).encode())


class Database:
    """A filter's file, made when it is not there.

    Parameters
    ----------
    path : path
        The SQLite file.
    model : str
        Name of the model of a new file; an old one has its own.
    read_only : bool
        Whether to refuse writing, and to need the file to be there.
    """

    def __init__(self, path: str | os.PathLike[str], model: str, *, read_only: bool) -> None:
        try:
            from tallywise import _sqlite
        except ImportError as error:
            msg = "A filter in a file needs apsw: pip install 'tallywise[spam]'"
            raise SpamStoreError(msg) from error
        self._sqlite = _sqlite
        self.path, self._read_only = os.fspath(path), read_only
        self._changes: dict[str, int] = {}  # of figures, to be written with the transaction
        if read_only and not os.path.exists(self.path):
            msg = f"{self.path} does not exist: 'tally spam learn' makes it"
            raise SpamStoreError(msg)
        with self._named():
            try:
                self._db = _sqlite.connect(self.path, make=not read_only)
            except OSError as error:
                msg = f"{self.path} cannot be made: {error.strerror}"
                raise SpamStoreError(msg) from error
            self._open(model)

    def _open(self, model: str) -> None:
        self._db.execute("PRAGMA secure_delete = ON")
        version = self._db.pragma("user_version")
        if version == 0 and self._sqlite.is_new(self._db):
            self._make(model)
            version = self._db.pragma("user_version")
        elif self._db.pragma("application_id") != _APPLICATION:
            msg = f"{self.path} is a database, but not of a spam filter"
            raise SpamStoreError(msg)
        elif version > VERSION:
            msg = f"{self.path} is of version {version}, from a newer tallywise; this one reads version {VERSION}"
            raise SpamStoreError(msg)
        self._db.pragma("synchronous", "full")
        self.checked = bool(self._one("SELECT 1 FROM pragma_table_info('journal') WHERE name = 'checksum'"))
        if self.checked != (version >= _CHECKED):
            self.damaged("its version is not that of its tables")
        if version < VERSION and not self._read_only:
            with self.writing():
                self._bring_up_to_date()
        self.model = str(self.figures()["model"])

    def _make(self, model: str) -> None:
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", "full")
        self.checked = True
        with self.writing():
            if self._sqlite.is_new(self._db):  # another process may have been first
                self._db.execute(_SCHEMA + _HISTORY)
                self._put_figures(
                    {"model": model, "generation": 0, "messages": 0, "spam": 0, "scores": "0", "reader": READER}
                )
                self._sqlite.sign(self._db, _APPLICATION, VERSION)

    def _bring_up_to_date(self) -> None:
        """Make a file of an older version one of this, as far as SQLite finds it sound."""
        if self._db.pragma("user_version") == VERSION:
            self.checked = True  # by another process
            return
        figures = dict(self._all("SELECT key, value FROM meta"))
        if not self.checked:
            wrong = [row for (row,) in self._all("PRAGMA integrity_check(1)") if row != "ok"]
            if wrong:
                self.damaged(wrong[0])
            self._db.execute("ALTER TABLE journal ADD COLUMN code_checksum INTEGER")
            self._db.execute("ALTER TABLE journal ADD COLUMN checksum INTEGER")
            if self._one("SELECT 1 FROM sqlite_schema WHERE name = 'prior'"):
                self._db.execute("ALTER TABLE prior ADD COLUMN checksum INTEGER")
                rows = self._all("SELECT token, spam, ham FROM prior")
                changed = [(prior_checksum(*row), row[0]) for row in rows]
                self._db.executemany("UPDATE prior SET checksum = ? WHERE token = ?", changed)
            figures |= self._give_checksums()
            self.checked = True
        else:
            self.figures()  # of which the checksum is looked at
        self._db.execute("DROP TABLE IF EXISTS aside")
        self._db.execute("CREATE INDEX IF NOT EXISTS by_label ON journal (spam)")
        self._db.execute(_HISTORY)
        self._put_figures(figures | {"generation": figures["generation"] + 1})  # its weights are not those of today
        self._db.pragma("user_version", VERSION)

    def _give_checksums(self) -> dict[str, Any]:
        last = messages = spams = scores = 0
        query = f"SELECT {ROW}, (SELECT code FROM features f WHERE f.id = j.id) FROM journal j WHERE id > ?"
        while rows := self._all(f"{query} ORDER BY id LIMIT {_AT_ONCE}", (last,)):
            changed = []
            for *values, code in rows:
                row: Row = tuple(values)
                if code is None:
                    self.damaged(f"entry {row[0]} has no features")
                code_checksum = zlib.crc32(code)
                changed.append((code_checksum, row_checksum(row, code_checksum), row[0]))
                scores ^= score_bits(row[4], row[2])
                messages, spams, last = messages + 1, spams + row[2], row[0]
            self._db.executemany("UPDATE journal SET code_checksum = ?, checksum = ? WHERE id = ?", changed)
        return {"messages": messages, "spam": spams, "scores": f"{scores:x}"}

    # --- figures ---

    def figures(self) -> dict[str, Any]:
        """All figures, as they were when the last transaction ended."""
        found = dict(self._all("SELECT key, value FROM meta"))
        if self.checked and found.get("checksum") != figures_checksum(found):
            self.damaged("its figures have another checksum")
        return found

    def _change(self, scores: int = 0, **figures: int) -> None:
        """Add to figures when the transaction ends; `scores` by exclusive or."""
        for name, adds in figures.items():
            self._changes[name] = self._changes.get(name, 0) + adds
        self._changes["scores"] = self._changes.get("scores", 0) ^ scores

    def _put_figures(self, figures: dict[str, Any]) -> None:
        figures = figures | {"checksum": figures_checksum(figures)}
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(figures.items()))

    def _write_changes(self) -> None:
        if not self._changes:
            return
        figures = self.figures()
        scores = int(figures["scores"], 16) ^ self._changes.pop("scores", 0)
        changed = {name: figures.get(name, 0) + adds for name, adds in self._changes.items()}
        self._put_figures(figures | changed | {"scores": f"{scores:x}"})

    # --- errors, queries, transactions ---

    def damaged(self, what: str, cause: Exception | None = None) -> NoReturn:
        """Raise the error of a file that is not as it was written."""
        msg = (
            f"{self.path} is damaged ({what}): restore it from a backup or an export, or save what is whole with "
            f"'tally spam recover --store {self.path} NEW-FILE'"
        )
        raise SpamStoreError(msg) from cause

    def _named(self) -> contextlib.AbstractContextManager[None]:
        """Errors of SQLite, in words that say what to do."""
        return self._sqlite.failures(self._fail)

    def _fail(self, kind: str, error: Exception) -> NoReturn:
        if kind == "damaged":
            self.damaged(str(error), error)
        words = {
            "locked": f"{self.path} is locked by another process: try again, or stop it",
            "full": f"{self.path}: the disk is full; nothing of this was learned",
        }
        raise SpamStoreError(words.get(kind, f"{self.path}: {error}")) from error

    def _one(self, query: str, values: tuple[Any, ...] = ()) -> Any:
        with self._named():
            row = self._db.execute(query, values).fetchone()
        return None if row is None else row[0]

    def _all(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._named():
            return self._db.execute(query, values).fetchall()

    def all(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Rows of a query."""
        return self._all(query, values)

    def run(self, query: str, values: tuple[Any, ...] = ()) -> None:
        """Change the file."""
        self.run_many(query, [values])

    def run_many(self, query: str, rows: list[tuple[Any, ...]]) -> None:
        """Change the file with each row of values."""
        with self._named():
            self._db.executemany(query, rows)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all of what happens inside is kept, or none."""
        if self._db.in_transaction:
            yield
            return
        self._changes = {}
        try:
            with self._named(), self._sqlite.transaction(self._db, write=True):
                yield
                self._write_changes()
        finally:
            self._changes = {}

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the file, whatever other processes write meanwhile."""
        with self._named(), self._sqlite.transaction(self._db, write=False):
            yield

    def compact(self) -> None:
        """Give back unused space; nothing of what was taken out stays in the file."""
        with self._named():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of files."""
        with self._named():
            self._db.close()


def prior_checksum(token: bytes, spam: int, ham: int) -> int:
    """The checksum of a count of another filter."""
    return zlib.crc32(struct.pack("<qq", spam, ham) + token)


def snapshot_figures(
    upto: int, generation: int, entries: int, rehearsed: tuple[int, int, int], checksum: bytes
) -> dict[str, Any]:
    """What the figures say of the weights kept: after which entry, of how many, what was learned again, checksum."""
    run, ham, spam = rehearsed
    return {
        "kept_upto": upto,
        "kept_generation": generation,
        "kept_entries": entries,
        "kept_run": run,
        "kept_again_ham": ham,
        "kept_again_spam": spam,
        "kept_checksum": checksum.hex(),
    }
