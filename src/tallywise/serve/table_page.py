"""The page of a model of a table: a form of its columns, and the verdict on what was filled in."""

from collections.abc import Mapping
from html import escape
from typing import Any

from tallywise.table import Column, TableRuntime

_LEVELS = 200  # of a category, offered
_WORDS = 6  # of a text, shown
_LONGEST = 60
_FIGURES = {
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
    fields = "".join(_field(model, k, column, sent.get(column.name, "")) for k, column in enumerate(model.columns))
    title = f"What is {escape(model.target)}?"
    note = f"{escape(str(model.meta.get('title', '')))}, learned from {int(model.meta.get('rows', 0)):,} rows."
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title} · tallywise</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="{root}/static/icon.svg" type="image/svg+xml">'
        f'<link rel="stylesheet" href="{root}/static/report.css">'
        f'<link rel="stylesheet" href="{root}/static/page.css"></head>'
        f'<body><main id="main"><h1>{title}</h1><p class="note">{note} Empty fields count as missing.</p>'
        f'<form method="post" action="{root}/try" class="stack">{fields}'
        '<button class="main">What is it?</button></form>'
        f"{'' if found is None else _verdict(model, found)}{_figures(model)}</main></body></html>\n"
    )


def _figures(model: TableRuntime) -> str:
    """How good the model is, on rows that it had not seen."""
    cards = "".join(
        f'<div class="card"><span>{escape(_FIGURES[name])}</span><b>{value:.4g}</b><span>{low:.4g} to {high:.4g}</span>'
        "</div>"
        for name, (value, low, high) in model.meta.get("figures", {}).items()
        if name in _FIGURES and None not in (value, low, high)
    )
    if not cards:
        return ""
    split = escape("; ".join(model.meta.get("description", [])[:1]))
    note = f"On rows not seen ({split}), with 95 % intervals."
    return f'<h2>How good it is</h2><p class="note">{note}</p><div class="cards">{cards}</div>'


def _field(model: TableRuntime, k: int, column: Column, value: str) -> str:
    name, shown = f"c{k}", escape(value, quote=True)
    label = f'<label for="{name}">{escape(column.name)} <span class="note">{column.kind}</span></label>'
    if column.kind == "text":
        return f'{label}<textarea id="{name}" name="{name}" rows="4" dir="auto">\n{escape(value)}</textarea>'
    extra = ""
    if column.kind == "category":
        options = "".join(
            f'<option value="{escape(level, quote=True)}">' for level in model.levels(column.name)[:_LEVELS]
        )
        label += f'<datalist id="{name}-levels">{options}</datalist>'
        extra = f' list="{name}-levels"'
    elif column.kind == "number":
        extra = ' inputmode="decimal"'
    return f'{label}<input id="{name}" name="{name}" value="{shown}" autocomplete="off" dir="auto"{extra}>'


def _verdict(model: TableRuntime, found: Mapping[str, Any]) -> str:
    if "problem" in found:
        return f'<p role="alert">{escape(found["problem"])}</p>'
    if model.task == "numbers":
        ends = found["interval"]
        between = (
            "no interval: too few rows like this one"
            if ends is None
            else "{:.6g} to {:.6g} in 9 of 10 cases".format(*ends)
        )
        head = f"<b>{found['value']:.6g}</b> <span>{between}</span>"
        ranked = ""
    else:
        head = f'<b dir="auto">{escape(str(found["label"]))}</b> <span>{100 * found["probability"]:.1f} %</span>'
        best = sorted(found["probabilities"].items(), key=lambda pair: -pair[1])[:8]
        rows = "".join(
            f'<tr><th scope="row" dir="auto">{escape(name)}</th><td><meter min="0" max="1" value="{p:.4f}"></meter>'
            f'</td><td class="n">{100 * p:.1f} %</td></tr>'
            for name, p in best
        )
        ranked = f'<table class="ranked">{rows}</table>'
    flip = ""
    if model.task != "numbers":
        flip = f"<h2>What would change it</h2><p>{_flip(found['flip'])}</p>"
    return (
        f'<section aria-label="Verdict"><h2>Verdict</h2><p class="verdict">{head}</p>{ranked}{_reasons(found)}'
        f"{flip}</section>"
    )


def _flip(flip: Mapping[str, Any] | None) -> str:
    if flip is None:
        return "No change of up to four columns was found that flips the verdict."
    changes = " and ".join(f"{escape(name)} = {_shown(after)}" for name, (_, after) in flip["changes"].items())
    return f"With {changes} it would be <b>{escape(str(flip['becomes']))}</b>."


def _reasons(found: Mapping[str, Any]) -> str:
    """What each column adds, with bars: those of the average row and the columns sum up to the score."""
    rows = [("average row", "", found["bias"])]
    for column in found["columns"]:
        rows.append((column["column"], _shown(column["value"]), column["contribution"]))
        rows += [(f"· {word}", "", added) for word, added in column["words"][:_WORDS]]
    top = max(abs(added) for _, _, added in rows) or 1.0
    listed = "".join(
        f'<tr><th scope="row" dir="auto">{escape(name)}</th><td dir="auto">{value}</td><td class="n">{added:+.4g}</td>'
        f"<td>{_bar(100 * added / top)}</td></tr>"
        for name, value, added in rows
    )
    return (
        '<h2>Why</h2><table class="bars"><caption>What adds up to the score</caption><thead><tr><th scope="col">column'
        '</th><th scope="col">value</th><th scope="col" class="n">adds</th><th></th></tr></thead>'
        f'{listed}<tr class="total"><th scope="row">score</th><td></td><td class="n">{found["score"]:+.4g}</td>'
        "<td></td></tr></table>"
    )


def _bar(length: float) -> str:
    kind, x = ("for", 100.0) if length >= 0 else ("against", 100 + length)
    return (
        '<svg class="bar" viewBox="0 0 200 12" aria-hidden="true" preserveAspectRatio="none">'
        f'<rect class="{kind}" x="{x:.1f}" y="1" width="{abs(length):.1f}" height="10"/>'
        '<path class="axis" d="M100 0V12"/></svg>'
    )


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    text = f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
    return escape(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
