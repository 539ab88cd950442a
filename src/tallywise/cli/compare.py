"""``tally compare``: families of models by nested cross-validation."""

import click

from tallywise.cli._shared import emit, options, percent, read_labelled, set_threads, status, table


@click.command()
@click.argument("data", type=click.Path())
@options("text", "label", "format")
@click.option("--models", help="Names, comma-separated; all that fit by default.")
@click.option("--folds", type=click.IntRange(2, 20), default=5, show_default=True, help="Outer folds.")
@options("threads", "seed", "json")
def command(
    data: str,
    text: str | None,
    label: str | None,
    format: str | None,
    models: str | None,
    folds: int,
    threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    r"""Compare families of models honestly, by nested cross-validation.

    \b
    Examples:
      tally compare inbox.csv
      tally compare inbox.csv --models multinomial_nb,logistic --json
    """
    set_threads(threads)
    with status("reading") as tell:
        found = read_labelled(data, text, label, format)
        import numpy as np

        from tallywise.classifier import RECIPES, TextClassifier
        from tallywise.evaluation import compare, duplicate_groups

        classes = np.unique(found.labels)
        names = models.split(",") if models else [r.name for r in RECIPES if r.fits(classes, len(found.texts))]
        candidates = {name: TextClassifier(name, folds=3, random_state=seed) for name in names}
        result = compare(
            candidates,
            found.texts,
            found.labels,
            groups=duplicate_groups(found.texts),
            n_splits=folds,
            random_state=seed,
            progress=tell,
        )
    if as_json:
        emit({"read": found.says, **result.as_dict()})
        return
    click.echo(found.says)
    rows = [[result.says, "error", "95 % interval", "log loss", "fit", "a text", "size", "as good as the best?"]]
    rows.append(["always the commonest class", percent(result.constant_error), "", "", "", "", "", ""])
    for s in result.standings:
        error = s.figures["error"]
        doubt = "best" if s is result.best else f"p = {s.p_t:.3f} (folds), {s.p_mcnemar:.3f} (rows)"
        rows.append(
            [
                s.name,
                percent(error.value),
                f"{percent(error.low)} to {percent(error.high)}",
                f"{s.figures['log_loss'].value:.4f}",
                f"{s.fit_seconds:.2f} s",
                f"{s.predict_microseconds:.0f} us",
                f"{s.megabytes:.1f} MB",
                doubt,
            ]
        )
    click.echo(table(rows, right=(1, 3, 4, 5, 6)))
    click.echo(f"all alike? Friedman p = {result.p_friedman:.3g}")
