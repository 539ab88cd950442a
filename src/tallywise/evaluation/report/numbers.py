"""The report of a model that predicts numbers, as one HTML page."""

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation.intervals import Figure
from tallywise.evaluation.report import plots
from tallywise.evaluation.report.columns import ColumnEffect, column_section
from tallywise.evaluation.report.data import Mistake
from tallywise.evaluation.report.page import document, figure_cards, mistake_list, note_list

_CARDS = {
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R2",
    "coverage": "of the rows lie inside of their 90 % interval",
}
_POINTS = 800  # of a cloud


class NumberRival(NamedTuple):
    """A row of the comparison."""

    name: str
    loss: float
    mae: float
    seconds: float
    kept: bool


@dataclass
class NumberReportData:
    """Everything on the page. Figures, `y` and `predictions` are of held-out rows."""

    title: str
    source: str
    target: str
    y: NDArray[np.float64]
    predictions: NDArray[np.float64]
    figures: dict[str, Figure]
    constant: Figure  # of always the mean
    split: str
    model: str
    loss: str = "RMSE"  # by which models were compared
    rivals: list[NumberRival] = field(default_factory=list)
    coverage: list[tuple[float, Figure]] = field(default_factory=list)  # asked for, and found
    columns: list[ColumnEffect] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def render_numbers(data: NumberReportData) -> str:
    """The page, as text to be written to a file."""
    note = (
        "The rows whose error is largest for its usual size at that prediction. Orange cells raise the prediction, "
        "blue ones lower it, by the final model; predictions are of models that were not trained on the row."
    )
    sections = [
        _head(data),
        note_list(data.warnings),
        _comparison(data),
        _errors(data),
        _coverage(data),
        column_section(data.columns, "the prediction, in units of the target"),
        mistake_list(data.mistakes, "Largest errors", note),
    ]
    return document(data.title, sections)


def _head(data: NumberReportData) -> str:
    low, high = float(data.y.min()), float(data.y.max())
    return (
        f"<h1>{escape(data.title)}</h1>"
        f'<p class="note">{len(data.y):,} rows from {escape(data.source)}, {escape(data.target)} from {low:g} to '
        f"{high:g}.<br>Model: {escape(data.model)}. Every figure is measured on held-out rows ({escape(data.split)}), "
        f"with a 95 % interval.</p>{figure_cards(data.figures, _CARDS)}"
    )


def _comparison(data: NumberReportData) -> str:
    constant = data.constant
    bound = f"<td class=n>{constant.value:.4g}</td>" if data.loss == "RMSE" else "<td></td>"
    rows = [f'<tr class="bound"><td>always the mean</td>{bound}<td></td><td></td></tr>']
    for rival in data.rivals:
        kept = ' class="kept"' if rival.kept else ""
        rows.append(
            f"<tr{kept}><td>{escape(rival.name)}{' (kept)' if rival.kept else ''}</td><td class=n>{rival.loss:.4g}</td>"
            f'<td class="n">{rival.mae:.4g}</td><td class="n">{rival.seconds:.2f} s</td></tr>'
        )
    return (
        f"<h2>Comparison</h2><table class=compared><tr><th>model</th><th class=n>{data.loss}</th>"
        f"<th class=n>MAE</th><th class=n>time</th></tr>{''.join(rows)}</table>"
    )


def _errors(data: NumberReportData) -> str:
    order = np.argsort(data.predictions, kind="stable")
    some = order[np.unique(np.linspace(0, len(order) - 1, _POINTS).astype(int))]
    z, y = data.predictions[some], data.y[some]
    errors = data.y - data.predictions
    pictures = [
        ("true against predicted", plots.scatter(z, y, ("predicted", "true"), "true against predicted", diagonal=True)),
        ("error against predicted", plots.scatter(z, y - z, ("predicted", "true - predicted"), "errors", at=0.0)),
        ("how often errors of each size occur", plots.histogram(errors, ("true - predicted", "rows"))),
    ]
    shown = "".join(f"<figure>{svg}<figcaption>{caption}</figcaption></figure>" for caption, svg in pictures)
    return f'<h2>Errors</h2><div class="plots">{shown}</div>'


def _coverage(data: NumberReportData) -> str:
    if not data.coverage:
        return ""
    rows = "".join(
        f"<tr><td class=n>{100 * asked:.0f} %</td><td class=n>{100 * f.value:.1f} %</td>"
        f"<td class=n>{100 * f.low:.1f} to {100 * f.high:.1f} %</td></tr>"
        for asked, f in data.coverage
    )
    note = (
        "How many rows lie inside of an interval that was asked to hold such a share of them. Each fifth of the "
        "held-out rows is judged by intervals from the errors of the others."
    )
    head = "<tr><th class=n>asked for</th><th class=n>inside</th><th class=n>95 % interval</th></tr>"
    return f"<h2>Intervals</h2><p class=note>{note}</p><table>{head}{rows}</table>"
