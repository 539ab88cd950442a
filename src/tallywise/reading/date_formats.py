"""Dates as people write them, where a whole column agrees on how; numbers are read by `number_formats`.

Needs NumPy alone: the serve side reads its cells by the conventions that the fit side found.
"""

import datetime
import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.reading.number_formats import absent, each, too_many

Array = NDArray[np.float64]

_ZONE = r"(?:Z|UTC|[+-]\d{2}:?\d{2})"
_TIME = (
    r"(?:(?:T|\s+)(?P<hour>\d{1,2})(?P<colon>[:.])(?P<minute>\d{2})(?:(?P=colon)(?P<second>\d{2})(?:[.,]\d+)?)?"
    rf"\s*{_ZONE}?)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = r"(?P<name>" + "|".join(_MONTHS) + r")[a-z]*\.?"
_COMPACT = "yearmonthday"
_DATES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern + _TIME, re.IGNORECASE)
    for name, pattern in {
        "year-month-day": r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
        "month/day/year": r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})",
        "day/month/year": r"(?P<day>\d{1,2})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<year>\d{4})",
        "month-day-year": r"(?P<month>\d{1,2})-(?P<day>\d{1,2})-(?P<year>\d{4})",
        "day month year": rf"(?P<day>\d{{1,2}})[ -]{_NAMED}[ -](?P<year>\d{{4}})",
        "day month short year": rf"(?P<day>\d{{1,2}})[ -]{_NAMED}[ -](?P<short>\d{{2}})",
        "month day, year": rf"{_NAMED} (?P<day>\d{{1,2}}),? (?P<year>\d{{4}})",
    }.items()
} | {
    _COMPACT: re.compile(
        r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?:T(?P<hour>\d{2})(?P<minute>\d{2})(?P<second>\d{2}))?Z?"
    )
}
_LONGEST_DATE = 40
_FEWEST_COMPACT = 20  # eight digits are a date where this many rows agree
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def date_format(cells: Collection[str | None] | Mapping[str | None, int]) -> str | None:
    """The order in which cells are dates, but for slips; None where they do not agree, or none is a date.

    Cells may come with the numbers of their rows. Where day and month could be either, a slash means month first, and a
    point or a dash day first.

    Examples
    --------
    >>> from tallywise.reading.date_formats import date_format
    >>> date_format(["2024-02-29", "2023-12-01 10:30"]), date_format(["2024-02-30"])
    ('year-month-day', None)
    """
    counts = cells if isinstance(cells, Mapping) else dict.fromkeys(cells, 1)
    present = {str(cell): count for cell, count in counts.items() if not absent(cell)}
    # Most columns are no dates: a few cells say so.
    if not present or not any(_is_date(cell) for cell in itertools.islice(present, 50)):
        return None
    rows = sum(present.values())
    odd = {
        name: sum(count for cell, count in present.items() if math.isnan(_day(cell, name)))
        for name in _DATES
        if name != _COMPACT or len(present) >= _FEWEST_COMPACT
    }
    best = min(odd, key=lambda name: odd[name], default=_COMPACT)
    if too_many(odd[best], rows) or odd[best] == rows or (best == _COMPACT and odd[best]):
        return None
    return best


def _is_date(cell: str) -> bool:
    return any(not math.isnan(_day(cell, name)) for name in _DATES)


def looks_like_dates(cells: Collection[str | None]) -> bool:
    """Whether each cell is a date in some format, though not all in the same one.

    Examples
    --------
    >>> from tallywise.reading.date_formats import looks_like_dates
    >>> looks_like_dates(["2024-02-29", "31.12.2023"]), looks_like_dates(["2024-02-29", "soon"])
    (True, False)
    """
    names = [name for name in _DATES if name != _COMPACT]
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
        day = datetime.date(int(part.get("year") or _full(part["short"])), month, int(part["day"])).toordinal() - _EPOCH
        time = datetime.time(int(part["hour"] or 0), int(part["minute"] or 0), int(part["second"] or 0))
    except ValueError:
        return math.nan
    return day + (3600 * time.hour + 60 * time.minute + time.second) / 86400


def _full(short: str) -> int:
    """The year of two digits, as POSIX reads it: 69 to 99 are of the last century."""
    return int(short) + (1900 if int(short) >= 69 else 2000)


def dates(cells: Sequence[str | None], format: str) -> Array:
    """Days since 1970 of the cells; NaN for those absent, or not dates in this format."""

    def value(cell: str | None) -> float:
        return math.nan if absent(cell) else _day(str(cell), format)

    return each(cells, value, {})


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
