"""Values of columns to features.

A row of a table has few features that are not 0: each code says which, and their values, so that no matrix is needed
to score a row, and what a column adds is a sum over its own features.

Needs NumPy alone: fit side and serve side encode with the same lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise._lazy import lazy
from tallywise.reading.date_formats import date_parts

Array = NDArray[np.float64]
Ints = NDArray[np.intp]

VIEWS = ("plain", "ranks", "bins", "curve", "squares", "steps")
_LARGEST = 1e150  # its square is still a number
_FURTHEST = 1e6  # standard deviations from the mean that make a difference
_MOST_LEVELS = 1000
_RARE = 3  # rows; levels of fewer are one
COARSE_BINS, _COARSE_LEVELS = 6, 12  # of a column in a pair
CALENDAR = {"month": 12, "weekday": 7, "hour": 24}  # values of the parts of a date, in the order of `date_parts`
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Slots(NamedTuple):
    """Features of rows: `values[i, s]` in column `columns[i, s]`; slots of one column add up."""

    columns: Ints  # (n, slots)
    values: Array

    def shifted(self, offset: int) -> "Slots":
        """The same features further to the right."""
        return Slots(self.columns + offset, self.values)


def beside(parts: Sequence[Slots]) -> Slots:
    """Slots side by side."""
    return Slots(np.hstack([part.columns for part in parts]), np.hstack([part.values for part in parts]))


class Categories(NamedTuple):
    """Cells of a category as positions in a list of names; -1 where the cell is empty."""

    codes: Ints
    names: list[str]

    def take(self, rows: Any) -> "Categories":
        """Some of the rows."""
        return Categories(self.codes[rows], self.names)

    @classmethod
    def of(cls, cells: Sequence[str | None]) -> "Categories":
        """Cells, with outer white space dropped."""
        stripped = [None if cell is None else cell.strip() or None for cell in cells]
        names = sorted({cell for cell in stripped if cell is not None})
        place: dict[str | None, int] = {name: k for k, name in enumerate(names)}
        place[None] = -1
        return cls(np.array([place[cell] for cell in stripped], dtype=np.intp), names)


def knots_of(x: Array, most: int) -> Array:
    """Values at equal steps of the distribution, in which no single value counts for more than one step.

    Plain quantiles of a column that is mostly 0 would all be 0.
    """
    values, counts = np.unique(x, return_counts=True)
    if len(values) <= most:
        return values
    capped = np.minimum(counts, len(x) / most)
    place = np.cumsum(capped) - capped / 2
    place = (place - place[0]) / (place[-1] - place[0])
    found: Array = np.unique(values[np.searchsorted(place, np.linspace(0, 1, most), side="left")])
    return found


@dataclass(frozen=True)
class NumberCode:
    """A number as features.

    plain: (x - mean) / scale. ranks: place among the knots, standardised. bins: 1 in the bin [k_i, k_i+1). steps: bins
    and plain. curve: a function linear between knots (two neighbouring hat functions), and plain. squares: plain and
    its square. Absent numbers have features 0 but for one of their own.
    """

    view: str
    mean: float
    scale: float
    knots: tuple[float, ...]

    @classmethod
    def fit(cls, view: str, x: Array, most_knots: int) -> "NumberCode":
        """Learn from numbers, NaN where absent."""
        present = np.clip(x[~np.isnan(x)], -_LARGEST, _LARGEST)
        if not len(present):
            return cls(view, 0.0, 1.0, (0.0,))
        knots = knots_of(present, most_knots)
        if view == "ranks":
            present = np.interp(present, knots, np.arange(len(knots)))
        # Scaled before it is squared: numbers may be very large or very small.
        unit = float(np.abs(present).max()) or 1.0
        mean, scale = float((present / unit).mean() * unit), float((present / unit).std() * unit)
        return cls(view, mean, scale if scale > 1e-12 * unit else unit, tuple(knots.tolist()))

    @property
    def width(self) -> int:
        """Number of features; the last is that of absent numbers."""
        k = len(self.knots)
        return {"plain": 1, "ranks": 1, "squares": 2, "bins": k, "curve": k + 1, "steps": k + 1}[self.view] + 1

    def standardised(self, x: Array) -> Array:
        """(x - mean) / scale; 0 where absent."""
        x = np.clip(np.where(np.isnan(x), self.mean, x), -_LARGEST, _LARGEST)
        return np.clip((x - self.mean) / self.scale, -_FURTHEST, _FURTHEST)

    def slots(self, x: Array) -> Slots:
        """Features of numbers."""
        absent = np.isnan(x)
        x = np.clip(np.where(absent, self.mean, x), -_LARGEST, _LARGEST)
        knots, last = np.array(self.knots), self.width - 1
        if self.view == "bins":
            bin = np.searchsorted(knots[1:], x, side="right")
            return Slots(np.where(absent, last, bin)[:, None], np.ones((len(x), 1)))
        zero = np.zeros(len(x), dtype=np.intp)
        if self.view == "steps":
            bin = np.where(absent, last, np.searchsorted(knots[1:], x, side="right"))
            slope = np.clip((x - self.mean) / self.scale, -_FURTHEST, _FURTHEST)
            slope = np.where(absent, 0.0, slope)
            return Slots(np.column_stack([bin, zero + last - 1]), np.column_stack([np.ones(len(x)), slope]))
        y = np.interp(x, knots, np.arange(len(knots))) if self.view == "ranks" else x
        z = np.clip((y - self.mean) / self.scale, -_FURTHEST, _FURTHEST)
        columns, values = [zero], [z]
        if self.view == "squares":
            columns, values = [*columns, zero + 1], [*values, z * z]
        elif self.view == "curve":
            left = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, max(len(knots) - 2, 0))
            right = np.minimum(left + 1, len(knots) - 1)
            step = knots[right] - knots[left]
            share = np.clip((x - knots[left]) / np.where(step > 0, step, 1.0), 0.0, 1.0)
            columns, values = [left, right, zero + len(knots)], [1 - share, share, z]
        columns, values = [*columns, zero + last], [*(np.where(absent, 0.0, v) for v in values), absent.astype(float)]
        return Slots(np.column_stack(columns), np.column_stack(values))

    def labels(self) -> list[str]:
        """Names of the features, for people."""
        names = [f"= {knot:g}" for knot in self.knots]
        if self.view in ("bins", "steps"):
            names = [f"from {knot:g}" for knot in self.knots]
        found = {"plain": ["slope"], "ranks": ["rank"], "squares": ["slope", "square"], "bins": names}
        return [*found.get(self.view, [*names, "slope"]), "missing"]


@dataclass(frozen=True)
class CategoryCode:
    """A category as one feature a level; rare and unknown levels share one, empty cells have one."""

    levels: tuple[str, ...]

    @classmethod
    def fit(cls, cells: Categories, most: int = _MOST_LEVELS) -> "CategoryCode":
        """Learn the levels, most frequent first."""
        counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.names))
        order = np.argsort(-counts, kind="stable")[:most]
        return cls(tuple(cells.names[k] for k in order.tolist() if counts[k] >= _RARE))

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.levels) + 2

    @lazy
    def _place(self) -> dict[str, int]:
        return {level: k for k, level in enumerate(self.levels)}

    def codes(self, cells: Categories) -> Ints:
        """The feature of each cell."""
        other = len(self.levels)
        table = np.array([self._place.get(name, other) for name in cells.names] + [other + 1], dtype=np.intp)
        return np.asarray(table[cells.codes])

    def slots(self, cells: Categories) -> Slots:
        """Features of cells."""
        return Slots(self.codes(cells)[:, None], np.ones((len(cells.codes), 1)))

    def labels(self) -> list[str]:
        """Names of the features, for people."""
        return [*(f"= {level}" for level in self.levels), "rare or unknown", "missing"]


@dataclass(frozen=True)
class DateCode:
    """A date as calendar parts: the day as a number, month, weekday and, where they differ, the hour."""

    day: NumberCode
    hours: bool

    @classmethod
    def fit(cls, view: str, x: Array, most_knots: int) -> "DateCode":
        """Learn from days since 1970, NaN where absent."""
        present = x[~np.isnan(x)]
        return cls(NumberCode.fit(view, x, most_knots), bool((present != np.floor(present)).any()))

    @property
    def width(self) -> int:
        """Number of features."""
        return self.day.width + 12 + 7 + (24 if self.hours else 0)

    def slots(self, x: Array) -> Slots:
        """Features of days."""
        parts, begin = date_parts(x), self.day.width
        found = [self.day.slots(x)]
        for part, size in zip(parts, (12, 7, 24 if self.hours else 0), strict=True):
            if size:
                known = part >= 0
                found.append(Slots(begin + np.where(known, part, 0)[:, None], known.astype(float)[:, None]))
            begin += size
        return beside(found)

    def labels(self) -> list[str]:
        """Names of the features, for people."""
        hours = [f"{hour} h" for hour in range(24)] if self.hours else []
        return [*(f"day {name}" for name in self.day.labels()), *_MONTHS, *_WEEKDAYS, *hours]


@dataclass(frozen=True)
class CalendarCode:
    """One calendar part of a date as a feature for each of its values: the columns of trees and pairs."""

    part: str  # a key of CALENDAR

    @property
    def width(self) -> int:
        """Number of features; the last is that of absent dates."""
        return CALENDAR[self.part] + 1

    def slots(self, x: Array) -> Slots:
        """Features of days since 1970."""
        found = date_parts(x)[list(CALENDAR).index(self.part)]
        return Slots(np.where(found >= 0, found, self.width - 1)[:, None], np.ones((len(x), 1)))

    def labels(self) -> list[str]:
        """Names of the features, human-readable."""
        names = {"month": _MONTHS, "weekday": _WEEKDAYS}.get(self.part, tuple(f"{hour} h" for hour in range(24)))
        return [*names, "missing"]


def coarse(kind: str, values: Any) -> "NumberCode | CategoryCode":
    """A code of few features for a column in a pair."""
    if kind == "category":
        return CategoryCode.fit(values, _COARSE_LEVELS)
    return NumberCode.fit("bins", values, COARSE_BINS)


@dataclass(frozen=True)
class PairCode:
    """Two columns as one feature for each pair of their bins or levels: the products of their indicators.

    With `product`, of two numbers, a last feature is the product of both, standardised; 0 where one is absent.
    """

    first: NumberCode | CategoryCode | CalendarCode
    second: NumberCode | CategoryCode | CalendarCode
    product: bool = False

    @property
    def width(self) -> int:
        """Number of features."""
        return self.first.width * self.second.width + self.product

    def slots(self, a: Any, b: Any) -> Slots:
        """Features of the values of both columns."""
        cells = self.first.slots(a).columns * self.second.width + self.second.slots(b).columns
        found = Slots(cells, np.ones(cells.shape))
        if not (self.product and isinstance(self.first, NumberCode) and isinstance(self.second, NumberCode)):
            return found
        z = self.first.standardised(a) * self.second.standardised(b)
        return beside([found, Slots(np.full_like(cells, self.width - 1), z[:, None])])

    def labels(self) -> list[str]:
        """Names of the features, for people."""
        cells = [f"{a}, {b}" for a in self.first.labels() for b in self.second.labels()]
        return [*cells, "product"] if self.product else cells


Code = NumberCode | CategoryCode | CalendarCode | DateCode | PairCode


class DesignPart(NamedTuple):
    """A code and the columns whose values it takes."""

    columns: tuple[str, ...]
    code: Code


class Design:
    """Codes of columns side by side."""

    def __init__(self, parts: Sequence[DesignPart]) -> None:
        self.parts = list(parts)
        self.offsets = np.concatenate([[0], np.cumsum([part.code.width for part in self.parts])]).astype(int).tolist()

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.offsets[-1])

    def slots(self, values: Mapping[str, Any], rows: int) -> list[Slots]:
        """Features of each part for the values of the columns."""
        found = []
        for (names, code), offset in zip(self.parts, self.offsets, strict=False):
            found.append(code.slots(*(values[name] for name in names)).shifted(offset))
        return found or [Slots(np.zeros((rows, 0), dtype=np.intp), np.zeros((rows, 0)))]

    def dense(self, values: Mapping[str, Any], rows: int) -> Array:
        """Features as a matrix."""
        columns, entries = beside(self.slots(values, rows))
        X = np.zeros((rows, self.width))
        np.add.at(X, (np.arange(rows)[:, None], columns), entries)
        return X

    # --- in the model file ---

    @property
    def meta(self) -> list[dict[str, Any]]:
        """What the model file says of it."""
        return [{"columns": list(names), "code": _meta(code)} for names, code in self.parts]

    @classmethod
    def of(cls, meta: Sequence[Mapping[str, Any]]) -> "Design":
        """From what the model file says."""
        return cls([DesignPart(tuple(map(str, part["columns"])), _code(part["code"])) for part in meta])


def _meta(code: Code) -> dict[str, Any]:
    if isinstance(code, NumberCode):
        return {"kind": "number", "view": code.view, "mean": code.mean, "scale": code.scale, "knots": list(code.knots)}
    if isinstance(code, CategoryCode):
        return {"kind": "category", "levels": list(code.levels)}
    if isinstance(code, CalendarCode):
        return {"kind": "calendar", "part": code.part}
    if isinstance(code, DateCode):
        return {"kind": "date", "day": _meta(code.day), "hours": code.hours}
    return {"kind": "pair", "first": _meta(code.first), "second": _meta(code.second), "product": code.product}


def _code(meta: Mapping[str, Any]) -> Any:
    kind = meta["kind"]
    if kind == "number":
        knots = tuple(float(knot) for knot in meta["knots"])
        mean, scale = float(meta["mean"]), float(meta["scale"])
        rising = all(a < b for a, b in pairwise(knots))
        if meta["view"] not in VIEWS or not knots or not rising or not np.isfinite([mean, scale, *knots]).all():
            msg = "one of its columns of numbers is malformed"
            raise ValueError(msg)
        if not scale > 0:
            msg = "one of its columns of numbers has no scale"
            raise ValueError(msg)
        return NumberCode(meta["view"], mean, scale, knots)
    if kind == "category":
        levels = tuple(meta["levels"])
        if not all(isinstance(level, str) for level in levels):
            msg = "one of its categories has a level that is no text"
            raise ValueError(msg)
        return CategoryCode(levels)
    if kind == "date":
        return DateCode(_code(meta["day"]), bool(meta["hours"]))
    if kind == "calendar" and meta["part"] in CALENDAR:
        return CalendarCode(meta["part"])
    if kind == "pair":
        first, second = _code(meta["first"]), _code(meta["second"])
        product = bool(meta.get("product", False))  # files of earlier versions have none
        if product and not (isinstance(first, NumberCode) and isinstance(second, NumberCode)):
            msg = "one of its products is not of numbers"
            raise ValueError(msg)
        return PairCode(first, second, product)
    msg = f"there is no code {kind!r}"
    raise ValueError(msg)
