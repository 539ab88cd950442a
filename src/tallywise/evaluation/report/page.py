"""The report as one HTML page: no network, and texts are escaped."""

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files

import numpy as np

from tallywise._highlight import Span, pieces
from tallywise.evaluation.intervals import Figure
from tallywise.evaluation.report import plots
from tallywise.evaluation.report.data import Mistake, ReportData

_MOST_TEXT = 1500  # characters of a mistake that are shown
_MOST_CLASSES = 30  # a larger confusion table is shown by its worst pairs
_CARDS = {  # figures, as they are called on the page
    "error": "error",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "brier": "Brier score",
    "roc_area": "area under the ROC curve",
    "pr_area": "average precision",
    "mcc": "Matthews correlation",
    "lam%": "lam % (TREC)",
    "1-ROCA%": "1-ROCA % (TREC)",
    "mae": "mean absolute error",
}
_PERCENT = ("error", "accuracy", "recall_at_max_flagged")


def render(data: ReportData) -> str:
    """The page, as text to be written to a file."""
    folder = files("tallywise.evaluation.report")
    style, script = (folder / "page.css").read_text(), (folder / "page.js").read_text()
    sections = [
        _head(data),
        _warnings(data),
        _comparison(data),
        _threshold(data),
        _curves(data),
        _confusion(data),
        _words(data),
        _mistakes(data),
        _learning(data),
    ]
    body = "\n".join(section for section in sections if section)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(data.title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'\">"
        f"<style>{style}</style></head><body>\n{body}\n"
        f'<script type="application/json" id="thresholds">{json.dumps(_sweep(data))}</script>'
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
    listed = ", ".join(f"{escape(name)} {count:,}" for count, name in pairs[:8])
    more = f" and {len(pairs) - 8} more classes" if len(pairs) > 8 else ""
    cards = "".join(
        f'<div class="card"><span>{shown_name}</span><b>{_short(data.figures[name])}</b>'
        f"<span>{_range(data.figures[name])}</span></div>"
        for name, shown_name in _CARDS.items()
        if name in data.figures
    )
    found = escape(data.classes[data.positive])
    moved = data.threshold != 0.5
    rule = (
        f" A text is called {found} from probability {data.threshold:.4g} on; the comparison below uses 0.5."
        if moved
        else ""
    )
    return (
        f"<h1>{escape(data.title)}</h1>"
        f'<p class="note">{len(data.codes):,} texts from {escape(data.source)}: {listed}{more}.<br>'
        f"Model: {escape(data.model)}. Every figure is measured on held-out texts "
        f"({escape(data.split)}), with a 95 % interval.{rule}</p>"
        f'<div class="cards">{cards}</div>'
    )


def _short(figure: Figure) -> str:
    return f"{100 * figure.value:.2f} %" if figure.name in _PERCENT else f"{figure.value:.4g}"


def _range(figure: Figure) -> str:
    if figure.name in _PERCENT:
        return f"{100 * figure.low:.2f} to {100 * figure.high:.2f} %"
    return f"{figure.low:.4g} to {figure.high:.4g}"


def _warnings(data: ReportData) -> str:
    if not data.warnings:
        return ""
    items = "".join(f"<li>{escape(warning)}</li>" for warning in data.warnings)
    return f'<h2>About the data</h2><ul class="warnings">{items}</ul>'


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
        "<h2>Comparison</h2><table><tr><th>model</th><th>error, 95 % interval</th><th class=n>log loss</th>"
        f"<th class=n>time</th></tr>{''.join(rows)}</table>"
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
        f"<h2>Threshold</h2><p class=note>A text is called {name} from this probability on; the saved model uses "
        f"{data.threshold:.4f}.</p>"
        f'<input type="range" id="slider" min="0" max="{len(sweep) - 1}" value="{start}" aria-label="threshold">'
        f"<table><tr><td>threshold</td><td id=at></td></tr><tr><td>{other} flagged as {name}</td><td id=lost></td></tr>"
        f"<tr><td>{name} caught</td><td id=caught></td></tr>"
        "<tr><td>all texts flagged</td><td id=flagged></td></tr></table>"
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
            f"<tr><td>{escape(data.classes[w // K])}</td><td>{escape(data.classes[w % K])}</td>"
            f"<td class=n>{off.flat[w]}</td></tr>"
            for w in worst
            if off.flat[w]
        )
        head = "<tr><th>true class</th><th>predicted</th><th class=n>texts</th></tr>"
        return f"<h2>Most confused pairs</h2><table>{head}{rows}</table>"
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = "".join(f"<th>{escape(name)}</th>" for name in data.classes)
    rows = ""
    for k, name in enumerate(data.classes):
        shares = 60 * counts[k] / total[k]
        cells = "".join(
            f'<td style="{_tint("--good" if j == k else "--for", shares[j])}">{n:,}</td>'
            for j, n in enumerate(counts[k])
        )
        rows += f"<tr><th>{escape(name)}</th>{cells}</tr>"
    return (
        "<h2>Confusion matrix</h2><p class=note>Rows are true classes, columns predictions.</p>"
        f'<div style="overflow-x:auto"><table class="confusion"><tr><th></th>{head}</tr>{rows}</table></div>'
    )


def _words(data: ReportData) -> str:
    if not data.words:
        return ""
    figures = []
    if len(data.classes) == 2 and len(data.words) == 2:
        one, other = data.classes[data.positive], data.classes[1 - data.positive]
        svg = plots.bars(data.words.get(one, []), data.words.get(other, []))
        caption = f"{escape(other)} to the left, {escape(one)} to the right"
        figures.append(f"<figure>{svg}<figcaption>{caption}</figcaption></figure>")
    else:
        for name, words in list(data.words.items())[:_MOST_CLASSES]:
            svg = plots.bars(words[:10], [])
            figures.append(f"<figure><figcaption><b>{escape(name)}</b></figcaption>{svg}</figure>")
    return f'<h2>Most indicative terms</h2><div class="plots">{"".join(figures)}</div>'


def _mistakes(data: ReportData) -> str:
    if not data.mistakes:
        return ""
    parts = "".join(_mistake(mistake) for mistake in data.mistakes)
    note = (
        "The mistakes with the highest predicted probability. Orange words speak for the prediction, blue ones against "
        "it. Predictions and colours are of models that were not trained on the text."
    )
    return f"<h2>Worst mistakes</h2><p class=note>{note}</p>{parts}"


def _mistake(mistake: Mistake) -> str:
    return (
        f'<div class="mistake"><div class="head">true class <b>{escape(mistake.true)}</b>, predicted '
        f"<b>{escape(mistake.predicted)}</b> with {100 * mistake.probability:.1f} %</div>"
        f"{highlight(mistake.text, mistake.spans)}</div>"
    )


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
