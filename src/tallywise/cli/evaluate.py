"""``tally evaluate``: figures of a saved model on labelled texts."""

import click
import numpy as np

from tallywise.cli._label_set_commands import evaluate_label_sets, is_label_model
from tallywise.cli._options_and_output import (
    emit,
    metrics_table,
    options,
    read_data,
    read_texts,
    set_threads,
    status,
    whole_data,
)
from tallywise.cli._table_commands import evaluate_table, is_table_model
from tallywise.reading import InputError, LabelSets


@click.command()
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@options("text", "label", "label_separator", "format", "threads", "seed", "json")
def command(
    model: str,
    data: str,
    text: str | None,
    label: str | None,
    label_separator: str | None,
    format: str | None,
    threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    r"""Evaluate a saved model on labelled texts that it was not trained on.

    \b
    Example:
      tally evaluate model.tally later.csv
    """
    set_threads(threads)
    data = whole_data(data)
    from tallywise.models.loading import load

    with status("reading"):
        loaded = load(model)
        if is_table_model(loaded):
            evaluate_table(loaded, data, format, label, seed, as_json)
            return
        if is_label_model(loaded):
            separator = label_separator if label_separator is not None else loaded.meta.get("label_separator")
            sets = read_data(data, label, format, text=text or (), label_separator=separator, kind="texts")
            if not isinstance(sets, LabelSets):
                msg = f"{data}: several labels per text are needed here: a column of lists, or --label-separator"
                raise InputError(msg)
            evaluate_label_sets(loaded, sets, seed, as_json)
            return
        found = read_texts(data, text, label, format)
        from tallywise.evaluation import duplicate_groups, measure

        names = [str(name) for name in loaded.classes]
        P = loaded.predict_proba(found.texts)
        verdicts = np.array(names)[loaded.decide(P)]
        figures = measure(
            found.labels, P, names, predictions=verdicts, groups=duplicate_groups(found.texts), random_state=seed
        )
    if as_json:
        emit({"read": found.read, "figures": {name: [f.value, f.low, f.high] for name, f in figures.items()}})
        return
    click.echo(found.read)
    click.echo(metrics_table(figures, names))
