"""The report as one HTML page, for every kind of model: no network, and texts are escaped.

The templates say what stands where; here is what they show: data to numbers, pictures and colours.
"""

import datetime
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import tallywise
from tallywise._highlight import Span, pieces
from tallywise.evaluation.intervals import Metric
from tallywise.evaluation.metrics_per_class import ClassMetrics
from tallywise.plain_text import typeset
from tallywise.report import curves, svg
from tallywise.report.data import ColumnEffect, LabelReportData, NumberReportData, ReportData

_MOST_TEXT = 1500  # characters of a mistake that are shown
_MOST_CLASSES = 30  # a larger confusion table is shown by its worst pairs
_FOLDED_CLASSES = 20  # of more, the worst are shown and the rest is folded up
_SHOWN_CLASSES = 12
_TERMS = 12  # of a class
_PAIRS = 25  # of classes that are confused most
_COLUMN_PICTURES = 6  # columns whose values are shown one by one
_COLUMN_BARS = 24
_POINTS = 800  # of a cloud
_THRESHOLDS = 400  # of the slider
_OF_MAIL_FILTERS = ("lam%", "1-ROCA%")
_CARDS = {  # figures, as they are called on the page; the first leads
    "accuracy": "are classified correctly",
    "micro_f1": "micro F1",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R2",
    "coverage": "of the rows lie inside of their 90 % interval",
    "macro_f1": "macro F1",
    "micro_precision": "micro precision",
    "micro_recall": "micro recall",
    "exact_match": "of the texts get exactly their labels",
    "error": "error",
    "log_loss": "log loss",
    "brier": "Brier score",
    "roc_area": "area under the ROC curve",
    "pr_area": "average precision",
    "mcc": "Matthews correlation",
    "lam%": "lam % (TREC)",
    "1-ROCA%": "1-ROCA % (TREC)",
}
_CONTENTS = "<!-- contents -->"
_SHARES = (
    *("error", "accuracy", "coverage", "recall_at_max_flagged", "exact_match"),
    *("micro_f1", "macro_f1", "micro_precision", "micro_recall"),
)


def render(data: ReportData | LabelReportData | NumberReportData) -> str:
    """The page about a model, as text to be written to a file."""
    template, of_kind = _KINDS[type(data)]
    shown = data.figures
    if isinstance(data, ReportData) and not data.about_spam:
        shown = {name: figure for name, figure in shown.items() if name not in _OF_MAIL_FILTERS}
    context = {"cards": [(shown[name], _CARDS[name]) for name in _CARDS if name in shown], "sweep": Markup("[]")}
    context |= {"today": datetime.date.today().isoformat(), "version": tallywise.__version__}
    page = _environment().get_template(template).render(data=data, **{**context, **of_kind(data)})
    return _with_contents(page).strip() + "\n"


def _with_contents(page: str) -> str:
    """The page with a list of its sections where there is room for it."""
    titles: list[str] = []

    def numbered(found: re.Match[str]) -> str:
        titles.append(found[1])
        return f'<a id="part-{len(titles)}"></a><h2>{found[1]}</h2>'

    page = re.sub(r"<h2>([^<]*)</h2>", numbered, page)
    links = "".join(f'<a href="#part-{k}">{title}</a>' for k, title in enumerate(titles, 1))
    return page.replace(_CONTENTS, f'<nav class="contents" aria-label="Contents">{links}</nav>', 1)


@cache
def _environment() -> Environment:
    folder = files("tallywise.report") / "templates"
    made = Environment(
        loader=PackageLoader("tallywise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {name: Markup((folder / f"page.{end}").read_text()) for name, end in _FILES.items()}
    made.filters |= _FILTERS
    return made


_FILES = {"style": "css", "script": "js"}


def _of_classes(data: ReportData) -> dict[str, Any]:
    K = len(data.classes)
    counts = np.bincount(data.codes * K + data.verdicts, minlength=K * K).reshape(K, K)
    support = sorted(zip(data.classes, counts.sum(axis=1).tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))
    sweep = threshold_points(data)
    return {
        "support": support,
        "sweep": Markup(json.dumps(sweep)),
        "slider_points": len(sweep),
        "slider_start": min(range(len(sweep)), key=lambda k: abs(sweep[k][0] - data.threshold), default=0),
        "curve_pictures": [(caption, Markup(picture)) for caption, picture in curve_pictures(data)],
        "learning_picture": Markup(learning_picture(data)),
        "confused_pairs": _worst_pairs(data.classes, counts) if K > _MOST_CLASSES else [],
        "confusion": _confusion(data.classes, counts) if K <= _MOST_CLASSES else [],
    }


def _of_labels(data: LabelReportData) -> dict[str, Any]:
    return {"thresholds": {c.name: f"{t:.3f}" for c, t in zip(data.by_label, data.thresholds, strict=True)}}


def _of_numbers(data: NumberReportData) -> dict[str, Any]:
    order = np.argsort(data.predictions, kind="stable")
    some = order[np.unique(np.linspace(0, len(order) - 1, _POINTS).astype(int))]
    z, y = data.predictions[some], data.y[some]
    against = "true against predicted"
    pictures = [
        (against, svg.scatter(z, y, ("predicted", "true"), against, diagonal=True)),
        ("error against predicted", svg.scatter(z, y - z, ("predicted", "true - predicted"), "errors", at=0.0)),
        ("how often errors of each size occur", svg.histogram(data.y - data.predictions, ("true - predicted", "rows"))),
    ]
    return {"error_pictures": [(caption, Markup(picture)) for caption, picture in pictures]}


_KINDS: dict[type, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    ReportData: ("classes.html", _of_classes),
    LabelReportData: ("labels.html", _of_labels),
    NumberReportData: ("numbers.html", _of_numbers),
}


# --- pictures and tables of classes; the workbench shows them, too ---


def threshold_points(data: ReportData, most: int = _THRESHOLDS) -> list[list[float]]:
    """[threshold, shares flagged of the other class, of this one, of all], for the slider; its start among them."""
    if len(data.classes) != 2:
        return []
    positive, scores = data.codes == data.positive, data.probabilities[:, data.positive]
    levels = np.append(curves.some_thresholds(scores, most), data.threshold)
    shares = curves.threshold_shares(positive, scores, levels)
    return sorted([s.threshold, s.flagged.value, s.caught.value, s.of_all] for s in shares)


def curve_pictures(data: ReportData) -> list[tuple[str, str]]:
    """Captions and SVG: ROC, precision and recall of two classes; calibration."""
    pictures = []
    if len(data.classes) == 2 and 0 < (data.codes == data.positive).sum() < len(data.codes):
        positive, scores = data.codes == data.positive, data.probabilities[:, data.positive]
        pictures += [
            ("ROC curve", svg.roc(positive, scores)),
            ("precision and recall", svg.precision_recall(positive, scores)),
        ]
    claimed = np.take_along_axis(data.probabilities, data.verdicts[:, None], axis=1)[:, 0]
    calibration = svg.reliability(data.verdicts == data.codes, claimed)
    return [*pictures, ("calibration: share correct against predicted probability", calibration)]


def learning_picture(data: ReportData) -> str:
    """SVG of the error by number of training rows; empty where it is known at one number alone."""
    if len(data.curve) < 2:
        return ""
    errors = [figure for _, figure in data.curve]
    ends = ([f.value for f in errors], [f.low for f in errors], [f.high for f in errors])
    return svg.learning([n for n, _ in data.curve], *ends)


def _worst_pairs(classes: Sequence[str], counts: Any) -> list[tuple[str, str, int]]:
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    K = len(classes)
    worst = np.argsort(-wrong, axis=None, kind="stable")[:_PAIRS].tolist()
    return [(classes[w // K], classes[w % K], int(wrong.flat[w])) for w in worst if wrong.flat[w]]


def _confusion(classes: Sequence[str], counts: Any) -> list[tuple[str, list[tuple[int, str]]]]:
    """Rows of the table: a class, and for each prediction the number and its colour."""
    percent = 60 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return [
        (
            name,
            [(int(n), _tint("--good" if j == k else "--for", percent[k, j])) for j, n in enumerate(counts[k])],
        )
        for k, name in enumerate(classes)
    ]


def _tint(colour: str, percent: float) -> str:
    return f"background: color-mix(in srgb, var({colour}) {percent:.0f}%, transparent)"


# --- what templates call by name ---


def short(figure: Metric) -> str:
    """A figure, in percent where that is usual."""
    return f"{100 * figure.value:.2f} %" if figure.name in _SHARES else typeset(figure.value)


def ends(figure: Metric) -> str:
    """Its interval."""
    if figure.name in _SHARES:
        return f"{100 * figure.low:.2f} to {100 * figure.high:.2f} %"
    return f"{typeset(figure.low)} to {typeset(figure.high)}"


def with_ends(figure: Metric) -> str:
    """A figure with its interval."""
    return f"{short(figure)} ({ends(figure).removesuffix(' %')})"


def lowest_f1_first(by_class: Sequence[ClassMetrics]) -> tuple[Sequence[ClassMetrics], Sequence[ClassMetrics]]:
    """The classes to show, and those to fold up: of many, the ones with the lowest F1 are shown."""
    if len(by_class) <= _FOLDED_CLASSES:
        return by_class, []
    worst = sorted(by_class, key=lambda c: (c.f1.value, -c.support))
    return worst[:_SHOWN_CLASSES], worst[_SHOWN_CLASSES:]


Pictures = list[tuple[str, Markup]]


def term_bars(words: Mapping[str, Sequence[tuple[str, float]]]) -> tuple[Pictures, Pictures]:
    """Bars of the terms that speak most for each class: those to show, and those to fold up."""
    found = [(name, Markup(svg.bars(of_class[:_TERMS]))) for name, of_class in words.items()]
    shown = _SHOWN_CLASSES if len(found) > _FOLDED_CLASSES else len(found)
    return found[:shown], found[shown:]


class ColumnPictures(NamedTuple):
    """Bars of all columns, pictures of the values of some, and how many columns have no bar."""

    sizes: Markup
    by_value: Pictures
    further: int


def column_pictures(columns: Sequence[ColumnEffect]) -> ColumnPictures:
    """Columns by what they usually add, and for those that add most, what each of their values adds."""
    order = sorted(columns, key=lambda column: -column.size)
    sizes = svg.bars([(column.name, column.size) for column in order[:_COLUMN_BARS]])
    some = [column for column in order if column.points or column.levels][:_COLUMN_PICTURES]
    by_value = [(column.name, Markup(_values(column))) for column in some]
    return ColumnPictures(Markup(sizes), by_value, len(order) - _COLUMN_BARS)


def _values(column: ColumnEffect) -> str:
    if not column.points:
        return svg.bars(column.levels)
    x, y = np.array(column.points).T
    return svg.scatter(x, y, ("value", "adds"), f"what {column.name} adds", at=0.0)


def highlight(text: str, spans: Sequence[Span]) -> Markup:
    """A text coloured by contribution; where spans overlap, their contributions are added."""
    cut = pieces(text[:_MOST_TEXT], spans)
    top = max((abs(weight) for _, weight in cut), default=0.0) or 1.0
    parts = []
    for piece, weight in cut:
        shown_piece = escape(piece).replace("\n", "<br>")
        share = abs(weight) / top
        if share > 0.02:
            colour = "--for" if weight > 0 else "--against"
            parts.append(f'<mark style="{_tint(colour, 60 * share)}" title="{weight:+.3f}">{shown_piece}</mark>')
        else:
            parts.append(shown_piece)
    return Markup("".join(parts) + (" …" if len(text) > _MOST_TEXT else ""))


_FILTERS: dict[str, Callable[..., Any]] = {
    "short": short,
    "ends": ends,
    "with_ends": with_ends,
    "count": lambda n: f"{n:,}",
    "number": typeset,
    "percent": lambda share, digits: f"{100 * share:.{digits}f}",
    "lowest_f1_first": lowest_f1_first,
    "term_bars": term_bars,
    "column_pictures": column_pictures,
    "highlighted": lambda mistake: highlight(mistake.text, mistake.spans),
}
