"""Texts with any number of labels each, for the commands that train and use models."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from tallywise.cli._options_and_output import contributions, emit, metrics_table
from tallywise.plain_text import shorten
from tallywise.reading import LabelSets, Record

NONE = "-"  # what stands for no label


def is_label_model(model: Any) -> bool:
    """Whether a loaded model gives a text any number of labels."""
    from tallywise.models.label_set_serving import MultiLabelTextModel

    return isinstance(model, MultiLabelTextModel)


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


def evaluate_label_sets(model: Any, found: LabelSets, seed: int, as_json: bool) -> None:
    """Figures of a model on texts with labels; labels that it never learned count as missed."""
    import numpy as np

    from tallywise.evaluation import class_metrics, duplicate_groups, measure_labels
    from tallywise.training import label_documents, label_rows, metrics_as_lists

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
    by_label = class_metrics(Y, gets, every, groups=groups)
    if as_json:
        never = dict(new)
        document = {"read": found.read, "figures": metrics_as_lists(figures), "by_label": label_documents(by_label)}
        emit({**document, "never_learned": never})
        return
    click.echo(found.read)
    click.echo(metrics_table(figures))
    click.echo(label_rows(by_label))
    if new:
        listed = ", ".join(f"{name} ({count:,})" for name, count in new.most_common(6))
        click.echo(f"note: {len(new)} labels were never learned and count as missed: {listed}")
