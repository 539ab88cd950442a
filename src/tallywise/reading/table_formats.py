"""Rows of cells of tables: CSV, TSV, JSONL, Parquet, Excel."""

import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, TypeVar

from tallywise.reading import excel
from tallywise.reading.encodings_and_limits import LONGEST_LINE, InputError, lines, text_lines
from tallywise.reading.gzip_and_urls import PACKED, is_kept, is_url, open_bytes
from tallywise.reading.record_source import Source

T = TypeVar("T")
_LOOK = 1000  # rows looked at before columns and quoting are decided
_LARGEST_JSON = 256 << 20  # bytes of an array, which is held in memory
_LOOK_SIZE = 16 << 20  # and at most this many characters of them
# Rows of Parquet that are unpacked together. A long cell that is stored once may be that of every row: 4.7 GB of memory
# for a file of 188 KB by 1,024 rows, and a third of a microsecond a row more by 32.
PARQUET_ROWS = 32


def look(items: Iterator[T], size: Callable[[T], int]) -> list[T]:
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


def _csv_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    with source.open() as stream:
        decoded = text_lines(stream, source.name, source.decode)
        start = look(decoded, len)
        tab = source.description == "tsv"
        delimiter = "\t" if tab else max(",;\t|", key=(start or [""])[0].count)
        csv.field_size_limit(LONGEST_LINE)
        quoted = not tab or _quotes(start)
        source.dialect = {
            "delimiter": delimiter,
            "quotechar": '"' if quoted else None,
            "quoting": csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        }
        found = csv_rows(itertools.chain(start, decoded), source.dialect, source.name)
        if source.every_row:
            yield from _with_blank_lines(source, found)
        else:
            yield from ((number, row) for number, row in found if row)


def _with_blank_lines(source: Source, rows: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Rows from the first on, with the blank lines between them; behind the last one, too, in tables of one column."""
    blank = range(0)  # numbers of the blank lines since the last row: they follow each other
    for number, row in rows:
        if not row:
            blank = range(blank.start or number, number + 1) if source.width else blank
            continue
        source.width = source.width or len(row)
        yield from ((k, []) for k in blank)
        blank = range(0)
        yield number, row
    if source.width == 1:
        yield from ((k, []) for k in blank)


def csv_rows(
    lines: Iterator[str], dialect: dict[str, Any], name: str, before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Rows of the lines behind the first `before`, each with the number of its last line; none for an empty line.

    Raises
    ------
    InputError
        With the line, for a cell whose quotation mark is never closed: all behind it would be one cell.
    """
    over = False

    def with_end() -> Iterator[str]:
        nonlocal over
        yield from lines
        over = True
        yield "\n"  # a row of its own, unless a cell is still open

    reader = csv.reader(with_end(), **dialect)
    number = 0
    try:
        for row in reader:
            if over and row:
                msg = f"{name}:{before + number + 1}: a quotation mark opens a cell and is never closed"
                raise InputError(msg)
            if over:
                return
            number = reader.line_num
            yield before + number, row
    except csv.Error as error:
        said = (
            "a carriage return without a line feed: save it with other line ends" if "new-line" in str(error) else error
        )
        msg = f"{name}:{before + reader.line_num}: not a valid table ({said})"
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
    with source.open() as stream:
        objects = _json_objects(source, stream)
        start = look(objects, lambda row: sum(len(str(value)) for value in row[1].values()))
        names = list(dict.fromkeys(name for _, row in start for name in row))
        if start:
            yield start[0][0], names
        for number, row in itertools.chain(start, objects):
            yield number, [cell_text(row.get(name)) for name in names]


def _json_array_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Cells of the objects of a JSON array, which is read whole; the same of an object whose one list is the array."""
    with source.open() as stream:
        content = stream.read(_LARGEST_JSON + 1)
    if len(content) > _LARGEST_JSON:
        msg = f"{source.name} has more than {_LARGEST_JSON >> 20} MB: write an object per line (JSONL)"
        raise InputError(msg)
    try:
        found = json.loads(source.decode(content.removeprefix(b"\xef\xbb\xbf")))
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else [found]
    if isinstance(found, list) and all(isinstance(row, str) for row in found):
        found = [{"text": row} for row in found]
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        msg = f"{source.name} is not a JSON array of objects"
        raise InputError(msg)
    names = list(dict.fromkeys(name for row in found for name in row))
    if names:
        yield 1, names
    yield from ((number, [cell_text(row.get(name)) for name in names]) for number, row in enumerate(found, 1))


def _json_objects(source: Source, stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    last = 0  # line of the last object
    for number, line in enumerate(lines(stream, source.name), 1):
        if (row := json_object(source, line, number)) is not None:
            if source.every_row and last:
                yield from ((blank, {}) for blank in range(last + 1, number))
            yield number, row
            last = number


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
    """A cell of a table as text: nothing for None and NaN, JSON for numbers, truth values, lists and records.

    Examples
    --------
    >>> import decimal
    >>> from tallywise.reading.table_formats import cell_text
    >>> [cell_text(value) for value in ("a", 1.5, decimal.Decimal("1.50"), float("nan"), True, [1, None])]
    ['a', '1.5', '1.50', '', 'true', '[1, null]']
    """
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    as_json = isinstance(value, bool | int | float | list | dict)
    return json.dumps(value, ensure_ascii=False, default=str) if as_json else str(value)


def open_parquet(name: str, **options: Any) -> Any:
    """A Parquet file, by pyarrow, to which options go."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        msg = "reading Parquet needs pyarrow: pip install pyarrow"
        raise InputError(msg) from None

    with parquet_errors(name):
        if name.lower().endswith(PACKED):  # it is read from its end, which packing does not allow
            with open_bytes(name) as stream:
                return parquet.ParquetFile(io.BytesIO(stream.read()), **options)
        return parquet.ParquetFile(open_bytes(name) if is_url(name) or is_kept(name) else name, **options)


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
        for batch in table.iter_batches(batch_size=PARQUET_ROWS):
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield number, [cell_text(cell) for cell in cells]


def _excel_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Rows of the first sheet."""
    with source.open() as stream:
        content = stream.read(excel.LARGEST + 1)
    found = excel.first_sheet(source.name, content)
    for name in itertools.islice(found, 1):
        source.description = f'excel, sheet "{name}"'
    last = 0  # number of the last row that is not empty
    for number, cells in found:
        if source.every_row and last:
            yield from ((blank, []) for blank in range(last + 1, number))
        yield number, cells
        last = number


ROWS: dict[str, Callable[[Source], Iterator[tuple[int, list[str]]]]] = {
    "csv": _csv_rows,
    "tsv": _csv_rows,
    "jsonl": _json_rows,
    "json": _json_array_rows,
    "parquet": _parquet_rows,
    "excel": _excel_rows,
}
