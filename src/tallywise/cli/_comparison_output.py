"""Comparisons of models, as the command shows them."""

from typing import Any

import click

from tallywise.cli._options_and_output import emit
from tallywise.cli._table_commands import one_line
from tallywise.plain_text import percent, table
from tallywise.reading import LabelledTable


def compare_table(
    data: LabelledTable,
    models: list[str] | None,
    cv: int,
    as_json: bool,
    tell: Any,
    **settings: Any,
) -> None:
    """Models of a table by nested cross-validation."""
    from tallywise.table_model import compare_models

    with one_line():
        result = compare_models(
            data.table, data.target, models, n_splits=cv, progress=tell, **vars(data.choices), **settings
        )
    read = f"read {data.table.rows:,} {data.read}"
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
