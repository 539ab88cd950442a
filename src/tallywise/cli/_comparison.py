"""Comparisons of models, as the command shows them."""

from typing import Any

import click

from tallywise.cli._shared import emit, percent, status, table
from tallywise.cli._tables import Choices, read_whole, target_of
from tallywise.reading import InputError


def compare_table(
    data: str,
    format: str | None,
    label: str | None,
    choices: Choices,
    models: list[str] | None,
    cv: int,
    as_json: bool,
    **settings: Any,
) -> None:
    """Models of a table by nested cross-validation."""
    with status("reading") as tell:
        found, whole = read_whole(data, format, label)
        target = target_of(data, found, whole, label)
        from tallywise.table import compare_models

        try:
            result = compare_models(whole, target, models, n_splits=cv, progress=tell, **choices._asdict(), **settings)
        except ValueError as error:
            raise InputError(str(error)) from None
    read = f'read {whole.rows:,} rows from {data} ({found.description}), label = "{target}"'
    if as_json:
        emit({"read": read, **result.as_dict()})
        return
    show_comparison(read, result, "row")


def show_comparison(read: str, result: Any, unit: str = "text") -> None:
    """A comparison of models, of classes or of numbers, as a table."""
    click.echo(read)
    numbers = "rmse" in result.best.figures
    heads = ("RMSE", "MAE") if numbers else ("error", "log loss")
    first, second = ("rmse", "mae") if numbers else ("error", "log_loss")

    def shown(x: float) -> str:
        return f"{x:.4g}" if numbers else percent(x)

    head = [heads[0], "95 % interval", heads[1], "fit", f"per {unit}", "size", "difference to the best"]
    constant = "always the mean" if numbers else "always the most frequent class"
    rows = [[result.description, *head], [constant, shown(result.constant_error), *[""] * 6]]
    for s in result.results:
        error = s.figures[first]
        p = f"p = {s.p_t:.3f} (t-test)" + ("" if s.p_mcnemar is None else f", {s.p_mcnemar:.3f} (McNemar)")
        rows.append(
            [
                s.name,
                shown(error.value),
                f"{shown(error.low)} to {shown(error.high)}",
                f"{s.figures[second].value:.4f}",
                f"{s.fit_seconds:.2f} s",
                f"{s.predict_microseconds:.0f} us",
                f"{s.megabytes:.1f} MB",
                "best" if s is result.best else p,
            ]
        )
    click.echo(table(rows, right=(1, 3, 4, 5, 6)))
    if len(result.results) > 2:  # it compares three models or more
        click.echo(f"Friedman test that all models are equal: p = {result.p_friedman:.3g}")
