"""Mail that was judged lately: who sent it, what the filter said and why, and its features, so that it can be learned.

Messages are noted in memory as they are judged and written together, as a commit for each would cost more than judging
it. Of so many only the newest stay; how many were judged on each day stays for a year.
"""

import threading
import time
import zlib
from collections import Counter
from typing import Any, NamedTuple

from tallywise._native import SpamFeatures
from tallywise.reading.mail import decoded_words
from tallywise.spam.identity import digest_of
from tallywise.spam.journal_store import JournalStore
from tallywise.spam.marking import header_fields
from tallywise.spam.verdict import Verdict, shown

_AT_ONCE = 200  # messages from one `write` to the next: to note one takes as long as to judge five
_LONGEST = 120  # characters of sender and subject
_DAYS = 366
_COLUMNS = "id, digest, time, label, score, threshold, sender, subject, reasons"


class Seen(NamedTuple):
    """One message that was judged.

    Attributes
    ----------
    id : int
        Its number in the history.
    digest : bytes
        Its key in the journal.
    time : float
        When it was judged.
    label : str
        What it was taken for.
    score, threshold : float
        Log-odds, and above which it was spam.
    sender, subject, reasons : str
        For people.
    learned : str or None
        The label that it was learned with since.
    """

    id: int
    digest: bytes
    time: float
    label: str
    score: float
    threshold: float
    sender: str
    subject: str
    reasons: str
    learned: str | None = None


class History:
    """The history in a filter's file.

    Parameters
    ----------
    store : JournalStore
        The file.
    most : int
        Messages that are kept; 0 notes nothing.
    """

    def __init__(self, store: JournalStore, most: int) -> None:
        self._store, self.most = store, most
        self._waiting: list[tuple[Any, ...]] = []
        self._judged: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()  # of the two: one thread judges, another one writes

    @property
    def has_room(self) -> bool:
        """Whether one more message may be noted before the next `write`."""
        return len(self._waiting) < min(self.most, _AT_ONCE)

    def count(self, label: str) -> None:
        """Count a message that was judged."""
        if self.most:
            day = time.strftime("%Y-%m-%d", time.gmtime())
            with self._lock:
                self._judged[day, label] += 1

    def note(self, raw: bytes, verdict: Verdict, features: SpamFeatures) -> None:
        """Note a message that was judged; `write` puts it into the file."""
        now, code, digest = time.time(), features.encode(), digest_of(raw)
        why = ", ".join(str(reason) for reason in verdict.reasons)
        sender, subject = _who(raw)
        said = verdict.label, verdict.score, verdict.threshold, sender, subject, verdict.listed or why
        row = digest, now, *said, code, zlib.crc32(code)
        with self._lock:
            self._waiting.append(row)

    def write(self) -> None:
        """Write what was noted since the last time."""
        store = self._store
        with self._lock:
            rows, self._waiting = self._waiting, []
            judged, self._judged = self._judged, Counter()
        if not judged:
            return
        with store.writing():
            store.run_many(
                "INSERT INTO seen (digest, time, label, score, threshold, sender, subject, reasons, code, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            store.run("DELETE FROM seen WHERE id <= (SELECT max(id) FROM seen) - ?", (self.most,))
            add = "INSERT INTO days VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET messages = messages + excluded.messages"
            store.run_many(add, [(*key, number) for key, number in judged.items()])
            store.run("DELETE FROM days WHERE day < date('now', ?)", (f"-{_DAYS} days",))

    def last(self, most: int = 20, label: str | None = None) -> list[Seen]:
        """The newest messages, the newest first."""
        learned = "coalesce((SELECT spam + 1 FROM journal j WHERE j.digest = s.digest), 0)"
        where, values = ("WHERE label = ?", (label, most)) if label else ("", (most,))
        rows: list[tuple[Any, ...]] = self._store.all(
            f"SELECT {_COLUMNS}, {learned} FROM seen s {where} ORDER BY id DESC LIMIT ?", values
        )
        return [Seen(*row)._replace(learned=(None, "ham", "spam")[row[-1]]) for row in rows]

    def message(self, id: int) -> tuple[bytes, bytes, str]:
        """Digest, coded features and sender of a message."""
        store = self._store
        rows = store.all("SELECT digest, code, sender, checksum FROM seen WHERE id = ?", (id,))
        if not rows:
            msg = f"The history has no message {id}: 'tally spam history' lists them."
            raise ValueError(msg)
        digest, code, sender, checksum = rows[0]
        if zlib.crc32(code) != checksum:
            store.damaged(f"the features of message {id} of the history have another checksum")
        return digest, code, sender

    def judged(self, days: int) -> dict[str, int]:
        """How many messages were taken for spam, ham and unsure in the last days."""
        query = "SELECT label, sum(messages) FROM days WHERE day > date('now', ?) GROUP BY label"
        return dict(self._store.all(query, (f"-{days} days",)))


def _who(raw: bytes) -> tuple[str, str]:
    """Sender and subject as lines for people."""
    found = {b"from": "", b"subject": ""}
    for field in header_fields(raw[: 1 << 16]):
        name, _, value = field[:4096].partition(b":")
        name = name.strip().lower()
        if name in found and not found[name]:
            text = decoded_words(b" ".join(value.split()).decode("latin-1"))
            found[name] = shown(text.encode("utf-8", "replace"))[:_LONGEST]
    return found[b"from"], found[b"subject"]
