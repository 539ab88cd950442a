"""What the columns of a table hold: text, categories, numbers, dates, identifiers, or one and the same value.

The guess is made from the values alone: neither names nor the order of rows or columns have a part in it.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.plain_text import number
from tallywise.reading.date_formats import date_format, dates, looks_like_dates
from tallywise.reading.frames import Cells, Table
from tallywise.reading.number_formats import (
    MINUS,
    UNCLEAR,
    NumberFormat,
    absent,
    number_format,
    numbers,
    survey,
)

KINDS = ("text", "category", "number", "date", "identifier", "constant", "ignored")
FEATURES = ("text", "category", "number", "date")

_FEW = 10  # values: whole numbers of no more are classes, or ordinal labels
_FEWEST_ROWS = 20  # below, that all values differ says nothing
_CHANCE = 1e-6  # probability of what does not happen by chance
_FIRST_YEAR, _LAST_YEAR = 1800, 2100
_LONG_SERIAL = 1000  # serial numbers begin at 0 or 1, or have this many at least
_LONG = 8  # words: a longer cell is text even where it comes again
_LONG_CODE = 8  # digits of whole numbers of one length, all different: account numbers and the like
_ONE_WORD = re.compile(r"[!-~]+")
_PLAIN = NumberFormat()


@dataclass(frozen=True)
class Column:
    """A column: its name, what it holds, how its cells are read, and a few words about its values for people."""

    name: str
    kind: str
    number: NumberFormat = _PLAIN
    date: str = "year-month-day"
    note: str = ""
    numbered: bool = False  # an identifier that is written as numbers
    missing: int | None = None  # training rows without a value; None in files of earlier versions
    rare: int | None = None  # training rows whose category is one of the rare ones, likewise

    def values(self, cells: Cells) -> Any:
        """Values of cells: an array of floats for numbers and dates (NaN: absent), else a list of str or None."""
        if self.kind == "number":
            if cells.hint == "date":  # a day is no number, though it is stored as one
                return np.full(len(cells), np.nan)
            sign = cells.decimal if cells.decimal != UNCLEAR else ""
            return cells.floats("number") if cells.typed("number") else numbers(cells.strings(), self.number, sign)
        if self.kind == "date":
            return cells.floats("date") if cells.typed("date") else dates(cells.strings(), self.date)
        return cells.strings()

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it."""
        found = {"name": self.name, "kind": self.kind, "number": list(self.number), "date": self.date}
        if self.kind in ("number", "date"):  # its range; what texts and categories hold is not in the file twice
            found["note"] = self.note
        return {**found, "missing": self.missing, "rare": self.rare}


def recognise(
    table: Table,
    *,
    text: Collection[str] = (),
    category: Collection[str] = (),
    number: Collection[str] = (),
    ignore: Collection[str] = (),
    decimal: str | None = None,
) -> list[Column]:
    """Guess what each column holds; `text`, `category`, `number` and `ignore` overrule the guess by name.

    `decimal` is the decimal sign of columns whose cells do not say it, "." or ",".

    Raises
    ------
    ValueError
        When a column is named that is not there, or the decimal sign of a column is not clear.

    Examples
    --------
    >>> from tallywise.table_model import as_table, recognise
    >>> rows = [{"city": "Bonn", "rent": "€ 1.200"}, {"city": "Köln", "rent": "€ 980"}, {"city": "Bonn", "rent": ""}]
    >>> [(column.name, column.kind) for column in recognise(as_table(rows))]
    [('city', 'category'), ('rent', 'number')]
    """
    wanted: dict[str, str] = {}
    for kind, names in (("text", text), ("category", category), ("number", number), ("ignored", ignore)):
        for name in names:
            if name not in table.columns:
                msg = f"The table has no column {name!r}. It has: {', '.join(table.columns)}."
                raise ValueError(msg)
            if wanted.setdefault(name, kind) != kind:
                msg = f"Column {name!r} cannot be {wanted[name]} and {kind}: give one."
                raise ValueError(msg)
    decide_decimals(table, decimal)
    return [column_of(name, cells, wanted.get(name)) for name, cells in table.columns.items()]


def decide_decimals(table: Table, wanted: str | None = None) -> None:
    """Find the decimal sign of each column of strings: by its own cells, by other columns, by the file's delimiter."""
    if wanted not in (None, ".", ","):
        msg = f"decimal must be '.' or ','. Got {wanted!r}."
        raise ValueError(msg)
    if table.decided:
        return
    table.decided = True
    found = {name: survey(Counter(cells.strings())) for name, cells in table.columns.items() if not cells.hint}
    proven = {one.sign for one in found.values() if one.of_numbers and one.sign}
    elsewhere = wanted or (proven.pop() if len(proven) == 1 else "")
    delimiter = "" if proven else table.delimiter  # what other columns contradict proves nothing
    for name, one in found.items():
        table.columns[name].decimal = one.decimal_sign(elsewhere, delimiter) if one.of_numbers else elsewhere


def as_numbers(cells: Cells, name: str = "") -> NDArray[np.float64] | None:
    """The values of a column that holds numbers, NaN where absent or not one; None for any other column."""
    if cells.hint == "number":
        return cells.floats("number")
    if cells.hint:
        return None
    strings = cells.strings()
    written = number_format(Counter(strings), cells.decimal, name)
    return None if written is None else numbers(strings, written)


def looks_numeric(cells: Cells, name: str = "") -> bool:
    """Whether a target is to be predicted as numbers: more than ten values, or more than two with a fraction."""
    x = as_numbers(cells, name)
    if x is None:
        return False
    present = np.unique(x[~np.isnan(x)])
    return len(present) > _FEW or (len(present) > 2 and not bool((present == np.floor(present)).all()))


def column_of(name: str, cells: Cells, kind: str | None = None) -> Column:
    """What one column holds, or its description as the kind that the user says it is."""
    if kind == "ignored":
        return Column(name, kind)
    if cells.hint in ("number", "date"):
        x = cells.floats(cells.hint)
        present = x[np.isfinite(x)]
        if kind is None:
            kind = cells.hint if len(np.unique(present)) > 1 else "constant"
            if kind == "number" and _row_numbers(present):
                return Column(name, "identifier", note=_of_numbers(x), numbered=True)
        note = _of_numbers(x) if kind == "number" else _of_dates(x) if kind == "date" else _of_strings(cells.strings())
        return Column(name, kind, note=note)
    strings = cells.strings()
    counts: Counter[str | None] = Counter(strings)
    if kind is None:
        kind = "category" if cells.hint == "category" and len(counts) > 1 else None
    if kind == "number":
        return _forced_number(name, strings, cells.decimal)
    if kind is not None:
        return Column(name, kind, note=_of_strings(strings))
    present_cells = {cell: count for cell, count in counts.items() if not absent(cell)}
    if len(present_cells) == 0 or len(counts) == 1:
        return Column(name, "constant", note=_of_strings(strings))
    day = date_format(present_cells)
    if day is not None:
        x = dates(strings, day)
        return Column(name, "date" if len(present_cells) > 1 else "constant", date=day, note=f"{_of_dates(x)}, {day}")
    written = number_format(present_cells, cells.decimal, name)
    if written is not None:
        x = numbers(strings, written)
        present = x[np.isfinite(x)]
        if len(present_cells) > 1:
            numbered = _row_numbers(present)
            kind = "identifier" if numbered else "number"
            return Column(name, kind, written, note=_of_numbers(x, written, present_cells), numbered=numbered)
    if looks_like_dates(present_cells):
        return Column(name, "text", note=f"{_of_strings(strings)}; dates in several formats")
    return Column(name, _of_words(present_cells), note=_of_strings(strings))


def _forced_number(name: str, strings: Sequence[str | None], decimal: str = "") -> Column:
    """A column that the user says is of numbers: in the format that most of its cells are written in."""
    looked = survey(Counter(strings))
    if not looked.bodies:
        msg = f"Column {name!r} cannot be read as numbers: none of its cells is one."
        raise ValueError(msg)
    looked.rows, looked.codes = looked.point + looked.comma + looked.either + looked.unclear, False
    if looked.point and looked.comma:  # those of the rarer sign cannot be read
        looked.rows = max(looked.point, looked.comma) + looked.either + looked.unclear
    written = number_format(looked, decimal, name) or _PLAIN
    return Column(name, "number", written, note=_of_numbers(numbers(strings, written), written, strings))


def _row_numbers(x: NDArray[np.float64]) -> bool:
    """Whether whole numbers were handed out to rows, and are not measured or counted; or are codes of one length.

    Numbers that are measured come again sooner or later: n draws from a range of m values are all different with
    probability m! / (m - n)! / m^n at most, whatever their distribution. Where that is out of the question, numbers
    were handed out: to rows, if they begin at 0 or 1 (or so near that the gaps of a part of the rows explain it) or
    have four digits and more. Ages, doses or years in a table that has each of them once are measurements nevertheless.
    """
    n = len(x)
    if n < 2 or not (x == np.floor(x)).all() or len(np.unique(x)) < n:
        return False
    low, high = float(x.min()), float(x.max())
    m = high - low + 1
    if low < 0 or high >= 2**53 or (low >= _FIRST_YEAR and high <= _LAST_YEAR):
        return False
    log_different = math.lgamma(m + 1) - math.lgamma(m - n + 1) - n * math.log(m) if m < n**2 else 0.0
    if log_different > math.log(_CHANCE):
        long = n >= _FEWEST_ROWS and low >= 10 ** (_LONG_CODE - 1)
        return long and len(str(int(low))) == len(str(int(high)))
    gaps = 1 - n / m
    return low >= _LONG_SERIAL or low <= 1 or gaps ** (low - 1) >= _CHANCE


def _of_words(counts: Mapping[str | None, int]) -> str:
    """Text, category or identifier, by how long cells are and how often they come again."""
    n, distinct = sum(counts.values()), len(counts)
    words = sum(count * _words(str(cell)) for cell, count in counts.items()) / n
    if distinct == n >= _FEWEST_ROWS and words < 1.5:
        return "identifier"
    if words >= _LONG and (distinct > n / 10 or distinct >= 1000):
        return "text"
    return "text" if distinct > n / 2 and words >= 2 and n >= 2 else "category"


def _words(cell: str) -> float:
    """Words of a cell; in scripts without spaces, a word for every four characters."""
    pieces = cell.split()
    if cell.isascii() or not pieces:
        return len(pieces)
    return max(len(pieces), sum(len(piece) for piece in pieces if not _ONE_WORD.fullmatch(piece)) / 6)


# --- notes for users ---


def _share_absent(count: int, n: int) -> str:
    return f", {number(100 * count / n)} % missing" if count and n else ""


def _of_numbers(x: NDArray[np.float64], format: NumberFormat | None = None, cells: Iterable[str | None] = ()) -> str:
    present = x[np.isfinite(x)]
    if not len(present):
        return "all missing"
    unit = f" {format.unit}" if format is not None and format.unit else ""
    style = f", as {format.style}" if format is not None and format.style != "plain" else ""
    style += f', with "{MINUS}" for a minus' if any(cell is not None and MINUS in cell for cell in cells) else ""
    return f"{present.min():g} to {present.max():g}{unit}{style}{_share_absent(len(x) - len(present), len(x))}"


def _of_dates(x: NDArray[np.float64]) -> str:
    present = x[np.isfinite(x)]
    if not len(present):
        return "all missing"
    first, last = (str(np.datetime64(int(np.floor(day)), "D")) for day in (present.min(), present.max()))
    return f"{first} to {last}{_share_absent(len(x) - len(present), len(x))}"


def _of_strings(cells: Sequence[str | None]) -> str:
    counts = Counter(cell for cell in cells if cell is not None and cell.strip())
    if not counts:
        return "all missing"
    # Ties by the value itself: the order of the rows must not show.
    top = sorted(counts, key=lambda cell: (-counts[cell], cell))[:3]
    shown = ", ".join(cell if len(cell) <= 20 else cell[:19] + "…" for cell in (" ".join(c.split()) for c in top))
    distinct = f"{len(counts):,} values" if len(counts) > 1 else "1 value"
    return f"{distinct}: {shown}{_share_absent(len(cells) - sum(counts.values()), len(cells))}"
