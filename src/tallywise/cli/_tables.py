"""Tables with columns of any kind, for the commands that train and use models."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from tallywise.cli._shared import (
    class_sizes,
    emit,
    figures_table,
    percent,
    shorten,
    size_shown,
    status,
    table,
    whole_data,
    write_both,
)
from tallywise.reading import InputError, TableFile, UnclearLabelError, join_labels, read_table

_LEAST_PRESENT = 0.05  # share of rows in which a column has a value, to count as useful
TEXT_ONLY = ("multinomial_nb", "complement_nb", "bernoulli_nb", "word_svm", "nb_svm")
_MOST_COLUMNS = 40  # listed for people
_MOST_WORDS = 5  # of a text among columns


class Choices(NamedTuple):
    """What the user says of the columns and the task."""

    text: tuple[str, ...]
    category: tuple[str, ...]
    number: tuple[str, ...]
    ignore: tuple[str, ...]
    task: str | None
    decimal: str | None

    @property
    def of_tables(self) -> bool:
        """Whether any of it can only be meant for a table."""
        return bool(self.category or self.number or self.ignore or self.task or len(self.text) > 1)


def table_options(command: Any) -> Any:
    """Add the options that say what columns hold."""
    for name, what in (
        ("--ignore", "Column to leave out (may be repeated)."),
        ("--number", "Column of numbers (may be repeated); recognised by default."),
        ("--category", "Column of categories (may be repeated); recognised by default."),
    ):
        command = click.option(name, multiple=True, metavar="COLUMN", help=what)(command)
    command = click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal sign of columns that could have either, such as 1.250 beside 950; recognised by default.",
    )(command)
    return click.option(
        "--task",
        type=click.Choice(["classes", "grades", "numbers"]),
        help="What the label is; recognised by default.",
    )(command)


def is_table_model(model: Any) -> bool:
    """Whether a loaded model reads tables."""
    return hasattr(model, "columns")


def wants_table(data: str, format: str | None, label: str | None, choices: Choices, model: str) -> bool:
    """Whether a file is a table for a model of tables: more than one useful column, or a label of numbers.

    One column of texts, or a model by a name that only text models have, is a text model as ever.
    """
    if (choices.text or model in TEXT_ONLY) and not choices.of_tables:
        return False
    if not is_file(data):
        return False
    from tallywise.table import recognise

    found = read_table(data, format=format, label=label, rows=1000)
    if found is None:
        if choices.of_tables:
            msg = f"{data} is not a table: --category, --number, --ignore and --task are for tables"
            raise InputError(msg)
        return False
    if choices.of_tables:
        return True
    target = label_of(found, label)
    if target is None:
        return False
    whole = _table(found)
    useful = []
    with one_line():
        columns = recognise(whole, decimal=choices.decimal)
    for column in columns:
        present = sum(cell is not None for cell in whole.columns[column.name].strings())
        if column.name != target and column.kind in ("text", "category", "number", "date"):
            useful += [column] if present >= _LEAST_PRESENT * whole.rows else []
    from tallywise.table import recognise_task

    numeric = recognise_task(whole.columns[target]) == "numbers"
    strings = [column for column in useful if column.kind in ("text", "category")]
    if len(whole.columns) == 2 and len(strings) == len(useful) and not numeric:
        return False  # a text and a label, however short the texts are
    return numeric or [column.kind for column in useful] != ["text"]


def is_file(data: str) -> bool:
    """Whether a name is that of a file, and not of a folder."""
    import os

    return not os.path.isdir(data)


def label_of(found: TableFile, label: str | None) -> str | None:
    """The name of the label's column: the user's, by name or number, or the guess."""
    if label is not None and label not in found.names and label.isdigit() and 1 <= int(label) <= len(found.names):
        return found.names[int(label) - 1]
    return label or found.label


def read_whole(
    path: str, format: str | None, label: str | None = None, *, every_row: bool = False
) -> tuple[TableFile, Any]:
    """A file that is a table, and the table; blank lines between rows are rows where that is asked for."""
    found = read_table(path, format=format, label=label, every_row=every_row)
    if found is None:
        msg = f"{path} is not a table: CSV, TSV, JSONL, Parquet or Excel is wanted"
        raise InputError(msg)
    return found, _table(found)


def _table(found: TableFile) -> Any:
    from tallywise.table import as_table, from_rows

    if found.frame is not None:
        return as_table(found.frame)
    return from_rows(found.names, found.rows, delimiter=found.delimiter, lines=found.numbers)


@contextmanager
def one_line(path: str = "") -> Iterator[None]:
    """What the library refuses, as an error of the input."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: {error}" if path else str(error)) from None


def target_of(data: str, found: TableFile, whole: Any, label: str | None) -> str:
    """The name of the label's column, which the table has."""
    target = label_of(found, label)
    if target is None and found.unclear:
        raise UnclearLabelError(data, found.unclear)
    if target is None:
        msg = f"{data} has no column that looks like labels: choose one with --label"
        raise InputError(msg)
    if target not in whole.columns:
        msg = f'{data} has no column "{target}". It has: {", ".join(whole.columns)}'
        raise InputError(msg)
    return target


# --- train ---


def train_table(
    data: str,
    output: str,
    report: str | None,
    as_json: bool,
    *,
    format: str | None,
    label: str | None,
    choices: Choices,
    join: bool = False,
    **settings: Any,
) -> None:
    """Learn from a table, write the model and the report, and say what was found."""
    began = time.perf_counter()
    with status("reading") as tell:
        found, whole = read_whole(data, format, label)
        target = target_of(data, found, whole, label)
        whole = _usable_rows(found, whole, target, join)
        tell("loading")
        from tallywise.table import TableModel

        with one_line():
            model = TableModel(progress=tell, **choices._asdict(), **settings).fit(whole, target)
        if found.ragged:
            left = f"; {len(found.shifted):,} with cells behind the last column left out" if found.shifted else ""
            model.notes_.insert(0, found.ragged + left)
        size = _write(model, whole, data, output, report, tell)
    seconds = time.perf_counter() - began
    if as_json:
        emit(_document(model, data, output, report, seconds))
        return
    classes = f" ({class_sizes(model.class_counts_)})" if model.class_counts_ else ""
    how = f'{found.description}), label = "{target}"{classes}'
    click.echo(f"read {whole.rows - model.left_out_:,} rows from {data} ({how}")
    if model.left_out_:
        click.echo(f"{model.left_out_:,} rows without a label left out")
    click.echo(_columns(model))
    click.echo(_trials(model))
    for line in [*_summary(model), *(f"note: {note}" for note in model.notes_)]:
        click.echo(line)
    written = f"wrote {output} ({size_shown(size)})" + (f" and {report}" if report else "")
    click.echo(f"{written}   in {seconds:.1f} s")
    click.echo(f"next: tally classify {output} new.csv --explain")


def _usable_rows(found: TableFile, whole: Any, target: str, join: bool) -> Any:
    """The table without rows whose cells are shifted, and with labels that are probably one joined, where asked for."""
    import numpy as np

    from tallywise.table import Cells

    if found.shifted:
        whole = whole.take(np.setdiff1d(np.arange(whole.rows), found.shifted))
    if join and not whole.columns[target].hint:
        strings = whole.columns[target].strings()
        joined = iter(join_labels([cell for cell in strings if cell is not None]))
        whole.columns[target] = Cells([None if cell is None else next(joined) for cell in strings])
    return whole


def _write(model: Any, whole: Any, data: str, output: str, report: str | None, tell: Any) -> int:
    """Write model and report; the size of the model in bytes."""
    if report is None:
        return int(model.save(output))
    from tallywise.report import render
    from tallywise.table import table_report_data

    tell("writing the report")
    shown = table_report_data(model, whole, data)
    return write_both(model, output, report, render(shown))


def _columns(model: Any) -> str:
    rows = [["column", "holds", "values"]]
    rows += [[column.name, column.kind, column.note] for column in model.columns_[:_MOST_COLUMNS]]
    more = len(model.columns_) - _MOST_COLUMNS
    return table(rows) + (f"\n  and {more} more columns" if more > 0 else "")


def _trials(model: Any) -> str:
    numbers = model.task_ == "numbers"
    head = ["RMSE" if model.loss == "squared" else f"{model.loss} loss", "MAE"] if numbers else ["error", "log loss"]
    rows = [[model.description_[0].split(", ")[0], *head, "time", ""]]
    for trial in model.trials_:
        error = trial.error**0.5 if numbers and model.loss == "squared" else trial.error
        shown = f"{error:.4g}" if numbers else percent(error)
        kept = "<- kept" if trial is model.trials_[0] else ""
        rows.append([trial.title, shown, f"{trial.log_loss:.4g}", f"{trial.seconds:.2f} s", kept])
    constant = f"{model.constant_:.4g}" if numbers else percent(model.constant_)
    rows.append(["always the mean" if numbers else "always the commonest class", constant, "", "", ""])
    behind = (
        f"\n  dropped early (clearly worse, or a simpler one made no error): {'; '.join(model.dropped_)}"
        if model.dropped_
        else ""
    )
    return table(rows, right=(1, 2, 3)) + behind


def _summary(model: Any) -> list[str]:
    figures = model.figures_
    if model.task_ == "numbers":
        shown = [figures[name] for name in ("rmse", "mae", "r2")]
        names = ("RMSE", "MAE", "R2")
        parts = [f"{n} {f.value:.4g} ({f.low:.4g} to {f.high:.4g})" for n, f in zip(names, shown, strict=True)]
        return [", ".join(parts) + " on rows not seen"]
    error = figures["error"]
    lines = [f"error {percent(error.value)} ({percent(error.low)} to {percent(error.high)}) on rows not seen"]
    if len(model.trials_) > 1:
        lines.append(f"error corrected for model selection: {percent(model.corrected_error_)}")
    if model.threshold_ is not None:
        found, caught = model.threshold_, model.rule_["class"]
        (spared,) = [label for label in model.classes_.tolist() if label != caught]
        lines.append(
            f"threshold {found.value:.4f}: {percent(found.flagged.value, 2)} of {spared} flagged, "
            f"{percent(found.caught.value)} of {caught} caught "
            f"({percent(found.caught.low)} to {percent(found.caught.high)})"
        )
    return lines


def _document(model: Any, data: str, output: str, report: str | None, seconds: float) -> dict[str, Any]:
    return {
        "read": data,
        "rows": len(model.groups_),
        "label": model.target_,
        "task": model.task_,
        "classes": [str(label) for label in model.classes_],
        "class_counts": model.class_counts_,
        "columns": [{"name": c.name, "kind": c.kind, "values": c.note} for c in model.columns_],
        "kept": model.trials_[0].title,
        "models": [
            {"title": t.title, "error": t.error, "log_loss": t.log_loss, "seconds": t.seconds} for t in model.trials_
        ],
        "corrected_error": model.corrected_error_,
        "constant": model.constant_,
        "figures": {name: [f.value, f.low, f.high] for name, f in model.figures_.items()},
        "threshold": None if model.threshold_ is None else model.threshold_.value,
        "notes": model.notes_,
        "model": output,
        "report": report,
        "seconds": seconds,
    }


# --- classify, evaluate, inspect ---


def classify_tables(
    model: Any, inputs: Sequence[str], format: str | None, explain: bool, probabilities: bool, as_json: bool
) -> None:
    """Predictions for the rows of tables."""
    for path in inputs:
        path = whole_data(path)
        found, whole = read_whole(path, format, every_row=True)
        with one_line(path):
            say_unread(model, found, whole)
            for line in _answers(model, found, whole, explain, probabilities, as_json):
                click.echo(line)


def say_unread(model: Any, found: TableFile, whole: Any) -> None:
    """Say on standard error which cells cannot be read, and refuse a table where they are many."""
    from tallywise.reading.unread import refuse_many

    if found.ragged:
        click.echo(f"note: {found.name}: {found.ragged}", err=True)
    lost = model.unread(whole)
    refuse_many(lost)
    for one in lost:
        click.echo(f"note: {found.name}: {one}; read as missing", err=True)
    for one in model.unknown(whole):
        click.echo(f"note: {found.name}: {one}", err=True)
    whole.checked = True


def _answers(
    model: Any, found: TableFile, whole: Any, explain: bool, probabilities: bool, as_json: bool
) -> Iterator[str]:
    numbers = model.task == "numbers"
    P = None if numbers else model.predict_proba(whole)
    values = model.predict(whole) if P is None else [model.classes[k] for k in model.decide(P).tolist()]
    ends = model.predict_interval(whole) if numbers else None
    import numpy as np

    for i in range(whole.rows):
        where = f"{found.name}:{found.numbers[i] if i < len(found.numbers) else i + 1}"
        one = whole.take(np.array([i])) if explain else None
        reasons = model.explain(one) if explain else None
        document: dict[str, Any] = {"source": where}
        if ends is not None:
            document |= {"value": float(values[i]), "interval": [float(end) for end in ends[i]]}
            given = np.isfinite(ends[i]).all()
            document["interval"] = document["interval"] if given else None
            line = f"{values[i]:.6g}\t" + (f"{ends[i][0]:.6g} to {ends[i][1]:.6g}" if given else "no interval")
            line += f"\t{where}"
        else:
            assert P is not None
            p = P[i]
            document |= {"label": values[i], "probability": float(p[model.classes.index(values[i])])}
            line = f"{values[i]}\t{p[model.classes.index(values[i])]:.3f}\t{where}"
            if probabilities:
                document["probabilities"] = {str(c): float(x) for c, x in zip(model.classes, p, strict=True)}
                line += "\t" + " ".join(f"{name}={x:.3f}" for name, x in zip(model.classes, p, strict=True))
        if reasons is not None:
            document["bias"] = reasons.bias
            document["columns"] = [[c.column, c.value, c.contribution] for c in reasons.columns]
            line += "\n      " + "; ".join(str(c) for c in reasons.columns[:6] if abs(c.contribution) >= 0.005)
            flip = model.flip(one)
            document["flip"] = None if flip is None else {"becomes": flip.becomes, "changes": flip.changes}
            if flip is not None:
                line += f"\n      would be {flip.becomes} with {_changes(flip.changes)}"
        yield json.dumps(document, ensure_ascii=False) if as_json else line


def explain_table(model: Any, path: str, format: str | None, label: str | None, most: int, as_json: bool) -> None:
    """What each column of the first row of a table adds, and what would change the verdict."""
    import numpy as np

    path = whole_data(path)
    _, whole = read_whole(path, format)
    if not whole.rows:
        msg = f"{path} holds no rows"
        raise InputError(msg)
    chosen = next((name for name in model.classes if str(name) == label), label)
    with one_line(path):
        one = model.table(whole).take(np.array([0]))  # whose decimal signs the whole table decides
        found, flip = model.explain(one, chosen), model.flip(one)
    changes = {} if flip is None else flip.changes
    if as_json:
        emit(
            {
                "label": found.label,
                "probability": found.probability,
                "score": found.score,
                "bias": found.bias,
                "columns": [
                    {
                        "column": c.column,
                        "value": c.value,
                        "contribution": c.contribution,
                        "words": [[word.term, word.contribution] for word in c.words],
                    }
                    for c in found.columns
                ],
                "flip": None if flip is None else {"becomes": flip.becomes, "changes": changes},
            }
        )
        return
    head = f"{found.label:g}" if found.probability is None else f"{found.label}  {found.probability:.4f}"
    click.echo(f"{head}   score {found.score:+.4g} = average row {found.bias:+.4g} + columns\n")
    rows = [["column", "value", "adds"]]
    for c in found.columns[:most]:
        value = "missing" if c.value is None else shorten(_plain(c.value), 40)
        rows.append([c.column, value, f"{c.contribution:+.4g}"])
        rows += [[f"  {word.term}", "", f"{word.contribution:+.4g}"] for word in c.words[:_MOST_WORDS]]
    click.echo(table(rows, right=(2,)))
    rest = found.columns[most:]
    if rest:
        click.echo(f"  and {len(rest)} more columns: {sum(c.contribution for c in rest):+.4g}")
    if flip is not None:
        click.echo(f"\nwould be {flip.becomes} with {_changes(changes)}")


def _changes(changes: dict[str, tuple[Any, Any]]) -> str:
    return " and ".join(f"{name} = {_plain(after)}" for name, (_, after) in changes.items())


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def evaluate_table(model: Any, data: str, format: str | None, label: str | None, seed: int, as_json: bool) -> None:
    """Figures of a model of tables on rows that it was not trained on."""
    from tallywise.evaluation import measure, measure_numbers

    found, whole = read_whole(data, format)
    target = str(label_of(found, label) if label is not None else model.target)
    if target not in whole.columns:
        msg = f'{data} has no column "{target}": name the label with --label'
        raise InputError(msg)
    from tallywise.table import usable_target

    with one_line(data):
        say_unread(model, found, whole)
        rows, truth = usable_target(whole.columns[target], model.task, model.classes, target)
        part = whole.take(rows)
        if model.task == "numbers":
            figures = measure_numbers(truth, model.predict(part), random_state=seed)
        else:
            P = model.predict_proba(part)
            names = [str(name) for name in model.classes]
            figures = measure([names[k] for k in truth], P, names, random_state=seed)
    if as_json:
        emit({"read": data, "rows": len(rows), "figures": {n: [f.value, f.low, f.high] for n, f in figures.items()}})
        return
    click.echo(f"read {len(rows):,} rows with a label from {data}")
    click.echo(figures_table(figures, [str(name) for name in model.classes]))


def inspect_table(model: Any, path: str, size: int, as_json: bool) -> None:
    """What a model of tables holds."""
    if as_json:
        shown = {key: value for key, value in model.meta.items() if key not in ("design", "texts")}
        emit({**shown, "bytes": size})
        return
    meta = model.meta
    click.echo(f"{path}: {meta['title']}, {size_shown(size)}")
    click.echo(f'trained on {meta["rows"]:,} rows to predict "{model.target}" ({model.task})')
    for line in meta["description"]:
        click.echo(line)
    click.echo(figures_table(meta["figures"], [str(name) for name in model.classes]))
    click.echo(table([["column", "holds"], *([column.name, column.kind] for column in model.columns)]))
