"""What a file seems to be: its columns, its first rows, and which columns are used, with the reason of each."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from tallywise.reading import date_formats
from tallywise.reading.column_kinds import looks_numeric
from tallywise.reading.column_roles import TEXT_NAMES
from tallywise.reading.encodings_and_limits import InputError, Record
from tallywise.reading.frames import Cells
from tallywise.reading.input_formats import open_source, table_rows

_SHOWN = 5  # rows of a preview
NONE = "-"  # no such column, rather than a guess


class Asked(NamedTuple):
    """Columns and format as somebody asked for them; a guess is made where they did not, and `NONE` is no column."""

    text: str | None = None
    label: str | None = None
    date: str | None = None
    format: str | None = None


class Look(NamedTuple):
    """What a file seems to be: its columns and the first rows, and which columns are used, with the reason of each."""

    format: str
    names: list[str]
    rows: list[list[str]]
    used: dict[str, str | None]
    why: dict[str, str]
    lines: int | None  # of a table of lines


def look(path: str, name: str, asked: Asked) -> Look:
    """Look at a file; what is wrong with it is said with the name that the person knows.

    Raises
    ------
    InputError
        For what cannot be read, and a table of numbers whose text nobody has named.
    """
    try:
        return _look(path, asked)
    except InputError as error:
        raise InputError(str(error).replace(path, name)) from None


def _look(path: str, asked: Asked) -> Look:
    days = Days(None if asked.date == NONE else asked.date)
    source, records = open_records(path, asked, days)
    first = list(islice(records, _SHOWN))
    if not first:
        msg = f"{path} holds no texts"
        raise InputError(msg)
    days.require(path)
    columns = source.columns
    if columns is None:
        used = {"text": None, "label": None if first[0].label is None else "name of the folder", "date": None}
        return Look(source.description, [], [[record.text, record.label or ""] for record in first], used, {}, None)
    names = columns.names if columns.header else [str(k + 1) for k in range(len(columns.names))]
    found = table_rows(path, asked.format)
    rows = [row for _, row in islice(found[1], _SHOWN + columns.header)][columns.header :] if found else []
    text = names[columns.text]
    cells = [record.text for record in chain(first, islice(records, 100))]
    if asked.text is None and looks_numeric(Cells(cells)):
        msg = (
            f"{path} has no column that looks like text: it is a table of numbers. Make a model of it with "
            "'tally train FILE --label COLUMN' and serve that; or name the column of texts with --text"
        )
        raise InputError(msg)
    label = None if columns.label is None or asked.label == NONE else names[columns.label]
    used = {"text": text, "label": label, "date": days.found or None}
    unclear = "it is not clear which: " + "; ".join(f"{one.name} ({one.holds})" for one in columns.unclear)
    why = {
        "text": "as asked"
        if asked.text
        else "by its name"
        if columns.header and text.lower() in TEXT_NAMES
        else "longest",
        "label": "as asked"
        if asked.label
        else unclear
        if columns.unclear
        else columns.why or "no column has few values",
        "date": "as asked" if asked.date else "all its cells are dates" if days.found else "no column of dates",
    }
    return Look(source.description.partition(":")[0], names, rows, used, why, _lines(path, source.description))


def open_records(path: str, asked: Asked, days: "Days") -> tuple[Any, Iterator[Record]]:
    """The source of a file with the columns that were asked for, and its records."""
    source = open_source(
        path,
        text=asked.text,
        label=None if asked.label == NONE else asked.label,
        format=asked.format,
        unlabelled=True,
        labelled=asked.label != NONE,
        is_date=None if asked.date == NONE else days.recognise,
    )
    return source, iter(source)


def _lines(path: str, description: str) -> int | None:
    """Lines of a plain file of them, by which its reading is measured."""
    if not description.startswith(("csv", "tsv", "jsonl", "lines")) or not Path(path).is_file():
        return None
    with open(path, "rb") as stream:
        return sum(part.count(b"\n") for part in iter(lambda: stream.read(1 << 22), b"")) or 1


class Days:
    """The column of dates of a table: the one that is named, or the first whose cells are all dates.

    Parameters
    ----------
    name : str, optional
        Its name, or its number from 1 in a table without a header.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name, self._format, self.found = name, "", ""

    def recognise(self, name: str, column: Sequence[str]) -> bool:
        """Whether a column is the one; how its dates are written is then known."""
        if self._name not in (None, name):
            return False
        self._format = date_formats.date_format(column) or ""
        self.found = name if self._format else ""
        return bool(self._format)

    def require(self, where: str) -> None:
        """Refuse a name that no column of dates has."""
        if self._name is not None and not self._format:
            msg = f'{where} has no column "{self._name}" whose cells are all dates written alike'
            raise InputError(msg)

    def of(self, written: Sequence[str | None]) -> list[float | None]:
        """Days since 1970, None where there is no date."""
        if not self._format:
            return [None] * len(written)
        return [None if math.isnan(day) else day for day in date_formats.dates(written, self._format).tolist()]
