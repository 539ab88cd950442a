"""Machines of all labels, cross-validated: which views and which setting tell labels of texts not seen."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays, _native
from tallywise.classifier.label_sets import Labels
from tallywise.classifier.recipes import Form, Recipe, _options, named
from tallywise.classifier.trials import TrainingData
from tallywise.evaluation import Calibration, Figure, Folds, calibrate
from tallywise.evaluation.labels import label_losses

Array = NDArray[np.float64]

MODELS = ("linear_svm", "word_svm")
_LEAST = 1000  # rows that are compared in any case
_RACE_TOL, _TOL = 5e-2, 1e-2  # relative gaps while settings are compared, and of the model that is kept


@dataclass
class LabelTrial:
    """One recipe with one setting, and its scores of rows it had not seen, one column a label."""

    recipe: Recipe
    setting: dict[str, Any]
    scores: Array = field(repr=False)
    seconds: float = 0.0
    calibrations: list[Calibration] = field(default_factory=list, repr=False)
    probabilities: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    log_loss: float = np.inf
    figures: dict[str, Figure] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Recipe and setting, for people."""
        return self.recipe.describe(self.setting)


class Machines:
    """The machines of all labels on the same texts: cross-validated, or fitted on everything."""

    def __init__(self, data: TrainingData, Y: Labels, sets: NDArray[np.uint8], n_jobs: int | None) -> None:
        self.data, self.Y, self.sets, self.n_jobs = data, Y, sets, n_jobs

    def part(self, rows: NDArray[np.intp]) -> "Machines":
        """The same of some rows."""
        return Machines(self.data.part(rows), self.Y[rows], self.sets, self.n_jobs)

    def work(self, recipe: Recipe) -> float:
        """Entries that one fit on all rows reads, about."""
        return float(recipe.effort * self.Y.shape[1] * self.data.entries(recipe))

    def rows_within(self, work: float, splits: int) -> int:
        """Rows whose cross-validation reads that many entries, and at least a few."""
        n = len(self.Y)
        share = work / max(splits * self.work(named(MODELS[0])), 1.0)
        return n if share >= 1 else max(int(share * n), min(n, _LEAST))

    def _problem(self, recipe: Recipe, setting: dict[str, Any]) -> tuple[Any, Any, Array, Array]:
        n, K = self.Y.shape
        codes = np.ascontiguousarray(self.data.codes, dtype=np.int64)
        return _arrays.rows(self.data.features(recipe)), codes, np.full(n, setting["C"]), np.ones((K, 2))

    def judge(self, recipe: Recipe, setting: dict[str, Any], folds: Folds, tell: Callable[[str], None]) -> LabelTrial:
        """Scores of rows by machines that had not seen them, calibrated label by label."""
        tell(f"cross-validating {recipe.describe(setting)}")
        fold_of = np.full(len(self.Y), -1, dtype=np.int32)
        for number, (_, test) in enumerate(folds):
            fold_of[test] = number
        problem = self._problem(recipe, setting)
        start = time.perf_counter()
        options = _options(self.n_jobs, _RACE_TOL, len(self.Y))
        blocks = self.data.unit_blocks(recipe)
        scores, _ = _native.held_out_margins(*problem, fold_of, options, self.sets, blocks)
        trial = LabelTrial(recipe, setting, scores)
        trial.seconds = time.perf_counter() - start
        z, Y = trial.scores[fold_of >= 0], self.Y[fold_of >= 0]
        trial.calibrations = [_calibrated(z[:, k], Y[:, k]) for k in range(Y.shape[1])]
        columns = [c.probabilities(z[:, [k]])[:, 1] for k, c in enumerate(trial.calibrations)]
        trial.probabilities = np.column_stack(columns)
        trial.log_loss = float(label_losses(Y, trial.probabilities).mean())
        return trial

    def fit(self, trial: LabelTrial) -> Form:
        """The machines on all rows as a form whose scores are log odds."""
        problem = self._problem(trial.recipe, trial.setting)
        W, b, *_ = _native.margin_classes(*problem, _options(self.n_jobs, _TOL, len(self.Y)), self.sets)
        a, shift = np.array([(found.scale, found.shift) for found in trial.calibrations]).T
        form = Form(np.ascontiguousarray((W * a[:, None]).T), a * b + shift)
        return self.data.unmerge(form, trial.recipe)._replace(blocks=self.data.blocks(trial.recipe))


def _calibrated(z: Array, y: Labels) -> Calibration:
    """Platt's sigmoid; where held-out scores mislead, the share of texts that have the label, whatever the score."""
    found = calibrate(z[:, None], y.astype(int))
    if y.any() and (y.all() or z[y].mean() > z[~y].mean()):
        return found
    share = (y.sum() + 1) / (len(y) + 2)
    return Calibration(found.scale, float(np.log(share / (1 - share)) - found.scale * z.mean()))


def walk(machines: Machines, recipe: Recipe, folds: Folds, tell: Callable[[str], None]) -> LabelTrial:
    """The best setting along the recipe's grid: up from its start, or else down, as long as the log loss falls."""
    place = recipe.start
    best = machines.judge(recipe, recipe.grid[place], folds, tell)
    for step in (1, -1):
        while 0 <= place + step < len(recipe.grid):
            trial = machines.judge(recipe, recipe.grid[place + step], folds, tell)
            if trial.log_loss >= best.log_loss:
                break
            best, place = trial, place + step
        if place != recipe.start:
            break
    return best


def strata(Y: Labels, splits: int) -> NDArray[np.intp]:
    """The rarest label of each text, so that every fold gets some of each; one number for those that are too rare."""
    counts = Y.sum(axis=0)
    rarity = np.where(Y, counts, len(Y) + 1)
    found = np.where(Y.any(axis=1), rarity.argmin(axis=1), Y.shape[1])
    rare = np.flatnonzero(np.bincount(found, minlength=Y.shape[1] + 1) < splits)
    found[np.isin(found, rare)] = Y.shape[1]
    return np.asarray(found, dtype=np.intp)


def sample(groups: NDArray[np.intp], size: int, random_state: int) -> NDArray[np.intp]:
    """Rows of whole groups, drawn at random, of about that number."""
    if size >= len(groups):
        return np.arange(len(groups))
    order = np.random.default_rng(random_state).permutation(int(groups.max()) + 1)
    return np.flatnonzero(order[groups] < size * (int(groups.max()) + 1) / len(groups))
