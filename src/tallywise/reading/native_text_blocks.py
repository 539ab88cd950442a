"""Texts of large tables in blocks, read natively; a record with anything odd about it is left to the other readers.

The native readers (cpp/core/reading) take what is plain, and stop at what is not: bytes that are not UTF-8, quotation
marks in strange places, blank lines, damage. Such a record is read here, as `open_source` reads it with `every_row`,
and they go on behind it. So texts, numbers of lines and errors are the same, whoever reads.
"""

import csv
from collections.abc import Iterator
from typing import IO, Any

from tallywise import _native
from tallywise.reading import encodings_and_limits as limits
from tallywise.reading.encodings_and_limits import InputError, wide_encoding
from tallywise.reading.gzip_and_urls import STANDARD_INPUT, open_bytes
from tallywise.reading.input_formats import open_source
from tallywise.reading.record_source import Source
from tallywise.reading.table_formats import cell_text, csv_rows, json_object

_CHUNK = 1 << 21  # bytes that are read at once
_BLANKS = 1 << 16  # blank lines of a block: a gigabyte of them is no more in memory than others


def open_blocks(path: str, *, text: str | None = None, format: str | None = None) -> "TextBlocks | None":
    r"""The texts of a CSV, TSV or JSONL file in blocks; None for what is to be read record by record.

    Parameters and errors are those of `open_source`, and so are the texts: one per row, as with `every_row`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tallywise.reading import open_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.csv").write_text('text,id\nhello,1\n"good, bye",2\n')
    ...     [block.texts() for block in open_blocks(folder + "/a.csv")]
    [['hello', 'good, bye']]
    """
    source = open_source(path, text=text, format=format, labelled=False, every_row=True)
    if source.name == STANDARD_INPUT or source.description not in ("csv", "tsv", "jsonl"):
        return None
    kind = source.description
    next(iter(source), None)  # decides about columns and quotation marks
    if source.columns is None:
        return None
    with open_bytes(source.name) as stream:
        if wide_encoding(stream.read(64)):
            return None
    return TextBlocks(source, kind)


class TextBlocks:
    """Blocks of the texts of a table, in order.

    Attributes
    ----------
    name : str
        The path.
    fallbacks : int
        Lines that were not UTF-8, so far.
    ragged : str
        What is said of rows of another width, among the first rows alone.
    """

    def __init__(self, source: Source, kind: str) -> None:
        assert source.columns is not None
        self.name = source.name
        self.ragged = "" if source.looked is None else source.looked.describe()
        self._source, self._columns = Source(source.name, kind), source.columns
        self._dialect: dict[str, Any] = source.dialect
        key = source.columns.names[source.columns.text].encode("utf-8", "surrogatepass")
        self._reader = (
            _native.TextReader.jsonl(key, limits.LONGEST_LINE)
            if kind == "jsonl"
            else _native.TextReader.csv(
                self._dialect["delimiter"],
                self._dialect["quotechar"] is not None,
                source.columns.text,
                limits.LONGEST_LINE,
            )
        )
        self._odd = self._odd_object if kind == "jsonl" else self._odd_row
        self._header = kind != "jsonl" and source.columns.header
        self._ends = None if kind == "jsonl" else b"\r\n"  # what a blank line is made of; None: any white space
        self._lines_are_texts = kind != "jsonl" and source.width == 1

    @property
    def fallbacks(self) -> int:
        """Lines that were not UTF-8 and were read as Windows-1252."""
        return self._source.decode.fallbacks

    def __iter__(self) -> Iterator[_native.TextBlock]:
        with open_bytes(self.name) as stream:
            at = _Place(stream, self.name)
            at.pass_blank(self._ends)
            if self._header:
                self._odd_row(at)
            more = True
            blank = range(0)
            while more:
                block = _native.TextBlock()
                try:
                    if not blank:
                        blank = at.pass_blank(self._ends)
                        if at.ended and not self._lines_are_texts:
                            return
                    for line in blank[:_BLANKS]:
                        block.append(b"", line)
                    blank = blank[_BLANKS:]
                    more = bool(blank) or self._fill(at, block)
                except InputError:  # what was read before that comes first
                    if len(block):
                        yield block
                    raise
                if len(block):
                    yield block

    def _fill(self, at: "_Place", block: _native.TextBlock) -> bool:
        """The records of a few chunks, until there is a text or a blank line; false at the end of the file."""
        while True:
            at.position, at.lines, odd = self._reader.read(at.data, at.position, at.lines, at.last, block)
            if odd:
                if at.is_blank(self._ends):
                    return True
                text, line = self._odd(at)
                block.append(text.encode("utf-8", "surrogatepass"), line)  # JSON can write half a pair
            elif at.last:
                return False
            else:
                at.read_on()
                if len(block):
                    return True

    def _odd_row(self, at: "_Place") -> tuple[str, int]:
        """A row of a CSV or TSV by Python's reader: its text, and its last line."""
        csv.field_size_limit(limits.LONGEST_LINE)
        found = csv_rows(map(self._source.decode, at.each_line()), self._dialect, self.name, at.lines)
        _, row = next(found, (0, []))
        return (row[self._columns.text] if len(row) > self._columns.text else "", at.lines)

    def _odd_object(self, at: "_Place") -> tuple[str, int]:
        """A line of a JSONL file by Python's reader, likewise."""
        line = next(at.each_line())
        row = json_object(self._source, line, at.lines) or {}
        return (cell_text(row.get(self._columns.names[self._columns.text])), at.lines)


class _Place:
    """Where a reader stands: the bytes at hand, the next of them, and the line ends before it."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name
        self.data, self.position, self.lines, self.last = b"", 0, 0, False
        while len(self.data) < 3 and not self.last:  # as many as a byte order mark has
            self.read_on()
        self.data = self.data.removeprefix(b"\xef\xbb\xbf")

    def read_on(self) -> None:
        """More bytes, behind those that were not read yet."""
        more = self._stream.read(_CHUNK)
        self.data = self.data[self.position :] + more
        self.position, self.last = 0, not more

    @property
    def ended(self) -> bool:
        """Whether nothing follows."""
        return not self._next_line()

    def is_blank(self, ends: bytes | None) -> bool:
        """Whether the next line is blank: made of these bytes alone, or of white space."""
        line = self._next_line()
        return bool(line) and not line.strip(ends)

    def pass_blank(self, ends: bytes | None) -> range:
        """Move behind the blank lines that come next; their numbers."""
        first = self.lines + 1
        while self.is_blank(ends):
            self._move(self._next_line())
        return range(first, self.lines + 1)

    def each_line(self) -> Iterator[bytes]:
        """Lines with their ends, as `limits.lines` gives them; each moves on."""
        while line := self._next_line():
            limits.check_line(line, self._name)
            self._move(line)
            yield line

    def _next_line(self) -> bytes:
        """The next line with its end, of which more than the longest one that is allowed is not read."""
        end = self.data.find(b"\n", self.position) + 1
        while not end and not self.last and len(self.data) - self.position <= limits.LONGEST_LINE:
            self.read_on()
            end = self.data.find(b"\n", self.position) + 1
        return self.data[self.position : end or len(self.data)]

    def _move(self, line: bytes) -> None:
        self.position += len(line)
        self.lines += 1
