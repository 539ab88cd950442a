"""Rows of cells into a file, row by row: CSV, TSV, XLSX, Parquet. XLSX needs nothing but the standard library."""

import csv
import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape

from tallywise.errors import TallywiseError
from tallywise.files import replacing

Rows = Iterable[Sequence[Any]]
Put = Callable[[Rows], None]
_SHEET_ROWS, _SHEET_CELL = 1 << 20, 32_767  # that a sheet and one of its cells can hold
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")  # what a sheet shows as it was written
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_OFFICE = "http://schemas.openxmlformats.org"
_TYPE = "application/vnd.openxmlformats"
_PART = f"{_TYPE}-officedocument.spreadsheetml"
_SHEETS = f"{_OFFICE}/spreadsheetml/2006/main"
_RELATIONS = f"{_OFFICE}/officeDocument/2006/relationships"
_BOOK = {
    "[Content_Types].xml": f'<Types xmlns="{_OFFICE}/package/2006/content-types">'
    f'<Default Extension="rels" ContentType="{_TYPE}-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_PART}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_PART}.worksheet+xml"/></Types>',
    **{
        f"{place}.rels": f'<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/{kind}" Target="{target}"/></Relationships>'
        for place, kind, target in (
            ("_rels/", "officeDocument", "xl/workbook.xml"),
            ("xl/_rels/workbook.xml", "worksheet", "worksheets/sheet1.xml"),
        )
    },
    "xl/workbook.xml": f'<workbook xmlns="{_SHEETS}" xmlns:r="{_RELATIONS}"><sheets>'
    '<sheet name="predictions" sheetId="1" r:id="r1"/></sheets></workbook>',
}
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


class WriteError(TallywiseError, ValueError):
    """Rows that a file of this kind cannot hold."""


@contextmanager
def table_writer(
    path: str | os.PathLike[str], names: Sequence[str], numeric: Sequence[bool], kind: str = ""
) -> Iterator[Put]:
    """A function that appends rows to a new file, which appears when it is whole.

    Parameters
    ----------
    path : path
        Its ending says what it is: .csv, .tsv, .xlsx or .parquet.
    names : sequence of str
        The columns.
    numeric : sequence of bool
        Which columns hold floats or None, as those of Parquet do; the others hold text.
    kind : str
        The ending, where the path has another.

    Raises
    ------
    WriteError
        For another ending, and for more than a sheet can hold.
    """
    ending = kind or Path(path).suffix.lower()
    if ending not in _WRITERS:
        msg = f"{Path(path).name}: tables are written as {', '.join(_WRITERS)}. Choose one of these endings."
        raise WriteError(msg)
    with ExitStack() as stack:
        stream = stack.enter_context(replacing(path))
        yield stack.enter_context(_WRITERS[ending](stream, list(names), list(numeric)))


@contextmanager
def _csv(stream: IO[bytes], names: list[str], numeric: list[bool], delimiter: str = ",") -> Iterator[Put]:
    text = io.TextIOWrapper(stream, "utf-8", "replace", newline="", write_through=True)
    out = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    out.writerow(names)
    yield out.writerows
    text.detach()


def _tsv(stream: IO[bytes], names: list[str], numeric: list[bool]) -> Any:
    return _csv(stream, names, numeric, "\t")


@contextmanager
def _xlsx(stream: IO[bytes], names: list[str], numeric: list[bool]) -> Iterator[Put]:
    count = 0
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in _BOOK.items():
            packed.writestr(name, _HEAD + content)
        with packed.open("xl/worksheets/sheet1.xml", mode="w", force_zip64=True) as sheet:
            sheet.write(f'{_HEAD}<worksheet xmlns="{_SHEETS}"><sheetData>'.encode())

            def put(rows: Rows) -> None:
                nonlocal count
                for row in rows:
                    count += 1
                    if count > _SHEET_ROWS:
                        msg = f"A sheet holds {_SHEET_ROWS:,} rows. Write CSV or Parquet."
                        raise WriteError(msg)
                    sheet.write(f'<row r="{count}">{"".join(map(_cell, row))}</row>'.encode("utf-8", "replace"))

            put([names])
            yield put
            sheet.write(b"</sheetData></worksheet>")


def _cell(value: Any) -> str:
    """A cell of a sheet: a number where it is one, else text, which no program takes for a formula."""
    if value is None or value == "":
        return "<c/>"
    if isinstance(value, float) or _NUMBER.fullmatch(str(value)):
        return f"<c><v>{value!r}</v></c>" if isinstance(value, float) else f"<c><v>{value}</v></c>"
    text = escape(_CONTROL.sub("\ufffd", str(value))[:_SHEET_CELL])
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


@contextmanager
def _parquet(stream: IO[bytes], names: list[str], numeric: list[bool]) -> Iterator[Put]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        msg = "Writing Parquet needs pyarrow: pip install pyarrow"
        raise WriteError(msg) from None
    kinds = [pyarrow.float64() if one else pyarrow.string() for one in numeric]
    schema = pyarrow.schema(list(zip(names, kinds, strict=True)))
    with parquet.ParquetWriter(stream, schema) as out:

        def put(rows: Rows) -> None:
            columns = list(zip(*rows, strict=True)) or [() for _ in names]
            arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
            out.write_table(pyarrow.table(arrays, schema=schema))

        yield put


_WRITERS: dict[str, Callable[[IO[bytes], list[str], list[bool]], Any]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".xlsx": _xlsx,
    ".parquet": _parquet,
}
ENDINGS = tuple(_WRITERS)
