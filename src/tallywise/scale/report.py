"""What the report shows of a model from shards, from the texts that were held out by their hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import Metric, class_metrics, constant_error, proportion_interval
from tallywise.models.text_serving import TextModel
from tallywise.report import Mistake, ReportData, Rival
from tallywise.scale.engines import Fleet

if TYPE_CHECKING:
    from tallywise.scale.result import Training

_MOST_MISTAKES = 12


@dataclass(frozen=True)
class HeldOutTexts:
    """The held-out texts, in the order of shards: classes by number, probabilities, verdicts, and some mistakes."""

    codes: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    verdicts: NDArray[np.intp]
    mistakes: list[Mistake]


def surest_mistakes(
    fleet: Fleet,
    judge: TextModel,
    places: list[tuple[int, int]],
    codes: NDArray[np.int64],
    P: NDArray[np.float64],
    verdicts: NDArray[np.intp],
) -> list[Mistake]:
    """The mistakes that a model was surest of, with what each word said: the only texts that a worker ever sends.

    Parameters
    ----------
    judge : TextModel
        A model that has not learned the held-out texts.
    places : list of (int, int)
        Shard of each held-out text, and its number among those of the shard.
    """
    wrong = np.flatnonzero(verdicts != codes)
    surest = wrong[np.argsort(-P[wrong, verdicts[wrong]], kind="stable")][:_MOST_MISTAKES].tolist()
    if not surest:
        return []
    texts: dict[tuple[int, int], str] = {}
    for found in fleet.ask("held_texts", [places[i] for i in surest]):
        texts.update(found)
    mistakes = []
    for i in surest:
        text, called = texts[places[i]], judge.classes[verdicts[i]]
        words = judge.explain(text, called).words
        spans = [(begin, end, word.contribution / len(word.spans)) for word in words for begin, end in word.spans]
        true = str(judge.classes[codes[i]])
        mistakes.append(Mistake(text, true, str(called), float(P[i, verdicts[i]]), spans))
    return mistakes


def report_data(made: Training, source: str) -> ReportData | None:
    """All that the report page shows; None where no texts were held out."""
    judged, model = made.judged, made.model
    if judged is None:
        return None
    names, codes = [str(label) for label in model.classes_], judged.codes
    positive = 1
    if model.threshold_ is not None:
        positive = model.classes_.tolist().index(model.rule_["class"])
    warnings = [f"a shard was left out: {problem}" for problem in made.skipped.values()]
    return ReportData(
        title=f"{' and '.join(names) if len(names) == 2 else f'{len(names)} classes'}: a text model",
        source=f"{source}, held out of {made.rows:,} by {made.workers}",
        classes=names,
        codes=codes,
        probabilities=judged.probabilities,
        verdicts=judged.verdicts,
        figures=model.figures_,
        split="by the hash of their characters, so that repeats stay together; learned after these figures were taken",
        model=model.title_,
        rivals=[
            Rival(trial["title"], _error(trial, len(codes)), trial["log_loss"], trial["seconds"], k == 0)
            for k, trial in enumerate(made.trials)
        ],
        constant_error=constant_error(codes),
        words={
            name: model.runtime_.top_terms(label) for name, label in zip(names, model.runtime_.classes, strict=True)
        },
        mistakes=judged.mistakes,
        warnings=warnings,
        by_class=class_metrics(codes, judged.verdicts, np.arange(len(names)), names=names),
        positive=positive,
        threshold=model.threshold_.value if model.threshold_ is not None else 0.5,
    )


def _error(trial: dict[str, Any], n: int) -> Metric:
    ends = proportion_interval(round(trial["error"] * n), n)
    return Metric("error", trial["error"], *ends, "exact binomial")
