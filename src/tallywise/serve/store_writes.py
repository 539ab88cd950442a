"""Every change of the store, as functions of a connection inside the writer's transaction."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw

from tallywise.errors import TallywiseError
from tallywise.serve import near_repeats

LONGEST_LABEL = 200
# A character that can be seen, then any but control characters; the same in Python, JSON Schema and Rust.
LABEL_PATTERN = (
    r"^[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff][^\x00-\x1f\x7f-\x9f]*$"
)
_STATES = {"unsure": "unsure", "skip": "skipped", "confirm": "confirmed"}
_KEEP_KEYS = 7 * 86400.0  # seconds that an idempotency key is remembered


class UnknownTextError(TallywiseError, LookupError):
    """There is no such text in the store."""


class NothingToUndoError(TallywiseError, LookupError):
    """No change is left that could be undone."""


class KeyReusedError(TallywiseError, ValueError):
    """An idempotency key came again with another request."""


class LearnResult(NamedTuple):
    """What a learn did: the text's number, whether anything changed, and the label before."""

    id: int
    changed: bool
    old: str | None
    seq: int


class Undone(NamedTuple):
    """Texts whose change was undone, and how many had changed again and were left alone."""

    ids: list[int]
    kept: int


class Judged(NamedTuple):
    """A verdict on a stored text."""

    id: int
    verdict: str
    probability: float
    margin: float
    disagreement: float | None = None


def clean_label(label: str) -> str:
    """A label as it is stored: without white space around it, neither empty nor endless."""
    name = " ".join(label.split())
    if len(name) > LONGEST_LABEL or not re.fullmatch(LABEL_PATTERN, name):
        msg = (
            f"A label must have 1 to {LONGEST_LABEL} characters, none of them a control character. Got {label[:40]!r}."
        )
        raise ValueError(msg)
    return name


# --- texts ---


def add(db: apsw.Connection, text: str, source: str, at: float | None = None, date: float | None = None) -> int:
    """Put a text in, without a label; returns its number. `date` is its own, in days since 1970."""
    db.execute("INSERT INTO texts (text) VALUES (?)", (text,))
    number = db.last_insert_rowid()
    db.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (number, text))
    db.execute(
        "INSERT INTO items (id, digest, folded, source, added, date) VALUES (?, ?, ?, ?, ?, ?)",
        (number, near_repeats.digest(text), near_repeats.folded(text), source, at or time.time(), date),
    )
    db.executemany("INSERT OR IGNORE INTO sketches VALUES (?, ?)", [(key, number) for key in near_repeats.keys(text)])
    return number


def add_records(
    db: apsw.Connection, records: Iterable[tuple[str, str | None, str, float | None]], who: str, file: int | None = None
) -> int:
    """Put texts in, with their labels and dates where they have them; repeats stay repeats. Returns how many."""
    count = 0
    for text, label, source, date in records:
        number = add(db, text, source, date=date)
        if file is not None:
            db.execute("UPDATE items SET file = ? WHERE id = ?", (file, number))
        if label is not None:
            _set_label(db, number, (None, ""), clean_label(label), "import", who)
        count += 1
    return count


def find(db: apsw.Connection, text: str) -> int | None:
    """Number of the latest text that is equal to this one."""
    number: int | None = db.execute("SELECT max(id) FROM items WHERE digest = ?", (near_repeats.digest(text),)).get
    return number


def erase(db: apsw.Connection, ids: Sequence[int]) -> int:
    """Remove texts with all that is known about them."""
    for number in ids:
        text = _text(db, number)
        db.execute("INSERT INTO search (search, rowid, text) VALUES ('delete', ?, ?)", (number, text))
        label = db.execute("SELECT label FROM items WHERE id = ?", (number,)).get
        # A label that goes is a change that models have yet to hear of; nothing else of the text is kept.
        for table in ("sketches", "events", "verdicts", "held_out", "items", "texts"):
            db.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
        if label is not None:
            _event(db, number, "forget", (label, ""), None, "")
    return len(ids)


def _text(db: apsw.Connection, number: int) -> str:
    found = db.execute("SELECT text FROM texts WHERE id = ?", (number,)).get
    if found is None:
        msg = f"There is no text number {number}."
        raise UnknownTextError(msg)
    return str(found)


# --- labels ---


def learn(db: apsw.Connection, text: str, label: str, *, who: str, source: str = "service") -> LearnResult:
    """Give a text a label; a text that is there already is labelled, not put in again, so that retries count once."""
    number = find(db, text)
    return relabel(db, add(db, text, source) if number is None else number, label, who)


def relabel(db: apsw.Connection, number: int, label: str, who: str, drawn: str = "") -> LearnResult:
    """Give a stored text a label; `drawn` says how it came to be looked at."""
    now, name = _now(db, number), clean_label(label)
    if drawn:
        db.execute("UPDATE items SET drawn = ? WHERE id = ?", (drawn, number))
    if now[0] == name:
        return LearnResult(number, False, name, last_event(db))
    return LearnResult(number, True, now[0], _set_label(db, number, now, name, "learn", who))


def forget(db: apsw.Connection, number: int, who: str) -> LearnResult:
    """Take a text's label away."""
    now = _now(db, number)
    if now[0] is None:
        return LearnResult(number, False, None, last_event(db))
    return LearnResult(number, True, now[0], _set_label(db, number, now, None, "forget", who))


def put_off(db: apsw.Connection, number: int, action: str, who: str) -> int:
    """Mark a text as one that the person is unsure of, skips, or whose label they have looked at and confirm."""
    label, state = _now(db, number)
    db.execute("UPDATE items SET state = ? WHERE id = ?", (_STATES[action], number))
    return _event(db, number, action, (label, state), label, who)


@contextmanager
def together(db: apsw.Connection) -> Iterator[None]:
    """Whatever is changed meanwhile is one step, which is undone at once."""
    before = last_event(db)
    yield
    db.execute("UPDATE events SET step = ? WHERE seq > ?", (before + 1, before))


def undo(db: apsw.Connection, *, number: int | None = None, who: str | None = None, step: int | None = None) -> Undone:
    """Undo a step, the last change of a text, or the last step of somebody; what files brought is no step.

    Of a step, texts that were changed again since stay as they are.
    """
    given: list[tuple[str, Any]] = [("step", step), ("id", number), ("who", who)]
    column, value = next(pair for pair in given if pair[1] is not None)
    last = "SELECT seq, step FROM events WHERE {} = ? AND NOT undone AND action NOT IN ('undo', 'import') "
    row = db.execute(last.format(column) + "ORDER BY seq DESC LIMIT 1", (value,)).fetchone()
    if row is None:
        msg = "There is nothing to undo."
        raise NothingToUndoError(msg)
    column, value = ("seq", row[0]) if number is not None else ("step", row[1])
    events: list[Any] = db.execute(
        f"SELECT seq, id, old, was FROM events WHERE {column} = ? AND NOT undone AND action != 'undo' "
        "ORDER BY seq DESC",
        (value,),
    ).fetchall()
    ids, kept = [], 0
    with together(db):
        for seq, found, old, was in events:
            later = "SELECT 1 FROM events WHERE id = ? AND seq > ? AND NOT undone AND action != 'undo'"
            if number is None and db.execute(later, (found, seq)).get:
                kept += 1
                continue
            db.execute("UPDATE events SET undone = 1 WHERE seq = ?", (seq,))
            _set_label(db, found, _now(db, found), old, "undo", who or "", was)
            ids.append(found)
    if not ids:
        msg = "The texts of that step were changed again since: nothing was undone."
        raise NothingToUndoError(msg)
    return Undone(ids, kept)


def _now(db: apsw.Connection, number: int) -> tuple[str | None, str]:
    row = db.execute("SELECT label, state FROM items WHERE id = ?", (number,)).fetchone()
    if row is None:
        msg = f"There is no text number {number}."
        raise UnknownTextError(msg)
    label, state = row
    return label, str(state)


def _set_label(
    db: apsw.Connection,
    number: int,
    now: tuple[str | None, str],
    new: str | None,
    action: str,
    who: str,
    state: str = "",
) -> int:
    at = time.time()
    if new is not None:
        add_class(db, new)
    if new != now[0]:
        db.execute(
            "UPDATE items SET label = ?, labelled_by = ?, labelled_at = ? WHERE id = ?",
            (new, who if new is not None else None, at if new is not None else None, number),
        )
    db.execute("UPDATE items SET state = ? WHERE id = ?", (state, number))
    return _event(db, number, action, now, new, who)


def _event(
    db: apsw.Connection, number: int, action: str, now: tuple[str | None, str], new: str | None, who: str
) -> int:
    db.execute(
        "INSERT INTO events (id, action, old, was, new, who, at, step) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM events))",
        (number, action, *now, new, who, time.time()),
    )
    return db.last_insert_rowid()


def last_event(db: apsw.Connection) -> int:
    """Number of the last change of a label."""
    return int(db.execute("SELECT coalesce(max(seq), 0) FROM events").get)


# --- classes ---


def add_class(db: apsw.Connection, name: str) -> None:
    """A class of its own place, which is its key, and colour; one that is there keeps both."""
    if not db.execute("SELECT 1 FROM classes WHERE name = ?", (name,)).get:
        db.execute(
            "INSERT INTO classes (name, place, colour) "
            "SELECT ?, coalesce(max(place), 0) + 1, count(*) % 12 + 1 FROM classes",
            (name,),
        )


def describe_class(db: apsw.Connection, name: str, about: str, place: int, colour: int) -> None:
    """What a class is, and its place: the class that had the place gets the one that this class had."""
    old = db.execute("SELECT place FROM classes WHERE name = ?", (name,)).get
    if old is None:
        msg = f"There is no class {name[:40]!r}."
        raise UnknownTextError(msg)
    if place != old:
        db.execute("UPDATE classes SET place = ? WHERE place = ?", (old, place))
    values = (about[:500], place, colour, name)
    db.execute("UPDATE classes SET about = ?, place = ?, colour = ? WHERE name = ?", values)


def rename_class(db: apsw.Connection, old: str, new: str, who: str) -> int:
    """Call a class something else, in one step; a name that is there makes one class of two. Returns how many texts."""
    name = clean_label(new)
    if name == old:
        return 0
    ids = [row[0] for row in db.execute("SELECT id FROM items WHERE label = ?", (old,))]
    with together(db):
        if db.execute("SELECT 1 FROM classes WHERE name = ?", (name,)).get:
            db.execute("DELETE FROM classes WHERE name = ?", (old,))
        else:
            db.execute("UPDATE classes SET name = ? WHERE name = ?", (name, old))
        for number in ids:
            _set_label(db, number, _now(db, number), name, "rename", who)
    db.execute("UPDATE OR IGNORE rules SET label = ? WHERE label = ?", (name, old))
    return len(ids)


# --- verdicts ---


def record(db: apsw.Connection, seen: Iterable[tuple[str, str, float, float]], version: str, source: str) -> list[int]:
    """Keep texts that were classified, each with its verdict (text, verdict, probability, margin)."""
    at, numbers = time.time(), []
    for text, verdict, probability, margin in seen:
        number = find(db, text)
        if number is None:
            number = add(db, text, source, at)
        judge(db, [Judged(number, verdict, probability, margin)], version)
        db.execute(
            "INSERT INTO verdicts (id, verdict, probability, version, at) VALUES (?, ?, ?, ?, ?)",
            (number, verdict, probability, version, at),
        )
        numbers.append(number)
    return numbers


def judge(db: apsw.Connection, verdicts: Iterable[Judged], version: str) -> None:
    """Write what a model now says of stored texts."""
    db.executemany(
        "UPDATE items SET verdict = ?, probability = ?, margin = ?, disagreement = ?, version = ? WHERE id = ?",
        [(v.verdict, v.probability, v.margin, v.disagreement, version, v.id) for v in verdicts],
    )


# --- models ---


def add_model(db: apsw.Connection, title: str, file: str, learned: int, texts: int, brought: bool, facts: Any) -> int:
    """A new model version; returns its number."""
    db.execute(
        "INSERT INTO models (title, file, made, learned, texts, brought, facts) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (title, file, time.time(), learned, texts, int(brought), json.dumps(facts)),
    )
    return db.last_insert_rowid()


def update_model(db: apsw.Connection, version: int, learned: int, updates: int) -> None:
    """Note what a model has learned on line since it was fitted."""
    db.execute("UPDATE models SET learned = ?, updates = ? WHERE version = ?", (learned, updates, version))


def add_held_out(db: apsw.Connection, version: int, rows: Iterable[tuple[int, str, str, float]]) -> None:
    """What models that had not seen a text said of it: (id, label, verdict, probability of the verdict)."""
    db.executemany("INSERT OR REPLACE INTO held_out VALUES (?, ?, ?, ?, ?)", [(version, *row) for row in rows])


def set_value(db: apsw.Connection, name: str, value: Any) -> None:
    """Keep a setting."""
    db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value)))


# --- rules of thumb ---


def add_rule(db: apsw.Connection, phrase: str, label: str) -> None:
    """A suggestion for texts that contain a phrase; it labels nothing by itself."""
    wanted = " ".join(phrase.split()).lower()
    if not wanted or len(wanted) > LONGEST_LABEL:
        msg = f"A phrase must have 1 to {LONGEST_LABEL} characters. Got {phrase[:40]!r}."
        raise ValueError(msg)
    db.execute("INSERT OR IGNORE INTO rules (phrase, label) VALUES (?, ?)", (wanted, clean_label(label)))


def remove_rule(db: apsw.Connection, number: int) -> None:
    """Drop a rule of thumb."""
    db.execute("DELETE FROM rules WHERE number = ?", (number,))


# --- once only ---


def once(db: apsw.Connection, key: str | None, request: bytes, job: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run a job, or give the answer that the same key had before; both in the one transaction."""
    if key is None:
        return job()
    row = db.execute("SELECT request, answer FROM keys WHERE key = ?", (key,)).fetchone()
    if row is not None:
        if bytes(row[0]) != request:
            msg = "The Idempotency-Key has been used for another request. Use a new one."
            raise KeyReusedError(msg)
        answer: dict[str, Any] = json.loads(row[1])
        return answer
    answer = job()
    now = time.time()
    db.execute("INSERT INTO keys VALUES (?, ?, ?, ?)", (key, request, json.dumps(answer), now))
    db.execute("DELETE FROM keys WHERE at < ?", (now - _KEEP_KEYS,))
    return answer
