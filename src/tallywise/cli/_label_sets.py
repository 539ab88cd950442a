"""Texts with any number of labels each, for the commands that train and use models."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import click

from tallywise.cli._shared import Labelled, contributions, emit, figures_table, percent, shorten, table
from tallywise.reading import Record

_MOST_LABELS = 30  # listed for people
NONE = "-"  # what stands for no label


def is_label_model(model: Any) -> bool:
    """Whether a loaded model gives a text any number of labels."""
    return hasattr(model, "predict_labels")


# --- train ---


def fit_label_sets(found: Labelled, source: str, tell: Any, separator: str | None, settings: dict[str, Any]) -> Any:
    """The fitted classifier, and what its report shows."""
    tell("loading")
    from tallywise.classifier import MultiLabelTextClassifier, label_report_data

    classifier = MultiLabelTextClassifier(progress=tell, **settings).fit(found.texts, found.sets)
    if separator is not None:
        classifier.runtime_.meta["label_separator"] = separator
    tell("writing the report")
    return classifier, label_report_data(classifier, found.texts, found.sets, source)


def show_training(classifier: Any, found: Labelled, shown: Any) -> None:
    """What was learned, for people."""
    repeats = len(found.texts) - len(set(classifier.groups_.tolist()))
    click.echo(found.description + (f"; {repeats:,} repeats kept together" if repeats else ""))
    head = [classifier.description_[0].split(", ")[0], "micro F1", "macro F1", "log loss", "time", ""]
    rows = [head]
    for trial in classifier.trials_:
        scores = [percent(trial.figures[name].value) for name in ("micro_f1", "macro_f1")]
        kept = "<- kept" if trial is classifier.trials_[0] else ""
        rows.append([trial.title, *scores, f"{trial.log_loss:.4f}", f"{trial.seconds:.2f} s", kept])
    click.echo(table(rows, right=(1, 2, 3, 4)))
    for name in ("micro_f1", "macro_f1", "exact_match"):
        figure = classifier.figures_[name]
        title = name.replace("_", " ").replace("f1", "F1")
        click.echo(
            f"{title} {percent(figure.value)} ({percent(figure.low)} to {percent(figure.high)}) on texts not seen"
        )
    click.echo(_by_label(classifier.by_label_, classifier.thresholds_))
    if left := classifier.runtime_.meta.get("left_out"):
        click.echo(
            f"left out {left['terms']:,} of {left['of']:,} terms for the size; that changes the labels of "
            f"{percent(left['changed'], 2)} of the texts learned from"
        )
    for warning in [*found.notes, *shown.warnings]:
        click.echo(f"note: {warning}")


def _by_label(found: Sequence[Any], thresholds: Any = None) -> str:
    rows = [["label", "texts", "precision", "recall", "F1", *([] if thresholds is None else ["threshold"])]]
    for k, label in enumerate(found[:_MOST_LABELS]):
        row = [shorten(label.name, 40), f"{label.support:,}"]
        row += [percent(figure.value) for figure in (label.precision, label.recall, label.f1)]
        rows.append(row if thresholds is None else [*row, f"{thresholds[k]:.3f}"])
    more = len(found) - _MOST_LABELS
    return table(rows, right=(1, 2, 3, 4, 5)) + (f"\n  and {more} more labels" if more > 0 else "")


def training_document(
    classifier: Any, found: Labelled, output: str, report: str | None, seconds: float
) -> dict[str, Any]:
    """What was learned, as JSON."""
    return {
        "read": found.description,
        "texts": len(found.texts),
        "labels": [str(label) for label in classifier.classes_],
        "notes": list(found.notes),
        "kept": classifier.trials_[0].title,
        "models": [
            {
                "title": trial.title,
                "micro_f1": trial.figures["micro_f1"].value,
                "macro_f1": trial.figures["macro_f1"].value,
                "log_loss": trial.log_loss,
                "seconds": trial.seconds,
            }
            for trial in classifier.trials_
        ],
        "figures": _figures(classifier.figures_),
        "by_label": _label_documents(classifier.by_label_),
        "thresholds": dict(zip(map(str, classifier.classes_), classifier.thresholds_.tolist(), strict=True)),
        "left_out": classifier.runtime_.meta.get("left_out"),
        "model": output,
        "report": report,
        "seconds": seconds,
    }


def _figures(figures: dict[str, Any]) -> dict[str, list[float]]:
    return {name: [f.value, f.low, f.high] for name, f in figures.items()}


def _label_documents(found: Sequence[Any]) -> dict[str, dict[str, Any]]:
    return {
        label.name: {
            "texts": label.support,
            **_figures({"precision": label.precision, "recall": label.recall, "f1": label.f1}),
        }
        for label in found
    }


# --- classify and explain ---


def label_set_lines(
    model: Any, batch: list[Record], P: Any, explain: bool, probabilities: bool, as_json: bool
) -> Iterator[str]:
    """A line of output for each record: its labels, and their probabilities."""
    gets = model.decide(P)
    unknown = model.unknown_words([record.text for record in batch]) if as_json else None
    names = [str(label) for label in model.classes]
    for i, record in enumerate(batch):
        given = gets[i].nonzero()[0].tolist()
        p = P[i].tolist()
        if as_json:
            document: dict[str, Any] = {
                "source": record.source,
                "labels": [model.classes[k] for k in given],
                "probabilities": {names[k]: p[k] for k in (range(len(p)) if probabilities else given)},
            }
            if unknown is not None:
                document["unknown_words"] = round(float(unknown[i]), 4)
            if explain:
                reasons = {names[k]: model.explain(record.text, model.classes[k]).words for k in given}
                document["words"] = {
                    name: [[word.term, word.contribution, word.spans] for word in words]
                    for name, words in reasons.items()
                }
            yield json.dumps(document, ensure_ascii=False)
            continue
        called = ", ".join(names[k] for k in given) or NONE
        sure = ", ".join(f"{p[k]:.3f}" for k in given) or NONE
        line = f"{called}\t{sure}\t{record.source if explain else shorten(record.text, 60)}"
        if probabilities:
            line += "\t" + " ".join(f"{name}={x:.3f}" for name, x in zip(names, p, strict=True))
        if explain:
            line += "".join(_reasons(model, record.text, k) for k in given)
        yield line


def _reasons(model: Any, text: str, k: int) -> str:
    label = model.classes[k]
    line = f"\n      {label}: {contributions(model.explain(text, label).words, 8)}"
    flip = model.flip(text, label)
    if flip is not None and flip.remove:
        line += f"\n      not {label} without " + " and ".join(f'"{word}"' for word in flip.remove[:6])
    return line


def explained_labels(model: Any, text: str) -> list[Any]:
    """The labels to explain: those that the text gets, or else the nearest to it."""
    (given,) = model.predict_labels([text])
    return given or [model.explain(text).label]


# --- evaluate and inspect ---


def evaluate_label_sets(model: Any, found: Labelled, seed: int, as_json: bool) -> None:
    """Figures of a model on texts with labels; labels that it never learned count as missed."""
    import numpy as np

    from tallywise.evaluation import class_figures, duplicate_groups, measure_labels

    assert found.sets is not None
    names = [str(label) for label in model.classes]
    new = Counter(label for labels in found.sets for label in labels if label not in set(names))
    every = [*names, *sorted(new)]
    place = {name: k for k, name in enumerate(every)}
    Y = np.zeros((len(found.sets), len(every)), dtype=bool)
    for i, labels in enumerate(found.sets):
        Y[i, [place[label] for label in labels]] = True
    P = np.zeros(Y.shape)
    P[:, : len(names)] = model.predict_proba(found.texts)
    gets = np.zeros(Y.shape, dtype=bool)
    gets[:, : len(names)] = model.decide(P[:, : len(names)])
    groups = duplicate_groups(found.texts)
    figures = measure_labels(Y, gets, probabilities=None if new else P, groups=groups, random_state=seed)
    by_label = class_figures(Y, gets, every, groups=groups)
    if as_json:
        never = dict(new)
        document = {"read": found.description, "figures": _figures(figures), "by_label": _label_documents(by_label)}
        emit({**document, "never_learned": never})
        return
    click.echo(found.description)
    click.echo(figures_table(figures))
    click.echo(_by_label(by_label))
    if new:
        listed = ", ".join(f"{name} ({count:,})" for name, count in new.most_common(6))
        click.echo(f"note: {len(new)} labels were never learned and count as missed: {listed}")
