"""Numbers, percents, sizes, columns and one line of a text, as people read them."""

import math

import math


def table(rows: list[list[str]], right: tuple[int, ...] = ()) -> str:
    """Plain columns, as wide as needed; those in `right` are right-aligned."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if k in right else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def number(value: float, digits: int = 4, signed: bool = False) -> str:
    """A number as people write it: thousands in groups, no power of ten before a millionth, a real minus sign.

    Examples
    --------
    >>> from tallywise.plain_text import number
    >>> [number(x) for x in (53_671.4, 0.12345, -3.0, 0.0, 2e-9, 1e16)]
    ['53,671', '0.1235', '−3', '0', '2×10⁻⁹', '10,000,000,000,000,000']
    """
    size = abs(value)
    if not math.isfinite(value):
        shown = "unknown" if math.isnan(value) else "∞"
    elif size >= 10 ** (digits - 1):
        shown = f"{size:,.0f}"
    elif size >= 1e-6 or not size:
        shown = _plain(size, digits)
    else:
        mantissa, _, power = f"{size:.{digits - 1}e}".partition("e")
        shown = f"{float(mantissa):g}×10{str(int(power)).translate(_RAISED)}"
    sign = "−" if value < 0 and shown.strip("0.,") else "+" if signed and value > 0 else ""
    return sign + shown


def _plain(size: float, digits: int) -> str:
    """A number with so many digits that count, never with a power of ten."""
    if not size:
        return "0"
    places = max(digits - 1 - math.floor(math.log10(size)), 0)
    shown = f"{size:.{places}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


def number(value: float, digits: int = 2) -> str:
    """A number with so many significant digits, written out: never 5.7e+02.

    Examples
    --------
    >>> from tallywise.plain_text import number
    >>> number(8994.2, 3), number(100.0), number(0.0417), number(12.0, 3)
    ('8,990', '100', '0.042', '12')
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    shown = f"{round(value, places):,.{max(places, 0)}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def size_shown(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} KB"


def shorten(text: str, width: int = 70) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
