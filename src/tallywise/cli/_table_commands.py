"""Tables with columns of any kind, for the commands that train and use models."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from tallywise.cli._options_and_output import emit, metrics_table, whole_data
from tallywise.plain_text import shorten, size_shown, table
from tallywise.reading import InputError, TableFile, read_table

_MOST_WORDS = 5  # of a text among columns


def _column_option(name: str, help: str) -> Any:
    return click.option(name, multiple=True, metavar="COLUMN", help=help)


TABLE_OPTIONS = (
    click.option(
        "--task",
        type=click.Choice(["classes", "grades", "numbers"]),
        help="What the label of a table is; recognised by default.",
    ),
    _column_option("--category", "Column of categories (may be repeated); recognised by default."),
    _column_option("--number", "Column of numbers (may be repeated); recognised by default."),
    _column_option("--ignore", "Column to leave out (may be repeated)."),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal sign of columns that could have either, such as 1.250 beside 950; recognised by default.",
    ),
)


def table_options(command: Any) -> Any:
    """Add the options that say what columns hold."""
    for option in reversed(TABLE_OPTIONS):
        command = option(command)
    return command


def is_table_model(model: Any) -> bool:
    """Whether a loaded model reads tables."""
    from tallywise.models.table_serving import TableRuntime

    return isinstance(model, TableRuntime)


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
    return found, found.table()


@contextmanager
def one_line(path: str = "") -> Iterator[None]:
    """What the library refuses, as an error of the input."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: {error}" if path else str(error)) from None


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
    from tallywise.reading.unreadable_cells import refuse_many

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
    from tallywise.table_model import usable_target

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
    click.echo(metrics_table(figures, [str(name) for name in model.classes]))


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
    click.echo(metrics_table(meta["figures"], [str(name) for name in model.classes]))
    click.echo(table([["column", "holds"], *([column.name, column.kind] for column in model.columns)]))
