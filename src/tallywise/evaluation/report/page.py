"""The report as one HTML page: no network, and texts are escaped."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

import numpy as np

from tallywise._highlight import Span, pieces
from tallywise.evaluation.classes import ClassFigures
from tallywise.evaluation.intervals import Figure
from tallywise.evaluation.report import plots
from tallywise.evaluation.report.columns import column_section
from tallywise.evaluation.report.data import Mistake, ReportData

_MOST_TEXT = 1500  # characters of a mistake that are shown
_MOST_CLASSES = 30  # a larger confusion table is shown by its worst pairs
_FOLDED_CLASSES = 20  # of more, the worst are shown and the rest is folded up
_SHOWN_CLASSES = 12
_TERMS = 12  # of a class
_SPAM = ("lam%", "1-ROCA%")
_CARDS = {  # figures, as they are called on the page; the first leads
    "accuracy": "are classified correctly",
    "micro_f1": "micro F1",
    "mae": "mean absolute error, in grades",
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
_PERCENT = (
    "error",
    "accuracy",
    "coverage",
    "recall_at_max_flagged",
    "micro_f1",
    "macro_f1",
    "micro_precision",
    "micro_recall",
    "exact_match",
)
_CLASS_NOTE = "Precision: share of the texts called the class that have it. Recall: share of those that have it found."


def render(data: ReportData) -> str:
    """The page, as text to be written to a file."""
    sections = [
        _head(data),
        note_list(data.warnings),
        class_table(data.by_class, "class", _CLASS_NOTE.replace("texts", data.unit), unit=data.unit),
        _comparison(data),
        _threshold(data),
        _curves(data),
        _confusion(data),
        column_section(data.columns, _score_of(data)),
        term_bars(data.words),
        _mistakes(data),
        _learning(data),
    ]
    return document(data.title, sections, _sweep(data))


def _score_of(data: ReportData) -> str:
    return f"the score of {data.classes[-1]}" if len(data.classes) == 2 else "the score"


def document(title: str, sections: Sequence[str], sweep: Sequence[Sequence[float]] = ()) -> str:
    """A page of sections, with what its slider needs."""
    folder = files("tallywise.evaluation.report")
    style, script = (folder / "page.css").read_text(), (folder / "page.js").read_text()
    body = "\n".join(section for section in sections if section)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">"
        f"<style>{style}</style></head><body>\n{body}\n"
        f'<script type="application/json" id="thresholds">{json.dumps(list(sweep))}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def shown(figure: Figure) -> str:
    """A figure with its interval, in percent where that is usual."""
    if figure.name in _PERCENT:
        return f"{100 * figure.value:.2f} % ({100 * figure.low:.2f} to {100 * figure.high:.2f})"
    return f"{figure.value:.4g} ({figure.low:.4g} to {figure.high:.4g})"


def _head(data: ReportData) -> str:
    counts = np.bincount(data.codes, minlength=len(data.classes))
    pairs = sorted(zip(counts, data.classes, strict=True), reverse=True)
    listed = ", ".join(f"{escape(name)}: {count:,}" for count, name in pairs[:8])
    more = f" and {len(pairs) - 8} more classes" if len(pairs) > 8 else ""
    cards = figure_cards({n: f for n, f in data.figures.items() if n not in _SPAM or data.about_spam})
    found = escape(data.classes[data.positive])
    moved = data.threshold != 0.5
    rule = (
        f" A {data.unit[:-1]} is called {found} from probability {data.threshold:.4g} on; the comparison below uses "
        "0.5."
        if moved
        else ""
    )
    return (
        f"<h1>{escape(data.title)}</h1>"
        f'<p class="note">{len(data.codes):,} {data.unit} from {escape(data.source)} ({listed}{more}).<br>'
        f"Model: {escape(data.model)}. Every figure is measured on held-out {data.unit} "
        f"({escape(data.split)}), with a 95 % interval.{rule}</p>"
        f"{cards}"
    )


def figure_cards(figures: Mapping[str, Figure], names: Mapping[str, str] = _CARDS) -> str:
    """The figures that people look for, under their names, with their intervals; the first leads."""
    wanted = [name for name in names if name in figures]
    cards = "".join(
        f'<div class="card{" lead" if k == 0 else ""}"><b>{_short(figures[name])}</b>'
        f"<span>{names[name]}</span><span>{_range(figures[name])}</span></div>"
        for k, name in enumerate(wanted)
    )
    return f'<div class="cards">{cards}</div>'


def _short(figure: Figure) -> str:
    return f"{100 * figure.value:.2f} %" if figure.name in _PERCENT else f"{figure.value:.4g}"


def _range(figure: Figure) -> str:
    if figure.name in _PERCENT:
        return f"{100 * figure.low:.2f} to {100 * figure.high:.2f} %"
    return f"{figure.low:.4g} to {figure.high:.4g}"


def note_list(warnings: Sequence[str]) -> str:
    """What there is to say about the data."""
    if not warnings:
        return ""
    items = "".join(f"<li>{escape(warning)}</li>" for warning in warnings)
    return f'<h2>About the data</h2><ul class="warnings">{items}</ul>'


def class_table(
    by_class: Sequence[ClassFigures],
    what: str,
    note: str,
    last: Mapping[str, str] | None = None,
    title: str = "",
    unit: str = "texts",
) -> str:
    """Every class (or label: `what` it is); of many, those with the lowest F1, and the rest folded up.

    `last` has what stands in a last column under `title`, by the names of the classes.
    """
    if not by_class:
        return ""
    worst = sorted(by_class, key=lambda c: (c.f1.value, -c.support))
    many = len(worst) > _FOLDED_CLASSES
    shown_first = worst[:_SHOWN_CLASSES] if many else by_class
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    head = (
        f"<tr><th>{what}</th><th class=n>{unit}</th><th>precision</th><th>recall</th><th>F1</th><th class=wide></th>"
        + (f"<th class=n>{title}</th></tr>" if last else "</tr>")
    )

    def rows(found: Sequence[ClassFigures]) -> str:
        return "".join(_class_row(c, f"<td class=n>{escape(last[c.name])}</td>" if last else "") for c in found)

    part = f"<table class=classes>{head}{rows(shown_first)}</table>"
    if many:
        part = (
            f"<p class=note>The {_SHOWN_CLASSES} {plural} with the lowest F1 come first.</p>{part}"
            f"<details><summary>{len(worst) - _SHOWN_CLASSES} further {plural}</summary>"
            f"<table class=classes>{head}{rows(worst[_SHOWN_CLASSES:])}</table></details>"
        )
    return f"<h2>{plural.capitalize()}</h2><p class=note>{note}</p>{part}"


def _class_row(found: ClassFigures, last: str = "") -> str:
    cells = "".join(
        f"<td>{100 * f.value:.1f}&nbsp;% <small>{100 * f.low:.1f} to {100 * f.high:.1f}</small></td>"
        for f in (found.precision, found.recall, found.f1)
    )
    bar = f'<td class=wide><div class=bar style="width:{100 * found.f1.value:.1f}%"></div></td>'
    return f"<tr><td class=name>{escape(found.name)}</td><td class=n>{found.support:,}</td>{cells}{bar}{last}</tr>"


def _comparison(data: ReportData) -> str:
    if not data.rivals:
        return ""
    rows = [
        f'<tr class="bound"><td>always the most frequent class</td><td>{100 * data.constant_error:.2f} %</td>'
        "<td></td><td></td></tr>"
    ]
    for rival in data.rivals:
        kept = ' class="kept"' if rival.kept else ""
        rows.append(
            f"<tr{kept}><td>{escape(rival.name)}{' (kept)' if rival.kept else ''}</td><td>{shown(rival.error)}</td>"
            f'<td class="n">{rival.log_loss:.4f}</td><td class="n">{rival.seconds:.2f} s</td></tr>'
        )
    if data.bayes_error is not None:
        rows.append(
            '<tr class="bound"><td>Bayes error (best possible), estimated by 1-nearest neighbour</td>'
            f"<td>{100 * data.bayes_error[0]:.2f} to {100 * data.bayes_error[1]:.2f} %</td><td></td><td></td></tr>"
        )
    return (
        "<h2>Comparison</h2><table class=compared><tr><th>model</th><th>error, 95 % interval</th>"
        f"<th class=n>log loss</th><th class=n>time</th></tr>{''.join(rows)}</table>"
    )


def _sweep(data: ReportData, most: int = 400) -> list[list[float]]:
    """[threshold, shares flagged of the other class, of this one, of all], for the slider."""
    if len(data.classes) != 2:
        return []
    positive, scores = _positive(data)
    tp, fp = plots.sweep(positive, scores)
    levels = np.unique(scores)[::-1]
    n, found, others = len(scores), max(int(positive.sum()), 1), max(int((~positive).sum()), 1)
    keep = np.unique(np.linspace(0, len(levels) - 1, most).astype(int))[::-1]
    points = [[float(levels[k]), float(fp[k] / others), float(tp[k] / found), float((tp[k] + fp[k]) / n)] for k in keep]
    flagged = scores >= data.threshold  # the slider starts at the threshold of the model
    shares = (flagged & ~positive).sum() / others, (flagged & positive).sum() / found, flagged.mean()
    return sorted([*points, [float(data.threshold), *map(float, shares)]])


def _positive(data: ReportData) -> tuple[np.ndarray, np.ndarray]:
    return data.codes == data.positive, data.probabilities[:, data.positive]


def _threshold(data: ReportData) -> str:
    sweep = _sweep(data)
    if not sweep:
        return ""
    start = min(range(len(sweep)), key=lambda k: abs(sweep[k][0] - data.threshold))
    name, other = (escape(data.classes[k]) for k in (data.positive, 1 - data.positive))
    return (
        f"<h2>Threshold</h2><p class=note>A {data.unit[:-1]} is called {name} from this probability on; the saved "
        f"model uses {data.threshold:.4f}.</p>"
        f'<input type="range" id="slider" min="0" max="{len(sweep) - 1}" value="{start}" aria-label="threshold">'
        f"<table><tr><td>threshold</td><td id=at></td></tr><tr><td>{other} flagged as {name}</td><td id=lost></td></tr>"
        f"<tr><td>{name} caught</td><td id=caught></td></tr>"
        f"<tr><td>all {data.unit} flagged</td><td id=flagged></td></tr></table>"
    )


def _curves(data: ReportData) -> str:
    pictures = []
    if len(data.classes) == 2 and 0 < (data.codes == data.positive).sum() < len(data.codes):
        positive, scores = _positive(data)
        pictures += [
            ("ROC curve", plots.roc(positive, scores)),
            ("precision and recall", plots.precision_recall(positive, scores)),
        ]
    claimed = np.take_along_axis(data.probabilities, data.verdicts[:, None], axis=1)[:, 0]
    pictures.append(
        (
            "calibration: share correct against predicted probability",
            plots.reliability(data.verdicts == data.codes, claimed),
        )
    )
    shown_all = "".join(f"<figure>{svg}<figcaption>{caption}</figcaption></figure>" for caption, svg in pictures)
    return f'<h2>Curves</h2><div class="plots">{shown_all}</div>'


def _confusion(data: ReportData) -> str:
    K = len(data.classes)
    counts = np.bincount(data.codes * K + data.verdicts, minlength=K * K).reshape(K, K)
    if K > _MOST_CLASSES:
        off = counts.copy()
        np.fill_diagonal(off, 0)
        worst = np.argsort(-off, axis=None, kind="stable")[:25]
        rows = "".join(
            f"<tr><td class=name>{escape(data.classes[w // K])}</td><td class=name>{escape(data.classes[w % K])}</td>"
            f"<td class=n>{off.flat[w]}</td></tr>"
            for w in worst
            if off.flat[w]
        )
        head = f"<tr><th>true class</th><th>predicted</th><th class=n>{data.unit}</th></tr>"
        return f"<h2>Most confused pairs</h2><table class=classes>{head}{rows}</table>"
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = "".join(f"<th class=column><span>{escape(name)}</span></th>" for name in data.classes)
    rows = ""
    for k, name in enumerate(data.classes):
        shares = 60 * counts[k] / total[k]
        cells = "".join(
            f'<td style="{_tint("--good" if j == k else "--for", shares[j])}">{n:,}</td>'
            for j, n in enumerate(counts[k])
        )
        rows += f"<tr><th class=name>{escape(name)}</th>{cells}</tr>"
    return (
        "<h2>Confusion matrix</h2><p class=note>Rows are true classes, columns predictions.</p>"
        f'<div style="overflow-x:auto"><table class="confusion"><tr><th></th>{head}</tr>{rows}</table></div>'
    )


def term_bars(of_class: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """The terms that speak most for each class."""
    if not of_class:
        return ""
    figures = [
        f"<figure><figcaption class=name><b>{escape(name)}</b></figcaption>{plots.bars(words[:_TERMS])}</figure>"
        for name, words in of_class.items()
    ]
    first = figures[:_SHOWN_CLASSES] if len(figures) > _FOLDED_CLASSES else figures
    part = f'<div class="plots">{"".join(first)}</div>'
    if rest := figures[len(first) :]:
        part += (
            f"<details><summary>{len(rest)} further classes</summary><div class=plots>{''.join(rest)}</div></details>"
        )
    return f"<h2>Most indicative terms</h2>{part}"


def _mistakes(data: ReportData) -> str:
    what = "cells" if data.unit == "rows" else "words"
    judges = (
        "Predictions are of models that were not trained on the row, colours of the final model."
        if data.unit == "rows"
        else "Predictions and colours are of models that were not trained on the text."
    )
    note = (
        f"The mistakes with the highest predicted probability. Orange {what} speak for the prediction, blue ones "
        f"against it. {judges}"
    )
    return mistake_list(data.mistakes, "Worst mistakes", note)


def mistake_list(mistakes: Sequence[Mistake], title: str, note: str) -> str:
    """Mistakes, each with its parts coloured by what they add."""
    if not mistakes:
        return ""
    return f"<h2>{title}</h2><p class=note>{note}</p>{''.join(map(_mistake, mistakes))}"


def _mistake(mistake: Mistake) -> str:
    head = f"true class <b>{escape(mistake.true)}</b>, predicted <b>{escape(mistake.predicted)}</b>"
    if mistake.probability is None:
        head = f"true <b>{escape(mistake.true)}</b>, predicted <b>{escape(mistake.predicted)}</b>"
    else:
        head += f" with {100 * mistake.probability:.1f} %"
    return f'<div class="mistake"><div class="head">{head}</div>{highlight(mistake.text, mistake.spans)}</div>'


def highlight(text: str, spans: Sequence[Span]) -> str:
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
    return "".join(parts) + (" …" if len(text) > _MOST_TEXT else "")


def _tint(colour: str, percent: float) -> str:
    return f"background: color-mix(in srgb, var({colour}) {percent:.0f}%, transparent)"


def _learning(data: ReportData) -> str:
    if len(data.curve) < 2:
        return ""
    sizes = [n for n, _ in data.curve]
    errors = [figure for _, figure in data.curve]
    svg = plots.learning(sizes, [f.value for f in errors], [f.low for f in errors], [f.high for f in errors])
    return (
        "<h2>Learning curve</h2>"
        f'<div class="plots"><figure>{svg}<figcaption>error on held-out texts, 95 % band</figcaption></figure></div>'
    )
