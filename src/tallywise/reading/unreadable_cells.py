"""Cells that cannot be read as what their column holds: counted, listed, and refused where they are many.

Needs NumPy alone: fit side and serve side read the same way.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.reading.column_kinds import Column
from tallywise.reading.frames import Cells, Table
from tallywise.reading.number_formats import absent, too_many, value_of

_LISTED = 3  # different cells that are named
_PARENTHESES = re.compile(r"\(\s*[$€£]?\s*([0-9][0-9.,]*)\s*\)")
_LETTERS = str.maketrans("OoIlSB", "001158")  # for the digits that they look like


@dataclass(frozen=True)
class Unread:
    """Cells of a column that could not be read, how many of its cells there are, and the first of them with its row."""

    column: str
    what: str  # number, date, known value
    count: int
    cells: int
    first: list[tuple[int, str, str]]  # row from 0, where that is, the cell

    @property
    def many(self) -> bool:
        """Whether these are more than slips."""
        return too_many(self.count, self.cells)

    def __str__(self) -> str:
        listed = ", ".join(f'"{cell[:40]}" ({where}{_hint(cell)})' for _, where, cell in self.first)
        wrong = f"is not a {self.what}" if self.count == 1 else f"are not {self.what}s"
        return f'"{self.column}": {self.count:,} of {self.cells:,} cells {wrong}: {listed}'


def _hint(cell: str) -> str:
    """What a cell was meant to be, where that shows."""
    if amount := _PARENTHESES.fullmatch(cell.strip()):
        return f"; write -{amount[1]} if that is meant"
    digits = cell.strip().translate(_LETTERS)
    if digits != cell.strip() and any(letter.isdigit() for letter in cell) and value_of(digits, ".") is not None:
        return "; a letter among digits"
    return ""


def unread(column: Column, cells: Cells, table: Table) -> Unread | None:
    """The cells of a column of numbers or dates that could not be read; None where there is none."""
    if column.kind not in ("number", "date"):
        return None
    gone = np.flatnonzero(np.isnan(column.values(cells)))
    if not len(gone):
        return None
    missing = _absent(cells, gone)
    rows = gone[~missing]
    if not len(rows):
        return None
    strings = cells.strings()
    first: dict[str, int] = {}
    for row in rows.tolist():
        first.setdefault(str(strings[row]), row)
        if len(first) == _LISTED:
            break
    listed = [(row, table.where(row), cell) for cell, row in first.items()]
    return Unread(column.name, column.kind, len(rows), len(cells) - int(missing.sum()), listed)


def _absent(cells: Cells, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    if cells.hint in ("number", "date"):
        return np.asarray(np.isnan(cells.data[rows]))
    strings = cells.strings()
    return np.array([absent(strings[row]) for row in rows.tolist()], dtype=bool)


def all_unread(columns: Iterable[Column], table: Table) -> list[Unread]:
    """Those of every column that the table has."""
    found: list[Any] = [unread(c, table.columns[c.name], table) for c in columns if c.name in table.columns]
    return [one for one in found if one is not None]


def refuse_many(found: Iterable[Unread]) -> None:
    """Refuse a table of which more than a few cells of a column cannot be read."""
    for one in found:
        if one.many:
            msg = f"{one}. Correct these cells, or leave them empty where the value is not known."
            raise ValueError(msg)
