"""What users pass as documents, to portions of text that the native core reads in place."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tallywise._native import Texts

# Documents taken from an iterator, and characters in them, before a portion is counted: what does not fit in memory
# as a whole still passes through.
PORTION_ROWS, PORTION_CHARACTERS = 1 << 14, 1 << 26


def refuse_string(raw_documents: Any) -> None:
    """One text is not a collection of texts, though it can be iterated over."""
    if isinstance(raw_documents, str | bytes):
        msg = "Iterable over raw text documents expected, string object received."
        raise ValueError(msg)


def portions(
    raw_documents: Iterable[Any], read: Callable[[int, Any], str], *, as_they_are: bool, lower: bool
) -> Iterator[Texts]:
    """Documents in order, in portions.

    ``read(row, document)`` makes a str of a document. With ``as_they_are`` a document that is a str needs no reading.
    ``lower`` says that the texts will be lowered.
    """
    if isinstance(raw_documents, np.ndarray):
        raw_documents = raw_documents.tolist()
    if as_they_are and isinstance(raw_documents, list | tuple):
        texts = Texts.from_list(list(raw_documents), lower)
        if texts.first_other < 0:
            yield texts
            return
    portion: list[str] = []
    characters = 0
    for row, document in enumerate(raw_documents):
        portion.append(document if as_they_are and isinstance(document, str) else read(row, document))
        characters += len(portion[-1])
        if len(portion) == PORTION_ROWS or characters >= PORTION_CHARACTERS:
            yield Texts.from_list(portion, lower)
            portion, characters = [], 0
    if portion:
        yield Texts.from_list(portion, lower)


def as_text(row: int, document: Any) -> str:
    """The document if it is a str; else an error that says which row is what."""
    if isinstance(document, str):
        return document
    if isinstance(document, float) and document != document:
        msg = f"np.nan is an invalid document, expected byte or unicode string. It is row {row}."
        raise ValueError(msg)
    shown = "None" if document is None else f"{document!r:.60} ({type(document).__name__})"
    msg = f"Each document must be a str or bytes, but row {row} is {shown}."
    raise TypeError(msg)
