"""`read_table`: a table with all its columns, for models of tables."""

from dataclasses import dataclass, field
from typing import Any

from tallywise.reading.column_roles import LabelCandidate
from tallywise.reading.encodings_and_limits import InputError
from tallywise.reading.frames import Table, as_table, from_rows
from tallywise.reading.input_formats import OpenTable, look_at, table_rows
from tallywise.reading.table_formats import open_parquet, parquet_errors


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
    unclear: tuple[LabelCandidate, ...] = ()  # columns that may be the label, where it is not clear
    delimiter: str = ""  # of a CSV or TSV
    ragged: str = ""  # what is said of rows of another width
    shifted: list[int] = field(default_factory=list, repr=False)  # rows with cells behind the last column

    def table(self) -> Table:
        """Its columns."""
        if self.frame is not None:
            return as_table(self.frame)
        return from_rows(self.names, self.rows, delimiter=self.delimiter, lines=self.numbers)


def read_table(
    path: str,
    *,
    format: str | None = None,
    label: str | None = None,
    header: bool | None = None,
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
    source.header = header
    return whole_table(look_at(source, lines, None, label))


def whole_table(opened: OpenTable) -> TableFile:
    """All rows of a table that was looked at."""
    source, columns = opened.source, opened.columns
    assert source.widths is not None
    parquet = source.description == "parquet"
    body = opened.start if parquet else list(opened.rows)  # Parquet keeps its types in a frame
    if not body:
        msg = f"{source.name} has a header and no rows"
        raise InputError(msg)
    names = column_names(opened)
    fit = [source.widths.fits(number, row) for number, row in body]
    source.widths.check()
    table = TableFile(
        source.name,
        source.description,
        names,
        [row for _, row in body],
        None if columns.label is None else names[columns.label],
        names[columns.text],
        [number for number, _ in body],
        fallbacks=source.decode.fallbacks,
        unclear=columns.unclear,
        delimiter=source.widths.delimiter,
        ragged=source.widths.describe(),
        shifted=[k for k, good in enumerate(fit) if not good],
    )
    if parquet:
        with parquet_errors(source.name):
            table.frame = open_parquet(source.name).read()
    return table


def column_names(opened: OpenTable) -> list[str]:
    """Names of columns; those without a name get their number, and repeated ones a number behind."""
    if not opened.columns.header:
        return [f"column {k + 1}" for k in range(len(opened.columns.names))]
    found: dict[str, None] = {}  # a set in order: a table may have 100,000 columns
    for k, name in enumerate(opened.columns.names):
        wanted = name or f"column {k + 1}"
        while wanted in found:
            wanted = f"{wanted} ({k + 1})"
        found[wanted] = None
    return list(found)
