"""Shared by the commands: options, reading labelled texts, progress, output."""

import itertools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

import click

from tallywise.reading import (
    InputError,
    Record,
    Source,
    UnclearLabelError,
    is_kept,
    join_labels,
    open_source,
    spelling_notes,
    whole_input,
)

_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "text": click.option("--text", metavar="COLUMN", help="Column of the text (name or number); guessed by default."),
    "label": click.option("--label", metavar="COLUMN", help="Column of the label; guessed by default."),
    "label_separator": click.option(
        "--label-separator",
        metavar="TEXT",
        help="What stands between the labels of a text that has several, such as ';'. Lists are recognised without.",
    ),
    "format": click.option(
        "--format",
        metavar="NAME",
        help="csv, tsv, jsonl, parquet, lines, text, eml, mbox, maildir or folder; recognised by default.",
    ),
    "threads": click.option("--threads", type=click.IntRange(1, 1024), help="Threads; all cores by default."),
    "seed": click.option(
        "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Seed of splits and intervals."
    ),
    "ngrams": click.option(
        "--ngrams", type=click.IntRange(1, 5), help="Longest n-gram of words. [default: 3; 2 for naive Bayes]"
    ),
    "stop_words": click.option(
        "--stop-words", metavar="WORDS", default="none", show_default=True, help="none, english, or a file of words."
    ),
    "class_weight": click.option(
        "--class-weight",
        metavar="WEIGHT",
        multiple=True,
        help="balanced, or CLASS=WEIGHT (may be repeated); 1 for every class by default.",
    ),
    "costs": click.option(
        "--costs",
        metavar="TRUE:CALLED=COST",
        multiple=True,
        help="Cost of calling a text of class TRUE CALLED, such as ham:spam=10 (may be repeated); others cost 1.",
    ),
    "join_labels": click.option(
        "--join-labels",
        "join",
        is_flag=True,
        help="Join labels that differ in case, spaces or the way of a number alone: Yes and yes, 1 and 1.0.",
    ),
    "json": click.option("--json", "as_json", is_flag=True, help="JSON on standard output."),
}


def options(*names: str) -> Callable[[Any], Any]:
    """Add the named options to a command."""

    def decorate(command: Any) -> Any:
        for name in reversed(names):
            command = _OPTIONS[name](command)
        return command

    return decorate


class Labelled(NamedTuple):
    """Texts with labels, and a line that describes the input."""

    texts: list[str]
    labels: list[str]
    description: str
    sets: list[tuple[str, ...]] | None = None  # in the place of `labels`, where texts have any number of them
    notes: tuple[str, ...] = ()  # what a careful person would ask about the labels


def whole_data(name: str) -> str:
    """An input that a command reads more than once: "-" is read to its end, and kept until the command ends."""
    return click.get_current_context().with_resource(whole_input(name))


def has_label_sets(path: str, text: str | None, label: str | None, format: str | None) -> bool:
    """Whether the labels of a file are lists; what cannot be read is left to the command to complain of."""
    if not (os.path.isfile(path) or is_kept(path)):
        return False
    source = open_source(path, text=text, label=label, format=format)
    try:
        next(iter(source), None)
    except (InputError, OSError):
        return False
    return source.label_sets


def read_labelled(
    path: str,
    text: str | None,
    label: str | None,
    format: str | None,
    *,
    label_separator: str | None = None,
    several: bool | None = False,
    join: bool = False,
) -> Labelled:
    """All texts and labels of an input; an error where there are none.

    `several` says whether texts may have any number of labels (None: both will do); an error where they may not.
    """
    source = open_source(path, text=text, label=label, format=format, label_separator=label_separator)
    records = iter(source)
    start = list(itertools.islice(records, 1))
    if not start:
        msg = f"{source.name} holds no texts"
        raise InputError(msg)
    if several is not None and several != source.label_sets:
        how = "one label a text is needed here, and lists of labels were found"
        if several:
            how = "several labels a text are needed here: a column of lists, or --label-separator"
        msg = f"{source.name}: {how}"
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
        labels = join_labels(labels)
    counts = Counter(labels)
    if len(counts) < 2:
        msg = f'{source.name} has one class only ("{labels[0]}"): at least two are needed'
        raise InputError(msg)
    description = _description(source, len(texts), counts, "classes", source.skipped + bare)
    return Labelled(texts, labels, description, notes=(*_ragged(source), *spelling_notes(counts)))


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


def _label_sets(source: Source, records: list[Record], join: bool) -> Labelled:
    sets = [record.labels or () for record in records]
    if join:
        joined = iter(join_labels([name for labels in sets for name in labels]))
        sets = [tuple(dict.fromkeys(next(joined) for _ in labels)) for labels in sets]
    counts: dict[str, int] = {}
    for name in (name for labels in sets for name in labels):
        counts[name] = counts.get(name, 0) + 1
    description = _description(source, len(records), counts, "labels", source.skipped)
    bare = sum(not labels for labels in sets)
    description += f"; {sum(counts.values()) / len(sets):.2f} labels a text"
    description += f", {bare:,} texts without any" if bare else ""
    notes = (*_ragged(source), *spelling_notes(counts))
    return Labelled([record.text for record in records], [], description, sets, notes)


def class_sizes(counts: dict[str, int], what: str = "classes") -> str:
    """The most frequent classes with their sizes."""
    common = sorted(counts.items(), key=lambda item: -item[1])
    more = f" and {len(common) - 6} more {what}" if len(common) > 6 else ""
    return ", ".join(f"{name}: {count:,}" for name, count in common[:6]) + more


def _description(source: Source, texts: int, counts: dict[str, int], what: str, skipped: int) -> str:
    description = f"read {texts:,} texts from {source.name} ({source.description}; {class_sizes(counts, what)})"
    if skipped:
        description += f"; {skipped:,} rows without text or label left out"
    if source.decode.fallbacks:
        description += f"; {source.decode.fallbacks:,} lines were not UTF-8 and were read as Windows-1252"
    return description


def check_outputs(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Refuse, before any work, files in folders that are missing and files that are read; standard output, too."""
    from tallywise.errors import OverwriteError
    from tallywise.files import refuse_overwrite

    outputs = list(outputs)
    for path in outputs:
        if not path or not Path(path).parent.is_dir():
            msg = f"there is no folder {str(Path(path).parent)!r} for {path}" if path else "a file needs a name"
            raise click.UsageError(msg)
    try:
        refuse_overwrite([*outputs, "-"], inputs)
    except OverwriteError as error:
        raise click.UsageError(str(error)) from None


def set_threads(threads: int | None) -> None:
    """Make --threads the default of everything the command calls."""
    if threads is not None:
        os.environ["TALLYWISE_NUM_THREADS"] = str(threads)


@contextmanager
def status(start: str) -> Iterator[Callable[[str], None]]:
    """A status line on standard error, on a terminal only; yields the function that updates it."""
    if not sys.stderr.isatty():
        yield lambda line: None
        return
    from rich.console import Console

    with Console(stderr=True).status(start) as live:
        yield lambda line: live.update(line)


def write_both(model: Any, output: str, report: str, page: str) -> int:
    """Write a model and its report, each by replacement, or neither; the size of the model in bytes."""
    from tallywise.files import replacing

    with replacing(report) as stream:
        stream.write(page.encode("utf-8", errors="replace"))
        stream.flush()
        return int(model.save(output))


def emit(document: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=1))


def table(rows: list[list[str]], right: tuple[int, ...] = ()) -> str:
    """Plain columns, as wide as needed; those in `right` are right-aligned."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if k in right else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def trials_table(classifier: Any, data: Any) -> str:
    """The majority class, naive Bayes as a reference, and the model, on held-out texts; what was left out."""
    rows = [[f"held-out texts, {classifier.description_[0].removeprefix('compared by ').split(', ')[0]}"]]
    rows[0] += ["error", "95 % interval", "log loss"]
    rows.append([f'majority class "{data.commonest}"', percent(data.constant_error), "", ""])
    model, *others = classifier.trials_
    for trial in [*(other for other in others if other.reference), model]:
        error = trial.error_figure()
        title = f"{trial.title}, for reference" if trial is not model else trial.title
        interval = f"{percent(error.low)} to {percent(error.high)}"
        rows.append([title, percent(error.value), interval, f"{trial.log_loss:.4f}"])
    lines = [table(rows, right=(1, 3)), *(line for line in classifier.description_[1:])]
    return "\n".join(lines)


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


def size_shown(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} KB"


def figures_table(figures: Mapping[str, Any], classes: Sequence[str] = ()) -> str:
    """Figures (or their values and ends) with intervals; those of mail filters only where a class is spam."""
    mail = set() if "spam" in map(str.lower, classes) else {"1-ROCA%", "lam%", "recall_at_max_flagged"}
    rows = [["figure", "value", "95 % interval", "interval by"]]
    for name, figure in figures.items():
        value, low, high, *how = figure if isinstance(figure, list | tuple) else astuple(figure)[1:]
        if name not in mail:
            shown = name.replace("_", " ").replace("f1", "F1")
            rows.append([shown, f"{value:.4f}", f"{low:.4f} to {high:.4f}", *how])
    return table([row[: len(rows[-1])] for row in rows], right=(1,))


def contributions(words: Any, most: int) -> str:
    """The words with the largest contributions; none that would be shown as 0.00."""
    return "  ".join(f'"{w.term}" {w.contribution:+.2f}' for w in words[:most] if abs(w.contribution) >= 0.005)


def shorten(text: str, width: int = 70) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
