"""Two models of a table in one: the weighted sum of their scores, where they err on different rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.table_model.fitted import Fitted
from tallywise.table_model.recipes import Recipe
from tallywise.table_model.training_columns import Problem, Rows, TableData
from tallywise.table_model.trials import TableTrial
from tallywise.text_model.forms import Form

Array = NDArray[np.float64]
_SHARES = (0.25, 0.5, 0.75)
_MOST = 4  # models of which pairs are made


class Blended(NamedTuple):
    """Scores a z_1 + b z_2 of two fitted models."""

    first: Fitted
    second: Fitted
    weights: tuple[float, float]

    @property
    def form(self) -> Form:
        """That of the first: neither has thresholds."""
        return self.first.form

    def scores(self, data: TableData, rows: Rows) -> Array:
        """Scores of rows."""
        a, b = self.weights
        return a * self.first.scores(data, rows) + b * self.second.scores(data, rows)

    def shifted(self, offsets: Array) -> "Blended":
        """The same with offsets added to its scores."""
        return self._replace(first=self.first.shifted(offsets / self.weights[0]))


@dataclass(frozen=True)
class Blend:
    """Two recipes with their settings; takes the place of a recipe in a trial."""

    first: Recipe
    second: Recipe
    settings: tuple[dict[str, Any], dict[str, Any]]
    weights: tuple[float, float]
    share: float  # of the second
    name: str = "blend"
    title: str = "two models"
    rank: int = 5
    like: str = ""

    def fit(self, problem: Problem) -> Blended:
        """Fit both."""
        ours, theirs = self.settings
        return Blended(self.first.fit(problem, **ours), self.second.fit(problem, **theirs), self.weights)

    def describe(self, setting: dict[str, Any]) -> str:
        """Both with their settings and shares, for people."""
        first, second = (r.describe(s) for r, s in zip((self.first, self.second), self.settings, strict=True))
        return f"{100 * (1 - self.share):.0f} % {first} + {100 * self.share:.0f} % {second}"


def best_blend(trials: Sequence[TableTrial], measure: Callable[[TableTrial], None]) -> TableTrial | None:
    """The best sum of two of the best trials, all judged on the same folds; None where there are no two.

    Scores of classes are weighed by their calibration, so that both speak in logarithms of odds.
    """
    able = [trial for trial in trials if not trial.thresholds.size][:_MOST]
    found: list[TableTrial] = []
    for one, other in combinations(able, 2):
        if one.recipe.name == other.recipe.name or one.scores.shape != other.scores.shape:
            continue
        for share in _SHARES:
            weights = (1 - share) * _unit(one), share * _unit(other)
            if weights[0] <= 0:
                continue
            blend = Blend(one.recipe, other.recipe, (one.setting, other.setting), weights, share)
            trial = TableTrial(blend, {}, weights[0] * one.scores + weights[1] * other.scores)
            trial.seconds = one.seconds + other.seconds
            measure(trial)
            found.append(trial)
    return min(found, key=lambda trial: (trial.error, trial.log_loss), default=None)


def _unit(trial: TableTrial) -> float:
    return float(trial.calibration.scale)
