"""Plain text for terminals: columns, percents, sizes, one line of a text."""


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


def size_shown(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} KB"


def shorten(text: str, width: int = 70) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
