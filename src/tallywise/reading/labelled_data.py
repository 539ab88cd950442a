"""`open_data`: what a file, a folder or a glob holds, decided in one reading.

A table with one column of texts and a label is texts with labels. With lists of labels, or a separator between them, it
is texts with label sets. With more than one useful column, or with numbers to predict, it is a table. A glob, a folder
of tables or a file beyond a quarter of the memory is shards. What was guessed is said in `read`; a label that is not
clear is an `UnclearLabelError` with the candidates.
"""

import itertools
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tallywise.reading.column_kinds import FEATURES, decide_decimals, looks_numeric, recognise
from tallywise.reading.column_roles import UnclearLabelError
from tallywise.reading.encodings_and_limits import InputError, Record
from tallywise.reading.frames import Cells, Table, from_rows
from tallywise.reading.gzip_and_urls import STANDARD_INPUT, file_system, is_url, open_bytes
from tallywise.reading.input_formats import OpenTable, by_bytes, by_name, look_at, open_source, table_records
from tallywise.reading.label_spellings import join_labels as one_spelling
from tallywise.reading.label_spellings import spelling_notes
from tallywise.reading.record_source import Source
from tallywise.reading.shards import find_shards, is_many
from tallywise.reading.table_formats import ROWS
from tallywise.reading.whole_table import column_names, whole_table

_LEAST_PRESENT = 0.05  # share of rows in which a column has a value, to count as useful
_SIZES = 6  # classes that are listed with their sizes


@dataclass(frozen=True)
class TableChoices:
    """What the user says of the columns of a table and of its label."""

    text: Collection[str] = ()
    category: Collection[str] = ()
    number: Collection[str] = ()
    ignore: Collection[str] = ()
    task: str | None = None
    decimal: str | None = None

    @property
    def of_tables(self) -> bool:
        """Whether any of it can only be meant for a table."""
        return bool(self.category or self.number or self.ignore or self.task or self.decimal or len(self.text) > 1)


@dataclass
class LabelledTexts:
    """Texts with one label each."""

    name: str
    read: str  # what was read, for the user to check
    texts: list[str] = field(repr=False)
    labels: list[str] = field(repr=False)
    notes: list[str] = field(default_factory=list)  # what a careful person would ask


@dataclass
class LabelSets:
    """Texts with any number of labels each."""

    name: str
    read: str
    texts: list[str] = field(repr=False)
    sets: list[tuple[str, ...]] = field(repr=False)
    notes: list[str] = field(default_factory=list)
    separator: str | None = None


@dataclass
class LabelledTable:
    """A table, the column to predict, and what the user says of the others."""

    name: str
    read: str
    table: Table = field(repr=False)
    target: str
    choices: TableChoices
    notes: list[str] = field(default_factory=list)


@dataclass
class Shards:
    """Files that are read in pieces."""

    name: str
    read: str
    paths: list[str]


def open_data(
    path: str | os.PathLike[str],
    *,
    text: str | Collection[str] = (),
    label: str | None = None,
    format: str | None = None,
    label_separator: str | None = None,
    join_labels: bool = False,
    category: Collection[str] = (),
    number: Collection[str] = (),
    ignore: Collection[str] = (),
    task: str | None = None,
    decimal: str | None = None,
    kind: str | None = None,
) -> LabelledTexts | LabelSets | LabelledTable | Shards:
    r"""Read labelled data of any kind, once, and say what they are.

    Parameters
    ----------
    path : path
        What `tallywise.reading.open_source` reads, or a glob.
    text : str or list of str
        Columns of texts; recognised when not given. With one, and nothing else said of columns, the data are texts.
    label : str, optional
        Column of the label, by name or number; guessed when not given.
    format : str, optional
        As for `open_source`.
    label_separator : str, optional
        What stands between the labels of a text that has several. Lists are recognised without.
    join_labels : bool
        Join labels that differ in case, spaces or the way of a number alone.
    category, number, ignore, task, decimal
        What the columns of a table hold, as for `tallywise.TableModel`.
    kind : {'texts', 'table', 'shards'}, optional
        What it is to be read as; found out when not given.

    Raises
    ------
    UnclearLabelError
        When more than one column may be the label.
    InputError
        With one line: the cause, and what to do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tallywise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mail.csv")
    ...     _ = path.write_text("text,label\n" + "see you at noon,ham\nwin a prize,spam\n" * 3)
    ...     data = tallywise.open_data(path)
    >>> type(data).__name__, data.labels[:2]
    ('LabelledTexts', ['ham', 'spam'])
    """
    name = STANDARD_INPUT if os.fspath(path) == "-" else os.fspath(path)
    texts = (text,) if isinstance(text, str) else tuple(text)
    chosen = TableChoices(texts, tuple(category), tuple(number), tuple(ignore), task, decimal)
    if kind == "shards" or (kind != "table" and is_many(name)):
        found = find_shards(name)
        return Shards(name, f"{len(found):,} shards of {name}", found)
    if name != STANDARD_INPUT and not (file_system(name).exists(name) if is_url(name) else Path(name).exists()):
        msg = f"{name} does not exist"
        raise InputError(msg)
    column = next(iter(chosen.text), None)
    with _opened(name, format) as source:
        if source is None or source.description not in ROWS:
            if chosen.of_tables:
                msg = f"{name} is not a table: --category, --number, --ignore, --task and --decimal are for tables"
                raise InputError(msg)
            found_source = open_source(name, text=column, label=label, format=format)
            return _texts(found_source, iter(found_source), join_labels)
        source.label_separator = label_separator
        rows = ROWS[source.description](source)
        one = column if len(chosen.text) == 1 and kind != "table" else None
        opened = look_at(source, rows, one, label)
        if opened.columns.label is None and opened.columns.unclear:
            raise UnclearLabelError(name, opened.columns.unclear)
        if source.label_sets and kind != "table":
            return _texts(source, table_records(opened), join_labels)
        if kind == "table" or (kind is None and _is_table(opened, chosen)):
            return _whole(opened, chosen, join_labels)
        return _texts(source, table_records(opened), join_labels)


@contextmanager
def _opened(name: str, format: str | None) -> Iterator[Source | None]:
    """A source, opened once though its first bytes say what it is; None where it has no bytes of its own."""
    known = format or by_name(name)
    if known:
        yield Source(name, known)
        return
    with open_bytes(name) as stream:
        start = stream.peek(4096)[:4096] if hasattr(stream, "peek") else None
        if start is None:  # a remote file that cannot be looked into
            yield Source(name, by_bytes(name, stream.read(4096)))
            return
        source = Source(name, by_bytes(name, start))
        source.stream = stream
        yield source


def _is_table(opened: OpenTable, chosen: TableChoices) -> bool:
    """Whether a table is one for a model of tables: more than one useful column, or a label of numbers."""
    if chosen.of_tables:
        return True
    if chosen.text or opened.columns.label is None:
        return False
    names = column_names(opened)
    width = len(names)
    rows = [row for _, row in opened.start if len(row) <= width or not any(row[width:])]
    delimiter = "" if opened.source.widths is None else opened.source.widths.delimiter
    look = from_rows(names, rows, delimiter=delimiter)
    target = names[opened.columns.label]
    decide_decimals(look)
    numeric = looks_numeric(look.columns[target])
    useful = []
    for column in recognise(look, decimal=chosen.decimal, ignore=[target]):
        present = sum(cell is not None for cell in look.columns[column.name].strings())
        useful += [column.kind] if column.kind in FEATURES and present >= _LEAST_PRESENT * look.rows else []
    if width == 2 and not numeric and {*useful} <= {"text", "category"}:
        return False  # a text and a label, however short the texts are
    return numeric or useful != ["text"]


def _whole(opened: OpenTable, chosen: TableChoices, join: bool) -> LabelledTable:
    found = whole_table(opened)
    if found.label is None and found.unclear:
        raise UnclearLabelError(found.name, found.unclear)
    if found.label is None:
        msg = f"{found.name} has no column that looks like labels: choose one with --label"
        raise InputError(msg)
    table, notes = found.table(), []
    if found.ragged:
        left = f"; {len(found.shifted):,} with cells behind the last column left out" if found.shifted else ""
        notes.append(found.ragged + left)
        table = table.take(np.setdiff1d(np.arange(table.rows), found.shifted))
    if join and not table.columns[found.label].hint:
        strings = table.columns[found.label].strings()
        joined = iter(one_spelling([cell for cell in strings if cell is not None]))
        table.columns[found.label] = Cells([None if cell is None else next(joined) for cell in strings])
    read = f'rows from {found.name} ({found.description}), label = "{found.label}"'
    return LabelledTable(found.name, read, table, found.label, chosen, notes)


# --- texts ---


def _texts(source: Source, records: Iterator[Record], join: bool) -> LabelledTexts | LabelSets:
    start = list(itertools.islice(records, 1))
    if not start:
        msg = f"{source.name} holds no texts"
        raise InputError(msg)
    if source.label_sets:
        return _label_sets(source, [*start, *records], join)
    # Records are let go as they come, and equal labels are one string: large tables are mostly texts.
    texts: list[str] = []
    labels: list[str] = []
    known: dict[str, str] = {}
    bare = 0
    for record in itertools.chain(start, records):
        if record.label is None:
            bare += 1
        else:
            texts.append(record.text)
            labels.append(known.setdefault(record.label, record.label))
    if not texts:
        raise _unlabelled(source, start)
    if join:
        labels = one_spelling(labels)
    counts = Counter(labels)
    if len(counts) < 2:
        msg = f'{source.name} has one class only ("{labels[0]}"): at least two are needed'
        raise InputError(msg)
    read = _description(source, len(texts), counts, "classes", source.skipped + bare)
    return LabelledTexts(source.name, read, texts, labels, [*_ragged(source), *spelling_notes(counts)])


def _label_sets(source: Source, records: list[Record], join: bool) -> LabelSets:
    sets = [record.labels or () for record in records]
    if join:
        joined = iter(one_spelling([name for labels in sets for name in labels]))
        sets = [tuple(dict.fromkeys(next(joined) for _ in labels)) for labels in sets]
    counts = Counter(name for labels in sets for name in labels)
    read = _description(source, len(records), counts, "labels", source.skipped)
    bare = sum(not labels for labels in sets)
    read += f"; {sum(counts.values()) / len(sets):.2f} labels per text"
    read += f", {bare:,} texts without any" if bare else ""
    notes = [*_ragged(source), *spelling_notes(counts)]
    return LabelSets(source.name, read, [record.text for record in records], sets, notes, source.label_separator)


def _unlabelled(source: Source, start: list[Record]) -> InputError:
    """What is said of an input without labels."""
    if source.columns is not None and source.columns.unclear:
        return UnclearLabelError(source.name, source.columns.unclear)
    if source.columns is not None:
        return InputError(f"{source.name} has no column that looks like labels: choose one with --label")
    if not start[0].text.strip():
        return InputError(f"{source.name} is empty")
    return InputError(
        f"{source.name} was read as {source.description}, which has no labels: give a table with a column of them, or "
        "a folder with one subfolder per class"
    )


def _ragged(source: Source) -> list[str]:
    """What is said of rows of another width; they are refused where they are many."""
    if source.widths is None:
        return []
    source.widths.check()
    left = f"; {source.widths.shifted:,} with cells behind the last column left out" if source.widths.shifted else ""
    return [source.widths.describe() + left] if source.widths.first else []


def class_sizes(counts: dict[str, int], what: str = "classes") -> str:
    """The most frequent classes with their sizes."""
    common: Iterable[tuple[str, int]] = sorted(counts.items(), key=lambda item: -item[1])[:_SIZES]
    more = f" and {len(counts) - _SIZES} more {what}" if len(counts) > _SIZES else ""
    return ", ".join(f"{name}: {count:,}" for name, count in common) + more


def _description(source: Source, texts: int, counts: dict[str, int], what: str, skipped: int) -> str:
    description = f"read {texts:,} texts from {source.name} ({source.description}; {class_sizes(counts, what)})"
    if skipped:
        description += f"; {skipped:,} rows without text or label left out"
    if source.decode.fallbacks:
        description += f"; {source.decode.fallbacks:,} lines were not UTF-8 and were read as Windows-1252"
    return description
