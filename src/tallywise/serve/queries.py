"""What is asked of the store, as functions of a connection."""

import json
import re
import secrets
from collections import defaultdict
from collections.abc import Sequence
from heapq import nlargest
from typing import Any, NamedTuple

import apsw

from tallywise.serve import near_repeats

_COLUMNS = (
    "items.id, text, source, added, label, labelled_by, labelled_at, state, verdict, probability, margin, version, "
    "disagreement, date, drawn"
)
_SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_COMMON = 2000  # texts; a word that is in more of them says little about which are alike
SORTS = {
    "latest": "items.id DESC",
    "first": "items.id",
    "least confident": "probability IS NULL, probability, items.id",
    "most confident": "probability DESC, items.id",
    "most disagreement": "disagreement DESC, items.id",
    "labelled last": "labelled_at DESC, items.id DESC",
    "by date": "date IS NULL, date, items.id",
    "by label": "label IS NULL, label, items.id",
    "by prediction": "verdict IS NULL, verdict, items.id",
}
ORDERS = {"least certain": "margin", "disagreement": "disagreement DESC", "as given": "items.id"}


class Item(NamedTuple):
    """A stored text and what is known about it."""

    id: int
    text: str
    source: str
    added: float
    label: str | None
    labelled_by: str | None
    labelled_at: float | None
    state: str
    verdict: str | None
    probability: float | None
    margin: float | None
    version: str | None
    disagreement: float | None = None
    date: float | None = None
    drawn: str = ""


class Class(NamedTuple):
    """A class: its key is its place, where that is one digit."""

    name: str
    place: int
    colour: int
    about: str


class Version(NamedTuple):
    """A model version."""

    version: int
    title: str
    file: str
    made: float
    learned: int
    updates: int
    texts: int
    brought: bool
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        """What answers call it: the number, and how often it has learned since."""
        return f"{self.version}.{self.updates}" if self.updates else str(self.version)


class Filter(NamedTuple):
    """Which texts: all that is given must hold."""

    q: str = ""
    term: str = ""  # of a model: words and punctuation marks
    label: str | None = None
    verdict: str | None = None
    version: str | None = None
    who: str | None = None
    state: str | None = None  # labelled, unlabelled, unsure, skipped, corrected
    held_out: int | None = None  # label and verdict are then those of this version's held-out rows
    file: int | None = None
    low: float | None = None  # probability of the verdict
    high: float | None = None
    apart: float | None = None  # least disagreement
    since: float | None = None  # days since 1970
    until: float | None = None


ALL = Filter()


def _rows(db: apsw.Connection, query: str, values: Sequence[Any] = ()) -> list[Any]:
    return db.execute(query, values).fetchall()


def _row(db: apsw.Connection, query: str, values: Sequence[Any] = ()) -> Any:
    return db.execute(query, values).fetchone()


def item(db: apsw.Connection, number: int) -> Item | None:
    """One text."""
    row = _row(db, f"SELECT {_COLUMNS} FROM items JOIN texts USING (id) WHERE items.id = ?", (number,))
    return None if row is None else Item(*row)


def phrase(q: str) -> str:
    """A person's words as a full-text query: all must occur, the last may be a beginning. No operators."""
    words = re.findall(r"\w+", q)
    return " ".join([*(f'"{word}"' for word in words[:-1]), f'"{words[-1]}"*']) if words else ""


def _where(which: Filter) -> tuple[str, list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    q = which.q.strip()
    if q and (_SPACELESS.search(q) or not phrase(q)):  # words are not told apart there: look for the characters
        conditions.append("instr(lower(text), lower(?)) > 0")
        values.append(q)
    elif q:
        conditions.append("items.id IN (SELECT rowid FROM search WHERE search MATCH ?)")
        values.append(phrase(q))
    if which.term:  # words as a person would look for them, and every punctuation mark, which the index leaves out
        words, found = _where(Filter(q=re.sub(r"[^\w\s]", " ", which.term)))
        marks = sorted(set(re.findall(r"[^\w\s]", which.term)))
        conditions += [words, *("instr(text, ?) > 0" for _ in marks)]
        values += [*found, *marks]
    if which.held_out is not None:
        conditions.append(
            "items.id IN (SELECT id FROM held_out WHERE version = ? AND label = coalesce(?, label) "
            "AND verdict = coalesce(?, verdict))"
        )
        values += [which.held_out, which.label, which.verdict]
    else:
        for column, name in (("label", which.label), ("verdict", which.verdict)):
            if name is not None:
                conditions.append(f"items.{column} = ?")
                values.append(name)
    compared: tuple[tuple[str, str, str | float | None], ...] = (
        *(("version", "=", which.version), ("labelled_by", "=", which.who), ("file", "=", which.file)),
        *(("probability", ">=", which.low), ("probability", "<=", which.high), ("disagreement", ">=", which.apart)),
        *(("date", ">=", which.since), ("date", "<", which.until)),
    )
    for column, sign, value in compared:
        if value is not None:
            conditions.append(f"items.{column} {sign} ?")
            values.append(value)
    states = {
        "labelled": "items.label IS NOT NULL",
        "unlabelled": "items.label IS NULL",
        "unsure": "items.state = 'unsure'",
        "skipped": "items.state = 'skipped'",
        "corrected": "items.label != items.verdict",
    }
    if which.state:
        conditions.append(states[which.state])
    return " AND ".join(conditions) or "1", values


def page(
    db: apsw.Connection, which: Filter = ALL, before: int | None = None, limit: int = 50
) -> tuple[list[Item], int | None]:
    """Texts, latest first, and the number to ask `before` for the next page (None: there is none)."""
    condition, values = _where(which)
    if before is not None:
        condition, values = f"({condition}) AND items.id < ?", [*values, before]
    rows = _rows(
        db,
        f"SELECT {_COLUMNS} FROM items JOIN texts USING (id) WHERE {condition} ORDER BY items.id DESC LIMIT ?",
        (*values, limit + 1),
    )
    found = [Item(*row) for row in rows[:limit]]
    return found, found[-1].id if len(rows) > limit else None


def listing(db: apsw.Connection, which: Filter, order: str, start: int, limit: int) -> list[Item]:
    """Texts in an order of `SORTS`, from a place on."""
    condition, values = _where(which)
    join = "JOIN texts USING (id)" if "instr(" in condition else ""
    ids = _rows(
        db,
        f"SELECT id FROM items {join} WHERE {condition} ORDER BY {SORTS[order]} LIMIT ? OFFSET ?",
        (*values, limit, start),
    )
    return [found for (number,) in ids if (found := item(db, number)) is not None]


def ids(db: apsw.Connection, which: Filter, most: int) -> list[int]:
    """Numbers of the texts that pass, at most so many."""
    condition, values = _where(which)
    join = "JOIN texts USING (id)" if "instr(" in condition else ""
    return [row[0] for row in _rows(db, f"SELECT id FROM items {join} WHERE {condition} LIMIT ?", (*values, most))]


def count(db: apsw.Connection, which: Filter = ALL, most: int = 1_000_000) -> int:
    """How many texts, counted up to `most`."""
    condition, values = _where(which)
    join = "JOIN texts USING (id)" if "instr(" in condition else ""
    query = f"SELECT count(*) FROM (SELECT 1 FROM items {join} WHERE {condition} LIMIT ?)"
    return int(db.execute(query, (*values, most)).get)


def label_counts(db: apsw.Connection) -> dict[str, int]:
    """Labelled texts a class, most first."""
    rows = _rows(db, "SELECT label, count(*) FROM items WHERE label IS NOT NULL GROUP BY label ORDER BY 2 DESC, 1")
    return dict(rows)


def totals(db: apsw.Connection) -> dict[str, int]:
    """How many texts, labelled ones, unsure ones, and the last change."""
    texts = int(db.execute("SELECT count(*) FROM items").get)
    waiting = dict(_rows(db, "SELECT state, count(*) FROM items WHERE label IS NULL GROUP BY state"))
    seq = int(db.execute("SELECT coalesce(max(seq), 0) FROM events").get)
    return {
        "texts": texts,
        "labelled": texts - sum(waiting.values()),
        "unsure": waiting.get("unsure", 0),
        "skipped": waiting.get("skipped", 0),
        "waiting": waiting.get("", 0),
        "events": seq,
    }


def next_to_label(
    db: apsw.Connection, order: str, state: str = "", taken: Sequence[int] = (), drawn: bool = False
) -> Item | None:
    """The text to label next, none of those taken; at random where `drawn`; those without a prediction come last."""
    column = ORDERS[order]
    key = column.split()[0]
    marks = ",".join("?" * len(taken))
    where, values = f"label IS NULL AND state = ? AND items.id NOT IN ({marks})", (state, *taken)
    if drawn:
        free = int(db.execute(f"SELECT count(*) FROM items WHERE {where}", values).get)
        query = f"SELECT items.id FROM items WHERE {where} ORDER BY items.id LIMIT 1 OFFSET ?"
        row = _row(db, query, (*values, secrets.randbelow(free))) if free else None
        return item(db, row[0]) if row else None
    base = f"SELECT {_COLUMNS} FROM items JOIN texts USING (id) WHERE {where}"
    row = None
    if key != "items.id":
        row = _row(db, f"{base} AND {key} IS NOT NULL ORDER BY {column} LIMIT 1", values)
    row = row or _row(db, f"{base} ORDER BY items.id LIMIT 1", values)
    return None if row is None else Item(*row)


def classes(db: apsw.Connection) -> list[Class]:
    """All classes by their places."""
    return [Class(*row) for row in _rows(db, "SELECT name, place, colour, about FROM classes ORDER BY place, name")]


def last_change(db: apsw.Connection, number: int) -> tuple[int, str]:
    """Number of the last change of a text's label, and who made it."""
    query = "SELECT seq, who FROM events WHERE id = ? AND action != 'confirm' ORDER BY seq DESC LIMIT 1"
    found: tuple[int, str] = _row(db, query, (number,)) or (0, "")
    return found


def steps(db: apsw.Connection, who: str | None = None, most: int = 5) -> list[dict[str, Any]]:
    """What was done last and can be undone, a step each: by whom, to how many texts, with the first of them."""
    rows = _rows(
        db,
        "SELECT step, max(at), action, new, events.who, count(*), min(id) FROM events WHERE step IN ("
        "SELECT DISTINCT step FROM events WHERE NOT undone AND action NOT IN ('undo', 'import') "
        "AND (? IS NULL OR who = ?) ORDER BY step DESC LIMIT ?) "
        "AND NOT undone AND action != 'undo' GROUP BY step ORDER BY step DESC",
        (who, who, most),
    )
    names = ("step", "at", "action", "new", "who", "count", "id")
    found = [dict(zip(names, row, strict=True)) for row in rows]
    for one in found:
        one["text"] = str(db.execute("SELECT substr(text, 1, 200) FROM texts WHERE id = ?", (one["id"],)).get or "")
    return found


def label_steps(db: apsw.Connection) -> int:
    """How many texts were labelled here, one by one."""
    return int(db.execute("SELECT count(*) FROM items WHERE drawn != ''").get)


def imports(db: apsw.Connection) -> list[dict[str, Any]]:
    """Files that were read or looked at, latest first."""
    names = ("number", "name", "path", "stamp", "who", "columns", "done", "state", "problem")
    rows = _rows(db, f"SELECT {', '.join(names)} FROM imports ORDER BY number DESC LIMIT 200")
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [{**one, "columns": json.loads(one["columns"])} for one in found]


def repeats(db: apsw.Connection, number: int, text: str, most: int = 50) -> tuple[list[int], list[int]]:
    """Unlabelled texts equal to this one but for case and white space, and those that share most of its words."""
    same = [
        row[0]
        for row in _rows(
            db,
            "SELECT id FROM items WHERE folded = ? AND id != ? AND label IS NULL LIMIT ?",
            (near_repeats.folded(text), number, 1000),
        )
    ]
    keys = near_repeats.keys(text)
    marks = ",".join("?" * len(keys))
    near = _rows(
        db,
        f"SELECT DISTINCT id, text FROM sketches JOIN items USING (id) JOIN texts USING (id) "
        f"WHERE key IN ({marks}) AND id != ? AND label IS NULL LIMIT ?",
        (*keys, number, most + len(same)),
    )
    known = set(same)
    return same, [other for other, body in near if other not in known and near_repeats.alike(text, body) >= 0.8][:most]


def nearest_labelled(db: apsw.Connection, text: str, most: int = 5) -> list[tuple[Item, float]]:
    """Labelled texts that share the most words with a text, found by its rarer words, ranked by similarity."""
    asked = sorted(near_repeats.words(text), key=lambda word: (-len(word), word))[:24]
    match = "SELECT rowid FROM search WHERE search MATCH ? LIMIT ?"
    holders = [[row[0] for row in _rows(db, match, (f'"{word}"', _COMMON + 1))] for word in asked]
    votes: defaultdict[int, float] = defaultdict(float)
    # Ranking all texts that have one of the words would go through most of the store for the sake of its commonest.
    for holder in [holder for holder in holders if len(holder) <= _COMMON] or holders:
        for number in holder:
            votes[number] += 1 / len(holder)
    candidates = json.dumps(nlargest(1000, votes, key=votes.__getitem__))
    labelled = _rows(
        db, "SELECT id FROM items WHERE label IS NOT NULL AND id IN (SELECT value FROM json_each(?))", (candidates,)
    )
    best = sorted((row[0] for row in labelled), key=lambda number: (-votes[number], number))[:60]
    items = [found for number in best if (found := item(db, number)) is not None]
    return sorted(((one, near_repeats.alike(text, one.text)) for one in items), key=lambda pair: -pair[1])[:most]


def labelled_after(db: apsw.Connection, seq: int) -> list[tuple[int, str | None, str | None]]:
    """Changes of labels after an event: (id, label before the first of them, label now)."""
    rows = _rows(
        db,
        "SELECT events.id, events.old, items.label FROM events LEFT JOIN items USING (id) "
        "WHERE seq > ? AND action IN ('import', 'learn', 'forget', 'rename', 'undo') "
        "GROUP BY events.id HAVING seq = min(seq)",
        (seq,),
    )
    return [(number, old, new) for number, old, new in rows if old != new]


def training(db: apsw.Connection) -> list[tuple[int, str, str, str]]:
    """All labelled texts: (id, text, label, how it was drawn), in the order in which they came."""
    query = "SELECT items.id, text, label, drawn FROM items JOIN texts USING (id) WHERE label IS NOT NULL "
    return _rows(db, query + "ORDER BY items.id")


def dated(db: apsw.Connection) -> list[tuple[int, str, float | None]]:
    """All texts with their dates, days since 1970, where they have one."""
    return _rows(db, "SELECT items.id, text, date FROM items JOIN texts USING (id) ORDER BY items.id")


def unlabelled(db: apsw.Connection, most: int) -> list[tuple[int, str]]:
    """Texts without a label, at most so many, drawn evenly."""
    total = int(db.execute("SELECT count(*) FROM items WHERE label IS NULL").get)
    step = max(1, -(-total // most))
    return _rows(
        db,
        "SELECT items.id, text FROM items JOIN texts USING (id) WHERE label IS NULL AND items.id % ? = 0 LIMIT ?",
        (step, most),
    )


def unjudged(db: apsw.Connection, most: int = 500) -> list[tuple[int, str]]:
    """Texts without label and verdict."""
    return _rows(
        db,
        "SELECT items.id, text FROM items JOIN texts USING (id) WHERE verdict IS NULL AND label IS NULL LIMIT ?",
        (most,),
    )


def history(db: apsw.Connection, number: int) -> list[dict[str, Any]]:
    """All that happened to a text, latest first."""
    events = _rows(
        db, "SELECT at, action, old, new, who FROM events WHERE id = ? ORDER BY seq DESC LIMIT 100", (number,)
    )
    verdicts = _rows(
        db,
        "SELECT at, verdict, probability, version FROM verdicts WHERE id = ? ORDER BY number DESC LIMIT 100",
        (number,),
    )
    rows = [{"at": at, "action": action, "old": old, "new": new, "who": who} for at, action, old, new, who in events]
    rows += [{"at": at, "action": "verdict", "new": verdict, "probability": p, "version": v}
             for at, verdict, p, v in verdicts]  # fmt: skip
    return sorted(rows, key=lambda row: -row["at"])


_VERSION = "SELECT version, title, file, made, learned, updates, texts, brought"


def versions(db: apsw.Connection) -> list[Version]:
    """Model versions, latest first, with the figures alone of what is known of each."""
    facts = "json_object('figures', json(coalesce(facts -> '$.figures', '{}')))"
    return [_version(row) for row in _rows(db, f"{_VERSION}, {facts} FROM models ORDER BY version DESC")]


def version(db: apsw.Connection, number: int) -> Version | None:
    """One model version, with all that is known of it."""
    row = _row(db, f"{_VERSION}, facts FROM models WHERE version = ?", (number,))
    return None if row is None else _version(row)


def _version(row: Any) -> Version:
    return Version(*(*row[:-2], bool(row[-2]), json.loads(row[-1])))


def value(db: apsw.Connection, name: str, default: Any = None) -> Any:
    """A setting."""
    found = db.execute("SELECT value FROM settings WHERE name = ?", (name,)).get
    return default if found is None else json.loads(found)


def rules(db: apsw.Connection) -> list[tuple[int, str, str]]:
    """Rules of thumb: (number, phrase, label)."""
    return _rows(db, "SELECT number, phrase, label FROM rules ORDER BY number")


def phrase_counts(db: apsw.Connection, words: str) -> dict[str, int]:
    """Labelled texts that contain a phrase, a class."""
    asked = " ".join(re.findall(r"\w+", words))
    if not asked:
        return {}
    rows = _rows(
        db,
        "SELECT label, count(*) FROM search JOIN items ON items.id = search.rowid "
        "WHERE search MATCH ? AND label IS NOT NULL GROUP BY label ORDER BY 2 DESC",
        (f'"{asked}"',),
    )
    return dict(rows)


def doubtful(db: apsw.Connection, number: int, most: int = 200) -> list[tuple[Item, str, float]]:
    """Likely label errors: held-out models were sure of another label than the text still has, surest first."""
    rows = _rows(
        db,
        "SELECT id, text, source, added, items.label, labelled_by, labelled_at, state, items.verdict, "
        "items.probability, margin, items.version, held_out.verdict, held_out.probability "
        "FROM held_out JOIN items USING (id) JOIN texts USING (id) WHERE held_out.version = ? "
        "AND held_out.verdict != held_out.label AND items.label = held_out.label AND state != 'confirmed' "
        "ORDER BY held_out.probability DESC LIMIT ?",
        (number, most),
    )
    return [(Item(*row[:12]), row[12], row[13]) for row in rows]


def conflicts(db: apsw.Connection, most: int = 50) -> list[list[Item]]:
    """Texts that are repeats of each other and have different labels."""
    groups = _rows(
        db,
        "SELECT folded FROM items WHERE label IS NOT NULL GROUP BY folded HAVING min(label) < max(label) LIMIT ?",
        (most,),
    )
    query = f"SELECT {_COLUMNS} FROM items JOIN texts USING (id) WHERE folded = ? AND label IS NOT NULL LIMIT 10"
    return [[Item(*row) for row in _rows(db, query, group)] for group in groups]


def repeat_count(db: apsw.Connection) -> int:
    """Texts that repeat an earlier one, but for case and white space."""
    return int(db.execute("SELECT count(*) - count(DISTINCT folded) FROM items").get)


def fixed_and_broken(db: apsw.Connection, one: int, other: int) -> dict[str, Any]:
    """Labelled texts that both versions were evaluated on: those that only the other got right, and only the first."""
    pairs = "FROM held_out a JOIN held_out b USING (id) JOIN items USING (id) WHERE a.version = ? AND b.version = ? "
    query = f"SELECT id, items.label, a.verdict, b.verdict {pairs} AND "

    def with_texts(condition: str) -> list[Any]:
        rows = _rows(db, query + condition, (one, other))
        known = {row[0]: item(db, row[0]) for row in rows[:50]}
        return [(row[0], found.text if (found := known.get(row[0])) else "", *row[1:]) for row in rows]

    return {
        "both": int(db.execute(f"SELECT count(*) {pairs}", (one, other)).get),
        "fixed": with_texts("a.verdict != items.label AND b.verdict = items.label"),
        "broken": with_texts("a.verdict = items.label AND b.verdict != items.label"),
    }


def people(db: apsw.Connection) -> list[str]:
    """Those who have labelled."""
    return [
        row[0] for row in _rows(db, "SELECT DISTINCT labelled_by FROM items WHERE labelled_by IS NOT NULL LIMIT 50")
    ]


def verdict_versions(db: apsw.Connection, most: int = 50) -> list[str]:
    """Versions whose verdicts texts have, the latest first."""
    rows = _rows(
        db,
        "SELECT version FROM items WHERE version IS NOT NULL GROUP BY version ORDER BY max(id) DESC LIMIT ?",
        (most,),
    )
    return sorted((row[0] for row in rows), key=lambda name: [int(part) for part in name.split(".")], reverse=True)
