"""What can be saved of a damaged file: every entry that is as it was written, one by one."""

import os
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from tallywise._native import spam_features
from tallywise.spam.database import READER, ROW, SpamStoreError, figures_checksum, row_checksum
from tallywise.spam.filter import SpamFilter
from tallywise.spam.identity import digest_of

_BATCH = 500


class Recovered(NamedTuple):
    """How many messages were saved, how many of them from kept text, and how many there were, where that is known."""

    saved: int
    from_text: int
    learned: int | None


class _Whole(NamedTuple):
    digest: bytes
    spam: bool
    code: bytes
    text: bytes
    source: str
    from_text: bool


def recover(damaged: str | os.PathLike[str], target: str | os.PathLike[str], *, keep_text: bool = True) -> Recovered:
    """Teach a new filter what is whole in a damaged file, in its order.

    Entries of files without checksums (version 0.2) are taken as they are where they can be read.

    Parameters
    ----------
    damaged : path
        The damaged file; it is only read.
    target : path
        A new file.
    keep_text : bool
        Whether text that the damaged file kept is kept in the new one.
    """
    import apsw

    if os.path.exists(target):
        msg = f"{os.fspath(target)} is there already: name a new file"
        raise SpamStoreError(msg)
    if not os.path.exists(damaged):
        msg = f"{os.fspath(damaged)} does not exist"
        raise SpamStoreError(msg)
    old = apsw.Connection(os.fspath(damaged), flags=apsw.SQLITE_OPEN_READWRITE)
    last, figures = _last(old), _figures(old)
    if not last:
        msg = f"Nothing of {os.fspath(damaged)} can be read: restore it from a backup or an export"
        raise SpamStoreError(msg)
    saved = from_text = 0
    with SpamFilter(target, model=str(figures.get("model", "online")), keep_text=keep_text) as mail:
        batch: list[_Whole] = []
        for whole in _all_whole(old, last, figures):
            batch.append(whole)
            saved, from_text = saved + 1, from_text + whole.from_text
            if len(batch) == _BATCH:
                _teach(mail, batch)
                batch = []
        _teach(mail, batch)
    old.close()
    return Recovered(saved, from_text, figures.get("messages"))


def _teach(mail: SpamFilter, batch: list[_Whole]) -> None:
    mail.take_in_codes((whole.digest, whole.spam, whole.code, whole.text, whole.source) for whole in batch)


def _last(old: Any) -> int:
    """The number of the last entry that there ever was, by the widest of what can be read."""
    found = []
    for query in ("SELECT seq FROM sqlite_sequence", "SELECT max(id) FROM journal", "SELECT max(id) FROM features"):
        rows = _tried(old, query, ())
        # A damaged number must not make this endless: SQLite gives numbers one by one.
        found += [int(value) for (value,) in rows or [] if isinstance(value, int) and 0 < value < 1 << 31]
    return max(found, default=0)


def _figures(old: Any) -> dict[str, Any]:
    """Figures that can be relied on: none where their checksum is another."""
    found = dict(_tried(old, "SELECT key, value FROM meta", ()) or [])
    return found if found.get("checksum", figures_checksum(found)) == figures_checksum(found) else {}


def _tried(old: Any, query: str, values: tuple[Any, ...]) -> list[Any] | None:
    """Rows; None where the file is damaged there."""
    import apsw

    try:
        found: list[Any] = old.execute(query, values).fetchall()
    except (apsw.Error, UnicodeDecodeError):
        return None
    return found


def _all_whole(old: Any, last: int, figures: dict[str, Any]) -> Iterator[_Whole]:
    columns = _tried(old, "SELECT name FROM pragma_table_info('journal')", ()) or []
    checked = ("checksum",) in columns
    row = f"{ROW}, {'code_checksum, checksum' if checked else 'NULL, NULL'}"
    usable = figures.get("reader", 1 if figures else READER) == READER
    for id in range(1, last + 1):
        rows = _tried(old, f"SELECT {row} FROM journal WHERE id = ?", (id,))
        if rows:
            whole = _whole(old, rows[0], checked, usable)
            if whole is not None:
                yield whole


def _whole(old: Any, row: Any, checked: bool, usable: bool) -> _Whole | None:
    """An entry whose label and features are as they were written, or can be read again from its text."""
    *_, code_checksum, checksum = row
    id, digest, spam, source = row[0], row[1], row[2], row[5]
    try:
        if checked and row_checksum(row[:7], code_checksum) != checksum:
            return None
    except Exception:  # a value of another type than was written
        return None
    code = _value(old, "code", id)
    text = _value(old, "text", id)
    text_is_whole = text is not None and digest_of(text) == digest
    if usable and code is not None and (not checked or zlib.crc32(code) == code_checksum):
        return _Whole(digest, bool(spam), code, text if text is not None and text_is_whole else b"", source, False)
    if text is None or not text_is_whole:
        return None
    return _Whole(digest, bool(spam), spam_features(text, []).encode(), text, source, True)


def _value(old: Any, column: str, id: int) -> bytes | None:
    rows = _tried(old, f"SELECT {column} FROM features WHERE id = ?", (id,))
    return rows[0][0] if rows and isinstance(rows[0][0], bytes) else None
