"""What a report shows of a trained text classifier."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import (
    Metric,
    class_metrics,
    constant_error,
    cover_hart_interval,
    make_folds,
    proportion,
)
from tallywise.models.decision_rule import plain
from tallywise.models.text_serving import TextModel
from tallywise.neighbors import NearestNeighbors
from tallywise.report import Mistake, ReportData, Rival
from tallywise.report.data import fingerprint
from tallywise.selection import COMPARED
from tallywise.text_model.candidates import fit_trial
from tallywise.text_model.contents import text_file_of
from tallywise.text_model.text_classifier import TextClassifier
from tallywise.text_model.training_data import TrainingData
from tallywise.text_model.weighting import Weighting

_MOST_MISTAKES = 12
_MOST_TEXTS = 20_000  # that the page's own fits and searches are made of
_TINY_CLASS = 10


def report_data(
    model: TextClassifier, texts: Sequence[str], labels: Sequence[Any], source: str, *, page: bool = True
) -> ReportData:
    """Gather everything that the report page shows.

    Without `page`, what the command says alone: words, mistakes and the curve, which take fits of their own, are empty.
    """
    codes = np.searchsorted(model.classes_, np.asarray(labels))
    rows = model.rows_
    P = model.oof_probabilities_
    verdicts = model.runtime_.decide(P)
    names = [str(label) for label in model.classes_]
    wrong = np.flatnonzero(verdicts != codes[rows])
    surest = wrong[np.argsort(-P[wrong, verdicts[wrong]], kind="stable")][:_MOST_MISTAKES]
    inside = _sample(model, rows[surest])
    data = _training_data(model, [texts[i] for i in inside], codes[inside])
    groups = model.groups_[inside]
    positive = 1
    if model.threshold_ is not None:
        positive = model.classes_.tolist().index(model.rule_["class"])
    return ReportData(
        title=f"{' and '.join(names) if len(names) == 2 else f'{len(names)} classes'}: a text model",
        source=source,
        fingerprint=fingerprint(texts, labels),
        classes=names,
        codes=codes[rows],
        probabilities=P,
        verdicts=verdicts,
        figures=model.figures_,
        split=model.description_[0].removeprefix("compared by "),
        model=model.title_,
        rivals=[
            Rival(
                trial.title,
                trial.error_metric(model.groups_[model.rows_]),
                trial.log_loss,
                trial.seconds,
                trial is model.trials_[0],
            )
            for trial in model.trials_
        ],
        constant_error=constant_error(codes),
        bayes_error=bayes_error(model, data, groups),
        words={
            name: model.runtime_.top_terms(label) if page else []
            for name, label in zip(names, model.runtime_.classes, strict=True)
        },
        mistakes=_mistakes(model, texts, codes, surest, data, groups) if page else [],
        curve=_curve(model, data, groups) if page else [],
        warnings=data_warnings(texts, labels, model.groups_),
        by_class=class_metrics(codes[rows], verdicts, np.arange(len(names)), groups=model.groups_[rows], names=names),
        positive=positive,
        threshold=model.threshold_.value if model.threshold_ is not None else 0.5,
    )


def _sample(model: TextClassifier, wanted: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows that the page's own fits are made of: all, or where they are many a part of them with those wanted."""
    n = len(model.groups_)
    if n <= _MOST_TEXTS:
        return np.arange(n)
    drawn = np.random.default_rng(model.random_state).permutation(n)[:_MOST_TEXTS]
    return np.union1d(drawn, wanted)


def bayes_error(
    model: TextClassifier, data: TrainingData, groups: NDArray[np.intp] | None = None, queries: int = 1000
) -> tuple[float, float] | None:
    """Cover and Hart's interval for the Bayes error, from the nearest other text (tf-idf, cosine).

    The data is that of the model, or a part of it with groups of its own. A repeat of a text is not its neighbour. At
    most `queries` texts, drawn by the model's seed, are asked. None where the kept model errs less than the interval
    says: the bound holds in the limit of many texts, and these are too few.
    """
    counts, codes = data.counts[0], data.codes
    groups = model.groups_ if groups is None else groups
    features = Weighting.fit("tf-idf", counts).apply(counts)
    asked = np.sort(np.random.default_rng(model.random_state).permutation(len(codes))[:queries])
    first = np.unique(groups, return_index=True)[1]  # one row for each group: of its two nearest, one is another
    search = NearestNeighbors(n_neighbors=2, metric="cosine").fit(features[first])
    near = first[search.kneighbors(features[asked])[1]]
    own = groups[near[:, 0]] == groups[asked]
    wrong = codes[np.where(own, near[:, 1], near[:, 0])] != codes[asked]
    low, high = cover_hart_interval(int(wrong.sum()), len(asked), len(model.classes_))
    return (low, high) if model.trials_[0].error >= low else None


def _mistakes(
    model: TextClassifier,
    texts: Sequence[str],
    codes: NDArray[np.intp],
    surest: NDArray[np.intp],
    data: TrainingData,
    groups: NDArray[np.intp],
) -> list[Mistake]:
    """The mistakes the model was surest of, with what each word of them said."""
    P, rows = model.oof_probabilities_, model.rows_
    verdicts = model.runtime_.decide(P[surest])
    of_surest = np.unique(model.groups_[rows[surest]])
    few = len(of_surest) == len(np.unique(groups))  # without all, nothing is left
    judge = _without(model, data, groups, of_surest) if len(surest) and not few else model.runtime_
    found = []
    for i, verdict in zip(surest, verdicts, strict=True):
        if few:
            judge = _without(model, data, groups, model.groups_[rows[i : i + 1]])
        text, called = texts[rows[i]], model.classes_[verdict]
        words = judge.explain(text, plain(called)).words
        spans = [(begin, end, word.contribution / len(word.spans)) for word in words for begin, end in word.spans]
        true = str(model.classes_[codes[rows[i]]])
        found.append(Mistake(text, true, str(called), float(P[i, verdict]), spans))
    return found


def _without(
    model: TextClassifier, data: TrainingData, groups: NDArray[np.intp], left_out: NDArray[np.intp]
) -> TextModel:
    """The kept model, learned without the texts of these groups."""
    kept = np.flatnonzero(~np.isin(groups, left_out))
    return TextModel(text_file_of(model, fit_trial(model.trials_[0], data, kept)))


def _training_data(model: TextClassifier, texts: Sequence[str], codes: NDArray[np.intp]) -> TrainingData:
    counts = [view.count(texts) for view in model.views_]
    return TrainingData(model.views_, counts, codes, model.classes_, model.n_jobs, model.class_weight)


def _curve(model: TextClassifier, data: TrainingData, groups: NDArray[np.intp]) -> list[tuple[int, Metric]]:
    """Error of the kept model on a fifth of the texts, learned from more and more of the rest.

    What it is learned from all of the rest is known from the comparison.
    """
    codes = data.codes
    n_splits = min(5, len(np.unique(groups)))
    train, test = next(iter(make_folds(codes, groups=groups, n_splits=n_splits, random_state=model.random_state)))
    order = np.random.default_rng(model.random_state).permutation(train)
    points = []
    for share in (0.05, 0.1, 0.2, 0.4):
        part = order[: max(int(share * len(order)), 10)]
        if len(np.unique(codes[part])) < len(model.classes_):
            continue
        form = fit_trial(model.trials_[0], data, part)
        guess = form.most_likely(form.scores(data.features_of(form, test)))
        del form  # before the next is fitted: of many terms and classes, half a gigabyte each
        points.append((len(part), proportion("error", guess != codes[test], groups[test])))
    learned = len(train)
    if len(codes) < len(model.groups_):
        learned = min(len(model.groups_), COMPARED) * (n_splits - 1) // n_splits
    return [*points, (learned, model.trials_[0].error_metric(model.groups_[model.rows_]))]


def data_warnings(texts: Sequence[str], labels: Sequence[Any], groups: NDArray[np.intp]) -> list[str]:
    """What a careful person would ask about the data before believing a figure."""
    found = []
    counts = Counter(labels)
    tiny = [f"{label} ({count})" for label, count in counts.items() if count < _TINY_CLASS]
    if tiny:
        found.append(f"{len(tiny)} classes have fewer than {_TINY_CLASS} texts: {', '.join(sorted(tiny)[:5])}")
    code = {label: k for k, label in enumerate(counts)}
    pairs = np.unique(groups * len(code) + np.fromiter(map(code.__getitem__, labels), dtype=np.intp, count=len(labels)))
    distinct, of_group = np.unique(pairs // len(code), return_counts=True)
    torn = int((of_group > 1).sum())
    if torn:
        found.append(f"{torn} texts occur with two labels: no model can get both right")
    repeats = len(texts) - len(distinct)
    if repeats > 0.05 * len(texts):
        found.append(f"{repeats:,} of {len(texts):,} texts are repeats; they are kept on one side of every split")
    if len(texts) > _MOST_TEXTS:  # shares of a part of them say enough
        step = -(-len(texts) // _MOST_TEXTS)
        texts, labels = texts[::step], labels[::step]
        counts = Counter(labels)
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
