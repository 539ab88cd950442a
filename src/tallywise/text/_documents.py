"""Documents as users pass them, in portions that the native core reads without copying."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tallywise._native import Texts

# Documents taken from an iterator, and characters in them, before a portion is counted: what does not fit in memory
# as a whole still passes through.
PORTION_ROWS, PORTION_CHARACTERS = 1 << 14, 1 << 26


def refuse_string(raw_documents: Iterable[Any]) -> None:
    """One text is not a collection of texts, though it can be iterated over."""
    if isinstance(raw_documents, str | bytes):
        msg = "Iterable over raw text documents expected, string object received."
        raise ValueError(msg)


def _refuse_table(raw_documents: Iterable[Any]) -> None:
    """A table is not a column of texts, though it can be iterated over: it gives the names of its columns."""
    if hasattr(raw_documents, "columns") or getattr(raw_documents, "ndim", 1) != 1:
        shape = getattr(raw_documents, "shape", "?")
        msg = f"One column of documents expected, a table of shape {shape} received: pass the column that has the text."
        raise ValueError(msg)


def _is_arrow(raw_documents: Iterable[Any]) -> bool:
    """Whether the documents lie in Arrow's memory; pandas has the interface for columns of Python objects, too."""
    has_interface = hasattr(raw_documents, "__arrow_c_stream__") or hasattr(raw_documents, "__arrow_c_array__")
    return has_interface and not isinstance(getattr(raw_documents, "dtype", None), np.dtype)


def python_objects(raw_documents: Iterable[Any]) -> Iterable[Any]:
    """The same documents; those of a column as Python objects."""
    for name in ("to_pylist", "tolist", "to_list"):  # pyarrow; NumPy and pandas; polars
        if hasattr(raw_documents, name):
            objects: Iterable[Any] = getattr(raw_documents, name)()
            return objects
    return raw_documents


def portions(
    raw_documents: Iterable[Any], read: Callable[[int, Any], str], *, as_they_are: bool, lower: bool
) -> Iterator[Texts]:
    """Documents in order, in portions.

    ``read(row, document)`` makes a str of a document. With ``as_they_are`` a document that is a str needs no reading.
    ``lower``: the texts will be lowercased.
    """
    _refuse_table(raw_documents)
    if as_they_are and _is_arrow(raw_documents):
        column = Texts.from_arrow(raw_documents, lower)
        if column is not None:
            if column.first_other >= 0:
                read(column.first_other, None)
            yield column
            return
    raw_documents = python_objects(raw_documents)
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
    """The document if it is a str; else an error that names the row and its type."""
    if isinstance(document, str):
        return document
    if isinstance(document, float) and document != document:
        msg = f"np.nan is an invalid document, expected byte or unicode string. It is row {row}."
        raise ValueError(msg)
    shown = "None" if document is None else f"{document!r:.60} ({type(document).__name__})"
    msg = f"Each document must be a str or bytes, but row {row} is {shown}."
    raise TypeError(msg)
