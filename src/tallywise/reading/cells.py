"""Cells of a table to values: numbers and dates as people write them, where a whole column agrees on how.

Needs NumPy alone: the serve side reads its cells by the conventions that the fit side found.
"""

import datetime
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What stands for "no value" in a column whose other cells are numbers or dates. In other columns only empty cells do.
_ABSENT = frozenset(
    ["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", ".", "?", "missing", "unknown", "nat"]
)
_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD"
_UNIT = re.compile(rf"(?P<sign>[+-]?)(?P<before>{_CURRENCY})?\s*(?P<body>.*?)\s*(?P<after>%|{_CURRENCY})?", re.DOTALL)
_SPACES = "[ '\u2019\u00a0\u202f]"
_BY_SPACES = rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:{_SPACES}[0-9]{{3}})+|0|[1-9][0-9]*)"

# How digits are grouped, and the decimal sign: the first that all cells of a column agree with is taken. A number that
# begins with a zero and goes on with digits is a code (a postcode, say) and none.
_STYLES: dict[str, tuple[re.Pattern[str], str, str]] = {
    "plain": (re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"), "", "."),
    "1,234.5": (re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]*)?"), ",", "."),
    "1234,5": (re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:,[0-9]+)?"), "", ","),
    "1.234,5": (re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|0|[1-9][0-9]*)(?:,[0-9]+)?"), ".", ","),
    "1 234.5": (re.compile(_BY_SPACES + r"(?:\.[0-9]*)?"), " ", "."),
    "1 234,5": (re.compile(_BY_SPACES + r"(?:,[0-9]+)?"), " ", ","),
}
_LONGEST_NUMBER = 64  # characters; what is longer is no number that anyone wrote


class NumberFormat(NamedTuple):
    """How the numbers of a column are written: digits and decimal sign, and the unit that each of them has."""

    style: str = "plain"
    unit: str = ""

    def check(self) -> None:
        """Refuse a style that is not known."""
        if self.style not in _STYLES:
            msg = f"there is no style {self.style!r} of numbers"
            raise ValueError(msg)


def absent(cell: str | None) -> bool:
    """Whether a cell of a column of numbers or dates says that there is no value."""
    return cell is None or cell.strip().lower() in _ABSENT


def number_format(cells: Collection[str | None]) -> NumberFormat | None:
    """The format in which all cells are numbers; None where they do not agree, or none is a number.

    Examples
    --------
    >>> from tallywise.reading.cells import number_format
    >>> number_format(["$1,200", "$35", ""])
    NumberFormat(style='1,234.5', unit='$')
    >>> number_format(["3,5", "12"]).style, number_format(["3,5", "1.5"])
    ('1234,5', None)
    """
    units, bodies = set(), set()
    for cell in cells:
        if absent(cell):
            continue
        assert cell is not None
        if len(cell) > _LONGEST_NUMBER:
            return None
        unit, body = _unit_and_body(cell)
        units.add(unit)
        bodies.add(body)
        if len(units) > 1:
            return None
    if not bodies:
        return None
    unit = units.pop()
    if unit not in ("", "%") and _points_group(bodies):
        return NumberFormat("1.234,5", unit)
    for style, (pattern, _, _) in _STYLES.items():
        if all(pattern.fullmatch(body) for body in bodies):
            return NumberFormat(style, unit)
    return None


def _points_group(bodies: Collection[str]) -> bool:
    """Whether the points in amounts of money part thousands, though each amount alone could be a decimal.

    Nobody writes money with three decimals but as the price of one unit, such as 1.459 for fuel: then all amounts have
    the three, and few digits before them.
    """
    pattern = _STYLES["1.234,5"][0]
    if not all(pattern.fullmatch(body) for body in bodies):
        return False
    whole = [body.lstrip("+-").partition(".") for body in bodies]
    return any(point for _, point, _ in whole) and any(not point or len(first) > 1 for first, point, _ in whole)


def _unit_and_body(cell: str) -> tuple[str, str]:
    found = _UNIT.fullmatch(cell.strip())
    assert found is not None
    before, after = found["before"] or "", found["after"] or ""
    if before and after:
        return "?", cell
    body = found["sign"] + found["body"] if not found["body"].startswith(("+", "-")) or not found["sign"] else cell
    return before or after, body


def numbers(cells: Sequence[str | None], format: NumberFormat) -> Array:
    """Values of the cells; NaN for those absent, or not written in this format."""
    pattern, group, point = _STYLES[format.style]
    known: dict[str | None, float] = {}

    def value(cell: str | None) -> float:
        if absent(cell):
            return math.nan
        assert cell is not None
        if len(cell) > _LONGEST_NUMBER:
            return math.nan
        unit, body = _unit_and_body(cell)
        if not pattern.fullmatch(body) or unit not in ("", format.unit):
            return math.nan
        if group:
            body = re.sub(_SPACES, "", body) if group == " " else body.replace(group, "")
        return _finite(float(body.replace(point, ".")))

    return _each(cells, value, known)


def _finite(x: float) -> float:
    return x if math.isfinite(x) else math.nan


def _each(cells: Iterable[str | None], value: Callable[[str | None], float], known: dict[str | None, float]) -> Array:
    """One value a cell, each different cell looked at once."""
    found = []
    for cell in cells:
        x = known.get(cell)
        if x is None:
            x = known[cell] = value(cell)
        found.append(x)
    return np.array(found, dtype=np.float64)


# --- dates ---

_ZONE = r"(?:Z|UTC|[+-]\d{2}:?\d{2})"
_TIME = rf"(?:(?:T|\s+)(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::(?P<second>\d{{2}})(?:[.,]\d+)?)?\s*{_ZONE}?)?"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = r"(?P<name>" + "|".join(_MONTHS) + r")[a-z]*\.?"
_DATES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern + _TIME, re.IGNORECASE)
    for name, pattern in {
        "year-month-day": r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        "month/day/year": r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})",
        "day/month/year": r"(?P<day>\d{1,2})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4})",
        "month-day-year": r"(?P<month>\d{1,2})-(?P<day>\d{1,2})-(?P<year>\d{4})",
        "day month year": rf"(?P<day>\d{{1,2}})[ -]{_NAMED}[ -](?P<year>\d{{4}})",
        "month day, year": rf"{_NAMED} (?P<day>\d{{1,2}}),? (?P<year>\d{{4}})",
    }.items()
} | {
    "yearmonthday": re.compile(
        r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?:T(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2}))?Z?"
    )
}
_LONGEST_DATE = 40
_FEWEST_COMPACT = 20  # eight digits are a date where this many rows agree
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def date_format(cells: Collection[str | None]) -> str | None:
    """The order in which all cells are dates; None where they do not agree, or none is a date.

    Where day and month could be either, a slash means month first, and a point or a dash day first.

    Examples
    --------
    >>> from tallywise.reading.cells import date_format
    >>> date_format(["2024-02-29", "2023-12-01 10:30"]), date_format(["2024-02-30"])
    ('year-month-day', None)
    """
    present = {cell for cell in cells if not absent(cell)}
    if not present:
        return None
    for name in _DATES:
        if name == "yearmonthday" and len(present) < _FEWEST_COMPACT:
            continue
        if all(cell is not None and not math.isnan(_day(cell, name)) for cell in present):
            return name
    return None


def looks_like_dates(cells: Collection[str | None]) -> bool:
    """Whether each cell is a date in some format, though not all in the same one.

    Examples
    --------
    >>> from tallywise.reading.cells import looks_like_dates
    >>> looks_like_dates(["2024-02-29", "31.12.2023"]), looks_like_dates(["2024-02-29", "soon"])
    (True, False)
    """
    names = [name for name in _DATES if name != "yearmonthday"]
    present = [str(cell) for cell in cells if not absent(cell)]
    return bool(present) and all(any(not math.isnan(_day(cell, name)) for name in names) for cell in present)


def check_date_format(name: str) -> None:
    """Refuse a format that is not known."""
    if name not in _DATES:
        msg = f"there is no format {name!r} of dates"
        raise ValueError(msg)


def _day(cell: str, format: str) -> float:
    """Days since 1970, with the time of day as a fraction and without its time zone; NaN for what is no date."""
    found = _DATES[format].fullmatch(cell.strip()) if len(cell) <= _LONGEST_DATE else None
    if found is None:
        return math.nan
    part: dict[str, Any] = found.groupdict()
    month = int(part["month"]) if part.get("month") else _MONTHS.index(part["name"].lower()) + 1
    try:
        day = datetime.date(int(part["year"]), month, int(part["day"])).toordinal() - _EPOCH
        time = datetime.time(int(part["hour"] or 0), int(part["minute"] or 0), int(part["second"] or 0))
    except ValueError:
        return math.nan
    return day + (3600 * time.hour + 60 * time.minute + time.second) / 86400


def dates(cells: Sequence[str | None], format: str) -> Array:
    """Days since 1970 of the cells; NaN for those absent, or not dates in this format."""

    def value(cell: str | None) -> float:
        return math.nan if absent(cell) else _day(str(cell), format)

    return _each(cells, value, {})


class DateParts(NamedTuple):
    """Calendar parts of days since 1970: month 0 to 11, weekday 0 (Monday) to 6, hour 0 to 23; -1 where absent."""

    month: NDArray[np.intp]
    weekday: NDArray[np.intp]
    hour: NDArray[np.intp]


def date_parts(days: Array) -> DateParts:
    """Calendar parts of days; those beyond the years 1 to 9999 are absent."""
    known = np.isfinite(days) & (days > -719_163) & (days < 2_932_897)
    whole = np.where(known, np.floor(np.where(known, days, 0.0)), 0).astype(np.int64)
    month = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    seconds = np.round((np.where(known, days, 0.0) - whole) * 86400).astype(np.int64)
    parts = (month, (whole + 3) % 7, np.minimum(seconds // 3600, 23))
    return DateParts(*(np.where(known, part, -1).astype(np.intp) for part in parts))
