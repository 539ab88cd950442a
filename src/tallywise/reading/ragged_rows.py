"""Rows that have more or fewer cells than the header: counted, named, and refused where they are many."""

from collections.abc import Sequence

from tallywise.reading.encodings_and_limits import InputError

# Share of the rows that may have another width. Writers of tables give none; unquoted delimiters in texts give from a
# tenth of the rows on (one in eight of 5,574 text messages has a semicolon, half of them a comma).
_MOST_RAGGED = 0.05
_FEW = 10  # rows; from so many on, one may have another width, and below, rows may lack their last cells


class Widths:
    """How many rows have another width than the first one, and the first of these.

    Attributes
    ----------
    rows, ragged, shifted : int
        Rows so far, those of another width, and those with cells behind the last column.
    first : tuple of int or None
        Line and width of the first of these.
    """

    def __init__(self, name: str, width: int, delimiter: str) -> None:
        self.name, self.width, self.delimiter = name, width, delimiter
        self.rows = self.ragged = self.shifted = 0
        self.first: tuple[int, int] | None = None

    def fits(self, number: int, row: Sequence[str]) -> bool:
        """Count a row; false if cells lie behind the last column, so that none is surely where it belongs.

        Empty cells at the end, and rows of empty cells, are no other width.
        """
        self.rows += 1
        if len(row) == self.width:
            return True
        if not any(row[self.width :]) and (len(row) > self.width or not any(cell.strip() for cell in row)):
            return True
        self.ragged += 1
        if self.first is None:
            self.first = (number, len(row))
        self.shifted += len(row) > self.width
        return len(row) < self.width

    def describe(self) -> str:
        """How many rows have another width, and the first; nothing where there is none."""
        if self.first is None:
            return ""
        number, width = self.first
        are = "1 row has" if self.ragged == 1 else f"{self.ragged:,} rows have"
        return f"{are} more or fewer cells than the {self.width} of the first row (first: line {number}, {width} cells)"

    def check(self) -> None:
        """Refuse a table of which many rows have another width."""
        odd, most = (self.ragged, max(_MOST_RAGGED * self.rows, 1)) if self.rows >= _FEW else (self.shifted, 0)
        if odd <= most:
            return
        what = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars"}.get(self.delimiter, "delimiters")
        msg = (
            f"{self.name}: {self.describe()}, of {self.rows:,} rows. Put cells that contain {what} into quotation "
            "marks, or name every column in the first row"
        )
        raise InputError(msg)
