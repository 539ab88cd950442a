"""What a filter has learned, message by message: the weights are a function of this list and of nothing else."""

import bisect
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from tallywise.spam.prior import Count, Dump, Totals

Errors = tuple[float, float, float]


class Entry(NamedTuple):
    """One message learned: its number in order, digest, label, errors of the views, score before it was learned."""

    id: int
    digest: bytes
    spam: bool
    errors: Errors
    score: float | None
    source: str
    time: float


class Journal(Protocol):
    """What `SpamFilter` needs of the place where its journal is kept."""

    def writing(self) -> AbstractContextManager[None]:
        """One transaction: all of what happens inside is kept, or none."""

    def reading(self) -> AbstractContextManager[None]:
        """One state of the journal, whatever others write meanwhile."""

    def find(self, digest: bytes) -> Entry | None:
        """The entry of a message."""

    def append(
        self, digest: bytes, spam: bool, errors: Errors, score: float | None, source: str, features: bytes, text: bytes
    ) -> int:
        """Add an entry; returns its number."""

    def remove(self, digest: bytes) -> None:
        """Take an entry out."""

    def features(self, id: int) -> bytes:
        """Coded features of an entry."""

    def entries(self, after: int, most: int, *, changes: bool = False) -> list[tuple[Entry, bytes]]:
        """Entries in order from the first behind `after`; with `changes`, without features that changed nothing."""

    def set_errors(self, changed: list[Entry]) -> None:
        """Put entries with the errors of a replay in the place of those of the day."""

    def counts(self) -> tuple[int, int]:
        """Messages, and spam among them."""

    def next_of(self, spam: bool, after: int, before: int) -> int | None:
        """Number of the first entry of a class between two others; where there is none, of the first of the class."""

    def alone(self) -> tuple[bool, int]:
        """The class that was learned last, and how many messages of it since the last one of the other."""

    def check_entries(self) -> None:
        """Raise the error of a damaged journal where an entry is damaged or missing."""

    def scores(self, since: float = 0.0) -> Iterator[tuple[float, bool]]:
        """Scores before learning, with labels, in order, of what was learned since some time."""

    def put_prior(self, dump: "Dump") -> None:
        """Keep the counts of another filter, in the place of older ones."""

    def prior(self) -> "Totals | None":
        """Where the counts of another filter came from, and of how many messages."""

    def prior_counts(self, tokens: list[bytes]) -> "Iterable[Count]":
        """Counts of those tokens that the other filter had."""

    def lists(self) -> dict[str, bool]:
        """Entries of the allow list (True) and of the block list."""

    def put_lists(self, lists: dict[str, bool]) -> None:
        """Keep lists in the place of older ones."""

    def close(self) -> None:
        """Let go of files."""


class MemoryJournal:
    """A journal for the length of a process; features lie in a temporary file, three kilobytes a message."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Entry, int, int]] = {}
        self._by_digest: dict[bytes, int] = {}
        self._ids: tuple[list[int], list[int]] = [], []  # of ham and of spam
        self._prior: Totals | None = None
        self._lists: dict[str, bool] = {}
        self._prior_counts: dict[bytes, Count] = {}
        import tempfile  # a filter in a file starts without it

        self._spool = tempfile.TemporaryFile()
        weakref.finalize(self, self._spool.close)
        self._next, self._end = 1, 0

    def writing(self) -> AbstractContextManager[None]:
        """One transaction: all of what happens inside is kept, or none."""
        return nullcontext()

    def reading(self) -> AbstractContextManager[None]:
        """One state of the journal, whatever others write meanwhile."""
        return nullcontext()

    def find(self, digest: bytes) -> Entry | None:
        """The entry of a message."""
        id = self._by_digest.get(digest)
        return None if id is None else self._entries[id][0]

    def append(
        self, digest: bytes, spam: bool, errors: Errors, score: float | None, source: str, features: bytes, text: bytes
    ) -> int:
        """Add an entry; returns its number."""
        id, self._next = self._next, self._next + 1
        self._spool.seek(self._end)
        self._spool.write(features)
        self._entries[id] = (Entry(id, digest, spam, errors, score, source, time.time()), self._end, len(features))
        self._end += len(features)
        self._by_digest[digest] = id
        self._ids[spam].append(id)
        return id

    def remove(self, digest: bytes) -> None:
        """Take an entry out."""
        entry, start, size = self._entries.pop(self._by_digest.pop(digest))
        self._ids[entry.spam].remove(entry.id)
        self._spool.seek(start)
        self._spool.write(bytes(size))

    def features(self, id: int) -> bytes:
        """Coded features of an entry."""
        _, start, size = self._entries[id]
        self._spool.seek(start)
        return self._spool.read(size)

    def entries(self, after: int, most: int, *, changes: bool = False) -> list[tuple[Entry, bytes]]:
        """Entries in order from the first behind `after`; with `changes`, without features that changed nothing."""
        found = []
        for id in range(after + 1, self._next):
            if id in self._entries:
                entry = self._entries[id][0]
                found.append((entry, b"" if changes and not any(entry.errors) else self.features(id)))
                if len(found) == most:
                    break
        return found

    def set_errors(self, changed: list[Entry]) -> None:
        """Put entries with the errors of a replay in the place of those of the day."""
        for entry in changed:
            self._entries[entry.id] = (entry, *self._entries[entry.id][1:])

    def counts(self) -> tuple[int, int]:
        """Messages, and spam among them."""
        return len(self._entries), len(self._ids[True])

    def next_of(self, spam: bool, after: int, before: int) -> int | None:
        """Number of the first entry of a class between two others; where there is none, of the first of the class."""
        ids = self._ids[spam]
        place = bisect.bisect_right(ids, after)
        place = place if place < len(ids) and ids[place] < before else 0
        return ids[place] if ids and ids[place] < before else None

    def alone(self) -> tuple[bool, int]:
        """The class that was learned last, and how many messages of it since the last one of the other."""
        last = [ids[-1] if ids else 0 for ids in self._ids]
        spam = last[True] > last[False]
        return spam, sum(id > last[not spam] for id in self._ids[spam])

    def check_entries(self) -> None:
        """Raise the error of a damaged journal where an entry is damaged or missing."""

    def scores(self, since: float = 0.0) -> Iterator[tuple[float, bool]]:
        """Scores before learning, with labels, in order, of what was learned since some time."""
        return ((e.score, e.spam) for e, _, _ in self._entries.values() if e.score is not None and e.time >= since)

    def put_prior(self, dump: "Dump") -> None:
        """Keep the counts of another filter, in the place of older ones."""
        counts = {count.token: count for count in dump}
        self._prior, self._prior_counts = dump.totals, counts

    def prior(self) -> "Totals | None":
        """Where the counts of another filter came from, and of how many messages."""
        return self._prior

    def prior_counts(self, tokens: list[bytes]) -> "Iterable[Count]":
        """Counts of those tokens that the other filter had."""
        return [self._prior_counts[token] for token in tokens if token in self._prior_counts]

    def lists(self) -> dict[str, bool]:
        """Entries of the allow list (True) and of the block list."""
        return self._lists

    def put_lists(self, lists: dict[str, bool]) -> None:
        """Keep lists in the place of older ones."""
        self._lists = lists

    def close(self) -> None:
        """Let go of files."""
        self._spool.close()
