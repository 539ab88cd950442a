"""The page of a model of a table: a form of its columns, and the prediction for what was filled in."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Template

from tallywise.plain_text import typeset
from tallywise.serve.rendering import excerpt, templates
from tallywise.table_model import TableRuntime

_LEVELS = 200  # of a category, offered
_WORDS = 6  # of a text, shown
_LONGEST = 60
_NUMBER = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
_RANGE = re.compile(f"{_NUMBER} to {_NUMBER}")  # of a column of numbers, as its description begins
_METRICS = {
    "error": "error",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "roc_area": "ROC area",
    "rmse": "RMSE",
    "mae": "mean absolute error",
    "r2": "R²",
}


def page(model: TableRuntime, sent: Mapping[str, str], found: Mapping[str, Any] | None, root: str = "") -> str:
    """The page; `found` is what the service says of the row that was sent, `root` stands before all addresses."""
    metrics = model.meta.get("figures", {})
    return _template().render(
        root=root,
        model=model,
        sent=sent,
        found=found,
        levels={c.name: model.levels(c.name)[:_LEVELS] for c in model.columns if c.kind == "category"},
        metrics=[(_METRICS[name], *f) for name, f in metrics.items() if name in _METRICS and None not in f],
        rows=_reasons(found) if found and "columns" in found else [],
    )


@cache
def _template() -> Template:
    environment = templates()
    environment.filters["cell"] = _cell
    return environment.get_template("table.html")


def unlike(model: TableRuntime, record: Mapping[str, str | None]) -> dict[str, str]:
    """What the model never saw, by column: categories that it does not know, numbers beyond those learned from."""
    found = {}
    for column in model.columns:
        value = record.get(column.name)
        if value is None:
            continue
        levels, ends = model.levels(column.name), _RANGE.match(column.note)
        if column.kind == "category" and levels and value not in levels:
            found[column.name] = f"{value[:40]!r} is not among the values learned from"
        elif column.kind == "number" and ends:
            number = model.shown_values(column.name, [dict(record)])[0]
            if number is not None and not float(ends[1]) <= number <= float(ends[2]):
                found[column.name] = f"beyond the values learned from, {ends[1]} to {ends[2]}"
    return found


def _reasons(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each column adds, with the length of its bar: average row and columns sum up to the score."""
    rows: list[tuple[str, str, float]] = [("average row", "", found["bias"])]
    for column in found["columns"]:
        rows.append((column["column"], _cell(column["value"]), column["contribution"]))
        rows += [(f"· {word}", "", added) for word, added in column["words"][:_WORDS]]
    top = max(abs(added) for _, _, added in rows) or 1.0
    return [
        {"name": name, "cell": cell, "value": added, "length": round(100 * abs(added) / top, 1)}
        for name, cell, added in rows
    ]


def _cell(value: Any) -> str:
    if value is None:
        return "missing"
    return typeset(value) if isinstance(value, float) else excerpt(str(value), _LONGEST)
