"""Which model? A race over cross-validation folds, within a budget of time."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tallywise.classifier.recipes import Form, Recipe
from tallywise.classifier.weighting import Weighting
from tallywise.evaluation import Calibration, Figure, Folds, calibrate, proportion_interval

Array = NDArray[np.float64]
_TINY = np.finfo(float).tiny
_AS_IT_IS = Calibration(1.0, 0.0)


@dataclass
class Trial:
    """One recipe with one setting, and its scores of rows it had not seen."""

    recipe: Recipe
    setting: dict[str, Any]
    scores: Array
    thresholds: Array = field(default_factory=lambda: np.empty(0))
    folds: int = 0
    seconds: float = 0.0
    dropped: bool = False
    calibration: Calibration = _AS_IT_IS
    probabilities: Array = field(default_factory=lambda: np.empty((0, 0)))
    error: float = 1.0
    log_loss: float = np.inf

    @property
    def title(self) -> str:
        """Recipe and setting, for people."""
        return self.recipe.describe(self.setting)

    def error_figure(self) -> Figure:
        """Error over the rows judged, with its interval."""
        n = len(self.probabilities)
        return Figure("error", self.error, *proportion_interval(round(self.error * n), n), "exact binomial")


@dataclass(frozen=True)
class TrainingData:
    """What the trials work on."""

    X: Any  # counts
    codes: NDArray[np.intp]
    classes: NDArray[Any]
    n_jobs: int | None
    class_weight: Any


def run(
    data: TrainingData, folds: Folds, trials: list[Trial], seconds: float, tell: Callable[[str], None]
) -> list[Trial]:
    """Race the trials fold by fold; after each fold those that are clearly behind, or too slow, fall out.

    A recipe whose first setting is hopeless is spared the others. When time is up, the leader alone goes on. Returns
    the trials that saw every fold, best first.
    """
    began = time.perf_counter()
    right: dict[int, list[Array]] = {k: [] for k in range(len(trials))}
    weighted: dict[str, tuple[Any, Any]] = {}
    for number, (train, test) in enumerate(folds):
        weighted.clear()
        for k, trial in enumerate(trials):
            spent = time.perf_counter() - began
            late = spent > seconds and k != _leader(trials, right)
            if trial.dropped or late or (number == 0 and _hopeless(trial, trials, right)):
                trial.dropped = True
                continue
            tell(f"fold {number + 1} of {len(folds)}: {trial.title}")
            start = time.perf_counter()
            _judge(data, trial, train, test, weighted)
            trial.seconds += time.perf_counter() - start
            right[k].append(verdicts(trial, trial.scores[test]) == data.codes[test])
        _drop_the_beaten(trials, right)
    done = [trial for trial in trials if trial.folds == len(folds)]
    seen = np.concatenate([test for _, test in folds])
    for trial in done:
        _finish(trial, data, np.unique(seen))
    return _ranked(done, data.codes[np.unique(seen)])


def _ranked(trials: list[Trial], codes: NDArray[np.intp]) -> list[Trial]:
    """Best first: by error, but those that err as much as the best but for luck come by their log loss.

    As much but for luck: within half a standard error of the paired difference. Log loss sees more of each row than
    right or wrong, so it tells such models apart.
    """
    by_error = sorted(trials, key=lambda trial: (trial.error, trial.log_loss))
    wrong = [(trial.probabilities.argmax(axis=1) != codes).astype(float) for trial in by_error]
    behind = [w - wrong[0] for w in wrong]
    level = [gap.mean() <= 0.5 * gap.std() / np.sqrt(len(gap)) for gap in behind]
    tied = [trial for trial, alike in zip(by_error, level, strict=True) if alike]
    rest = [trial for trial, alike in zip(by_error, level, strict=True) if not alike]
    return sorted(tied, key=lambda trial: trial.log_loss) + rest


def _judge(data: TrainingData, trial: Trial, train: Any, test: Any, weighted: dict[str, tuple[Any, Any]]) -> None:
    kind = trial.recipe.weighting
    if kind not in weighted:
        counts = data.X[train]
        weighting = Weighting.fit(kind, counts)
        weighted[kind] = weighting.apply(counts), weighting.apply(data.X[test])
    inside, outside = weighted[kind]
    form = fit_form(trial.recipe, trial.setting, inside, data.codes[train], data)
    z = form.scores(outside)
    if trial.scores.size == 0:
        trial.scores = np.full((len(data.codes), z.shape[1]), np.nan)
    # Thresholds differ from fold to fold: scores are moved so that the first threshold is always at zero.
    trial.thresholds = form.thresholds - form.thresholds[:1] if form.thresholds.size else form.thresholds
    trial.scores[test] = z - form.thresholds[:1] if form.thresholds.size else z
    trial.folds += 1


def fit_form(recipe: Recipe, setting: dict[str, Any], X: Any, codes: Any, data: TrainingData) -> Form:
    """Fit a recipe on weighted counts, which may lack some of the classes."""
    K, present = len(data.classes), np.unique(codes)
    if len(present) == 1:  # that class is the answer to everything
        b = np.array([2.0 * present[0] - 1.0]) if K == 2 else np.eye(K)[present[0]]
        return Form(np.zeros((X.shape[1], len(b))), b)
    if len(present) == K or recipe.gaps:
        return recipe.fit(X, codes, data.classes, data.n_jobs, data.class_weight, **setting)
    known = np.searchsorted(present, codes)
    form = recipe.fit(X, known, data.classes[present], data.n_jobs, data.class_weight, **setting)
    return form.spread(present, K)


def verdicts(form: Form | Trial, z: Array) -> NDArray[np.intp]:
    """Codes of the classes that raw scores speak for."""
    if form.thresholds.size:
        return np.asarray((z > form.thresholds[None, :]).sum(axis=1))
    return (z[:, 0] > 0).astype(np.intp) if z.shape[1] == 1 else np.asarray(z.argmax(axis=1))


def _drop_the_beaten(trials: list[Trial], right: dict[int, list[Array]]) -> None:
    """Drop what errs more than the leader by over two standard errors of the paired difference."""
    for k, errors in _behind(trials, right).items():
        trials[k].dropped = errors > 2


def _leader(trials: list[Trial], right: dict[int, list[Array]]) -> int:
    """The trial that has erred least so far; the first, before any has been judged."""
    going = [k for k, trial in enumerate(trials) if right[k] and not trial.dropped]
    return max(going, key=lambda k: float(np.concatenate(right[k]).mean()), default=0)


def _hopeless(trial: Trial, trials: list[Trial], right: dict[int, list[Array]]) -> bool:
    """Whether another setting of the recipe errs more than the leader by over six standard errors."""
    behind = _behind(trials, right)
    return any(errors > 6 for k, errors in behind.items() if trials[k].recipe.name == trial.recipe.name)


def _behind(trials: list[Trial], right: dict[int, list[Array]]) -> dict[int, float]:
    """How far each trial that goes on is behind the leader, in standard errors of the paired difference."""
    leader = _leader(trials, right)
    if not right[leader]:
        return {}
    hits = {k: np.concatenate(right[k]).astype(float) for k, t in enumerate(trials) if right[k] and not t.dropped}
    gaps = {k: hits[leader][: len(own)] - own[: len(hits[leader])] for k, own in hits.items()}
    return {k: float(gap.mean() / max(gap.std() / np.sqrt(len(gap)), 1e-12)) for k, gap in gaps.items()}


def _finish(trial: Trial, data: TrainingData, rows: NDArray[np.intp]) -> None:
    """Calibrate on the held-out scores, and measure."""
    z, codes = trial.scores[rows], data.codes[rows]
    if trial.thresholds.size:
        below = expit(trial.thresholds[None, :] - z)
        edges = np.hstack([np.zeros((len(z), 1)), below, np.ones((len(z), 1))])
        P = np.maximum(np.diff(edges, axis=1), _TINY)
    else:
        trial.calibration = calibrate(z, codes)
        P = trial.calibration.probabilities(z)
    trial.probabilities = P
    trial.error = float((P.argmax(axis=1) != codes).mean())
    trial.log_loss = float(-np.log(np.maximum(P[np.arange(len(P)), codes], _TINY)).mean())


def corrected_error(
    trials: list[Trial],
    codes: NDArray[np.intp],
    groups: NDArray[np.intp],
    draws: int = 300,
    random_state: int = 0,
) -> float:
    """Error corrected for model selection: of choosing the best of several models by their held-out rows.

    Groups of rows are drawn with replacement; the model best on the drawn rows is judged on the others.

    References
    ----------
    Tsamardinos, Greasidou & Borboudakis (2018), Bootstrapping the out-of-sample predictions for efficient and accurate
    cross-validation, Machine Learning 107.
    """
    wrong = np.array([trial.probabilities.argmax(axis=1) != codes for trial in trials], dtype=float)
    if len(trials) == 1:
        return float(wrong.mean())
    random = np.random.default_rng(random_state)
    numbers = np.unique(groups, return_inverse=True)[1]
    m = int(numbers.max()) + 1
    found = []
    for _ in range(draws):
        weights = np.bincount(random.integers(0, m, m), minlength=m)[numbers]
        outside = weights == 0
        if not outside.any():  # every group was drawn, which happens where there are few
            continue
        best = int((wrong @ weights).argmin())
        found.append(wrong[best][outside].mean())
    return float(np.mean(found)) if found else float(wrong[0].mean())
