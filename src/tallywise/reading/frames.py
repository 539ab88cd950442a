"""Tables of any kind to columns of cells: data frames (pandas, polars, pyarrow), lists of records, rows of strings.

No package of data frames is imported here: what arrives brings its own.
"""

import datetime
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass
class Cells:
    """The cells of a column: floats where its type is known to be one of numbers or of dates, else strings."""

    data: Any  # array of float64 (NaN: absent) with the hints number and date, else a list of str or None
    hint: str = ""  # number, date (days since 1970), category, or nothing known
    decimal: str = ""  # sign with which strings are numbers, where that is known
    _strings: list[str | None] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.data)

    def typed(self, kind: str) -> bool:
        """Whether these are floats of that kind."""
        return self.hint == kind

    def floats(self, kind: str) -> NDArray[np.float64]:
        """The floats of a column of that kind; NaN for infinite ones, too."""
        assert self.hint == kind
        found: NDArray[np.float64] = self.data
        return np.where(np.isinf(found), np.nan, found) if np.isinf(found).any() else found

    def strings(self) -> list[str | None]:
        """The cells as strings; empty ones are None."""
        if self._strings is None:
            if self.hint in ("number", "date"):
                self._strings = [None if math.isnan(x) else f"{x:.15g}" for x in self.data.tolist()]
            else:
                self._strings = [cell if cell is not None and cell.strip() else None for cell in self.data]
        return self._strings

    def take(self, rows: NDArray[np.intp]) -> "Cells":
        """Some of the cells."""
        data = self.data[rows] if isinstance(self.data, np.ndarray) else [self.data[i] for i in rows.tolist()]
        return Cells(data, self.hint, self.decimal)


@dataclass
class Table:
    """Columns of equal length by name."""

    columns: dict[str, Cells]
    rows: int
    records: bool = False  # made of records, which may lack some of their columns
    delimiter: str = ""  # of the file that it comes from
    lines: Sequence[int] | None = field(default=None, repr=False)  # of that file, a number a row
    decided: bool = False  # whether the decimal signs of its columns are
    checked: bool = False  # whether cells that cannot be read were reported

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self.rows, len(self.columns)

    def __getitem__(self, rows: NDArray[np.intp]) -> "Table":
        return self.take(rows)

    def take(self, rows: NDArray[np.intp]) -> "Table":
        """Some of the rows."""
        lines = None if self.lines is None else [self.lines[i] for i in rows.tolist()]
        columns = {name: cells.take(rows) for name, cells in self.columns.items()}
        return Table(columns, len(rows), self.records, self.delimiter, lines, self.decided, self.checked)

    def where(self, row: int) -> str:
        """A row as the user finds it: its line in the file, or its number from 1."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"


def as_table(data: Any) -> Table:
    """A table of a data frame, a list of records (dicts), or a mapping of names to columns.

    Columns of float64 without absent values, in one piece, are not copied.

    Examples
    --------
    >>> from tallywise.table_model import as_table
    >>> table = as_table([{"age": 31, "city": "Bonn"}, {"age": None}])
    >>> table.rows, list(table.columns)
    (2, ['age', 'city'])
    """
    if isinstance(data, Table):
        return data
    module = type(data).__module__.split(".")[0]
    if module == "pandas":
        columns = {str(name): _pandas(data.iloc[:, k]) for k, name in enumerate(data.columns)}
        _distinct(map(str, data.columns))
        return Table(columns, len(data))
    if module == "polars":
        data = data.collect() if hasattr(data, "collect") else data
        return Table({name: _polars(data[name]) for name in data.columns}, data.height)
    if module == "pyarrow":
        _distinct(data.schema.names)
        return Table({name: _arrow(data.column(name)) for name in data.schema.names}, data.num_rows)
    if isinstance(data, Mapping):
        for name, values in data.items():
            if isinstance(values, str | bytes) or not isinstance(values, Iterable):
                msg = f"A mapping holds columns, but {name!r} is one value ({values!r}): put a record into a list."
                raise TypeError(msg)
        columns = {str(name): _plain(list(values)) for name, values in data.items()}
        lengths = {len(cells) for cells in columns.values()}
        if len(lengths) > 1:
            msg = f"Columns of a table must have equal length. Got {sorted(lengths)}."
            raise ValueError(msg)
        return Table(columns, lengths.pop() if lengths else 0)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        msg = f"A table is a data frame, a list of records, or a mapping of columns. Got {type(data).__name__}."
        raise TypeError(msg)
    records = list(data)
    if not all(isinstance(record, Mapping) for record in records):
        wrong = next(type(record).__name__ for record in records if not isinstance(record, Mapping))
        msg = f"Records of a table are mappings of column names to values. Got {wrong}."
        raise TypeError(msg)
    names = dict.fromkeys(str(name) for record in records for name in record)
    lookup = [{str(name): value for name, value in record.items()} for record in records]
    return Table({name: _plain([record.get(name) for record in lookup]) for name in names}, len(records), True)


def from_rows(
    names: Sequence[str], rows: Sequence[Sequence[str]], *, delimiter: str = "", lines: Sequence[int] | None = None
) -> Table:
    """A table of rows of strings, as files have them; short rows lack their last cells."""
    _distinct(names)
    width = len(names)
    columns: list[list[str | None]] = [[] for _ in range(width)]
    for row in rows:
        for k in range(width):
            columns[k].append(row[k] if k < len(row) else None)
    found = {name: Cells(cells) for name, cells in zip(names, columns, strict=True)}
    return Table(found, len(rows), delimiter=delimiter, lines=lines)


def _distinct(names: Iterable[str]) -> None:
    counts = Counter(names)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        msg = f"A table must have distinct column names. Got {twice!r} twice."
        raise ValueError(msg)


def _plain(values: list[Any]) -> Cells:
    """Cells of Python values: numbers, dates, or strings of whatever they are."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in present):
        return Cells(np.array([math.nan if v is None else _float(v) for v in values], dtype=np.float64), "number")
    if present and all(isinstance(v, datetime.date) for v in present):
        return Cells(np.array([math.nan if v is None else _days(v) for v in values]), "date")
    return Cells([_string(value) for value in values])


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _days(value: datetime.date) -> float:
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - _EPOCH) / datetime.timedelta(days=1)
    return float(value.toordinal() - _EPOCH.toordinal())


def _string(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    return None if text in ("<NA>", "NaT", "nan") else text


def _of_datetimes(moments: NDArray[Any]) -> Cells:
    micro = moments.astype("datetime64[us]")
    days = micro.astype(np.int64) / 86_400_000_000
    return Cells(np.where(np.isnat(micro), np.nan, days), "date")


def _pandas(series: Any) -> Cells:
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    if str(dtype) == "category":
        return Cells([_string(value) for value in series.astype(object).tolist()], "category")
    if kind == "f" and isinstance(dtype, np.dtype):
        return Cells(np.asarray(series.to_numpy(), dtype=np.float64), "number")  # as it is: na_value makes a copy
    if kind in "iuf":
        return Cells(series.to_numpy(dtype=np.float64, na_value=np.nan), "number")
    if kind == "M":
        naive = series.dt.tz_localize(None) if getattr(dtype, "tz", None) is not None else series
        return _of_datetimes(naive.to_numpy(dtype="datetime64[us]"))
    cells = zip(series.astype(object).tolist(), series.isna().tolist(), strict=True)  # NA is not even unlike itself
    return _plain([None if gone else value for value, gone in cells])


def _polars(series: Any) -> Cells:
    dtype = series.dtype
    if dtype.is_numeric():
        return Cells(np.asarray(series.cast(float).to_numpy(), dtype=np.float64), "number")
    if str(dtype).startswith(("Categorical", "Enum")):
        return Cells([_string(value) for value in series.to_list()], "category")
    return _plain(series.to_list())


def _arrow(column: Any) -> Cells:
    name = str(column.type)
    if name.startswith(("int", "uint", "float", "double", "half", "decimal")):
        floats = column.cast("float64")
        if floats.num_chunks == 1:  # several are joined, which copies
            floats = floats.chunk(0)
        return Cells(np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64), "number")
    if name.startswith(("timestamp", "date")):
        return _of_datetimes(column.cast("timestamp[us]").to_numpy(zero_copy_only=False))
    hint = "category" if name.startswith("dictionary") else ""
    cells = _plain(column.to_pylist())
    return Cells(cells.strings(), hint) if hint else cells
