"""Which model? Held-out scores of one model with one setting after another, and what they say of each other."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from tallywise.classifier.combining import offsets
from tallywise.classifier.merging import Merging, merge
from tallywise.classifier.recipes import Block, Form, Recipe, Sum, Validation, added
from tallywise.classifier.views import View
from tallywise.classifier.weighting import Weighting, side_by_side
from tallywise.evaluation import Calibration, Figure, Folds, calibrate, proportion_interval

Array = NDArray[np.float64]
_TINY = np.finfo(float).tiny
AS_IT_IS = Calibration(1.0, 0.0)


@dataclass
class Trial:
    """One recipe with one setting, and its scores of rows it had not seen."""

    recipe: Recipe | Sum
    setting: dict[str, Any]
    scores: Array = field(default_factory=lambda: np.empty((0, 0)))  # by row compared
    thresholds: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    offsets: Array = field(default_factory=lambda: np.zeros(1))  # added to the scores of the classes
    mixing: Array | None = None  # a matrix that the scores are multiplied by before that
    calibration: Calibration = AS_IT_IS
    probabilities: Array = field(default_factory=lambda: np.empty((0, 0)))
    wrong: Array = field(default_factory=lambda: np.empty(0))  # by row judged, the mean over repeats
    losses: Array = field(default_factory=lambda: np.empty(0))  # likewise, the log loss
    # Dual variables of each fold, row and machine: those of a neighbouring setting, judged on the same folds, before.
    variables: NDArray[np.float32] | None = field(default=None, repr=False)

    @property
    def title(self) -> str:
        """Recipe and setting, for people."""
        return self.recipe.describe(self.setting)

    @property
    def error(self) -> float:
        """Share of the rows judged that it got wrong."""
        return float(self.wrong.mean())

    @property
    def log_loss(self) -> float:
        """Mean log loss of the rows judged."""
        return float(self.losses.mean())

    def error_figure(self) -> Figure:
        """Error over the rows judged, with its interval."""
        n = len(self.wrong)
        return Figure("error", self.error, *proportion_interval(round(self.error * n), n), "exact binomial")


class TrainingData:
    """Texts counted in every view, and what the models learn from them. Features are made once, for all models.

    Inverse document frequencies are those of all texts: labels have no part in them.
    """

    def __init__(
        self,
        views: Sequence[View],
        counts: Sequence[Any],
        codes: NDArray[np.intp],
        classes: NDArray[Any],
        n_jobs: int | None,
        class_weight: Any,
    ) -> None:
        self.views = list(views)
        self.counts = list(counts)
        self.codes, self.classes = codes, classes
        self.n_jobs, self.class_weight = n_jobs, class_weight
        # Terms of many texts that are rare are left out, and hardly any of the rest are the same in every text.
        self.many = any(view.many for view in self.views)
        self._whole: tuple[TrainingData, NDArray[np.intp]] | None = None  # of a part: the whole, and its rows of it
        self._weightings: dict[tuple[str, str], Weighting] = {}
        self._values: dict[tuple[str, str], Any] = {}
        self._mergings: dict[tuple[str, str], tuple[Merging, Any, Array]] = {}
        self._features: dict[tuple[tuple[str, ...], str, bool], tuple[Any, NDArray[np.int64]]] = {}

    def part(self, rows: NDArray[np.intp]) -> "TrainingData":
        """Some of the texts, their features as they are among all."""
        part = TrainingData(self.views, self.counts, self.codes[rows], self.classes, self.n_jobs, self.class_weight)
        part._whole = self, rows
        return part

    def seen_by(self, recipe: Recipe) -> list[int]:
        """The views that a recipe sees; where it asks for others, all that there are."""
        place = {view.name: v for v, view in enumerate(self.views)}
        # Models on counts or presence take terms for independent: for them pairs of words stand for words, if any.
        names = [
            ("pairs" if recipe.weighting != "tf-idf" and "pairs" in place else n) if n == "words" else n
            for n in recipe.views
        ]
        return [place[name] for name in names if name in place] or [0]

    def blocks(self, recipe: Recipe) -> tuple[Block, ...]:
        """The blocks of a recipe's features."""
        kind = recipe.weighting
        return tuple(Block(self.views[v].name, self._weighting(v, kind)) for v in self.seen_by(recipe))

    def features(self, recipe: Recipe) -> Any:
        """The features of all texts for a recipe: its blocks side by side, merged if it learns the same from that."""
        return self._features_and_starts(recipe)[0]

    def unit_blocks(self, recipe: Recipe) -> NDArray[np.int64]:
        """Where the blocks of a recipe's features begin, if each of them is divided by its length; else nothing."""
        unit = all(block.weighting.norm == "l2" for block in self.blocks(recipe))
        return self._features_and_starts(recipe)[1] if unit else np.empty(0, dtype=np.int64)

    def _key(self, recipe: Recipe) -> tuple[tuple[str, ...], str, bool]:
        return tuple(self.views[v].name for v in self.seen_by(recipe)), recipe.weighting, recipe.merged

    def _features_and_starts(self, recipe: Recipe) -> tuple[Any, NDArray[np.int64]]:
        key = self._key(recipe)
        if key not in self._features:
            seen = self.seen_by(recipe)
            if recipe.merged and not self.many:
                merged = [self._merged(v, recipe.weighting) for v in seen]
                scaled = [
                    replace(self._weighting(v, recipe.weighting), scale=m[2]) for v, m in zip(seen, merged, strict=True)
                ]
                widths, X = [m[1].shape[1] for m in merged], side_by_side(scaled, [m[1] for m in merged])
            else:
                parts = [self._block_values(v, recipe.weighting) for v in seen]
                widths, X = (
                    [part.shape[1] for part in parts],
                    parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr"),
                )
            self._features[key] = X, np.cumsum([0, *widths[:-1]], dtype=np.int64)
        return self._features[key]

    def forget_features(self) -> None:
        """Let go of what can be made again from the counts."""
        self._values.clear()
        self._features.clear()

    def keep_only(self, recipe: Recipe) -> None:
        """Let go of all but the features of a recipe, which are made first."""
        self.blocks(recipe)
        features = self._features_and_starts(recipe)
        self.forget_features()
        self.counts.clear()
        self._features[self._key(recipe)] = features

    def unmerge(self, form: Form, recipe: Recipe) -> Form:
        """A form over merged features as one over the blocks."""
        if not recipe.merged or self.many:
            return form
        mergings = [self._merged(v, recipe.weighting)[:2] for v in self.seen_by(recipe)]
        W = np.empty((sum(len(merging.group) for merging, _ in mergings), form.W.shape[1]))
        begin = end = 0
        for merging, counts in mergings:
            merging.unmerge(form.W[begin : begin + counts.shape[1]], W[end : end + len(merging.group)])
            begin, end = begin + counts.shape[1], end + len(merging.group)
        if getattr(form.estimator, "coef_", None) is not None:
            coef = form.estimator.coef_
            form.estimator.coef_ = W.T if coef.ndim == 2 else W[:, 0]
            form.estimator.n_features_in_ = len(W)
        return form._replace(W=W)

    def entries(self, recipe: Recipe) -> int:
        """Entries of the features of a recipe."""
        return int(self.features(recipe).nnz)

    def features_of(self, form: Form, rows: NDArray[np.intp]) -> Any:
        """The features of some texts for a form that was fitted on this data."""
        place = {id(weighting): key for key, weighting in self._weightings.items()}
        names = [view.name for view in self.views]
        parts = []
        for block in form.blocks:
            name, kind = place[id(block.weighting)]
            parts.append(self._block_values(names.index(name), kind)[rows])
        return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")

    def _counts(self, v: int) -> Any:
        """Counts of these texts in a view."""
        if self._whole is None:
            return self.counts[v]
        whole, rows = self._whole
        return whole._counts(v)[rows]

    def _weighting(self, v: int, kind: str) -> Weighting:
        if self._whole is not None:
            return self._whole[0]._weighting(v, kind)
        key = (self.views[v].name, kind)
        if key not in self._weightings:
            self._weightings[key] = Weighting.fit(kind, self.counts[v])
        return self._weightings[key]

    def _block_values(self, v: int, kind: str) -> Any:
        """Feature values of a view."""
        if self._whole is not None:
            return _without_empty_columns(self._weighting(v, kind).apply(self._counts(v)))
        key = (self.views[v].name, kind)
        if key not in self._values:
            self._values[key] = self._weighting(v, kind).apply(self.counts[v])
        return self._values[key]

    def _merged(self, v: int, kind: str) -> tuple[Merging, Any, Array]:
        """Counts of a view with equal columns merged among these texts, and the scales of the merged."""
        key = (self.views[v].name, kind)
        if key not in self._mergings:
            weighting = self._weighting(v, kind)
            whole, rows = self._whole or (self, None)
            if rows is not None and key in whole._mergings:
                _, counts, scale = whole._mergings[key]
                counts = counts[rows]
            else:  # what only a sample of the texts may ever need is not merged among all of them
                counts, scale = self._counts(v), weighting.scale
            self._mergings[key] = merge(counts, scale, presence=weighting.tf == "presence")
        return self._mergings[key]


def _without_empty_columns(X: Any) -> Any:
    """Columns that some row has."""
    seen = np.zeros(X.shape[1], dtype=bool)
    seen[X.indices] = True
    place = np.cumsum(seen, dtype=X.indices.dtype) - 1
    return sp.csr_matrix((X.data, place[X.indices], X.indptr), shape=(X.shape[0], int(seen.sum())))


def fit(
    recipe: Recipe | Sum, setting: dict[str, Any], data: TrainingData, rows: NDArray[np.intp] | None = None
) -> Form:
    """Fit on some rows of the data (all by default), which may lack some of the classes."""
    if isinstance(recipe, Sum):
        forms = []
        for part in recipe.parts:
            forms.append(fit(part.recipe, part.setting, data, rows))
            if data.many:
                data.forget_features()
        return added(forms, [part.weight for part in recipe.parts])
    X, codes = data.features(recipe), data.codes
    if rows is not None:
        X, codes = X[rows], codes[rows]
    form = _fit(recipe, setting, X, codes, data)
    return data.unmerge(form, recipe)._replace(blocks=data.blocks(recipe))


def _fit(recipe: Recipe, setting: dict[str, Any], X: Any, codes: Any, data: TrainingData) -> Form:
    K, present = len(data.classes), np.unique(codes)
    if len(present) == 1:  # that class is the answer to everything
        b = np.array([2.0 * present[0] - 1.0]) if K == 2 else np.eye(K)[present[0]]
        return Form(np.zeros((X.shape[1], len(b))), b)
    if len(present) == K or recipe.gaps:
        return recipe.fit(X, codes, data.classes, data.n_jobs, data.class_weight, **setting)
    known = np.searchsorted(present, codes)
    form = recipe.fit(X, known, data.classes[present], data.n_jobs, data.class_weight, **setting)
    return form.spread(present, K)


def judge(data: TrainingData, trial: Trial, folds: Folds, tell: Callable[[str], None], skip: int = 0) -> None:
    """Fit the trial on each fold's training rows and score its test rows; then calibrate and measure.

    The first `skip` folds have been judged before.
    """
    assert isinstance(trial.recipe, Recipe)
    X = data.features(trial.recipe)
    began = time.perf_counter()
    if trial.recipe.held_out is not None and _all_classes(data, folds):
        tell(f"cross-validating {trial.title}")
        fold_of = np.full(len(data.codes), -1, dtype=np.int32)
        for number, (_, test) in list(enumerate(folds))[skip:]:
            fold_of[test] = number - skip
        how = (data.classes, data.n_jobs, data.class_weight)
        if skip < len(folds):
            blocks = data.unit_blocks(trial.recipe)
            start = trial.variables if skip == 0 else None
            task = Validation(X, data.codes, fold_of, *how, blocks, start)
            z, trial.variables = trial.recipe.held_out(task, **trial.setting)
            if trial.scores.size == 0:
                trial.scores = z
            else:
                trial.scores[fold_of >= 0] = z[fold_of >= 0]
    else:
        for number, (train, test) in list(enumerate(folds))[skip:]:
            tell(f"fold {number + 1} of {len(folds)}: {trial.title}")
            form = _fit(trial.recipe, trial.setting, X[train], data.codes[train], data)
            z = form.scores(_as_new(X, train, test, data.unit_blocks(trial.recipe)))
            if trial.scores.size == 0:
                trial.scores = np.full((len(data.codes), z.shape[1]), np.nan)
            # Thresholds differ from fold to fold: scores are moved so that the first threshold is always at zero.
            trial.thresholds = form.thresholds - form.thresholds[:1] if form.thresholds.size else form.thresholds
            trial.scores[test] = z - (form.thresholds[:1] if form.thresholds.size else 0.0)
    trial.seconds += time.perf_counter() - began
    finish(trial, data.codes, judged(folds))


def _as_new(X: Any, train: NDArray[np.intp], test: NDArray[np.intp], blocks: NDArray[np.int64]) -> Any:
    """Rows as a model of other rows sees them: without the columns these lack, each block of length 1 again.

    The native machines do the same; see `cpp/core/linear/svm/held_out.hpp`.
    """
    rows = X[test]
    if len(blocks) == 0:
        return rows
    known = np.zeros(X.shape[1], dtype=bool)
    known[X[train].indices] = True
    values = np.where(known[rows.indices], rows.data, 0.0)
    block = np.searchsorted(blocks, rows.indices, side="right") - 1
    place = np.repeat(np.arange(len(test)) * len(blocks), np.diff(rows.indptr)) + block
    lengths = np.sqrt(np.bincount(place, np.square(values), minlength=len(test) * len(blocks)))
    values /= np.where(lengths > 0, lengths, 1.0)[place]
    return sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)


def _all_classes(data: TrainingData, folds: Folds) -> bool:
    """Whether the training rows of every fold have every class."""
    return all(len(np.unique(data.codes[train])) == len(data.classes) for train, _ in folds)


def judged(folds: Folds) -> NDArray[np.intp]:
    """Rows that are in some fold's test."""
    return np.unique(np.concatenate([test for _, test in folds]))


def finish(trial: Trial, codes: NDArray[np.intp], rows: NDArray[np.intp]) -> None:
    """Calibrate on the held-out scores of the rows, and measure."""
    z, codes = trial.scores[rows], codes[rows]
    if trial.thresholds.size:
        below = expit(trial.thresholds[None, :] - z)
        edges = np.hstack([np.zeros((len(z), 1)), below, np.ones((len(z), 1))])
        P = np.maximum(np.diff(edges, axis=1), _TINY)
    else:
        moved = offsets(z, codes)
        trial.offsets = np.zeros(z.shape[1]) if moved is None else moved[0]
        z = z + trial.offsets
        trial.calibration = calibrate(z, codes) if moved is None else Calibration(moved[1], 0.0)
        P = trial.calibration.probabilities(z)
    measure_probabilities(trial, P, codes)


def measure_probabilities(trial: Trial, P: Array, codes: NDArray[np.intp]) -> None:
    """Keep probabilities of the rows judged, and what they are worth."""
    trial.probabilities = P
    trial.wrong = (P.argmax(axis=1) != codes).astype(float)
    trial.losses = -np.log(np.maximum(P[np.arange(len(P)), codes], _TINY))


def verdicts(form: Form, z: Array) -> NDArray[np.intp]:
    """Codes of the classes that raw scores speak for."""
    if form.thresholds.size:
        return np.asarray((z > form.thresholds[None, :]).sum(axis=1))
    return (z[:, 0] > 0).astype(np.intp) if z.shape[1] == 1 else np.asarray(z.argmax(axis=1))


def behind(trial: Trial, leader: Trial, less: float = 0.0) -> float:
    """How much more a trial errs than another, in standard errors of the paired difference.

    One text that differs is always a standard error. Where trials are left or dropped on evidence, `less` = 1 is
    Edwards's correction for continuity: errors that are counted differ by one text less.

    References
    ----------
    Edwards (1948), Note on the "correction for continuity" in testing the significance of the difference between
    correlated proportions, Psychometrika 13.
    """
    gap = trial.wrong - leader.wrong
    more, spread = float(gap.sum()), float(gap.std()) * np.sqrt(len(gap))
    return float(np.copysign(max(abs(more) - less, 0.0), more) / spread) if spread > 0 else 0.0


def sharper(trial: Trial, other: Trial) -> bool:
    """Whether a trial's log loss is lower by more than two standard errors of the paired difference."""
    gain = other.losses - trial.losses
    return bool(gain.mean() > 2 * gain.std() / np.sqrt(len(gain)))


def corrected_error(
    trials: list[Trial],
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
    wrong = np.array([trial.wrong for trial in trials], dtype=float)
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
