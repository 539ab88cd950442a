"""Shared by the commands: options, reading labelled texts, progress, output."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any

import click

from tallywise.plain_text import table
from tallywise.reading import InputError, LabelledTexts, UnclearLabelError, open_data, whole_input

OPTIONS: dict[str, Callable[[Any], Any]] = {
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
            command = OPTIONS[name](command)
        return command

    return decorate


def whole_data(name: str) -> str:
    """An input that a command reads more than once: "-" is read to its end, and kept until the command ends."""
    return click.get_current_context().with_resource(whole_input(name))


def read_data(path: str, label: str | None, format: str | None, **how: Any) -> Any:
    """What `open_data` gives; where the label is not clear, a terminal is asked."""
    try:
        return open_data(path, label=label, format=format, **how)
    except UnclearLabelError as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        click.echo(str(error), err=True)
        names = [one.name for one in error.candidates]
        label = click.prompt("label", type=click.Choice(names), show_choices=False, err=True)
        return open_data(path, label=label, format=format, **how)


def read_texts(path: str, text: str | None, label: str | None, format: str | None) -> LabelledTexts:
    """Texts with one label each."""
    found = read_data(path, label, format, text=text or (), kind="texts")
    return one_label(found)


def one_label(found: Any) -> LabelledTexts:
    """Texts with one label each, or an error."""
    if not isinstance(found, LabelledTexts):
        msg = f"{found.name}: one label per text is needed here, and lists of labels were found"
        raise InputError(msg)
    return found


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


def emit(document: Any) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=1))


def metrics_table(figures: Mapping[str, Any], classes: Sequence[str] = ()) -> str:
    """Figures (or their values and ends) with intervals; those of mail filters only where a class is spam."""
    mail = set() if "spam" in map(str.lower, classes) else {"1-ROCA%", "lam%", "recall_at_max_flagged"}
    rows = [["metric", "value", "95 % interval", "interval by"]]
    for name, figure in figures.items():
        value, low, high, *how = figure if isinstance(figure, list | tuple) else astuple(figure)[1:]
        if name not in mail:
            shown = name.replace("_", " ").replace("f1", "F1")
            rows.append([shown, f"{value:.4f}", f"{low:.4f} to {high:.4f}", *how])
    return table([row[: len(rows[-1])] for row in rows], right=(1,))


def contributions(words: Any, most: int) -> str:
    """The words with the largest contributions; none that would be shown as 0.00."""
    return "  ".join(f'"{w.term}" {w.contribution:+.2f}' for w in words[:most] if abs(w.contribution) >= 0.005)
