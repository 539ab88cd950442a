"""The choice of a model: all kinds on a sample, the best of them on everything, and ties without luck.

The race is bounded by work, counted in entries of features read, not by time: the same data give the same model on any
machine. A time limit is there for those who ask for one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.classifier.recipes import Recipe, Sum
from tallywise.classifier.stacking import by_sigmoids, mixed, summed
from tallywise.classifier.trials import TrainingData, Trial, behind, judge, judged, sharper
from tallywise.evaluation import Folds, make_folds

Tell = Callable[[str], None]

_SAMPLE, _OF_A_CLASS = 1000, 25  # rows, and rows a class, on which all kinds of models are tried: at least, or a tenth
_WORK = 8e8  # entries read in cross-validation of the last few models; one fold is judged in any case
_CHEAP = 8  # effort of models that are tried whatever the work
COMPARED = 100_000  # rows that take part in a comparison at most
_FEW = 500  # texts below which settings, and the model unless clearly worse, are the usual ones
_REPEATED = 3000  # texts below which close results are repeated with other folds
_FINALISTS = 3


@dataclass
class Outcome:
    """Trials on the last folds, best first; titles of those left out before; how it went, for people."""

    trials: list[Trial]
    dropped: list[str]
    folds: Folds
    reason: str  # why the first
    description: list[str] = field(default_factory=list)


@dataclass
class _Race:
    data: TrainingData
    groups: NDArray[np.intp]
    random_state: int
    deadline: float
    tell: Tell
    late: bool = False

    def over(self) -> bool:
        """Whether the user's time is up."""
        self.late |= time.perf_counter() > self.deadline
        return self.late

    def trial(
        self, data: TrainingData, folds: Folds, recipe: Recipe, setting: dict[str, Any], near: Trial | None = None
    ) -> Trial:
        """A trial; its fits begin where those of one `near` it, on the same folds, ended."""
        found = Trial(recipe, setting, variables=None if near is None else near.variables)
        judge(data, found, folds, self.tell)
        return found

    def explore(
        self, data: TrainingData, folds: Folds, recipes: Sequence[Recipe], *, walk: bool, fine: bool
    ) -> list[Trial]:
        """The best setting of each recipe; recipes that are clearly beaten, or like a better one, keep their first."""
        found: list[Trial] = []
        for recipe in recipes:
            if not found or not self.over():
                found.append(self.trial(data, folds, recipe, recipe.grid[recipe.start]))
        if not walk:
            return found
        leader = min(found, key=lambda trial: (trial.error, trial.log_loss))
        best = {id(trial) for trial in _best_of_kinds(found) if not _beaten(trial, [leader], 3)}
        return [self.walk(data, folds, [trial], (2, -2), fine=fine) if id(trial) in best else trial for trial in found]

    def walk(
        self, data: TrainingData, folds: Folds, known: Sequence[Trial], steps: tuple[int, ...], *, fine: bool = False
    ) -> Trial:
        """From the best of some settings along the recipe's grid, up or else down, as long as it gets better.

        `fine` takes one single step around where that ends.
        """
        recipe = known[0].recipe
        assert isinstance(recipe, Recipe)
        tried = {recipe.grid.index(trial.setting): trial for trial in known}
        start = best = recipe.grid.index(known[0].setting)

        def improves(place: int) -> bool:
            nonlocal best
            if place in tried or not 0 <= place < len(recipe.grid) or self.over():
                return False
            tried[place] = self.trial(data, folds, recipe, recipe.grid[place], tried[best])
            if not better(tried[place], tried[best], 1):
                return False
            best = place
            return True

        for step in steps:
            while improves(best + step):
                pass
            if best != start:
                break
        if fine and not improves(best + 1):
            improves(best - 1)
        return tried[best]

    def confirm(self, data: TrainingData, folds: Folds, chosen: Trial) -> list[Trial]:
        """A setting that fewer rows chose against the recipe's first one, best first.

        More rows often want less freedom than a sample of them; what a sample gains must be clear on all rows, too.
        """
        recipe = chosen.recipe
        assert isinstance(recipe, Recipe)
        found = [self.trial(data, folds, recipe, recipe.grid[recipe.start])]
        if chosen.setting != found[0].setting and not self.over():
            other = self.trial(data, folds, recipe, chosen.setting, found[0])
            found.insert(0 if better(other, found[0], 1) else 1, other)
        return found


def choose(
    data: TrainingData,
    groups: NDArray[np.intp],
    recipes: Sequence[Recipe],
    *,
    cv: int | None,
    time_limit: float | None,
    random_state: int,
    tell: Tell,
) -> Outcome:
    """Compare the recipes, with their settings and sums, by cross-validation.

    Parameters
    ----------
    data : TrainingData
        Texts counted, and their classes.
    groups : array
        Rows that stay on one side of a split.
    recipes : list of Recipe
        What to compare.
    cv : int, optional
        Folds; by default 5, of which as many are judged as the work allows.
    time_limit : float, optional
        Seconds after which nothing further is tried.
    random_state : int
        Seed of the folds and of the sample.
    tell : callable
        Called with a line of text now and then.
    """
    n = len(data.codes)
    deadline = np.inf if time_limit is None else time.perf_counter() + time_limit
    race = _Race(data, groups, random_state, deadline, tell)
    description = []
    rows = _sample(data.codes, groups, COMPARED, random_state)
    whole, of_whole = (data, groups) if len(rows) == n else (data.part(rows), groups[rows])
    if len(rows) < n:
        description.append(f"compared on {len(rows):,} of the texts, drawn at random")
    recipes = _different(recipes, data)
    costly = [recipe for recipe in recipes if recipe.effort > _CHEAP and _work(recipe, whole) > _WORK]
    if len(costly) < len(recipes):
        recipes = [recipe for recipe in recipes if recipe not in costly]
    else:
        costly = []
    splits = min(cv or 5, len(np.unique(groups)))
    folds = make_folds(whole.codes, groups=of_whole, n_splits=splits, random_state=random_state)
    size = max(_SAMPLE, _OF_A_CLASS * len(data.classes), len(rows) // 10)
    if len(recipes) > 1 and len(rows) >= 2 * size:
        inside = _sample(whole.codes, of_whole, size, random_state)
        part = whole.part(inside)
        small = make_folds(part.codes, groups=of_whole[inside], n_splits=3, random_state=random_state)
        tried = race.explore(part, small, recipes, walk=True, fine=False)
        description.append(f"all models first on {len(inside):,} texts, the best of them on all")
        kept = _finalists(tried, [*tried, *_sums(tried, part.codes, judged(small))])
        first = Folds(list(folds)[:1], "")
        settings: list[list[Trial]] = []
        for old in kept:
            if not settings or not race.over():
                settings.append(race.confirm(whole, first, old))
        # Settings are walked on from, now that there are more rows, unless that is half the work.
        best = min((known[0] for known in settings), key=lambda trial: (trial.error, trial.log_loss))
        trials: list[Trial] = []
        for known in settings:
            recipe = known[0].recipe
            assert isinstance(recipe, Recipe)
            if not _beaten(known[0], [best], 5) and 4 * _work(recipe, whole) <= _WORK:
                trials.append(race.walk(whole, first, known, _away(known)))
            else:
                trials.append(known[0])
        folds = _within(folds, whole, trials)
        for trial in trials:
            judge(whole, trial, folds, tell, skip=1)
    else:
        walk = n >= _FEW or len(recipes) == 1
        tried = trials = race.explore(whole, folds, recipes, walk=walk, fine=True)
    every = [*trials, *_sums(trials, whole.codes, judged(folds))]
    if n <= _REPEATED and len(every) > 1 and cv is None:
        every = _repeated(race, whole, of_whole, every, splits)
    elif n > _REPEATED:
        leader = min(every, key=lambda trial: (trial.error, trial.log_loss))
        rows_judged = judged(folds)
        every = [t if behind(t, leader, 1) > 5 else _sharpest(t, whole.codes, rows_judged) for t in every]
    few = n < _FEW and len(every) > 1
    ranked = leaning(every) if few else ranking(every, 0.5)
    reason = "least error on rows not seen, ties to the simpler model and then by log loss"
    if few and ranked[0].error > min(trial.error for trial in every):
        reason = "as good as the best but for luck, and the best on most texts where there are few"
    if race.late:
        description.append(f"the time limit of {time_limit:g} s ended the comparison: another run may choose otherwise")
    for trial in ranked:
        trial.variables = None  # of no use any more
    kept_names = {trial.recipe.name for trial in ranked}
    dropped = [trial.recipe.title for trial in tried if trial.recipe.name not in kept_names]
    dropped += [recipe.title for recipe in (*recipes, *costly) if recipe.name not in {t.recipe.name for t in tried}]
    if len(rows) < n:
        folds = Folds([(rows[a], rows[b]) for a, b in folds], folds.description)
    return Outcome(ranked, list(dict.fromkeys(dropped)), folds, reason, description)


def _away(known: Sequence[Trial]) -> tuple[int, int]:
    """Single steps along a grid from the first of some trials: first away from the one that it is better than."""
    recipe = known[0].recipe
    assert isinstance(recipe, Recipe)
    first, last = (recipe.grid.index(trial.setting) for trial in (known[0], known[-1]))
    return (-1, 1) if first < last else (1, -1)


def _sample(codes: NDArray[np.intp], groups: NDArray[np.intp], size: int, random_state: int) -> NDArray[np.intp]:
    """Rows of about that number: whole groups drawn at random, at least two of each class where there are two."""
    n = len(codes)
    if n <= size:
        return np.arange(n)
    random = np.random.default_rng(random_state)
    numbers = np.unique(groups, return_inverse=True)[1]
    place = random.permutation(numbers.max() + 1)[numbers]  # each group's place in a random order
    order = np.lexsort((np.arange(n), place))
    chosen = np.zeros(n, dtype=bool)
    chosen[order[:size]] = True
    for k in np.flatnonzero(np.bincount(codes[chosen], minlength=codes.max() + 1) < 2):
        chosen[order[codes[order] == k][:2]] = True
    drawn = np.zeros(numbers.max() + 1, dtype=bool)
    drawn[numbers[chosen]] = True
    return np.flatnonzero(drawn[numbers])


def _different(recipes: Sequence[Recipe], data: TrainingData) -> list[Recipe]:
    """Recipes without those that are another one, the simpler, for these views: all views may be the words."""
    kept: dict[Any, Recipe] = {}
    for recipe in recipes:
        key = (recipe.fit, recipe.weighting, tuple(data.seen_by(recipe)))
        if key not in kept or recipe.rank < kept[key].rank:
            kept[key] = recipe
    return [recipe for recipe in recipes if recipe in kept.values()]


def _work(recipe: Recipe, data: TrainingData) -> float:
    """Entries that a fit on all rows reads, about."""
    columns = 1 if len(data.classes) == 2 or recipe.one_score else len(data.classes)
    return recipe.effort * columns * data.entries(recipe)


def _within(folds: Folds, data: TrainingData, kept: Sequence[Trial]) -> Folds:
    """As many of the folds as the work allows, at least one."""
    work = 0.0
    for trial in kept:
        assert isinstance(trial.recipe, Recipe)
        work += _work(trial.recipe, data) * (1 - 1 / len(folds))
    count = int(np.clip(_WORK // max(work, 1.0), 1, len(folds)))
    if count == len(folds):
        return folds
    what = "one of them" if count == 1 else f"{count} of them"
    return Folds(list(folds)[:count], f"{folds.description}, {what} judged")


def _beaten(trial: Trial, others: Sequence[Trial], errors: float) -> bool:
    """Whether another trial is better by more than so many standard errors, and would be with more rows.

    What learns less is ahead on few rows for that reason, so it beats nothing.
    """
    return any(other.recipe.rank >= trial.recipe.rank and behind(trial, other, 1) > errors for other in others)


def better(trial: Trial, other: Trial, less: float = 0.0) -> bool:
    """Fewer errors by more than a standard error, or fewer at all and a log loss lower by two.

    A first setting is a prior that holds on most texts: it is left for evidence, not for luck. `less`: see `behind`.
    """
    return behind(trial, other, less) < -1 or (trial.error < other.error and sharper(trial, other))


def _best_of_kinds(trials: Sequence[Trial]) -> list[Trial]:
    """Best first, one of each kind.

    Linear machines of the same features differ little: the quickest stands for all of them, or one that is better.
    """
    kinds: dict[Any, Trial] = {}
    for trial in sorted(trials, key=lambda t: getattr(t.recipe, "effort", 0.0)):
        assert isinstance(trial.recipe, Recipe)
        same = trial.recipe.merged and trial.recipe.adds
        kind = (trial.recipe.views, trial.recipe.weighting) if same else trial.recipe.name
        if kind not in kinds or better(trial, kinds[kind], 1):
            kinds[kind] = trial
    return sorted(kinds.values(), key=lambda t: (t.error, t.log_loss))


def _finalists(singles: Sequence[Trial], every: Sequence[Trial]) -> list[Trial]:
    """The trials worth all rows: the few best of those not clearly beaten, and the parts of such sums."""
    kept = _best_of_kinds([trial for trial in singles if not _beaten(trial, every, 2)])[:_FINALISTS]
    leader = min(every, key=lambda trial: (trial.error, trial.log_loss))
    sums = sorted((trial for trial in every if isinstance(trial.recipe, Sum)), key=lambda t: (t.error, t.log_loss))
    for trial in sums:
        assert isinstance(trial.recipe, Sum)
        names = {part.recipe.name for part in trial.recipe.parts}
        # What a sum gains it gains with more rows; more errors at a surely lower log loss are no defeat.
        if behind(trial, leader, 1) <= 2 or sharper(trial, leader):
            kept += [single for single in singles if single.recipe.name in names and single not in kept]
    return kept or [leader]


def _sums(trials: Sequence[Trial], codes: NDArray[np.intp], rows: NDArray[np.intp]) -> list[Trial]:
    """Sums of each of the best two machines on tf-idf with each of the best two models on counts or presence.

    A machine that is clearly worse than another adds nothing to what that one does.
    """
    kinds: tuple[list[Trial], list[Trial]] = ([], [])
    for trial in _best_of_kinds([t for t in trials if isinstance(t.recipe, Recipe) and t.recipe.adds]):
        assert isinstance(trial.recipe, Recipe)
        kinds[trial.recipe.weighting != "tf-idf"].append(trial)
    machines, counters = kinds[0][:2], kinds[1][:2]
    machines = [trial for trial in machines if not _beaten(trial, machines[:1], 3)]
    found = [summed([one, other], codes, rows) for one in machines for other in counters]
    return [trial for trial in found if trial is not None]


def _sharpest(trial: Trial, codes: NDArray[np.intp], rows: NDArray[np.intp]) -> Trial:
    """The trial with its scores as they are, mixed, or by sigmoids: the least log loss, if it is clear."""
    return min((mixed(trial, codes, rows), by_sigmoids(trial, codes, rows)), key=lambda found: found.log_loss)


def _repeated(
    race: _Race, data: TrainingData, groups: NDArray[np.intp], trials: list[Trial], splits: int
) -> list[Trial]:
    """Trials judged again with other folds, twice at most, while the first two are closer than a standard error."""
    runs = {id(trial): [(trial.wrong, trial.losses)] for trial in trials}
    for repeat in (1, 2):
        first, second = sorted(trials, key=lambda t: (t.error, t.log_loss))[:2]
        close = [trial for trial in trials if behind(trial, first) <= 1]
        if len(close) < 2 or first.error == second.error == 0 or race.over():
            break
        seed = race.random_state + 1000 * repeat
        folds = make_folds(data.codes, groups=groups, n_splits=splits, random_state=seed)
        again: dict[str, Trial] = {}

        def once_more(
            recipe: Recipe, setting: dict[str, Any], again: dict[str, Trial] = again, folds: Folds = folds
        ) -> Trial:
            title = recipe.describe(setting)
            if title not in again:
                again[title] = race.trial(data, folds, recipe, setting)
            return again[title]

        for trial in close:
            if isinstance(trial.recipe, Sum):
                parts = [once_more(part.recipe, part.setting) for part in trial.recipe.parts]
                new = summed(parts, data.codes, judged(folds)) or parts[0]
            else:
                new = once_more(trial.recipe, trial.setting)
            runs[id(trial)].append((new.wrong, new.losses))
            trial.wrong = np.mean([wrong for wrong, _ in runs[id(trial)]], axis=0)
            trial.losses = np.mean([losses for _, losses in runs[id(trial)]], axis=0)
    return trials


def leaning(trials: Sequence[Trial]) -> list[Trial]:
    """Best first by error, but for the linear machine that sees most: it is first unless clearly worse than the best.

    Folds of a few dozen texts cannot tell models apart, and the best of ten is so by luck. Of 100 to 400 texts of nine
    kinds (SMS, tweets, opinions, topics, questions), a machine of words and characters that is left for a model better
    by a standard error is right on 72.2 % of new ones, the model with the least error on 71.9 %, the simplest of those
    within a standard error of it on 71.5 %. The rule was chosen on these 46 draws, where some twenty others like it
    reach 72.4 to 72.7 %; on ten further draws it gains 0.06 points over the simplest.
    """
    by_error = sorted(trials, key=lambda trial: (trial.error, trial.log_loss))
    machines = [
        t for t in by_error if isinstance(t.recipe, Recipe) and t.recipe.weighting == "tf-idf" and t.recipe.adds
    ]
    usual = max(machines, key=lambda t: (t.recipe.rank, -getattr(t.recipe, "effort", 0.0)), default=by_error[0])
    if behind(usual, by_error[0]) > 1:
        return by_error
    return [usual, *(trial for trial in by_error if trial is not usual)]


def ranking(trials: Sequence[Trial], margin: float) -> list[Trial]:
    """Best first: by error; those that are as good as the best but for luck, the simplest first, then by log loss.

    As good but for luck: within `margin` standard errors of the paired difference, of errors and of log losses. A model
    whose log loss is above that of another such by two standard errors is not as good, be its error the least: its
    probabilities are worse beyond doubt, and its verdicts are no better.
    """
    by_error = sorted(trials, key=lambda trial: (trial.error, trial.log_loss))
    leader = by_error[0]

    def no_less_sharp(trial: Trial, other: Trial, errors: float) -> bool:
        loss = trial.losses - other.losses
        return bool(loss.mean() <= errors * loss.std() / np.sqrt(len(loss)))

    near = [t for t in by_error if t is leader or (behind(t, leader) <= margin and no_less_sharp(t, leader, margin))]
    sharpest = min(near, key=lambda trial: trial.log_loss)
    tied = [trial for trial in near if no_less_sharp(trial, sharpest, 2)]
    rest = [trial for trial in by_error if not any(trial is other for other in tied)]
    return sorted(tied, key=lambda trial: (trial.recipe.rank, trial.log_loss)) + rest
