"""A journal in one SQLite file, by apsw: a commit for every acknowledgement, any number of processes.

Every process reads what others wrote before it adds its own, in one transaction, so that the order of the journal is
the order in which all of them learn. ``generation`` counts the entries taken out: weights of another generation are
not those of the journal, and are computed again from it.
"""

import os
import struct
import sys
import time
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING, Any, NamedTuple

from tallywise._native import spam_checksum
from tallywise.spam.database import (
    READER,
    ROW,
    Database,
    Row,
    SpamStoreError,
    prior_checksum,
    row_checksum,
    score_bits,
    snapshot_figures,
)
from tallywise.spam.journal import Entry, Errors

if TYPE_CHECKING:
    from tallywise.spam.prior import Count, Dump, Totals

__all__ = ["JournalStore", "Snapshot", "SpamStoreError"]

_AT_ONCE = 500  # values of one query
_PIECE = 1 << 17  # bytes of weights read at a time
_COUNTS = "SELECT count(*), coalesce(sum(spam), 0) FROM journal"
_NOTHING = struct.pack("<3d", 0, 0, 0)  # errors of a message that changed no weight

# Made when counts of another filter are taken in: few files have them.
_PRIOR = (
    "CREATE TABLE IF NOT EXISTS prior (token BLOB PRIMARY KEY, spam INTEGER, ham INTEGER, checksum INTEGER)"
    " WITHOUT ROWID"
)


class Snapshot(NamedTuple):
    """Weights after entry `upto` of the journal, what was learned again, and how many entries there are up to it."""

    upto: int
    entries: int | None
    rehearsed: tuple[int, int, int]
    learner: Any


class JournalStore(Database):
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
        super().__init__(path, model, read_only=read_only)
        self.keep_text = keep_text
        self._seen = self._data_version()
        # A file of an older version, opened to be read, has no checksums.
        self._row = f"{ROW}, code_checksum, checksum" if self.checked else f"{ROW}, NULL, NULL"

    def _data_version(self) -> int:
        return int(self._one("PRAGMA data_version"))

    def changed_by_others(self) -> bool:
        """Whether another process has written since the last call."""
        before, self._seen = self._seen, self._data_version()
        return before != self._seen

    @property
    def generation(self) -> int:
        """How many times an entry was taken out."""
        return int(self.figures()["generation"])

    def _checked(self, row: tuple[Any, ...]) -> Entry:
        """The entry of a row that is as it was written."""
        values: Row = row[:7]
        code_checksum, checksum = row[7:]
        if self.checked and (code_checksum is None or row_checksum(values, code_checksum) != checksum):
            self.damaged(f"entry {values[0]} has another checksum")
        return _entry(*values)

    def _code(self, id: int, code: bytes | None, checksum: int | None) -> bytes:
        if code is None or (self.checked and zlib.crc32(code) != checksum):
            self.damaged(f"the features of entry {id} have another checksum")
        return code

    def find(self, digest: bytes) -> Entry | None:
        """The entry of a message."""
        rows = self._all(f"SELECT {self._row} FROM journal WHERE digest = ?", (digest,))
        return self._checked(rows[0]) if rows else None

    def append(
        self, digest: bytes, spam: bool, errors: Errors, score: float | None, source: str, features: bytes, text: bytes
    ) -> int:
        """Add an entry; returns its number."""
        with self._named():
            row = (digest, int(spam), struct.pack("<3d", *errors), score, source, time.time())
            code_checksum = zlib.crc32(features)
            self._db.execute(
                "INSERT INTO journal (digest, spam, errors, score, source, time, code_checksum) VALUES"
                " (?, ?, ?, ?, ?, ?, ?)",
                (*row, code_checksum),
            )
            id = self._db.last_insert_rowid()
            checksum = row_checksum((id, *row), code_checksum)
            self._db.execute("UPDATE journal SET checksum = ? WHERE id = ?", (checksum, id))
            kept = text or None if self.keep_text else None
            self._db.execute("INSERT INTO features (id, code, text) VALUES (?, ?, ?)", (id, features, kept))
            self._change(messages=1, spam=int(spam), scores=score_bits(score, spam))
        return id

    def remove(self, digest: bytes) -> None:
        """Take an entry out."""
        entry = self.find(digest)
        if entry is None:
            return
        kept = self.figures().get("kept_upto", 0) >= entry.id
        with self._named():
            self._db.execute("DELETE FROM features WHERE id = ?", (entry.id,))
            self._db.execute("DELETE FROM journal WHERE id = ?", (entry.id,))
            self._change(
                messages=-1,
                spam=-int(entry.spam),
                scores=score_bits(entry.score, entry.spam),
                kept_entries=-int(kept),
                generation=1,
            )

    def features(self, id: int) -> bytes:
        """Coded features of an entry."""
        rows = self._all(
            f"SELECT {self._row}, (SELECT code FROM features f WHERE f.id = ?1) FROM journal WHERE id = ?1", (id,)
        )
        if not rows:
            self.damaged(f"entry {id} is not there")
        self._checked(rows[0][:-1])
        return self._code(id, rows[0][-1], rows[0][-3])

    def entries(self, after: int, most: int, *, changes: bool = False) -> list[tuple[Entry, bytes]]:
        """Entries in order from the first behind `after`; with `changes`, without features that changed nothing."""
        code = f"(SELECT code FROM features f WHERE f.id = j.id {'AND j.errors != ?3' if changes else ''})"
        values = (after, most, _NOTHING) if changes else (after, most)
        rows = self._all(f"SELECT {self._row}, {code} FROM journal j WHERE id > ?1 ORDER BY id LIMIT ?2", values)
        found = []
        for *row, code in rows:
            entry = self._checked(tuple(row))
            skipped = changes and not any(entry.errors)
            found.append((entry, b"" if skipped else self._code(entry.id, code, row[-2])))
        return found

    def set_errors(self, changed: list[Entry]) -> None:
        """Put entries with the errors of a replay in the place of those of the day."""
        with self._named():
            for entry in changed:
                errors = struct.pack("<3d", *entry.errors)
                code_checksum = self._one("SELECT code_checksum FROM journal WHERE id = ?", (entry.id,))
                row = (entry.id, entry.digest, int(entry.spam), errors, entry.score, entry.source, entry.time)
                checksum = row_checksum(row, code_checksum)
                self._db.execute(
                    "UPDATE journal SET errors = ?, checksum = ? WHERE id = ?", (errors, checksum, entry.id)
                )

    def counts(self) -> tuple[int, int]:
        """Messages, and spam among them."""
        found = self.figures()
        messages, spam = (found["messages"], found["spam"]) if "messages" in found else self._all(_COUNTS)[0]
        return int(messages), int(spam)

    def scores(self, since: float = 0.0) -> Iterator[tuple[float, bool]]:
        """Scores before learning, with labels, in order, of what was learned since some time."""
        with self.reading():
            rows = self._all("SELECT score, spam, time FROM journal WHERE score IS NOT NULL ORDER BY id")
            figures = self.figures()
        if self.checked and int(figures["scores"], 16) != _all_bits([row[:2] for row in rows]):
            self.damaged("its scores have another checksum")
        return ((score, bool(spam)) for score, spam, when in rows if when >= since)

    def next_of(self, spam: bool, after: int, before: int) -> int | None:
        """Number of the first entry of a class between two others; where there is none, of the first of the class."""
        query = "SELECT id FROM journal WHERE spam = ? AND id > ? AND id < ? ORDER BY id LIMIT 1"
        found = self._one(query, (int(spam), after, before)) or self._one(query, (int(spam), 0, before))
        return None if found is None else int(found)

    def alone(self) -> tuple[bool, int]:
        """The class that was learned last, and how many messages of it since the last one of the other."""
        last = [self._one("SELECT max(id) FROM journal WHERE spam = ?", (label,)) or 0 for label in (0, 1)]
        spam = last[True] > last[False]
        return spam, int(self._one("SELECT count(*) FROM journal WHERE id > ?", (last[not spam],)))

    def put_prior(self, dump: "Dump") -> None:
        """Keep the counts of another filter, in the place of older ones."""
        with self._named():
            self._db.execute(_PRIOR)
            self._db.execute("DELETE FROM prior")
            rows = ((*count, prior_checksum(*count)) for count in dump)
            self._db.executemany("INSERT OR REPLACE INTO prior VALUES (?, ?, ?, ?)", rows)
            self._put_figures(
                self.figures() | {f"prior_{name}": value for name, value in dump.totals._asdict().items()}
            )

    def prior(self) -> "Totals | None":
        """Where the counts of another filter came from, and of how many messages."""
        found = self.figures()
        if "prior_source" not in found:
            return None
        from tallywise.spam.prior import Totals

        return Totals(found["prior_source"], found["prior_spam"], found["prior_ham"])

    def lists(self) -> dict[str, bool]:
        """Entries of the allow list (True) and of the block list; a figure, so that its checksum holds for them."""
        kept = self.figures().get("lists")
        if kept is None:
            return {}
        import json  # a filter in a pipe, most of which have no lists, starts without it

        found: dict[str, bool] = json.loads(kept)
        return found

    def put_lists(self, lists: dict[str, bool]) -> None:
        """Keep lists in the place of older ones."""
        import json

        self._put_figures(self.figures() | {"lists": json.dumps(lists)})

    def prior_counts(self, tokens: list[bytes]) -> "list[Count]":
        """Counts of those tokens that the other filter had."""
        from tallywise.spam.prior import Count

        found: list[Count] = []
        for start in range(0, len(tokens), _AT_ONCE):
            some = tuple(tokens[start : start + _AT_ONCE])
            marks = ", ".join("?" * len(some))
            column = "checksum" if self.checked else "NULL"
            rows = self._all(f"SELECT token, spam, ham, {column} FROM prior WHERE token IN ({marks})", some)
            if self.checked and any(prior_checksum(*row[:3]) != row[3] for row in rows):
                self.damaged("counts taken over from another filter have another checksum")
            found += [Count(*row[:3]) for row in rows]
        return found

    def snapshot(self, make: Callable[[], Any]) -> Snapshot | None:
        """The newest weights kept, in a learner that `make` gives, when they are of this generation and whole.

        They go into its table piece by piece: a filter in a pipe would take longer to get memory for all of them beside
        it than to read them.
        """
        with self.reading():
            kept = self._kept()
            if kept is None or kept["kept_generation"] != self.generation:
                return None
            learner = make()
            with self._state() as blob:
                fits = blob.length() == learner.state_bytes
                for offset in range(0, learner.state_bytes if fits else 0, _PIECE):
                    learner.fill(offset, blob.read(_PIECE))
        if not fits or struct.pack("<Q", learner.checksum()).hex() != kept["kept_checksum"]:
            return None
        learner.check()
        run, ham, spam = (kept[f"kept_{name}"] for name in ("run", "again_ham", "again_spam"))
        return Snapshot(kept["kept_upto"], kept["kept_entries"], (run, ham, spam), learner)

    def _kept(self) -> dict[str, Any] | None:
        """What is known of the weights kept."""
        if not self._one("SELECT count(*) FROM snapshot"):
            return None
        figures = self.figures() if self.checked else {}
        return figures if "kept_run" in figures else None

    @contextmanager
    def _state(self) -> Iterator[Any]:
        with self._named():
            blob = self._db.blob_open("main", "snapshot", "state", 1, False)
            try:
                yield blob
            finally:
                blob.close(True)  # errors of reading are said once

    @property
    def outdated(self) -> bool:
        """Whether the features are of an older reader of mail."""
        return bool(self.figures().get("reader", 1) != READER)

    def read_again(self, features_of: Callable[[bytes], bytes]) -> None:
        """Put features of today's reader in the place of older ones, from kept text; refused where there is none."""
        without = self._one(
            "SELECT count(*) FROM journal WHERE id NOT IN (SELECT id FROM features WHERE text NOT NULL)"
        )
        if without or self._read_only:
            what = f"the text of {without:,} messages was not kept: teach a new file with 'tally spam learn'"
            again = f"its text was kept: 'tally spam compact --store {self.path}' reads it again"
            why = what if without else again
            msg = f"{self.path} was taught by an older version, which read mail in another way; {why}"
            raise SpamStoreError(msg)
        with self.writing():
            for (id,) in self._all("SELECT id FROM journal ORDER BY id"):
                row: Row = self._all(f"SELECT {ROW} FROM journal WHERE id = ?", (id,))[0]
                code = features_of(self._one("SELECT text FROM features WHERE id = ?", (id,)))
                sums = zlib.crc32(code), row_checksum(row, zlib.crc32(code)), id
                self._db.execute("UPDATE features SET code = ? WHERE id = ?", (code, id))
                self._db.execute("UPDATE journal SET code_checksum = ?, checksum = ? WHERE id = ?", sums)
            figures = self.figures()
            self._put_figures(figures | {"reader": READER, "generation": figures["generation"] + 1})

    def put_snapshot(self, upto: int, generation: int, rehearsed: tuple[int, int, int], state: bytes) -> None:
        """Keep weights, in the place of older ones."""
        with self.writing():
            checksum = _checksum(state)
            entries = self._one("SELECT count(*) FROM journal WHERE id <= ?", (upto,))
            self._db.execute(
                "INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?, ?, ?)", (upto, generation, state, checksum)
            )
            kept = snapshot_figures(upto, generation, entries, rehearsed, checksum)
            self._put_figures(self.figures() | kept)

    def check_entries(self) -> None:
        """Read all of the journal; raises the error of a damaged file where an entry is damaged or missing."""
        last = messages = spam = 0
        with self.reading():
            while batch := self.entries(last, _AT_ONCE):
                messages, spam = messages + len(batch), spam + sum(entry.spam for entry, _ in batch)
                last = batch[-1][0].id
            counts = self.counts()
        if (messages, spam) != counts:
            self.damaged(f"the journal has {messages} entries, {spam} of them spam; {counts} were learned")

    def verify(self) -> list[str]:
        """What is wrong with the file; an empty list when nothing is."""
        wrong = [row for (row,) in self._all("PRAGMA integrity_check") if row != "ok"]
        lost = self._one("SELECT count(*) FROM journal WHERE id NOT IN (SELECT id FROM features)")
        if lost:
            wrong.append(f"{lost} entries of the journal have no features")
        for check in (self.check_entries, self.scores):
            try:
                check()
            except SpamStoreError as error:
                wrong.append(str(error))
        if not self._snapshot_is_whole():
            wrong.append("the snapshot of the weights is damaged (it will be computed again from the journal)")
        return wrong

    def _snapshot_is_whole(self) -> bool:
        kept = self._kept()
        if kept is None:
            return True
        with self._state() as blob:
            return bool(_checksum(blob.read()).hex() == kept["kept_checksum"])


def _entry(id: int, digest: bytes, spam: int, errors: bytes, score: float | None, source: str, time: float) -> Entry:
    return Entry(id, digest, bool(spam), struct.unpack("<3d", errors), score, source, time)


def _checksum(state: bytes) -> bytes:
    return struct.pack("<Q", spam_checksum(state))


def _all_bits(rows: list[tuple[float, int]]) -> int:
    """The exclusive or of `score_bits` of all rows."""
    found = []
    for label in (0, 1):
        bits = array("Q", array("d", [score for score, spam in rows if bool(spam) == label]).tobytes())
        if sys.byteorder == "big":
            bits.byteswap()
        found.append(reduce(xor, bits, 0))
    return found[0] | found[1] << 64
