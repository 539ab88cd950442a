"""`read_table`: a table with all its columns, for models of tables."""

import itertools
from dataclasses import dataclass, field
from typing import Any

from tallywise.reading.columns import Candidate, choose
from tallywise.reading.records import InputError
from tallywise.reading.rows import open_parquet, parquet_errors
from tallywise.reading.sources import table_rows
from tallywise.reading.widths import Widths

_LOOK = 1000  # rows looked at before header and label are decided


@dataclass
class TableFile:
    """A table: names of its columns and rows of cells, or, where it keeps types, a pyarrow table."""

    name: str
    description: str
    names: list[str]
    rows: list[list[str]] = field(repr=False)
    label: str | None = None  # the column that looks like labels
    text: str | None = None  # the column that looks most like texts
    numbers: list[int] = field(default_factory=list, repr=False)  # of the lines that the rows come from
    frame: Any = None
    fallbacks: int = 0
    unclear: tuple[Candidate, ...] = ()  # columns that may be the label, where it is not clear
    delimiter: str = ""  # of a CSV or TSV
    ragged: str = ""  # what is said of rows of another width
    shifted: list[int] = field(default_factory=list, repr=False)  # rows with cells behind the last column


def read_table(
    path: str,
    *,
    format: str | None = None,
    label: str | None = None,
    header: bool | None = None,
    rows: int | None = None,
    every_row: bool = False,
) -> TableFile | None:
    """Read a CSV, TSV, JSONL, Parquet or Excel file with all its columns; None for what is no table.

    Parameters
    ----------
    path : str
        The file.
    format : str, optional
        Its format; recognised when not given.
    label : str, optional
        Column of the label, by name or number; guessed when not given.
    header : bool, optional
        Whether the first row of a CSV or TSV names the columns; looked at when not given.
    rows : int, optional
        Read no more rows than so many.
    every_row : bool
        Whether blank lines between rows are rows without a value, and not left out: one answer per row.

    Raises
    ------
    InputError
        With one line: the cause, and what to do.
    """
    found = table_rows(path, format, every_row=every_row)
    if found is None:
        return None
    source, lines = found
    kind = source.description
    # Parquet keeps its types in a frame; a look at its first rows is enough to guess its label.
    most = _LOOK if kind == "parquet" else rows
    listed = list(lines if most is None else itertools.islice(lines, most + 1))
    if not listed:
        msg = f"{path} is empty"
        raise InputError(msg)
    width = len(listed[0][1])
    first = [cell.strip() for cell in listed[0][1]]
    look = [first, *(row for _, row in listed[1:_LOOK])]
    columns = choose(look, None, label, path, header if kind in ("csv", "tsv") else True)
    names = _named(first) if columns.header else [f"column {k + 1}" for k in range(width)]
    body = listed[1:] if columns.header else listed
    if len(body) == 0:
        msg = f"{path} has a header and no rows"
        raise InputError(msg)
    widths = Widths(path, width, source.dialect.get("delimiter", ""))
    fit = [widths.fits(number, row) for number, row in body]
    widths.check()
    table = TableFile(
        path,
        source.description,
        names,
        [row for _, row in body],
        None if columns.label is None else names[columns.label],
        names[columns.text],
        [number for number, _ in body],
        fallbacks=source.decode.fallbacks,
        unclear=columns.unclear,
        delimiter=widths.delimiter,
        ragged=widths.describe(),
        shifted=[k for k, good in enumerate(fit) if not good],
    )
    if kind == "parquet" and rows is None:
        with parquet_errors(path):
            table.frame = open_parquet(path).read()
    return table


def _named(first: list[str]) -> list[str]:
    """Names of columns; those without a name get their number, and repeated ones a number behind."""
    found: dict[str, None] = {}  # a set in order: a table may have 100,000 columns
    for k, name in enumerate(first):
        wanted = name or f"column {k + 1}"
        while wanted in found:
            wanted = f"{wanted} ({k + 1})"
        found[wanted] = None
    return list(found)
