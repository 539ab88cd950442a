"""What a report shows of a trained model of a table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import Metric, class_metrics, measure_numbers, proportion_interval
from tallywise.models.conformal import Residuals
from tallywise.models.table_serving import TableExplanation
from tallywise.reading.frames import Table
from tallywise.report import ColumnEffect, Mistake, NumberReportData, NumberRival, ReportData, Rival
from tallywise.table_model.model import TableModel
from tallywise.table_model.targets import make_target

Array = NDArray[np.float64]
_MOST_MISTAKES = 12
_EXPLAINED, _EXPLAINED_BY_MEMORY = 400, 60  # rows whose columns are explained; what remembers rows takes longer
_LEVELS = 12
_CELLS, _LONGEST_CELL = 14, 60  # of a mistake
_COVERAGES = (0.5, 0.8, 0.9, 0.95)
_PARTS = 5


def table_report_data(model: TableModel, table: Table, source: str) -> ReportData | NumberReportData:
    """Gather everything that the report page shows.

    Parameters
    ----------
    model : TableModel
        Fitted on the table.
    table : Table
        The rows learned from, with their target.
    source : str
        Where they are from.
    """
    rows = table.take(model.used_rows_)
    target = make_target(rows.columns[model.target_], model.task_, model.target_)
    how: dict[str, Any] = {
        "title": f"{model.target_}: a table model",
        "source": source,
        "split": model.description_[0].removeprefix("compared by "),
        "model": model.recipe_.describe(model.setting_),
        "figures": model.figures_,
        "columns": _effects(model, rows),
        "warnings": model.notes_,
    }
    if model.task_ == "numbers":
        return _of_numbers(model, rows, target.y[model.rows_], how)
    return _of_classes(model, rows, target.codes[model.rows_], how)


def _of_classes(model: TableModel, table: Table, codes: NDArray[np.intp], how: dict[str, Any]) -> ReportData:
    P, names = model.oof_probabilities_, [str(label) for label in model.classes_]
    verdicts = model.runtime_.decide(P)
    wrong = np.flatnonzero(verdicts != codes)
    surest = wrong[np.argsort(-P[wrong, verdicts[wrong]], kind="stable")][:_MOST_MISTAKES]
    mistakes = []
    for i in surest.tolist():
        found = _explained(model, table, i, model.runtime_.classes[verdicts[i]])
        mistakes.append(_mistake(found, names[codes[i]], names[verdicts[i]], float(P[i, verdicts[i]])))
    moved = model.threshold_ is not None
    return ReportData(
        classes=names,
        codes=codes,
        probabilities=P,
        verdicts=verdicts,
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
        constant_error=model.constant_,
        mistakes=mistakes,
        by_class=class_metrics(codes, verdicts, np.arange(len(names)), groups=model.groups_[model.rows_], names=names),
        positive=model.classes_.tolist().index(model.rule_["class"]) if moved else 1,
        threshold=model.threshold_.value if model.threshold_ is not None else 0.5,
        unit="rows",
        **how,
    )


def _of_numbers(model: TableModel, table: Table, y: Array, how: dict[str, Any]) -> NumberReportData:
    z = model.oof_predictions_
    coverage = [(asked, _coverage(y, z, asked, model.random_state)) for asked in _COVERAGES]
    inside = dict(coverage)[0.9]
    size = np.interp(z, model.residuals_.places, model.residuals_.sizes)
    mistakes = []
    for i in np.argsort(-np.abs(y - z) / size, kind="stable")[:_MOST_MISTAKES].tolist():
        mistakes.append(_mistake(_explained(model, table, i, None), f"{y[i]:.6g}", f"{z[i]:.6g}", None))
    squared = model.loss == "squared"
    constant = measure_numbers(y, np.full(len(y), y.mean()), random_state=model.random_state)["rmse"]
    return NumberReportData(
        target=model.target_,
        y=y,
        predictions=z,
        constant=constant,
        loss="RMSE" if squared else f"{model.loss} loss",
        rivals=[
            NumberRival(
                trial.title,
                trial.error**0.5 if squared else trial.error,
                trial.log_loss,
                trial.seconds,
                trial is model.trials_[0],
            )
            for trial in model.trials_
        ],
        coverage=coverage,
        mistakes=mistakes,
        **{**how, "figures": {**model.figures_, "coverage": inside}},
    )


def _coverage(y: Array, z: Array, asked: float, random_state: int) -> Metric:
    """Share of the rows inside of their interval, each part judged by the errors of the others."""
    part = np.random.default_rng(random_state).permutation(len(y)) % min(_PARTS, len(y))
    inside = 0
    for k in range(int(part.max()) + 1):
        own, rest = part == k, part != k
        half = Residuals.of(y[rest], z[rest]).half_width(z[own], asked)
        inside += int((np.abs(y[own] - z[own]) <= half).sum())
    return Metric("coverage", inside / len(y), *proportion_interval(inside, len(y)), "exact binomial")


def _explained(model: TableModel, table: Table, i: int, label: Any) -> TableExplanation:
    return model.runtime_.explain(table.take(model.rows_[i : i + 1]), label)


def _mistake(found: TableExplanation, true: str, predicted: str, probability: float | None) -> Mistake:
    """A row as text: its cells, those that add most first, each with what it adds."""
    pieces, spans, begin = [], [], 0
    for column in found.columns[:_CELLS]:
        value = "missing" if column.value is None else column.value
        shown = f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())
        shown = shown if len(shown) <= _LONGEST_CELL else shown[: _LONGEST_CELL - 1] + "…"
        piece = f"{column.column} = {shown}"
        spans.append((begin, begin + len(piece), column.contribution))
        pieces.append(piece)
        begin += len(piece) + 2
    return Mistake("; ".join(pieces), true, predicted, probability, spans)


def _effects(model: TableModel, table: Table) -> list[ColumnEffect]:
    """What columns add to the score of some rows drawn at random."""
    runtime = model.runtime_
    most = _EXPLAINED_BY_MEMORY if runtime.remembers else _EXPLAINED
    chosen = np.sort(np.random.default_rng(model.random_state).permutation(table.rows)[:most])
    some = table.take(chosen)
    names, added = runtime.contributions(some)
    sizes = np.abs(added).mean(axis=(0, 2))
    found = []
    for k, name in enumerate(names):
        points: list[tuple[float, float]] = []
        levels: list[tuple[str, float]] = []
        if added.shape[2] == 1:  # with several classes a value speaks for each of them differently
            words = runtime.top_words(name, _LEVELS)
            points, levels = ([], words) if words else _by_value(runtime.shown_values(name, some), added[:, k, 0])
        found.append(ColumnEffect(name, float(sizes[k]), points, levels))
    return found


def _by_value(values: list[Any], added: Array) -> tuple[list[tuple[float, float]], list[tuple[str, float]]]:
    """Points of a number; levels of a category with what each adds on the average, the commonest levels."""
    if all(value is None or isinstance(value, float) for value in values):
        return [(v, a) for v, a in zip(values, added.tolist(), strict=True) if v is not None], []
    by_level: dict[str, list[float]] = {}
    for value, a in zip(values, added.tolist(), strict=True):
        by_level.setdefault("missing" if value is None else str(value), []).append(a)
    common = sorted(by_level, key=lambda level: -len(by_level[level]))[:_LEVELS]
    return [], sorted(((level, float(np.mean(by_level[level]))) for level in common), key=lambda pair: -pair[1])
