"""`open_source`: records of any kind of input."""

import csv
import datetime
import io
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from tallywise.reading.columns import LABEL_NAMES, Columns, choose
from tallywise.reading.label_sets import NAMES, are_lists, splitter
from tallywise.reading.mail import mail_text, split_mbox
from tallywise.reading.records import LONGEST_LINE, Decoder, InputError, Record, lines, text_lines, wide_encoding
from tallywise.reading.streams import PACKED, STANDARD_INPUT, file_system, is_url, open_bytes, suffix

T = TypeVar("T")
ColumnTest = Callable[[str, Sequence[str]], bool]  # of a column's name and the first of its cells
_LOOK = 1000  # rows looked at before columns and quoting are decided
_LOOK_SIZE = 16 << 20  # and at most this many characters of them
_LARGEST_MAIL = 32 << 20
_LARGEST_SHEET = 256 << 20


class Source:
    """Records of one input, read lazily: any length, constant memory.

    Attributes
    ----------
    name : str
        The path, or "standard input".
    description : str
        What was recognised: format, columns. Complete once the first record has been read.
    skipped : int
        Rows without a text or, in a table with labels, without a label.
    columns : Columns or None
        Those of a table, once the first record has been read.
    label_sets : bool
        Whether records have any number of labels each, likewise.
    """

    def __init__(
        self, name: str, description: str, header: bool | None = None, label_separator: str | None = None
    ) -> None:
        self.name, self.description, self.skipped = name, description, 0
        self.label_separator, self.label_sets = label_separator, False
        self.labelled = True  # whether records without a label are of no use
        self.dialect: dict[str, Any] = {}  # of a CSV or TSV, once the first record has been read
        self.decode = Decoder()
        self.header = header
        self.is_date: ColumnTest | None = None  # whether a column, by its name and first cells, goes along as the date
        self.columns: Columns | None = None
        self._records: Iterator[Record] = iter(())

    def __iter__(self) -> Iterator[Record]:
        return self._records


def open_source(
    path: str | os.PathLike[str],
    *,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    header: bool | None = None,
    label_separator: str | None = None,
    labelled: bool = True,
    is_date: ColumnTest | None = None,
) -> Source:
    """Open a file, a folder or standard input ("-") for reading.

    Parameters
    ----------
    path : path
        CSV, TSV, JSONL, Parquet, Excel (the first sheet), plain text (one message per line, or one message when it is
        a .txt), .eml, mbox, a Maildir, or a folder with one subfolder per class. Files may be compressed (.gz, .zst) or
        URLs for fsspec.
    text, label : str, optional
        Names (or numbers from 1) of the columns; guessed when not given.
    format : str, optional
        One of csv, tsv, jsonl, parquet, excel, lines, text, eml, mbox, maildir, folder; recognised when not given.
    header : bool, optional
        Whether the first row of a CSV or TSV names its columns; looked at when not given.
    label_separator : str, optional
        What stands between the labels in a cell of a table; records then have `labels`, and an empty cell means none.
        Cells that are lists are recognised without.
    labelled : bool
        Whether labels are of interest: if not, records of a table have none, and rows without one are not left out.
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
    source.labelled = labelled
    source.is_date = is_date
    source._records = _READERS[format](source, place, text, label)
    return source


def recognise(name: str) -> str:
    """The format of a file or folder, by its name or, where that says nothing, its first bytes."""
    place = Path(name)
    if name == STANDARD_INPUT:
        return "lines"
    if not is_url(name) and place.is_dir():
        return "maildir" if (place / "cur").is_dir() and (place / "new").is_dir() else "folder"
    known = {
        ".csv": "csv",
        ".tsv": "tsv",
        ".tab": "tsv",
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".parquet": "parquet",
        ".xlsx": "excel",
        ".xlsm": "excel",
        ".xls": "excel",
        ".ods": "excel",
        ".eml": "eml",
        ".mbox": "mbox",
        ".txt": "text",
    }
    with open_bytes(name) as stream:
        start = stream.read(4096)
    wide = wide_encoding(start)
    if suffix(name) == ".txt" and wide and "\t" in start.decode(wide, "replace").split("\n", 1)[0]:
        return "tsv"  # what spreadsheets save as "Unicode text"
    if suffix(name) in known:
        return known[suffix(name)]
    if wide:
        start = start.decode(wide, "replace").removeprefix("\ufeff").encode()
    if start.startswith(b"From "):
        return "mbox"
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.lstrip().startswith(b"{"):
        return "jsonl"
    line = start.split(b"\n", 1)[0]
    if b"\t" in line:
        return "tsv"
    head = line.split(b":", 1)[0]
    if b":" in line and head and b" " not in head and b"," not in head:
        return "eml"
    return "csv" if b"," in line or b";" in line else "text"


# --- tables ---


def _look(items: Iterator[T], size: Callable[[T], int]) -> list[T]:
    """The first items, `_LOOK` of them or `_LOOK_SIZE` in all."""
    found: list[T] = []
    total = 0
    while len(found) < _LOOK and total < _LOOK_SIZE:
        item = next(items, None)
        if item is None:
            break
        found.append(item)
        total += size(item)
    return found


def _table(
    source: Source, rows: Iterator[tuple[int, list[str]]], text: str | None, label: str | None
) -> Iterator[Record]:
    """Records of rows of cells, whichever file they came from."""
    start = _look(rows, lambda row: sum(map(len, row[1])))
    if not start:
        msg = f"{source.name} is empty"
        raise InputError(msg)
    header = source.header if source.description in ("csv", "tsv") else True
    looked = [row for _, row in start]
    columns = choose(looked, text, label, source.name, header)
    if label is None and (several := _several(columns, looked, source.label_separator)):
        columns = choose(looked, text, several, source.name, header)
    source.columns = columns
    source.description = f"{source.description}: {columns.description()}"
    if columns.header:
        start = start[1:]
    # By far the most of the time of a large table goes into this loop.
    name, at, label_at = source.name, columns.text, columns.label if source.labelled else None
    date_at = _date_column(source, columns, [row for _, row in start])
    most = max(at, label_at or 0, date_at or 0)
    new = tuple.__new__
    if label_at is not None:
        cells = [row[label_at].strip() for _, row in start if len(row) > most]
        if split := splitter(cells, source.label_separator):
            source.label_sets = True
            yield from _with_label_sets(source, itertools.chain(start, rows), split, date_at)
            return
    for number, row in itertools.chain(start, rows):
        cell = row[at] if len(row) > most else ""
        tag = None if label_at is None or not cell else row[label_at].strip()
        if not cell or cell.isspace() or tag == "":
            source.skipped += 1
        else:
            yield new(Record, (cell, tag, f"{name}:{number}", None, None if date_at is None else row[date_at]))


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
    for number, row in rows:
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
    yield from _table(source, _ROWS[source.description](source), text, label)


def _csv_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    with open_bytes(source.name) as stream:
        decoded = text_lines(stream, source.name, source.decode)
        start = _look(decoded, len)
        tab = source.description == "tsv"
        delimiter = "\t" if tab else max(",;\t|", key=(start or [""])[0].count)
        csv.field_size_limit(LONGEST_LINE)
        quoted = not tab or _quotes(start)
        source.dialect = {
            "delimiter": delimiter,
            "quotechar": '"' if quoted else None,
            "quoting": csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        }
        reader = csv.reader(itertools.chain(start, decoded), **source.dialect)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except csv.Error as error:
            msg = f"{source.name}:{reader.line_num}: not a valid table ({error})"
            raise InputError(msg) from None


_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def _quotes(lines: list[str]) -> bool:
    """Whether a tab-separated file quotes its cells; if not, a quotation mark belongs to the text.

    Writers quote either every cell of a column, or those alone that need it: cells with a doubled quotation mark, a tab
    or a line break inside. A cell such as ``"Hello."`` between unquoted ones is a text in quotation marks.
    """
    raw = [line.rstrip("\r\n").split("\t") for line in lines if line.strip()]
    if len({len(row) for row in raw}) > 1:  # tabs or line breaks in cells: does quoting explain them?
        try:
            rows = list(csv.reader(lines, delimiter="\t", quotechar='"', strict=True))
        except csv.Error as error:
            if "unexpected end" not in str(error):
                return False
            rows = list(csv.reader(lines, delimiter="\t", quotechar='"'))[:-1]  # the last lines looked at end in a cell
        return len({len(row) for row in rows if row}) == 1
    opened = [cell for row in raw for cell in row if cell.startswith('"')]
    if not all(_QUOTED.fullmatch(cell) for cell in opened):
        return False
    columns = zip(*(raw[1:] or raw), strict=True)
    return any('""' in cell[1:-1] for cell in opened) or any(
        all(cell.startswith('"') for cell in column) for column in columns
    )


def _json_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Cells of the objects; the columns are all keys of the first objects, in order of appearance."""
    with open_bytes(source.name) as stream:
        objects = _json_objects(source, stream)
        start = _look(objects, lambda row: sum(len(str(value)) for value in row[1].values()))
        names = list(dict.fromkeys(name for _, row in start for name in row))
        if start:
            yield start[0][0], names
        for number, row in itertools.chain(start, objects):
            yield number, [cell_text(row.get(name)) for name in names]


def _json_objects(source: Source, stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines(stream, source.name), 1):
        if (row := json_object(source, line, number)) is not None:
            yield number, row


def json_object(source: Source, line: bytes, number: int) -> dict[str, Any] | None:
    """The object on a line; None where it is empty."""
    if not line.strip():
        return None
    try:
        row = json.loads(source.decode(line))
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        msg = f"{source.name}:{number}: not a JSON object on one line"
        raise InputError(msg)
    return row


def cell_text(value: Any) -> str:
    """A cell of a table as text: nothing for None, JSON for what is neither text nor nothing."""
    return (
        "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    )


def open_parquet(name: str) -> Any:
    """A Parquet file, by pyarrow."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        msg = "reading Parquet needs pyarrow: pip install pyarrow"
        raise InputError(msg) from None

    if name.lower().endswith(PACKED):
        msg = f"{name}: Parquet is packed from within; unpack the file around it"
        raise InputError(msg)
    with parquet_errors(name):
        return parquet.ParquetFile(open_bytes(name) if is_url(name) else name)


@contextmanager
def parquet_errors(name: str) -> Iterator[None]:
    """Errors of pyarrow as one line."""
    from pyarrow.lib import ArrowException

    try:
        yield
    except (ArrowException, OSError) as error:
        msg = f"{name} is not a readable Parquet file ({str(error).splitlines()[0]})"
        raise InputError(msg) from None


def _parquet_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    table = open_parquet(source.name)
    with parquet_errors(source.name):
        yield 0, list(table.schema_arrow.names)
        number = 0
        for batch in table.iter_batches(batch_size=1024):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield number, [cell_text(cell) for cell in cells]


def _excel_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Rows of the first sheet."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        msg = "reading Excel files needs python-calamine: pip install 'tallywise[excel]'"
        raise InputError(msg) from None
    with open_bytes(source.name) as stream:
        content = stream.read(_LARGEST_SHEET + 1)
    if len(content) > _LARGEST_SHEET:
        msg = f"{source.name} has more than {_LARGEST_SHEET >> 20} MB: save it as CSV"
        raise InputError(msg)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
        names = book.sheet_names
        if not names:
            return
        source.description = f'excel, sheet "{names[0]}"'
        for number, row in enumerate(book.get_sheet_by_index(0).iter_rows(), 1):
            cells = [_excel_cell(value) for value in row]
            if any(cells):
                yield number, cells
    except (CalamineError, ValueError, OSError) as error:
        msg = f"{source.name} is not a readable Excel file ({str(error).splitlines()[0] if str(error) else 'damaged'})"
        raise InputError(msg) from None


def _excel_cell(value: Any) -> str:
    """A cell of a sheet: dates as ISO has them, whole numbers without a fraction."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bool | datetime.timedelta):
        return str(value)
    return f"{value:.15g}" if isinstance(value, float) else cell_text(value)


def table_rows(name: str, format: str | None = None) -> tuple[Source, Iterator[tuple[int, list[str]]]] | None:
    """Rows of cells of a table with their line numbers, all columns; None for what is no table."""
    if name == STANDARD_INPUT:
        return None
    if not (file_system(name).exists(name) if is_url(name) else Path(name).exists()):
        msg = f"{name} does not exist"
        raise InputError(msg)
    known = format or recognise(name)
    if known not in _ROWS:
        return None
    source = Source(name, known)
    return source, _ROWS[known](source)


# --- plain text and mail ---


def _read_lines(source: Source, place: Path, text: str | None, label: str | None) -> Iterator[Record]:
    with open_bytes(source.name) as stream:
        for number, line in enumerate(lines(stream, source.name), 1):
            if message := source.decode(line).strip("\r\n"):
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
            if message.strip():
                yield Record(message, folder.name, str(path))
            else:
                source.skipped += 1


_ROWS: dict[str, Callable[[Source], Iterator[tuple[int, list[str]]]]] = {
    "csv": _csv_rows,
    "tsv": _csv_rows,
    "jsonl": _json_rows,
    "parquet": _parquet_rows,
    "excel": _excel_rows,
}
_READERS: dict[str, Callable[[Source, Path, str | None, str | None], Iterator[Record]]] = {
    **dict.fromkeys(_ROWS, _read_table),
    "lines": _read_lines,
    "text": _read_text,
    "eml": _read_eml,
    "mbox": _read_mbox,
    "maildir": _read_maildir,
    "folder": _read_folder,
}
