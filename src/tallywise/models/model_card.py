"""A model card in Markdown: what a model is, learned from, was measured at, and must not be used for.

The sections are those of Mitchell et al. (2019), Model cards for model reporting. What the file knows is filled in;
what only its makers know is asked for.
"""

from __future__ import annotations

from typing import Any

from tallywise.plain_text import size_shown

_SHOWN_CLASSES = 30
_ASKED = "*(to be filled in)*"


def model_card(model: Any, name: str, size: int, words: int = 12) -> str:
    """The card of a loaded model.

    Parameters
    ----------
    model : TextModel, MultiLabelTextModel, TableRuntime or FastTextModel
        What `tallywise.load` returned.
    name : str
        The file's name.
    size : int
        Bytes of the file.
    words : int, default=12
        Terms per class.
    """
    meta = model.meta
    classes = [str(label) for label in model.classes]
    learned = meta.get("rows") or meta.get("texts") or 0
    unit = "rows" if "rows" in meta else "texts"
    sections = {
        "Model": [
            f"- file: `{name}`, {size_shown(size)}",
            f"- kind: {meta.get('kind', 'model')}: {meta.get('title', '')}".rstrip(": "),
            f"- predicts: {_predicted(model, classes)}",
            *(f"- {line}" for line in meta.get("description", [])),
        ],
        "Intended use": [_ASKED + " Who uses it, for which decisions, and what a wrong one does to whom."],
        "Training data": [
            f"- {learned:,} {unit}" if learned else "- their number is not in the file",
            *(f"- note: {line}" for line in meta.get("notes", [])),
            f"- {_ASKED} Source, period, language, consent and licence; who labelled, by which rules.",
        ],
        "Evaluation": _metrics(meta.get("figures") or {}),
        "What it looks at": _looks_at(model, classes, words),
        "Limits": [
            "- It answers with one of the classes above, whatever it is given."
            if classes
            else "- Predictions outside the range of the training data are extrapolations.",
            "- Metrics hold for new data from the source of the training data. Other sources, and later times, must be "
            "evaluated anew: `tally evaluate`.",
            "- A contribution says what the model did, not what causes the label.",
            *_unlike(meta),
            f"- {_ASKED} Groups of people on whom it was, or was not, evaluated.",
        ],
        "Contact": [_ASKED],
    }
    parts = [f"# Model card: {name}", *(f"## {title}\n\n" + "\n".join(lines) for title, lines in sections.items())]
    return "\n\n".join(parts) + "\n"


def _predicted(model: Any, classes: list[str]) -> str:
    if not classes:
        return f'the number "{model.target}"'
    target = f'"{model.target}", ' if getattr(model, "target", None) else ""
    more = f" and {len(classes) - _SHOWN_CLASSES} more" if len(classes) > _SHOWN_CLASSES else ""
    return f"{target}{len(classes)} classes: {', '.join(classes[:_SHOWN_CLASSES])}{more}"


def _metrics(metrics: dict[str, list[float]]) -> list[str]:
    if not metrics:
        return ["The file has no metrics. Measure them with `tally evaluate`."]
    lines = ["On held-out data:", "", "| metric | value | 95 % interval |", "|---|---|---|"]
    for name, (value, low, high) in metrics.items():
        lines.append(f"| {name.replace('_', ' ')} | {value:.4f} | {low:.4f} to {high:.4f} |")
    return lines


def _looks_at(model: Any, classes: list[str], words: int) -> list[str]:
    if hasattr(model, "columns"):
        return ["| column | holds |", "|---|---|", *(f"| {one.name} | {one.kind} |" for one in model.columns)]
    if not hasattr(model, "top_terms"):
        return ["The model does not list its terms."]
    lines = ["Most indicative terms. A name, a date or a place among them is a leak.", ""]
    for label, shown in list(zip(model.classes, classes, strict=True))[:_SHOWN_CLASSES]:
        terms = ", ".join(f"`{term}`" for term, _ in model.top_terms(label, words))
        lines.append(f"- **{shown}**: {terms}")
    return lines


def _unlike(meta: dict[str, Any]) -> list[str]:
    known = meta.get("unknown_words")
    if not known:
        return []
    return [f"- A text with more than {100 * known['high']:.0f} % unknown words is unlike the training texts."]
