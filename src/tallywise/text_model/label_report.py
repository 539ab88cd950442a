"""What a report shows of a trained classifier of texts with any number of labels."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tallywise.report import LabelMistake, LabelReportData, LabelRival
from tallywise.report.data import fingerprint
from tallywise.text_model.label_matrix import LabelMatrix
from tallywise.text_model.multilabel import MultiLabelTextClassifier

_MOST_MISTAKES = 12
_TINY = 10  # texts of a label


def label_report_data(model: MultiLabelTextClassifier, texts: Sequence[str], y: Any, source: str) -> LabelReportData:
    """Gather everything that the report page shows."""
    Y = LabelMatrix.of(y).Y
    names = [str(label) for label in model.classes_]
    return LabelReportData(
        title=f"{len(names)} labels: a text model" if len(names) > 1 else f"{names[0]}: a text model",
        source=source,
        fingerprint=fingerprint(texts, (row.tobytes() for row in np.asarray(Y, dtype=bool))),
        texts=len(texts),
        labels_a_text=float(Y.sum(axis=1).mean()),
        figures=model.figures_,
        split=model.description_[0].removeprefix("compared by "),
        model=model.title_,
        by_label=model.by_label_,
        thresholds=model.thresholds_.tolist(),
        rivals=[
            LabelRival(
                trial.title,
                trial.figures["micro_f1"],
                trial.figures["macro_f1"],
                trial.log_loss,
                trial.seconds,
                trial is model.trials_[0],
            )
            for trial in model.trials_
        ],
        words={
            name: model.runtime_.top_terms(label) for name, label in zip(names, model.runtime_.classes, strict=True)
        },
        mistakes=_mistakes(model, texts, Y, names),
        warnings=_warnings(Y, names, texts, model),
    )


def _mistakes(model: MultiLabelTextClassifier, texts: Sequence[str], Y: Any, names: list[str]) -> list[LabelMistake]:
    """The labels given, or not given, with the most certainty and wrongly, one a text."""
    P, gets, has = model.oof_probabilities_, model.oof_predictions_, Y[model.rows_]
    certainty = np.where(gets != has, np.where(gets, P, 1 - P), -1.0)
    found = []
    for i in np.argsort(-certainty.max(axis=1), kind="stable")[:_MOST_MISTAKES]:
        k = int(certainty[i].argmax())
        if certainty[i, k] < 0:
            break
        text = texts[model.rows_[i]]
        words = model.explain(text, model.runtime_.classes[k]).words
        spans = [(begin, end, word.contribution / len(word.spans)) for word in words for begin, end in word.spans]
        true, called = (_named(row, names) for row in (has[i], gets[i]))
        found.append(LabelMistake(text, true, called, names[k], float(P[i, k]), spans))
    return found


def _named(row: Iterable[bool], names: list[str]) -> list[str]:
    return [name for name, there in zip(names, row, strict=True) if there]


def _warnings(Y: Any, names: list[str], texts: Sequence[str], model: MultiLabelTextClassifier) -> list[str]:
    """What a careful person would ask about the data before believing a figure."""
    found = []
    counts = Y.sum(axis=0)
    tiny = [f"{names[k]} ({counts[k]})" for k in np.argsort(counts, kind="stable") if counts[k] < _TINY]
    if tiny:
        found.append(f"{len(tiny)} labels have fewer than {_TINY} texts: {', '.join(tiny[:5])}")
    full = [name for name, count in zip(names, counts, strict=True) if count == len(Y)]
    if full:
        found.append(f"every text has the label {full[0]}: it says nothing")
    first = np.unique(model.groups_, return_index=True)[1]
    torn = int((Y != Y[first][np.unique(model.groups_, return_inverse=True)[1]]).any(axis=1).sum())
    if torn:
        found.append(f"{torn} texts occur with two sets of labels: no model can get both right")
    repeats = len(texts) - len(first)
    if repeats > 0.05 * len(texts):
        found.append(f"{repeats:,} of {len(texts):,} texts are repeats; they are kept on one side of every split")
    return found
