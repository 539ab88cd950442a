"""``tally compare``: models by nested cross-validation."""

from typing import Any

import click

from tallywise.cli._shared import emit, options, percent, read_labelled, set_threads, status, table
from tallywise.cli._values import class_costs, class_weights, stop_word_list


@click.command()
@click.argument("data", type=click.Path())
@options("text", "label", "format")
@options("ngrams", "stop_words", "class_weight", "costs")
@click.option("--models", help="Names, comma-separated; all applicable ones by default.")
@click.option("--cv", type=click.IntRange(2, 20), default=5, show_default=True, help="Outer folds.")
@options("threads", "seed", "json")
def command(
    data: str,
    text: str | None,
    label: str | None,
    format: str | None,
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

    \b
    Examples:
      tally compare inbox.csv
      tally compare inbox.csv --models multinomial_nb,logistic --json
    """
    set_threads(threads)
    words = stop_word_list(stop_words)
    with status("reading") as tell:
        found = read_labelled(data, text, label, format)
        import numpy as np

        from tallywise.classifier import RECIPES, TextClassifier
        from tallywise.evaluation import compare, duplicate_groups

        classes = np.unique(found.labels)
        names = models.split(",") if models else [r.name for r in RECIPES if r.fits(classes, len(found.texts))]
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
        emit({"read": found.description, **result.as_dict()})
        return
    click.echo(found.description)
    rows = [
        [result.description, "error", "95 % interval", "log loss", "fit", "per text", "size", "difference to the best"]
    ]
    rows.append(["always the most frequent class", percent(result.constant_error), "", "", "", "", "", ""])
    for s in result.results:
        error = s.figures["error"]
        p = "best" if s is result.best else f"p = {s.p_t:.3f} (t-test), {s.p_mcnemar:.3f} (McNemar)"
        rows.append(
            [
                s.name,
                percent(error.value),
                f"{percent(error.low)} to {percent(error.high)}",
                f"{s.figures['log_loss'].value:.4f}",
                f"{s.fit_seconds:.2f} s",
                f"{s.predict_microseconds:.0f} us",
                f"{s.megabytes:.1f} MB",
                p,
            ]
        )
    click.echo(table(rows, right=(1, 3, 4, 5, 6)))
    if len(result.results) > 2:  # it compares three models or more
        click.echo(f"Friedman test that all models are equal: p = {result.p_friedman:.3g}")
