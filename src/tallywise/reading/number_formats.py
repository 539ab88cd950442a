"""How people write numbers: decimal signs, groups of digits, units; and which of them a column uses.

A cell such as ``1.250`` is a fraction in one country and a thousand in another. Nothing in the cell decides that: other
cells of its column do, then the other columns of the table, then the delimiter of the file. Where none of them speaks,
the sign is not clear, and the user is asked.

Needs NumPy alone: the serve side reads its cells by the conventions that the fit side found.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.reading.encodings_and_limits import InputError

Array = NDArray[np.float64]

# What stands for "no value" in a column whose other cells are numbers or dates. In other columns only empty cells do.
_ABSENT = frozenset(
    ["", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", ".", "?", "missing", "unknown", "nat"]
)
_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD"
_UNIT = re.compile(rf"(?P<sign>[+-]?)(?P<before>{_CURRENCY})?\s*(?P<body>.*?)\s*(?P<after>%|{_CURRENCY})?", re.DOTALL)
_SPACES = "[ '\u2019\u00a0\u202f]"
_BY_SPACES = rf"[+-]?(?:[1-9][0-9]{{0,2}}(?:{_SPACES}[0-9]{{3}})+|0|[1-9][0-9]*)"
_POWER = r"(?:[eE][+-]?[0-9]{1,3})?"
MINUS = "\u2212"  # typographic; what word processors and some spreadsheets write

# How digits are grouped, and the decimal sign. A number that begins with a zero and goes on with digits is a code (a
# postcode, say) and none.
_STYLES: dict[str, tuple[re.Pattern[str], str, str]] = {
    "plain": (re.compile(rf"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+){_POWER}"), "", "."),
    "1,234.5": (re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)(?:\.[0-9]*)?"), ",", "."),
    "1 234.5": (re.compile(_BY_SPACES + r"(?:\.[0-9]*)?"), " ", "."),
    "1234,5": (re.compile(rf"[+-]?(?:0|[1-9][0-9]*)(?:,[0-9]+)?{_POWER}"), "", ","),
    "1.234,5": (re.compile(r"[+-]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|0|[1-9][0-9]*)(?:,[0-9]+)?"), ".", ","),
    "1 234,5": (re.compile(_BY_SPACES + r"(?:,[0-9]+)?"), " ", ","),
}
_BY_DECIMAL = {sign: [style for style, (_, _, own) in _STYLES.items() if own == sign] for sign in ".,"}
_CODE = re.compile(r"[+-]?0[0-9]+")
_LONGEST_NUMBER = 64  # characters; what is longer is no number that anyone wrote
UNCLEAR = "?"
# Share of cells that may be no numbers in a column of numbers. Of 156 columns of nine public tables 102 are numbers
# throughout, 51 have none, and 3 have 25 to 33 % other cells: categories such as 2, 3, 4, 5more.
_MOST_ODD = 0.05
_ONE_ODD = 10  # cells; from so many on, one may be odd: a last row "Total", say


class NumberFormat(NamedTuple):
    """How the numbers of a column are written: digits and decimal sign, and the unit that each of them has."""

    style: str = "plain"
    unit: str = ""

    def check(self) -> None:
        """Refuse a style that is not known."""
        if self.style not in _STYLES:
            msg = f"there is no style {self.style!r} of numbers"
            raise ValueError(msg)

    @property
    def decimal(self) -> str:
        """The decimal sign."""
        return _STYLES[self.style][2]


class UnclearDecimalError(InputError):
    """Numbers that could be read with a decimal point or with a decimal comma; ``cell`` is one of them."""

    def __init__(self, cell: str, name: str = "") -> None:
        self.cell = cell
        body = _unit_and_body(cell)[1]
        readings = " or ".join(f"{value_of(body, sign):.15g}" for sign in ".,")
        super().__init__(
            f'{f"Column {name!r}" if name else "A column"} holds "{cell}", which is {readings}, and nothing in the '
            'table decides. Use --decimal , or --decimal . (in Python: decimal="," or decimal=".").'
        )


def absent(cell: str | None) -> bool:
    """Whether a cell of a column of numbers or dates says that there is no value."""
    return cell is None or cell.strip().lower() in _ABSENT


def too_many(odd: int, cells: int) -> bool:
    """Whether so many cells that cannot be read are more than slips among `cells` that are there."""
    return odd > max(_MOST_ODD * cells, cells >= _ONE_ODD)


def value_of(body: str, decimal: str) -> float | None:
    """The number that a cell without its unit is by that decimal sign; None where it is none, or infinite."""
    for style in _BY_DECIMAL[decimal]:
        pattern, group, point = _STYLES[style]
        if pattern.fullmatch(body):
            if group:
                body = re.sub(_SPACES, "", body) if group == " " else body.replace(group, "")
            x = float(body.replace(point, "."))
            return x if math.isfinite(x) else None
    return None


def _unit_and_body(cell: str) -> tuple[str, str]:
    found = _UNIT.fullmatch(cell.strip().replace(MINUS, "-"))
    assert found is not None
    before, after = found["before"] or "", found["after"] or ""
    if before and after:
        return "?", cell
    body = found["sign"] + found["body"] if not found["body"].startswith(("+", "-")) or not found["sign"] else cell
    return before or after, body


@dataclass
class Survey:
    """Cells of a column by the decimal sign with which they are numbers; counts of rows."""

    rows: int = 0  # whose cell is not absent
    unit: str = ""
    point: int = 0  # with a point alone
    comma: int = 0
    either: int = 0  # with both, and the same
    unclear: int = 0  # with both, but others
    codes: bool = False
    bodies: list[str] = field(default_factory=list)  # of the different cells that are numbers

    @property
    def of_numbers(self) -> bool:
        """Whether these are numbers by one of the signs, but for slips."""
        most = max(self.point, self.comma) + self.either + self.unclear
        return most > 0 and not self.codes and not too_many(self.rows - most, self.rows)

    @property
    def sign(self) -> str:
        """The decimal sign that cells of this column prove; nothing where none does."""
        if self.point == self.comma:
            return ""
        return "." if self.point > self.comma else ","

    def decimal_sign(self, elsewhere: str = "", delimiter: str = "") -> str:
        """The decimal sign, with what other columns prove and the delimiter of the file; `UNCLEAR` where none says.

        A semicolon is what spreadsheets write where the comma is the decimal sign; but if every cell has a point and
        three digits behind it, these are decimals of one length just as well. Files without a semicolon are mostly
        written by programs with a point: then decimals have one length, or never end in 0.
        """
        if self.sign or not self.unclear:
            return self.sign or elsewhere or "."
        if elsewhere:
            return elsewhere
        open_ones = [body for body in self.bodies if "." in body or "," in body]
        signs = {sign for body in open_ones for sign in ".," if sign in body}
        if self.unit not in ("", "%") and signs == {"."} and _points_group(self.bodies):
            return ","
        one_length = len(open_ones) == len(self.bodies)
        if delimiter == ";":
            return UNCLEAR if signs == {"."} and one_length else ","
        if signs == {"."}:
            return "." if one_length or not any(body.endswith("0") for body in open_ones) else UNCLEAR
        return "." if signs == {","} and delimiter == "," else UNCLEAR


def survey(cells: Iterable[str | None] | Mapping[str | None, int]) -> Survey:
    """Look at different cells, each with the number of its rows (1 where these are not given)."""
    counts = cells if isinstance(cells, Mapping) else dict.fromkeys(cells, 1)
    found, by_unit = Survey(), dict[str, dict[str, int]]()
    for cell, count in counts.items():
        if absent(cell):
            continue
        assert cell is not None
        found.rows += count
        if len(cell) <= _LONGEST_NUMBER:
            unit, body = _unit_and_body(cell)
            own = by_unit.setdefault(unit, {})
            own[body] = own.get(body, 0) + count
    if not by_unit:
        return found
    sizes = {unit: _numbers_among(bodies) for unit, bodies in by_unit.items()}
    found.unit = max(sizes, key=lambda unit: (sizes[unit], unit))
    for body, count in by_unit[found.unit].items():
        a, b = value_of(body, "."), value_of(body, ",")
        if a is None and b is None:
            found.codes = found.codes or bool(_CODE.fullmatch(body))
            continue
        found.bodies.append(body)
        if a is None:
            found.comma += count
        elif b is None:
            found.point += count
        elif a == b:
            found.either += count
        else:
            found.unclear += count
    return found


def _numbers_among(bodies: Mapping[str, int]) -> int:
    return sum(n for body, n in bodies.items() if any(value_of(body, sign) is not None for sign in ".,"))


def number_format(
    cells: Collection[str | None] | Mapping[str | None, int] | Survey, decimal: str = "", name: str = ""
) -> NumberFormat | None:
    """The format in which cells are numbers, but for slips; None where they do not agree, or none is a number.

    Raises
    ------
    UnclearDecimalError
        Where the decimal sign is not clear and not given.

    Examples
    --------
    >>> from tallywise.reading.number_formats import number_format
    >>> number_format(["$1,200.00", "$35", ""])
    NumberFormat(style='1,234.5', unit='$')
    >>> number_format(["3,5", "12"]).style, number_format(["3,5", "1.5"])
    ('1234,5', None)
    """
    found = cells if isinstance(cells, Survey) else survey(cells)
    if not found.of_numbers:
        return None
    sign = found.sign or decimal or found.decimal_sign()
    if sign == UNCLEAR:
        unclear = next(b for b in sorted(found.bodies) if value_of(b, ".") != value_of(b, ","))
        raise UnclearDecimalError(unclear, name)
    read = [body for body in found.bodies if value_of(body, sign) is not None]
    for style in _BY_DECIMAL[sign]:
        if all(_STYLES[style][0].fullmatch(body) for body in read):
            return NumberFormat(style, found.unit)
    return NumberFormat(_BY_DECIMAL[sign][1], found.unit)  # groups by spaces and by signs in one column


def _points_group(bodies: Collection[str]) -> bool:
    """Whether the points in amounts of money part thousands, though each amount alone could be a decimal.

    Nobody writes money with three decimals but as the price of one unit, such as 1.459 for fuel: then all amounts have
    the three, and few digits before them.
    """
    whole = [body.lstrip("+-").partition(".") for body in bodies]
    return any(not point or len(first) > 1 for first, point, _ in whole)


def numbers(cells: Sequence[str | None], format: NumberFormat, decimal: str = "") -> Array:
    """Values of the cells; NaN for those absent, or no numbers by the format's decimal sign (or the one given)."""
    sign = decimal or format.decimal
    known: dict[str | None, float] = {}

    def value(cell: str | None) -> float:
        if absent(cell) or len(str(cell)) > _LONGEST_NUMBER:
            return math.nan
        unit, body = _unit_and_body(str(cell))
        x = value_of(body, sign) if unit in ("", format.unit) else None
        return math.nan if x is None else x

    return each(cells, value, known)


def each(cells: Iterable[str | None], value: Callable[[str | None], float], known: dict[str | None, float]) -> Array:
    """One value a cell, each different cell looked at once."""
    found = []
    for cell in cells:
        x = known.get(cell)
        if x is None:
            x = known[cell] = value(cell)
        found.append(x)
    return np.array(found, dtype=np.float64)
