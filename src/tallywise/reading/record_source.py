"""An input while it is being read."""

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from tallywise.reading.column_roles import Columns
from tallywise.reading.encodings_and_limits import Decoder, Record
from tallywise.reading.gzip_and_urls import open_bytes
from tallywise.reading.ragged_rows import Widths

ColumnTest = Callable[[str, Sequence[str]], bool]  # of a column's name and the first of its cells


class Source:
    """Records of one input, read lazily: any length, constant memory.

    Attributes
    ----------
    name : str
        The path, or "standard input".
    description : str
        What was recognised: format, columns. Complete once the first record has been read.
    skipped : int
        Rows without a text or, in a table with labels, without a label where one is needed.
    columns : Columns or None
        Those of a table, once the first record has been read.
    label_sets : bool
        Whether records have any number of labels each, likewise.
    widths : Widths or None
        How many rows of a table have more or fewer cells than its first one, so far.
    """

    def __init__(
        self, name: str, description: str, header: bool | None = None, label_separator: str | None = None
    ) -> None:
        self.name, self.description, self.skipped = name, description, 0
        self.label_separator, self.label_sets = label_separator, False
        self.split: Callable[[str], tuple[str, ...] | None] | None = None  # of a cell with several labels
        self.labelled = True  # whether labels are of interest
        self.unlabelled = False  # whether rows of a table whose label is empty are records, too
        self.every_row = False  # whether rows without a text are records, too, blank lines between rows among them
        self.dialect: dict[str, Any] = {}  # of a CSV or TSV, once the first record has been read
        self.width = 0  # cells of its first row, likewise
        self.decode = Decoder()
        self.header = header
        self.is_date: ColumnTest | None = None  # whether a column, by its name and first cells, goes along as the date
        self.stream: IO[bytes] | None = None
        self.columns: Columns | None = None
        self.widths: Widths | None = None
        self.looked: Widths | None = None  # those of the rows that were looked at first
        self.records: Iterator[Record] = iter(())

    def open(self) -> IO[bytes]:
        """Its bytes: the stream that was opened to recognise it, where there is one."""
        return open_bytes(self.name) if self.stream is None else self.stream

    def __iter__(self) -> Iterator[Record]:
        return self.records
