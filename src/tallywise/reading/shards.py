"""Inputs of many files, read in pieces of bounded memory: the shards of a corpus that no memory holds.

A shard is whatever `open_source` reads: a table, a mailbox, a folder of mail. The columns are chosen once, on the first
shard, and asked of every other one by name, so that no shard is read by another guess.
"""

import glob
import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tallywise.reading.column_roles import LABEL_NAMES, UnclearLabelError
from tallywise.reading.encodings_and_limits import InputError, Record
from tallywise.reading.gzip_and_urls import STANDARD_INPUT, file_system, is_url, suffix
from tallywise.reading.input_formats import open_source, recognise
from tallywise.reading.record_source import Source
from tallywise.reading.table_formats import PARQUET_ROWS, cell_text, open_parquet

PIECE_ROWS, PIECE_CHARACTERS = 1 << 15, 1 << 24
_TABLES = {".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".parquet"}


class Piece(NamedTuple):
    """Some rows of a shard: texts, their labels (None where there is none), and where each came from."""

    texts: list[str]
    labels: list[str | None]
    sources: list[str]


class Layout(NamedTuple):
    """How the shards of one corpus are read, all alike: columns by name or number, format, header or not."""

    text: str | None = None
    label: str | None = None
    format: str | None = None
    header: bool | None = None

    def pieces(
        self,
        shard: str,
        *,
        rows: int = PIECE_ROWS,
        characters: int = PIECE_CHARACTERS,
        require_label: bool = False,
        every_row: bool = False,
    ) -> Iterator[Piece]:
        """Rows of a shard in order, at most so many and (but for one longer text) so many characters at a time.

        Parameters
        ----------
        shard : str
            Path or URL.
        rows, characters : int
            Bounds of a piece.
        require_label : bool
            Leave rows without a label out.
        every_row : bool
            Leave no row out, not even one without a text, and give no labels: as `open_source` does.

        Raises
        ------
        InputError
            With the name of the shard, when it cannot be read.
        """
        try:
            yield from _cut(self._records(shard, require_label, every_row), rows, characters)
        except InputError as error:
            msg = str(error)
            raise InputError(msg if shard in msg else f"{shard}: {msg}") from None
        except (OSError, EOFError, UnicodeError) as error:
            msg = (
                f"{shard} cannot be read: {error.strerror if isinstance(error, OSError) and error.strerror else error}"
            )
            raise InputError(msg) from None

    def _records(self, shard: str, require_label: bool, every_row: bool) -> Iterable[Record]:
        label = None if every_row else self.label
        if self.text is not None and (self.format or recognise(shard)) == "parquet":
            found: Iterable[Record] = _parquet_records(shard, self.text, label, every_row)
        else:
            found = open_source(
                shard,
                text=self.text,
                label=label,
                format=self.format,
                header=self.header,
                labelled=not every_row,
                every_row=every_row,
            )
        return (record for record in found if record.label is not None) if require_label else found


def find_shards(inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    r"""Shards that paths, globs, folders and URLs stand for, in a fixed order: as listed, names sorted within each.

    A folder of tables stands for the tables in it; any other folder (a Maildir, a folder a class) is one shard.

    Parameters
    ----------
    inputs : str, path, or iterable of them
        ``'shards/*.parquet'``, ``'mail/**/*.mbox'``, ``'s3://bucket/day=*/part.jsonl.gz'``, a list of paths.

    Returns
    -------
    list of str
        None twice.

    Raises
    ------
    InputError
        When one of them stands for nothing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from tallywise.reading import find_shards
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv"):
    ...         _ = pathlib.Path(folder, name).write_text("text,label\nhello,x\n")
    ...     [pathlib.Path(shard).name for shard in find_shards(folder + "/*.csv")]
    ['a.csv', 'b.csv']
    """
    listed = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    found: dict[str, None] = {}
    for entry in listed:
        name = os.fspath(entry)
        there = _remote(name) if is_url(name) else _local(name)
        if not there:
            msg = f"{name} does not exist" if not glob.has_magic(name) else f"nothing matches {name}"
            raise InputError(msg)
        found.update(dict.fromkeys(there))
    if not found:
        msg = "no shards were given: name files, folders or a glob such as 'shards/*.parquet'"
        raise InputError(msg)
    return list(found)


def input_files(inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Iterator[str]:
    """Local files that paths, globs and folders stand for, for `tallywise.files.refuse_overwrite`; "-" stays.

    Of a folder of mail or of classes only what lies in its subfolders is read.
    """
    for entry in [inputs] if isinstance(inputs, str | os.PathLike) else inputs:
        name = os.fspath(entry)
        if name in ("-", STANDARD_INPUT):
            yield "-"
        elif not is_url(name):
            for found in _local(name):
                if not os.path.isdir(found):
                    yield found
                    continue
                walk = os.walk(found)
                next(walk, None)
                yield from (os.path.join(folder, file) for folder, _, files in walk for file in files)


def shard_size(shard: str) -> int:
    """Bytes of a shard as it is stored; 0 where that is not known."""
    try:
        if is_url(shard):
            return int(file_system(shard).size(shard) or 0)
        place = Path(shard)
        if place.is_dir():
            return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        return place.stat().st_size
    except OSError:
        return 0


def is_many(name: str) -> bool:
    """Whether an input is several files, or one beyond a quarter of this machine's memory."""
    if name in ("-", STANDARD_INPUT):
        return False
    if os.path.exists(name) and not os.path.isdir(name):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 62
        return shard_size(name) > memory // 4
    return find_shards(name) != [name]


def layout_of(
    shards: list[str],
    *,
    text: str | None = None,
    label: str | None = None,
    format: str | None = None,
    labelled: bool = True,
) -> tuple[Layout, str]:
    """Look at the shards until one gives a record; its columns are those of all. Also tells what was recognised.

    With `labelled`, a corpus without labels is an error.
    """
    problems: list[str] = []
    for shard in shards:
        try:
            source = open_source(
                shard, text=text, label=label, format=format, labelled=labelled, every_row=not labelled
            )
            first = next(iter(source), None)
        except (InputError, OSError) as error:
            problems.append(str(error))
            continue
        if first is None:
            continue
        if labelled and source.label_sets:
            msg = f"{shard} gives texts several labels each, which models of shards do not: train on one file in memory"
            raise InputError(msg)
        if labelled and source.columns is not None and source.columns.unclear:
            raise UnclearLabelError(shard, source.columns.unclear)
        if labelled and first.label is None and (source.columns is None or source.columns.label is None):
            msg = f"{shard} has no column that looks like labels: name it with --label ({', '.join(LABEL_NAMES[:4])})"
            raise InputError(msg)
        return _settled(source, format), source.description
    msg = problems[0] if problems else f"{shards[0]} holds no texts"
    raise InputError(msg)


def _settled(source: Source, format: str | None) -> Layout:
    columns = source.columns
    if columns is None:
        return Layout(format=format)

    def named(k: int) -> str:
        return columns.names[k] if columns.header and columns.names.count(columns.names[k]) == 1 else str(k + 1)

    label = None if columns.label is None else named(columns.label)
    return Layout(named(columns.text), label, format, columns.header)


def _local(name: str) -> list[str]:
    place = Path(name)
    if place.is_dir():
        tables = sorted(
            str(path) for path in place.iterdir() if path.is_file() and suffix(path.name) in _TABLES and _shown(path)
        )
        return tables or [name]
    if place.exists():
        return [name]
    return sorted(path for path in glob.glob(name, recursive=True) if _shown(Path(path)))


def _shown(path: Path) -> bool:
    return not path.name.startswith((".", "_"))  # such as _SUCCESS, which Spark leaves beside its parts


def _remote(name: str) -> list[str]:
    fs = file_system(name)
    if glob.has_magic(name):
        return [str(fs.unstrip_protocol(path)) for path in sorted(fs.glob(name))]
    return [name] if fs.exists(name) else []


def _cut(records: Iterable[Record], rows: int, characters: int) -> Iterator[Piece]:
    texts: list[str] = []
    labels: list[str | None] = []
    sources: list[str] = []
    held = 0
    for text, label, source, *_ in records:
        if texts and (len(texts) == rows or held + len(text) > characters):
            yield Piece(texts, labels, sources)
            texts, labels, sources, held = [], [], [], 0
        texts.append(text)
        labels.append(label)
        sources.append(source)
        held += len(text)
    if texts:
        yield Piece(texts, labels, sources)


def _parquet_records(shard: str, text: str, label: str | None, every_row: bool) -> Iterator[Record]:
    """What `open_source` gives, of two columns alone: the others are not even unpacked."""
    import pyarrow

    # A group of rows is read page by page: in pieces of the memory that its columns would take at once.
    local: dict[str, Any] = {} if is_url(shard) else {"buffer_size": 1 << 20, "pre_buffer": False}
    try:
        with open_parquet(shard, **local) as table:
            names = list(table.schema_arrow.names)
            wanted = [_position(column, names, shard) for column in (text, label) if column is not None]
            if len({*names}) < len(names):  # pyarrow cannot tell them apart by name
                yield from open_source(shard, text=text, label=label, format="parquet", every_row=every_row)
                return
            number = itertools.count(1)
            for batch in table.iter_batches(batch_size=PARQUET_ROWS, columns=[names[k] for k in wanted]):
                by_name = {name: batch.column(k).to_pylist() for k, name in enumerate(batch.schema.names)}
                texts = map(cell_text, by_name[names[wanted[0]]])
                labels = [None] * batch.num_rows if label is None else map(cell_text, by_name[names[wanted[1]]])
                for content, called, row in zip(texts, labels, number, strict=False):
                    called = None if called is None else called.strip()
                    if every_row or (called != "" and content and not content.isspace()):
                        yield Record(content, called, f"{shard}:{row}")
    except (pyarrow.lib.ArrowException, OSError) as error:
        msg = f"{shard} is not a readable Parquet file ({str(error).splitlines()[0]})"
        raise InputError(msg) from None


def _position(column: str, names: list[str], shard: str) -> int:
    if column in names:
        return names.index(column)
    if column.isdigit() and 1 <= int(column) <= len(names):
        return int(column) - 1
    msg = f'{shard} has no column "{column}". It has: {", ".join(names)}'
    raise InputError(msg)
