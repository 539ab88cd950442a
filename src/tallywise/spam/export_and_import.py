"""Entries of a journal as JSON objects, from one filter to another."""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from tallywise._native import SpamFeatures
from tallywise.spam.database import READER
from tallywise.spam.journal import Entry
from tallywise.spam.verdict import is_spam

Taken = tuple[bytes, bool, bytes, bytes, str]  # digest, label, coded features, text, source


def exported(entry: Entry, code: bytes) -> dict[str, Any]:
    """An entry with its coded features."""
    return {
        "digest": entry.digest.hex(),
        "label": "spam" if entry.spam else "ham",
        "time": entry.time,
        "source": entry.source,
        "reader": READER,
        "features": base64.b64encode(code).decode(),
    }


def imported(entries: Iterable[dict[str, Any]]) -> Iterator[Taken]:
    """What a filter learns from exported entries; features of another reader of mail are of no use to this one."""
    for number, entry in enumerate(entries, 1):
        try:
            digest, code = bytes.fromhex(entry["digest"]), base64.b64decode(entry["features"], validate=True)
            SpamFeatures.decode(code)
            found = digest, is_spam(entry["label"]), code, b"", str(entry["source"])
            reader = entry.get("reader", 1)
        except (KeyError, TypeError, ValueError) as error:
            msg = f"Entry {number} is not of an export: {error!r}"
            raise ValueError(msg) from error
        if reader != READER:
            msg = f"Entry {number} is of a version that read mail in another way: learn the messages themselves"
            raise ValueError(msg)
        yield found
