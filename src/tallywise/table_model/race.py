"""The choice of a model of a table: all kinds on a sample, the best of them on everything, ties to the simpler.

What is bounded is work, not time: the same table gives the same model on any machine.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import Folds, make_folds
from tallywise.selection import Deadline, draw_groups, held_rows
from tallywise.table_model.blending import best_blend
from tallywise.table_model.number_fits import HUBER
from tallywise.table_model.recipes import Recipe
from tallywise.table_model.training_columns import Problem, Rows, TableData
from tallywise.table_model.trials import TableTrial, behind, better, ranking

Tell = Callable[[str], None]

_SAMPLE = 1000  # rows on which all kinds of models are tried: at least, or a tenth
_FINALISTS = 3
_FALLEN = 1.5  # standard errors behind on the first folds after which another setting is not judged on the rest
_ALIKE = 2  # folds after which models that are alike are told apart
_MANY_ROWS = 3000  # from which on three folds are judged instead of five: two thirds of them teach nearly as much


@dataclass
class Outcome:
    """Trials on the last folds, best first; titles of those left out before; how it went, for people."""

    trials: list[TableTrial]
    dropped: list[str]
    folds: Folds
    description: list[str] = field(default_factory=list)


def losses_of(loss: str, y: Any, prediction: Any) -> NDArray[np.float64]:
    """The loss of each row: squared, absolute or Huber's (in which errors beyond a usual size count by their size)."""
    e = np.abs(np.asarray(prediction, dtype=float) - np.asarray(y, dtype=float))
    if loss == "absolute":
        return np.asarray(e)
    if loss == "squared":
        return np.asarray(e**2)
    edge = HUBER * float(np.std(y)) / 2 or 1.0
    return np.asarray(np.where(e <= edge, e**2, 2 * edge * e - edge**2))


class _Stage:
    """Some folds of the rows, with the codes that each of them learned."""

    def __init__(self, data: TableData, folds: Folds, loss: str, clock: Deadline, tell: Tell) -> None:
        self.data, self.folds, self.loss, self.clock, self.tell = data, folds, loss, clock, tell
        self.problems = [Problem(data, train) for train, _ in folds]
        self.rows = held_rows(folds)

    def trial(self, recipe: Recipe, setting: dict[str, Any], folds: int | None = None) -> TableTrial:
        """Held-out scores of a model on all folds or the first few, and what they are worth."""
        found = TableTrial(recipe, setting)
        self.judge(found, end=folds)
        return found

    def judge(self, trial: TableTrial, begin: int = 0, end: int | None = None, best: TableTrial | None = None) -> bool:
        """Judge on some of the folds, those before having been judged already.

        With a `best` that has been judged on all of them, no fold is judged after the trial has fallen behind it, and
        False is returned.
        """
        recipe = trial.recipe
        for number in range(begin, len(self.folds) if end is None else end):
            self.tell(f"fold {number + 1} of {len(self.folds)}: {trial.title}")
            start = time.perf_counter()
            test = list(self.folds)[number][1]
            fitted = recipe.fit(self.problems[number], **trial.setting)
            z = fitted.scores(self.data, test)
            if trial.scores.size == 0:
                trial.scores = np.full((self.data.n, z.shape[1]), np.nan)
            cuts = fitted.form.thresholds
            # Thresholds differ from fold to fold: scores are moved so that the first threshold is always at zero.
            trial.thresholds = cuts - cuts[:1] if cuts.size else cuts
            trial.scores[test] = z - cuts[:1] if cuts.size else z
            trial.seconds += time.perf_counter() - start
            if best is not None and number + 1 < len(self.folds):
                self.measure(trial, number + 1)
                if _hopeless(trial, self._on_folds(best, number + 1)):
                    return False
        self.measure(trial, end)
        return True

    def measure(self, trial: TableTrial, folds: int | None = None) -> None:
        """What the scores of the first folds are worth."""
        data, rows = self.data, self._rows(folds)
        if data.target.task != "numbers":
            trial.calibrate(data.target.codes, rows)
            return
        y, z = data.target.y[rows], trial.scores[rows, 0]
        trial.wrong = losses_of(self.loss, y, z)
        trial.losses = np.abs(z - y)

    def _rows(self, folds: int | None) -> Rows:
        return self.rows if folds is None else held_rows(Folds(list(self.folds)[:folds], ""))

    def _on_folds(self, trial: TableTrial, folds: int) -> TableTrial:
        """A trial as the first folds show it."""
        same = np.isin(self.rows, self._rows(folds))
        return replace(trial, wrong=trial.wrong[same], losses=trial.losses[same])

    def walk(self, first: TableTrial, *, far: bool = True, fine: bool = True) -> TableTrial:
        """Along the lines of a recipe's settings, one after the other, as long as it gets better.

        Steps are of two values where `far`, and then, where `fine`, of one.
        """
        recipe = first.recipe
        best = first
        if best.error == 0:  # nothing is better
            return best
        tried = {tuple(first.setting.values())}
        for name, line in recipe.lines(self.data).items():
            for direction in (1, -1):
                moved = False
                while True:
                    stride = 2 if far and not isinstance(line[0], str) else 1
                    found = self._step(recipe, best, name, line, direction * stride, tried)
                    if found is None or not better(found, best):
                        break
                    best, moved = found, True
                if moved:
                    break
            if far and fine and not isinstance(line[0], str):
                for direction in (1, -1):
                    found = self._step(recipe, best, name, line, direction, tried)
                    if found is not None and better(found, best):
                        best = found
                        break
        return best

    def _step(
        self, recipe: Recipe, best: TableTrial, name: str, line: tuple[Any, ...], step: int, tried: set[tuple[Any, ...]]
    ) -> TableTrial | None:
        place = line.index(best.setting[name]) + step
        if not 0 <= place < len(line):
            return None
        setting = {**best.setting, name: line[place]}
        if tuple(setting.values()) in tried or self.clock.over():
            return None
        tried.add(tuple(setting.values()))
        found = TableTrial(recipe, setting)
        return found if self.judge(found, best=best) else None


def choose(
    data: TableData,
    groups: NDArray[np.intp],
    recipes: Sequence[Recipe],
    *,
    loss: str,
    cv: int | None,
    random_state: int,
    tell: Tell,
    time_limit: float | None = None,
) -> Outcome:
    """Compare recipes with their settings by cross-validation; codes are learned from the rows of each fold alone."""
    clock = Deadline(time_limit)
    n, target = data.n, data.target
    labels = target.y if target.task == "numbers" else target.codes
    splits = min(cv or (3 if n >= _MANY_ROWS else 5), len(np.unique(groups)))
    folds = make_folds(labels, groups=groups, n_splits=splits, random_state=random_state)
    size = max(_SAMPLE, n // 10)
    description = []
    if len(recipes) > 1 and n >= 2 * size:
        inside = draw_groups(target.codes, groups, size, random_state)
        small = make_folds(labels[inside], groups=groups[inside], n_splits=3, random_state=random_state)
        stage = _Stage(data, Folds([(inside[a], inside[b]) for a, b in small], ""), loss, clock, tell)
        tried, _ = _explore(stage, recipes, fine=False)  # small steps are for all rows to decide
        description.append(f"all models first on {len(inside):,} rows, the best of them on all")
        first = _Stage(data, Folds(list(folds)[:1], ""), loss, clock, tell)
        trials: list[TableTrial] = []
        for old in _finalists(tried):
            if not trials or not clock.over():
                trials.append(first.trial(old.recipe, old.setting))
        best = min(trials, key=_error)
        # Settings chosen on a sample are walked on from, now that there are more rows.
        going = [trial for trial in trials if trial is best or behind(trial, best) <= 2]
        trials = [first.walk(trial, far=False) for trial in going]
        whole = _Stage(data, folds, loss, clock, tell)
        whole.problems[0] = first.problems[0]
        # The simplest first: once a model makes no error at all, those that learn more can do no better.
        order = sorted(trials, key=lambda trial: (trial.recipe.rank, *_error(trial)))
        trials = []
        for trial in order:
            if any(other.error == 0 for other in trials):
                break
            leader = min(trials, key=_error) if trials else None
            if whole.judge(trial, begin=1, best=leader):
                trials.append(trial)
        complete = trials
    else:
        whole = _Stage(data, folds, loss, clock, tell)
        tried, complete = _explore(whole, recipes)
        trials = tried
    order = ranking(trials, 0.5)
    if not data.texts and order[0].error > 0:  # models of texts are large
        blend = best_blend(sorted(complete, key=_error), whole.measure)
        order = [blend, *order] if blend is not None and better(blend, order[0]) else order
    if clock.late:
        description.append(f"the time limit of {time_limit:g} s ended the comparison: another run may choose otherwise")
    kept = {trial.recipe.name for trial in order}
    reached = {trial.recipe.name for trial in tried}
    dropped = [trial.recipe.title for trial in tried if trial.recipe.name not in kept]
    dropped += [recipe.title for recipe in recipes if recipe.name not in reached]
    return Outcome(order, dropped, folds, description)


def _explore(
    stage: _Stage, recipes: Sequence[Recipe], *, fine: bool = True
) -> tuple[list[TableTrial], list[TableTrial]]:
    """The best setting of each recipe that is not clearly beaten after any fold; and all judged on all of them."""
    found: list[TableTrial] = []
    views: tuple[str, ...] = ()
    for recipe in recipes:
        if not found or not stage.clock.over():
            # Distances in the wrong view lead nowhere (kernel ridge on houses of Boston: 4.0 against 3.3). The first
            # model that takes them, nearest neighbours, costs least and says which view the others begin in.
            views = views or recipe.lines(stage.data).get("view", ())
            starts = [{**recipe.start, "view": view} for view in views] if "view" in recipe.start else []
            arms = [stage.trial(recipe, setting, folds=1) for setting in starts or [dict(recipe.start)]]
            found.append(min(arms, key=_error))
            views = (found[-1].setting["view"],) if starts else views
    for fold in range(1, len(stage.folds) + 1):
        complete = found = _distinct(found)
        leader = min(found, key=_error)
        found = [trial for trial in found if _near(trial, leader)]
        if fold >= _ALIKE:
            found = _best_of_kinds(found)
        for trial in found if fold < len(stage.folds) else []:
            stage.judge(trial, begin=fold, end=fold + 1)
    # The best first: it gets further ahead, and what is then clearly behind need not be walked.
    order = sorted(found, key=_error)
    leader = order[0]
    walked = []
    for trial in order:
        best = stage.walk(trial, fine=fine) if _near(trial, leader) else trial
        leader = min(leader, best, key=_error)
        walked.append(best)
    names = {trial.recipe.name for trial in walked}
    return walked, walked + [trial for trial in complete if trial.recipe.name not in names]


def _distinct(trials: Sequence[TableTrial]) -> list[TableTrial]:
    """Of trials with equal scores the simplest: curves with pairs of columns of which there are none are curves."""
    kept: list[TableTrial] = []
    for trial in sorted(trials, key=lambda trial: trial.recipe.rank):
        if not any(np.array_equal(trial.scores, other.scores, equal_nan=True) for other in kept):
            kept.append(trial)
    return kept


def _best_of_kinds(trials: Sequence[TableTrial]) -> list[TableTrial]:
    """The best of each kind of models that are alike: another loss or penalty of the same features."""
    best: dict[str, TableTrial] = {}
    for trial in sorted(trials, key=_error):
        best.setdefault(trial.recipe.like or trial.recipe.name, trial)
    return list(best.values())


def _near(trial: TableTrial, leader: TableTrial) -> bool:
    """Whether other settings may make it the best: they bring most to a model that learns more than the leader does."""
    return trial is leader or behind(trial, leader) <= (3 if trial.recipe.rank > leader.recipe.rank else 2)


def _error(trial: TableTrial) -> tuple[float, float]:
    return trial.error, trial.log_loss


def _hopeless(trial: TableTrial, best: TableTrial) -> bool:
    """Whether it will hardly be the better one: more errors than luck explains, or no fewer and more log loss."""
    more = behind(trial, best)
    loss = trial.losses - best.losses
    return more > _FALLEN or (more >= 0 and bool(loss.mean() > 2 * loss.std() / np.sqrt(len(loss))))


def _finalists(trials: Sequence[TableTrial]) -> list[TableTrial]:
    """The few best, and what learns more and is not clearly beaten yet: it gains most from more rows."""
    order = sorted(trials, key=_error)
    leader = order[0]
    going = [trial for trial in order if behind(trial, leader) <= 2]
    kept = going[:_FINALISTS]
    kept += [t for t in order if t not in kept and t.recipe.rank > leader.recipe.rank and behind(t, leader) <= 3]
    return kept
