"""Numbers, percents, sizes, columns and one line of a text, as people read them."""

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


def typeset(value: float, digits: int = 4, signed: bool = False) -> str:
    """The same for pages and reports: with a real minus sign, which is as wide as a plus, and a plus where asked.

    Examples
    --------
    >>> from tallywise.plain_text import typeset
    >>> typeset(53_671.4), typeset(-0.12345), typeset(3.0, signed=True)
    ('53,670', '−0.1235', '+3')
    """
    return ("+" if signed and value > 0 else "") + number(value, digits).replace("-", "−")


def size_shown(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} KB"


def shorten(text: str, width: int = 70) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
