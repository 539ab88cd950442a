"""A model of a table on rows that had no part in fitting, choosing or stopping it."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import Folds, Metric, make_folds, proportion
from tallywise.selection import held_rows
from tallywise.table_model.goals import losses_of
from tallywise.table_model.procedure import Learned, Outcome, Procedure
from tallywise.table_model.training_columns import TableData

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_TINY = float(np.finfo(float).tiny)
_SOME_ROWS, _MANY_ROWS = 3_000, 20_000  # from which on three folds, and one, leave enough rows to evaluate on


@dataclass
class TableTrial:
    """Predictions of a model for the rows held out, and what they are worth."""

    name: str
    title: str
    seconds: float
    predictions: Array  # probabilities of the classes, or numbers as one column
    wrong: Array = field(default_factory=lambda: np.empty(0))  # by row: errors, or losses of numbers
    losses: Array = field(default_factory=lambda: np.empty(0))  # likewise, the log loss or the absolute error

    @property
    def error(self) -> float:
        """Mean error of the held-out rows."""
        return float(self.wrong.mean())

    @property
    def log_loss(self) -> float:
        """Mean log loss of the held-out rows."""
        return float(self.losses.mean())

    def error_metric(self, groups: Any = None) -> Metric:
        """Error on the held-out rows, with its interval; rows of a group count as far as they are independent."""
        return proportion("error", self.wrong, groups)

    def measure(self, data: TableData, rows: Rows, loss: str) -> None:
        """Losses of the rows."""
        if data.target.task == "numbers":
            y, z = data.target.y[rows], self.predictions[:, 0]
            self.wrong, self.losses = losses_of(loss, y, z, float(np.std(y))), np.abs(z - y)
            return
        codes, P = data.target.codes[rows], self.predictions
        self.wrong = (P.argmax(axis=1) != codes).astype(float)
        self.losses = -np.log(np.maximum(P[np.arange(len(P)), codes], _TINY))


def evaluation_folds(data: TableData, groups: NDArray[np.intp], cv: int | None, random_state: int) -> Folds:
    """The outer folds: five, three from 3,000 rows on, and one of five from 20,000 on; or as many as asked for."""
    y = data.target.y if data.target.task == "numbers" else data.target.codes
    few = 3 if _SOME_ROWS <= data.n < _MANY_ROWS else 5
    # Another seed than that of the folds inside: the same shuffle would nest one in the other.
    folds = make_folds(y, groups=groups, n_splits=min(cv or few, len(np.unique(groups))), random_state=random_state + 1)
    if cv is None and data.n >= _MANY_ROWS:
        return Folds(list(folds)[:1], f"{folds.description}, one of them used")
    return folds


def evaluate(
    how: Procedure,
    data: TableData,
    groups: NDArray[np.intp],
    folds: Folds,
    final: Outcome,
) -> list[TableTrial]:
    """The whole procedure on the rows of each outer fold: first what it keeps, then the models that it tried."""
    rows = held_rows(folds)
    place = np.full(data.n, -1)
    place[rows] = np.arange(len(rows))
    width = 1 if data.target.task == "numbers" else len(data.target.classes)

    def trial(name: str) -> TableTrial:
        return TableTrial(name, final.models[name].title, 0.0, np.full((len(rows), width), np.nan))

    best, trials = trial(final.kept), {name: trial(name) for name in final.models if name != final.kept}
    for number, (train, test) in enumerate(folds):
        begin = time.perf_counter()
        found = how.learn(data, np.asarray(train), groups, f"evaluation {number + 1} of {len(folds)}: ")
        X: Any = data.matrix(found.models[found.kept].design, test)
        best.predictions[place[test]] = found.models[found.kept].predict(data, test, X)
        best.seconds += time.perf_counter() - begin
        for name, tried in trials.items():
            model: Learned | None = found.models.get(name)
            if model is not None:
                tried.predictions[place[test]] = model.predict(data, test, X)
                tried.seconds += model.seconds
    whole = [best, *(tried for tried in trials.values() if not np.isnan(tried.predictions).any())]
    for found_trial in whole:
        found_trial.measure(data, rows, how.loss)
    return whole
