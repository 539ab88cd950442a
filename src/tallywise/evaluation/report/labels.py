"""The report of a model that gives texts any number of labels, as one HTML page."""

from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from tallywise._highlight import Span
from tallywise.evaluation.classes import ClassFigures
from tallywise.evaluation.intervals import Figure
from tallywise.evaluation.report.page import (
    class_table,
    document,
    figure_cards,
    highlight,
    note_list,
    shown,
    term_bars,
)


class LabelRival(NamedTuple):
    """A row of the comparison."""

    name: str
    micro_f1: Figure
    macro_f1: Figure
    log_loss: float
    seconds: float
    kept: bool


class LabelMistake(NamedTuple):
    """A label that a text wrongly got while held out, or did not get, with the contribution of each part."""

    text: str
    true: list[str]
    predicted: list[str]
    label: str
    probability: float
    spans: list[Span]


@dataclass
class LabelReportData:
    """Everything on the page. Figures are of held-out texts."""

    title: str
    source: str
    texts: int
    labels_a_text: float
    figures: dict[str, Figure]
    split: str
    model: str
    by_label: list[ClassFigures]
    thresholds: list[float]
    rivals: list[LabelRival] = field(default_factory=list)
    words: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    mistakes: list[LabelMistake] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def render_labels(data: LabelReportData) -> str:
    """The page, as text to be written to a file."""
    note = (
        "Precision: share of the texts that get the label and have it. Recall: share of those that have it found. A "
        "text gets a label from the probability in the last column on."
    )
    last = {c.name: f"{t:.3f}" for c, t in zip(data.by_label, data.thresholds, strict=True)}
    sections = [
        _head(data),
        note_list(data.warnings),
        class_table(data.by_label, "label", note, last, "threshold"),
        _comparison(data),
        term_bars(data.words),
        _mistakes(data),
    ]
    return document(data.title, sections)


def _head(data: LabelReportData) -> str:
    return (
        f"<h1>{escape(data.title)}</h1>"
        f'<p class="note">{data.texts:,} texts from {escape(data.source)}, {len(data.by_label):,} labels, '
        f"{data.labels_a_text:.2f} a text.<br>Model: {escape(data.model)}. Every figure is measured on held-out texts "
        f"({escape(data.split)}) with thresholds chosen on others, and has a 95 % interval.</p>"
        f"{figure_cards(data.figures)}"
    )


def _comparison(data: LabelReportData) -> str:
    rows = [
        f"<tr{' class=kept' if r.kept else ''}><td>{escape(r.name)}{' (kept)' if r.kept else ''}</td>"
        f"<td>{shown(r.micro_f1)}</td><td>{shown(r.macro_f1)}</td>"
        f'<td class="n">{r.log_loss:.4f}</td><td class="n">{r.seconds:.2f} s</td></tr>'
        for r in data.rivals
    ]
    head = "<tr><th>model</th><th>micro F1</th><th>macro F1</th><th class=n>log loss</th><th class=n>time</th></tr>"
    return f"<h2>Comparison</h2><table>{head}{''.join(rows)}</table>" if rows else ""


def _mistakes(data: LabelReportData) -> str:
    if not data.mistakes:
        return ""
    note = (
        "The labels that texts got, or did not get, with the most certainty and wrongly, by models that were not "
        "trained on the text. Orange words speak for the label, blue ones against it, by the final model."
    )
    return f"<h2>Worst mistakes</h2><p class=note>{note}</p>{''.join(map(_mistake, data.mistakes))}"


def _mistake(found: LabelMistake) -> str:
    what = "missing" if found.label in found.true else "wrong"
    listed = [escape(", ".join(labels) or "no label") for labels in (found.true, found.predicted)]
    return (
        f'<div class="mistake"><div class="head">{what}: <b>{escape(found.label)}</b>, '
        f"{100 * found.probability:.1f} %. Has {listed[0]}; got {listed[1]}</div>"
        f"{highlight(found.text, found.spans)}</div>"
    )
