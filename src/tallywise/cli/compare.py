"""``tally compare``: models by nested cross-validation."""

from typing import Any

import click

from tallywise.cli._comparison_output import compare_table, show_comparison
from tallywise.cli._option_values import class_costs, class_weights, stop_word_list
from tallywise.cli._options_and_output import emit, one_label, options, read_data, set_threads, status, whole_data
from tallywise.cli._table_commands import table_options
from tallywise.reading import LabelledTable, TableChoices


@click.command()
@click.argument("data", type=click.Path())
@options("text", "label", "format")
@table_options
@options("ngrams", "stop_words", "class_weight", "costs")
@click.option("--models", help="Names, comma-separated; all applicable ones by default.")
@click.option("--cv", type=click.IntRange(2, 20), default=5, show_default=True, help="Outer folds.")
@options("threads", "seed", "json")
def command(
    data: str,
    text: str | None,
    label: str | None,
    format: str | None,
    task: str | None,
    decimal: str | None,
    category: tuple[str, ...],
    number: tuple[str, ...],
    ignore: tuple[str, ...],
    ngrams: int | None,
    stop_words: str,
    class_weight: tuple[str, ...],
    costs: tuple[str, ...],
    models: str | None,
    cv: int,
    threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    r"""Compare models by nested cross-validation.

    DATA is a file of texts or a table, as for tally train.

    \b
    Examples:
      tally compare inbox.csv
      tally compare inbox.csv --models multinomial_nb,logistic --json
      tally compare housing.csv --label price --models ridge,pairs_ridge
    """
    set_threads(threads)
    data = whole_data(data)
    words = stop_word_list(stop_words)
    choices = TableChoices((text,) if text else (), category, number, ignore, task, decimal)
    with status("reading") as tell:
        from tallywise.training import TEXT_ONLY

        named = models.split(",") if models else []
        of_texts = bool(ngrams or words or {*named} & {*TEXT_ONLY}) and not choices.of_tables
        data_read = read_data(data, label, format, **vars(choices), kind="texts" if of_texts else None)
        if isinstance(data_read, LabelledTable):
            weights = {"class_weight": class_weights(class_weight, None)}
            given = {"costs": class_costs(costs, None) if costs else None, "random_state": seed, **weights}
            compare_table(data_read, named or None, cv, as_json, tell, **given)
            return
        found = one_label(data_read)
        import numpy as np

        from tallywise.evaluation import compare, duplicate_groups
        from tallywise.text_model import MODEL_TYPES, TextClassifier

        classes = np.unique(found.labels)
        names = named or [r.name for r in MODEL_TYPES if r.fits(classes, len(found.texts))]
        settings: dict[str, Any] = {
            "ngram_range": None if ngrams is None else (1, ngrams),
            "stop_words": words,
            "class_weight": class_weights(class_weight, found.labels),
            "costs": class_costs(costs, found.labels) if costs else None,
            "random_state": seed,
        }
        candidates = {name: TextClassifier(name, cv=3, **settings) for name in names}
        result = compare(
            candidates,
            found.texts,
            found.labels,
            groups=duplicate_groups(found.texts),
            n_splits=cv,
            random_state=seed,
            progress=tell,
        )
    if as_json:
        emit({"read": found.read, **result.as_dict()})
        return
    show_comparison(found.read, result)
