"""`open_source`: records of any kind of input."""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tallywise.reading.column_roles import LABEL_NAMES, Columns, choose
from tallywise.reading.encodings_and_limits import InputError, Record, lines, wide_encoding
from tallywise.reading.gzip_and_urls import STANDARD_INPUT, file_system, is_kept, is_url, open_bytes, suffix
from tallywise.reading.label_sets import NAMES, are_lists, splitter
from tallywise.reading.mail import mail_text, split_mbox
from tallywise.reading.ragged_rows import Widths
from tallywise.reading.record_source import ColumnTest, Source
from tallywise.reading.table_formats import ROWS, look

_LARGEST_MAIL = 32 << 20


def open_source(
    path: str | os.PathLike[str],
    *,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    header: bool | None = None,
    label_separator: str | None = None,
    labelled: bool = True,
    unlabelled: bool = False,
    every_row: bool = False,
    is_date: ColumnTest | None = None,
) -> Source:
    """Open a file, a folder or standard input ("-") for reading.

    Parameters
    ----------
    path : path
        CSV, TSV, JSONL, JSON (an array of objects), Parquet, Excel (the first sheet), plain text (one message per line,
        or one message when it is a .txt), .eml, mbox, a Maildir, or a folder with one subfolder per class. Files may be
        compressed (.gz, .zst) or URLs for fsspec.
    text, label : str, optional
        Names (or numbers from 1) of the columns; guessed when not given.
    format : str, optional
        One of csv, tsv, jsonl, json, parquet, excel, lines, text, eml, mbox, maildir, folder; recognised when not
        given.
    header : bool, optional
        Whether the first row of a CSV or TSV names its columns; looked at when not given.
    label_separator : str, optional
        What stands between the labels in a cell of a table; records then have `labels`, and an empty cell means none.
        Cells that are lists are recognised without.
    labelled : bool
        Whether labels are of interest: if not, records of a table have none, and rows without one are not left out.
    unlabelled : bool
        Whether rows whose label is empty are records without a label, and not left out.
    every_row : bool
        Whether rows without a text are records with an empty text, and not left out: one record per row. Blank lines
        between rows are rows; behind the last one they are rows where a row is nothing but a text.
    is_date : function of a name and cells, optional
        The first other column of a table for which it is true goes along as the records' date, as it is written.

    Raises
    ------
    InputError
        With one line: the cause, and what to do.
    """
    name = STANDARD_INPUT if os.fspath(path) == "-" else os.fspath(path)
    place = Path(path)
    if name != STANDARD_INPUT and not (file_system(name).exists(name) if is_url(name) else place.exists()):
        msg = f"{name} does not exist"
        raise InputError(msg)
    if format is None:
        format = recognise(name)
    if format not in _READERS:
        msg = f"There is no format {format!r}. Known: {', '.join(_READERS)}"
        raise InputError(msg)
    source = Source(name, format, header, label_separator)
    source.labelled, source.unlabelled, source.every_row = labelled, unlabelled, every_row
    source.is_date = is_date
    source.records = _READERS[format](source, place, text, label)
    return source


_BY_ENDING = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
    ".ods": "excel",
    ".eml": "eml",
    ".mbox": "mbox",
    ".txt": "text",
}


def recognise(name: str) -> str:
    """The format of a file or folder, by its name or, where that says nothing, its first bytes."""
    if known := by_name(name):
        return known
    with open_bytes(name) as stream:
        return by_bytes(name, stream.read(4096))


def by_name(name: str) -> str:
    """The format that a name alone says; nothing for files that have to be looked into."""
    place = Path(name)
    if name == STANDARD_INPUT and not is_kept(name):
        return "lines"
    if not is_url(name) and place.is_dir():
        return "maildir" if (place / "cur").is_dir() and (place / "new").is_dir() else "folder"
    return "" if suffix(name) == ".txt" else _BY_ENDING.get(suffix(name), "")


def by_bytes(name: str, start: bytes) -> str:
    """The format of a file that begins like this."""
    wide = wide_encoding(start)
    if suffix(name) == ".txt" and wide and "\t" in start.decode(wide, "replace").split("\n", 1)[0]:
        return "tsv"  # what spreadsheets save as "Unicode text"
    if suffix(name) in _BY_ENDING:
        return _BY_ENDING[suffix(name)]
    if wide:
        start = start.decode(wide, "replace").removeprefix("\ufeff").encode()
    if start.startswith(b"From "):
        return "mbox"
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"PK\x03\x04"):
        return "excel"
    if start.lstrip().startswith(b"{"):
        return "jsonl"
    if start.lstrip().startswith(b"[") and start.lstrip()[1:].lstrip()[:1] in b'{"':
        return "json"
    line = start.split(b"\n", 1)[0]
    if b"\t" in line:
        return "tsv"
    head = line.split(b":", 1)[0]
    if b":" in line and head and b" " not in head and b"," not in head:
        return "eml"
    return "csv" if b"," in line or b";" in line else "text"


# --- tables ---


class OpenTable(NamedTuple):
    """A table of which the first rows were looked at: its columns, these rows without a header, and the others."""

    source: Source
    columns: Columns
    start: list[tuple[int, list[str]]]
    rest: Iterator[tuple[int, list[str]]]

    @property
    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """All rows with their line numbers, once."""
        return itertools.chain(self.start, self.rest)


def look_at(source: Source, rows: Iterator[tuple[int, list[str]]], text: str | None, label: str | None) -> OpenTable:
    """Decide about header, columns and widths by the first rows of a table."""
    start = look(rows, lambda row: sum(map(len, row[1])))
    if not start:
        msg = f"{source.name} is empty"
        raise InputError(msg)
    header = source.header if source.description in ("csv", "tsv") else True
    looked = [row for _, row in start if row]  # no blank lines
    columns = choose(looked, text, label, source.name, header)
    if label is None and (several := _several(columns, looked, source.label_separator)):
        columns = choose(looked, text, several, source.name, header)
    source.columns = columns
    if columns.header:
        start = start[1:]
    source.widths = Widths(source.name, len(columns.names), source.dialect.get("delimiter", ""))
    source.looked = Widths(source.name, source.widths.width, source.widths.delimiter)
    for number, row in start:
        source.looked.fits(number, row)
    source.looked.check()
    if columns.label is not None:
        cells = [row[columns.label].strip() for _, row in start if len(row) == source.widths.width]
        source.split = splitter(cells, source.label_separator)
        source.label_sets = source.labelled and source.split is not None and not source.every_row
    return OpenTable(source, columns, start, rows)


def table_records(opened: OpenTable) -> Iterator[Record]:
    """Records of rows of cells, whichever file they came from."""
    source, columns, start, rows = opened
    source.description = f"{source.description}: {columns.description()}"
    assert source.widths is not None
    widths = source.widths
    # By far the most of the time of a large table goes into this loop.
    name, at, label_at = source.name, columns.text, columns.label if source.labelled else None
    date_at = _date_column(source, columns, [row for _, row in start])
    if source.every_row:
        yield from _each_row(source, itertools.chain(start, rows), label_at, date_at)
        return
    if source.label_sets and source.split is not None:
        yield from _with_label_sets(source, itertools.chain(start, rows), source.split, date_at)
        return
    most = max(at, label_at or 0, date_at or 0)
    new, no_label = tuple.__new__, None if source.unlabelled else ""
    width = widths.width
    for number, row in itertools.chain(start, rows):
        if len(row) == width:
            widths.rows += 1
        elif not widths.fits(number, row) and label_at is not None:
            continue  # its label may be a piece of its text
        cell = row[at] if len(row) > most else ""
        tag = None if label_at is None or not cell else row[label_at].strip() or no_label
        if not cell or cell.isspace() or tag == "":
            source.skipped += 1
        else:
            yield new(Record, (cell, tag, f"{name}:{number}", None, None if date_at is None else row[date_at]))


def _each_row(
    source: Source, rows: Iterator[tuple[int, list[str]]], label_at: int | None, date_at: int | None
) -> Iterator[Record]:
    """One record per row, whatever is missing."""
    assert source.columns is not None
    assert source.widths is not None
    at, name = source.columns.text, source.name

    def cell(row: list[str], k: int | None) -> str | None:
        return None if k is None or len(row) <= k else row[k]

    for number, row in rows:
        source.widths.fits(number, row)
        label = (cell(row, label_at) or "").strip() or None
        yield Record(cell(row, at) or "", label, f"{name}:{number}", None, cell(row, date_at))


def _date_column(source: Source, columns: Columns, rows: list[list[str]]) -> int | None:
    """Position of the first column that is said to hold dates."""
    width = len(columns.names)
    whole = [row for row in rows if len(row) == width]
    if source.is_date is None or not whole:
        return None
    for k, name in enumerate(columns.names):
        shown = name if columns.header else str(k + 1)
        if k not in (columns.text, columns.label) and source.is_date(shown, [row[k] for row in whole]):
            return k
    return None


def _several(columns: Columns, rows: list[list[str]], separator: str | None) -> str | None:
    """The column of a table that looks like several labels a cell, where none is called a label outright."""
    if not columns.header or (columns.label is not None and columns.names[columns.label].lower() in LABEL_NAMES):
        return None
    for k, name in enumerate(columns.names):
        cells = [row[k].strip() for row in rows[1:] if len(row) > k]
        if k != columns.text and name and name.lower() in NAMES and (separator is not None or are_lists(cells)):
            return name
    return None


def _with_label_sets(
    source: Source,
    rows: Iterator[tuple[int, list[str]]],
    split: Callable[[str], tuple[str, ...] | None],
    date_at: int | None,
) -> Iterator[Record]:
    assert source.columns is not None
    assert source.columns.label is not None
    at, label_at = source.columns.text, source.columns.label
    assert source.widths is not None
    for number, row in rows:
        if not source.widths.fits(number, row):
            continue
        cell, tag = (row[at], row[label_at].strip()) if len(row) > max(at, label_at) else ("", "")
        try:
            labels = split(tag) if cell and not cell.isspace() else None
        except InputError as error:
            msg = f"{source.name}:{number}: {error}"
            raise InputError(msg) from None
        if labels is None:
            source.skipped += 1
        else:
            date = row[date_at] if date_at is not None and len(row) > date_at else None
            yield Record(cell, tag, f"{source.name}:{number}", labels, date)


def _read_table(source: Source, place: Path, text: str | None, label: str | None) -> Iterator[Record]:
    yield from table_records(look_at(source, ROWS[source.description](source), text, label))


def table_rows(
    name: str, format: str | None = None, *, every_row: bool = False
) -> tuple[Source, Iterator[tuple[int, list[str]]]] | None:
    """Rows of cells of a table with their line numbers, all columns; None for what is no table.

    With `every_row`, blank lines between rows are rows, too, as for `open_source`.
    """
    if name == STANDARD_INPUT and not is_kept(name):
        return None
    if not is_kept(name) and not (file_system(name).exists(name) if is_url(name) else Path(name).exists()):
        msg = f"{name} does not exist"
        raise InputError(msg)
    known = format or recognise(name)
    if known not in ROWS:
        return None
    source = Source(name, known)
    source.every_row = every_row
    return source, ROWS[known](source)


# --- plain text and mail ---


def _read_lines(source: Source, place: Path, text: str | None, label: str | None) -> Iterator[Record]:
    with open_bytes(source.name) as stream:
        for number, line in enumerate(lines(stream, source.name), 1):
            message = source.decode(line).strip("\r\n")
            if message or source.every_row:
                yield Record(message, None, f"{source.name}:{number}")


def _read_text(source: Source, place: Path, text: str | None, label: str | None) -> Iterator[Record]:
    yield Record(_file_text(source, place), None, source.name)


def _file_text(source: Source, place: Path) -> str:
    with open_bytes(str(place)) as stream:
        return "".join(source.decode(line) for line in lines(stream, str(place)))


def _read_eml(source: Source, place: Path, text: str | None, label: str | None) -> Iterator[Record]:
    yield Record(_mail_file(source.name), None, source.name)


def _mail_file(name: str) -> str:
    with open_bytes(name) as stream:
        return mail_text(stream.read(_LARGEST_MAIL))


def _read_mbox(source: Source, place: Path, text: str | None, label: str | None) -> Iterator[Record]:
    with open_bytes(source.name) as stream:
        for number, raw in enumerate(split_mbox(stream), 1):
            yield Record(mail_text(raw), None, f"{source.name}#{number}")


def _read_maildir(source: Source, place: Path, text: str | None, label: str | None) -> Iterator[Record]:
    for path in sorted(path for part in ("cur", "new") for path in (place / part).iterdir() if path.is_file()):
        yield Record(_mail_file(str(path)), None, str(path))


def _read_folder(source: Source, place: Path, text: str | None, label: str | None) -> Iterator[Record]:
    classes = sorted(path for path in place.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not classes:
        msg = f"{source.name} has no subfolders: put each class's files into a folder of its name"
        raise InputError(msg)
    source.description = f"folder: classes {', '.join(path.name for path in classes[:6])}"
    for folder in classes:
        if (folder / "cur").is_dir() and (folder / "new").is_dir():
            inner = Source(str(folder), "maildir")
            yield from (record._replace(label=folder.name) for record in _read_maildir(inner, folder, None, None))
            continue
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
            message = _mail_file(str(path)) if path.suffix.lower() == ".eml" else _file_text(source, path)
            if source.every_row or message.strip():
                yield Record(message, folder.name, str(path))
            else:
                source.skipped += 1


_READERS: dict[str, Callable[[Source, Path, str | None, str | None], Iterator[Record]]] = {
    **dict.fromkeys(ROWS, _read_table),
    "lines": _read_lines,
    "text": _read_text,
    "eml": _read_eml,
    "mbox": _read_mbox,
    "maildir": _read_maildir,
    "folder": _read_folder,
}
