"""What a report shows of a trained text classifier."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.classifier.contents import contents_of, plain
from tallywise.classifier.model import TextClassifier
from tallywise.classifier.trials import TrainingData, fit, verdicts
from tallywise.classifier.weighting import Weighting
from tallywise.evaluation import (
    Figure,
    class_figures,
    constant_error,
    cover_hart_interval,
    make_folds,
    proportion_interval,
)
from tallywise.evaluation.report import Mistake, ReportData, Rival
from tallywise.neighbors import NearestNeighbors
from tallywise.runtime import TextModel

_MOST_MISTAKES = 12
_TINY_CLASS = 10


def report_data(model: TextClassifier, texts: Sequence[str], labels: Sequence[Any], source: str) -> ReportData:
    """Gather everything that the report page shows."""
    codes = np.searchsorted(model.classes_, np.asarray(labels))
    rows = model.rows_
    P = model.oof_probabilities_
    verdicts = model.runtime_.decide(P)
    names = [str(label) for label in model.classes_]
    data = _training_data(model, texts, codes)
    positive = 1
    if model.threshold_ is not None:
        positive = model.classes_.tolist().index(model.rule_["class"])
    return ReportData(
        title=f"{' and '.join(names) if len(names) == 2 else f'{len(names)} classes'}: a text model",
        source=source,
        classes=names,
        codes=codes[rows],
        probabilities=P,
        verdicts=verdicts,
        figures=model.figures_,
        split=model.description_[0].removeprefix("compared by "),
        model=model.recipe_.describe(model.setting_),
        rivals=[
            Rival(trial.title, trial.error_figure(), trial.log_loss, trial.seconds, trial is model.trials_[0])
            for trial in model.trials_
        ],
        constant_error=constant_error(codes),
        bayes_error=bayes_error(model, data),
        words={
            name: model.runtime_.top_terms(label) for name, label in zip(names, model.runtime_.classes, strict=True)
        },
        mistakes=_mistakes(model, texts, data, verdicts),
        curve=_curve(model, data),
        warnings=data_warnings(texts, labels, model.groups_),
        by_class=class_figures(codes[rows], verdicts, np.arange(len(names)), groups=model.groups_[rows], names=names),
        positive=positive,
        threshold=model.threshold_.value if model.threshold_ is not None else 0.5,
    )


def bayes_error(model: TextClassifier, data: TrainingData, queries: int = 1000) -> tuple[float, float] | None:
    """Cover and Hart's interval for the Bayes error, from the nearest other text (tf-idf, cosine).

    A repeat of a text is not its neighbour. At most `queries` texts, drawn by the model's seed, are asked. None where
    the kept model errs less than the interval says: the bound holds in the limit of many texts, and these are too few.
    """
    counts, codes = data.counts[0], data.codes
    features = Weighting.fit("tf-idf", counts).apply(counts)
    asked = np.sort(np.random.default_rng(model.random_state).permutation(len(codes))[:queries])
    first = np.unique(model.groups_, return_index=True)[1]  # one row for each group: of its two nearest, one is another
    search = NearestNeighbors(n_neighbors=2, metric="cosine").fit(features[first])
    near = first[search.kneighbors(features[asked])[1]]
    own = model.groups_[near[:, 0]] == model.groups_[asked]
    wrong = codes[np.where(own, near[:, 1], near[:, 0])] != codes[asked]
    low, high = cover_hart_interval(int(wrong.sum()), len(asked), len(model.classes_))
    return (low, high) if model.trials_[0].error >= low else None


def _mistakes(
    model: TextClassifier, texts: Sequence[str], data: TrainingData, verdicts: NDArray[np.intp]
) -> list[Mistake]:
    """The mistakes the model was surest of, with what each word of them said."""
    P, rows, codes = model.oof_probabilities_, model.rows_, data.codes
    wrong = np.flatnonzero(verdicts != codes[rows])
    surest = wrong[np.argsort(-P[wrong, verdicts[wrong]], kind="stable")][:_MOST_MISTAKES]
    few = len(np.unique(model.groups_[rows[surest]])) == len(np.unique(model.groups_))  # without all, nothing is left
    judge = _without(model, data, rows[surest]) if len(surest) and not few else model.runtime_
    found = []
    for i in surest:
        if few:
            judge = _without(model, data, rows[i : i + 1])
        text, called = texts[rows[i]], model.classes_[verdicts[i]]
        words = judge.explain(text, plain(called)).words
        spans = [(begin, end, word.contribution / len(word.spans)) for word in words for begin, end in word.spans]
        true = str(model.classes_[codes[rows[i]]])
        found.append(Mistake(text, true, str(called), float(P[i, verdicts[i]]), spans))
    return found


def _without(model: TextClassifier, data: TrainingData, rows: NDArray[np.intp]) -> TextModel:
    """The kept model, learned without these texts and their repeats."""
    kept = np.flatnonzero(~np.isin(model.groups_, model.groups_[rows]))
    form = fit(model.recipe_, model.setting_, data, kept)
    return TextModel(contents_of(model, form.shifted(model.offsets_)))


def _training_data(model: TextClassifier, texts: Sequence[str], codes: NDArray[np.intp]) -> TrainingData:
    counts = [view.count(texts) for view in model.views_]
    return TrainingData(model.views_, counts, codes, model.classes_, model.n_jobs, model.class_weight)


def _curve(model: TextClassifier, data: TrainingData) -> list[tuple[int, Figure]]:
    """Error of the kept model on a fifth of the texts, learned from more and more of the rest.

    What it is learned from all of the rest is known from the comparison.
    """
    codes = data.codes
    n_splits = min(5, len(np.unique(model.groups_)))
    train, test = next(
        iter(make_folds(codes, groups=model.groups_, n_splits=n_splits, random_state=model.random_state))
    )
    order = np.random.default_rng(model.random_state).permutation(train)
    points = []
    for share in (0.05, 0.1, 0.2, 0.4):
        part = order[: max(int(share * len(order)), 10)]
        if len(np.unique(codes[part])) < len(model.classes_):
            continue
        form = fit(model.recipe_, model.setting_, data, part).shifted(model.offsets_)
        guess = verdicts(form, form.scores(data.features_of(form, test)))
        wrong = int((guess != codes[test]).sum())
        ends = proportion_interval(wrong, len(test))
        points.append((len(part), Figure("error", wrong / len(test), *ends, "exact binomial")))
    return [*points, (len(train), model.trials_[0].error_figure())]


def data_warnings(texts: Sequence[str], labels: Sequence[Any], groups: NDArray[np.intp]) -> list[str]:
    """What a careful person would ask about the data before believing a figure."""
    found = []
    counts = Counter(labels)
    tiny = [f"{label} ({count})" for label, count in counts.items() if count < _TINY_CLASS]
    if tiny:
        found.append(f"{len(tiny)} classes have fewer than {_TINY_CLASS} texts: {', '.join(sorted(tiny)[:5])}")
    of_group: dict[int, set[Any]] = {}
    for group, label in zip(groups.tolist(), labels, strict=True):
        of_group.setdefault(group, set()).add(label)
    torn = sum(len(names) > 1 for names in of_group.values())
    if torn:
        found.append(f"{torn} texts occur with two labels: no model can get both right")
    repeats = len(texts) - len(of_group)
    if repeats > 0.05 * len(texts):
        found.append(f"{repeats:,} of {len(texts):,} texts are repeats; they are kept on one side of every split")
    leaks = _leaks(texts, labels, counts)
    if leaks:
        found.append(f"labels stand in their own texts: {', '.join(leaks[:5])} (does the text give the answer away?)")
    if others := _scripts(texts):
        found.append(f"texts in several scripts: {others}")
    return found


def _leaks(texts: Sequence[str], labels: Sequence[Any], counts: Counter[Any]) -> list[str]:
    """Labels that stand as a word in nine of ten of their own texts and hardly elsewhere."""
    own: Counter[Any] = Counter()
    for text, label in zip(texts, labels, strict=True):
        own[label] += str(label).lower() in text.lower()
    found = []
    for label, count in counts.items():
        word = str(label).lower()
        if count < _TINY_CLASS or len(word) < 3 or word.isdigit() or own[label] <= 0.9 * count:
            continue
        rest = sum(word in text.lower() for text in texts) - own[label]
        if rest < 0.1 * max(len(texts) - count, 1):
            found.append(f'"{label}"')
    return found


def _scripts(texts: Sequence[str]) -> str:
    """Shares of scripts beside Latin, where any has more than two in a hundred of the texts."""
    ranges = {
        "Cyrillic": ("\u0400", "\u04ff"),
        "Greek": ("\u0370", "\u03ff"),
        "Arabic": ("\u0600", "\u06ff"),
        "Hebrew": ("\u0590", "\u05ff"),
        "Chinese or Japanese": ("\u3040", "\u9fff"),
        "Korean": ("\uac00", "\ud7af"),
    }
    shares = []
    for name, (low, high) in ranges.items():
        share = sum(any(low <= c <= high for c in text[:500]) for text in texts if not text.isascii()) / len(texts)
        if share > 0.02:
            shares.append(f"{name} in {100 * share:.0f} %")
    return ", ".join(shares)
