"""`MultiLabelTextClassifier`: texts that have any number of labels each."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _native, model_file
from tallywise.classifier.contents import contents_of
from tallywise.classifier.familiarity import unknown_word_levels
from tallywise.classifier.model import _joined, _texts
from tallywise.classifier.recipes import Form, Recipe, _options, named
from tallywise.classifier.serving import Served
from tallywise.classifier.trials import TrainingData
from tallywise.classifier.views import count_all, make_views
from tallywise.evaluation import (
    Calibration,
    ClassFigures,
    Figure,
    Folds,
    LabelThresholds,
    calibrate,
    choose_label_thresholds,
    class_figures,
    duplicate_groups,
    make_folds,
    measure_labels,
)
from tallywise.evaluation.labels import label_losses
from tallywise.model_labels import MultiLabelTextModel
from tallywise.model_size import compact
from tallywise.runtime import Explanation, Flip

Array = NDArray[np.float64]
Labels = NDArray[np.bool_]

MODELS = ("linear_svm", "word_svm")
_WORK = 3e9  # entries read by the machines of one trial: rows compared, and folds judged, are as many as that allows
_LEAST = 1000  # rows that are compared in any case
_RACE_TOL, _TOL = 5e-2, 1e-2  # relative gaps while settings are compared, and of the model that is kept


class LabelSets(NamedTuple):
    """Labels of texts: their names, and a matrix that is true where a text has the label."""

    classes: NDArray[Any]
    Y: Labels

    @classmethod
    def of(cls, y: Any) -> "LabelSets":
        """Of lists of labels, or of a matrix (array, sparse, or data frame) of 0 and 1."""
        if hasattr(y, "toarray"):
            y = y.toarray()
        if getattr(y, "ndim", 1) == 2:
            names = y.columns.tolist() if hasattr(y, "columns") else range(y.shape[1])
            matrix = np.asarray(y)
            if not np.isin(matrix, (0, 1)).all():
                msg = "A matrix of labels has one column a label, of 0 and 1. Got other values: pass lists of labels."
                raise ValueError(msg)
            return cls(np.array(list(names)), matrix.astype(bool))
        sets = [_labels_of(row, i) for i, row in enumerate(y)]
        distinct = list(dict.fromkeys(label for row in sets for label in row))
        classes = _arrays.encode_labels(np.array(distinct))[0] if distinct else np.array([])
        return cls(classes, indicator(sets, classes))

    @property
    def ids(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The number of each text's set of labels, and a row of 0 and 1 for each set."""
        numbers: dict[bytes, int] = {}
        ids = [numbers.setdefault(row.tobytes(), len(numbers)) for row in self.Y]
        sets = np.frombuffer(b"".join(numbers), dtype=np.uint8).reshape(len(numbers), self.Y.shape[1])
        return np.array(ids, dtype=np.int64), sets


def _labels_of(row: Any, number: int) -> list[Any]:
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        msg = (
            f"y must have a list of labels for each text, or be a matrix of 0 and 1. Got {row!r} for text {number}: "
            "for one label a text, use TextClassifier."
        )
        raise ValueError(msg)
    return [label.item() if isinstance(label, np.generic) else label for label in row]


def indicator(sets: Sequence[Iterable[Any]], classes: NDArray[Any]) -> Labels:
    """A row for each set, true where the class is in it; labels that are no class are left out."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    Y = np.zeros((len(sets), len(classes)), dtype=bool)
    for i, row in enumerate(sets):
        Y[i, [place[label] for label in row if label in place]] = True
    return Y


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


class MultiLabelTextClassifier(ClassifierMixin, Served):
    """A text model for texts that have any number of labels each: one machine a label, one threshold a label.

    Texts are counted in two views, words with punctuation marks and characters, and weighted; for each label a linear
    machine tells the texts that have it from the rest. Scores of texts not seen make probabilities of the machines'
    scores (Platt) and set the thresholds by F1 (`tallywise.evaluation.choose_label_thresholds`). A text may get no
    label.

    Parameters
    ----------
    model : {'auto', 'linear_svm', 'word_svm'}
        Machines on words and characters, on words alone, or whichever has the lower log loss on texts not seen.
    ngram_range, analyzer, min_df, n_features, deobfuscate, stop_words, max_size, cv, random_state, n_jobs, progress
        As for `TextClassifier`.

    Attributes
    ----------
    classes_ : array
        Labels, sorted; for a matrix without names the numbers of its columns.
    recipe_, setting_ : Recipe, dict
        What was kept.
    thresholds_ : array
        Probabilities from which on a text gets each label.
    trials_ : list of LabelTrial
        The best setting of each model, the kept one first.
    figures_ : dict of str to Figure
        Quality on texts not seen, by thresholds chosen on others, with intervals: micro and macro F1 and more.
    by_label_ : list of ClassFigures
        Precision, recall and F1 of each label, likewise.
    rows_ : array of int
        Texts that the figures, `oof_probabilities_` and `oof_predictions_` speak of.
    oof_probabilities_, oof_predictions_ : arrays
        Of texts by models that had not seen them, one column a label.
    description_ : list of str
        How the models were compared and which was kept, in sentences.
    runtime_ : MultiLabelTextModel
        The serve side; `predict` and the rest go through it.

    Examples
    --------
    >>> from tallywise import MultiLabelTextClassifier
    >>> foods, places = ["pizza", "pasta", "bread", "soup"], ["rome", "paris", "oslo", "lima"]
    >>> texts = [f"{food} {what}" for food in foods for what in ("for lunch", "and wine", "recipe")]
    >>> texts += [f"{what} {place}" for place in places for what in ("flight to", "hotel in", "map of")]
    >>> texts += [f"{food} in {place}" for food, place in zip(foods, places, strict=True)]
    >>> texts += ["meeting at noon", "annual report", "see you monday", "call me back"]
    >>> y = [["food"]] * 12 + [["travel"]] * 12 + [["food", "travel"]] * 4 + [[]] * 4
    >>> model = MultiLabelTextClassifier(cv=4).fit(texts, y)
    >>> model.predict(["pizza in oslo", "report at noon"])
    array([[1, 1],
           [0, 0]])
    >>> model.predict_labels(["soup and pizza", "pizza in oslo", "report at noon"])
    [['food'], ['food', 'travel'], []]

    References
    ----------
    Fan & Lin (2007), A study on threshold selection for multi-label classification, National Taiwan University.
    """

    _runtime = MultiLabelTextModel
    runtime_: MultiLabelTextModel

    classes_: NDArray[Any]
    groups_: NDArray[Any]
    recipe_: Any
    setting_: dict[str, Any]
    views_: Any
    blocks_: Any
    unknown_words_: dict[str, float] | None
    description_: list[str]
    rows_: NDArray[Any]
    trials_: Any
    figures_: dict[str, Figure]
    thresholds_: NDArray[Any]
    oof_predictions_: NDArray[Any]
    oof_probabilities_: Array
    by_label_: list[ClassFigures]

    def __init__(
        self,
        model: str = "auto",
        *,
        ngram_range: tuple[int, int] | None = None,
        analyzer: str = "auto",
        min_df: float = 1,
        n_features: int | None = None,
        deobfuscate: bool = False,
        stop_words: Any = None,
        max_size: int | None = None,
        cv: int | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.model = model
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.min_df = min_df
        self.n_features = n_features
        self.deobfuscate = deobfuscate
        self.stop_words = stop_words
        self.max_size = max_size
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    # --- learning ---

    def fit(self, texts: Iterable[str], y: Any, groups: Any = None) -> Self:
        """Learn from texts and their labels.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        y : list of lists, or matrix of shape (n, K)
            The labels of each text; or 1 where a text has a label and 0 where not, as an array, a sparse matrix or a
            data frame, whose columns then name the labels.
        groups : array, optional
            Rows that must stay on one side of a split; repeated texts always do.
        """
        listed = _texts(texts)
        self.classes_, Y = labels = LabelSets.of(y)
        if len(listed) != len(Y):
            msg = f"There must be one list of labels a text. Got {len(listed)} texts and {len(Y)} lists."
            raise ValueError(msg)
        if not len(self.classes_):
            msg = "No text has a label: there is nothing to learn."
            raise ValueError(msg)
        if (Y == Y[:1]).all():
            msg = f"Every text has the same labels, {self.classes_[Y[0]].tolist()}: there is nothing to learn."
            raise ValueError(msg)
        if self.model != "auto" and self.model not in MODELS:
            msg = f"model must be 'auto' or one of {', '.join(map(repr, MODELS))}. Got {self.model!r}."
            raise ValueError(msg)
        tell = self.progress or (lambda line: None)
        tell("counting words")
        views, counts = count_all(
            make_views(
                self.analyzer,
                self.ngram_range,
                self.min_df,
                self.n_features,
                deobfuscate=bool(self.deobfuscate),
                stop_words=self.stop_words,
                n_jobs=self.n_jobs,
            ),
            listed,
            pairs=False,
        )
        self.groups_ = duplicate_groups(listed)
        if groups is not None:
            self.groups_ = _joined(self.groups_, groups)
        if self.groups_.max() == 0:
            msg = "At least two different texts (or groups) are needed to learn from and to test on. Got 1."
            raise ValueError(msg)
        ids, sets = labels.ids
        data = TrainingData(views, counts, ids.astype(np.intp), np.arange(len(sets)), self.n_jobs, None)
        machines = _Machines(data, Y, sets, self.n_jobs)
        best = self._compare(machines, tell)
        self.recipe_, self.setting_ = best.recipe, best.setting
        tell(f"fitting {best.title} on everything")
        form = machines.fit(best)
        self.views_ = [view for view in views if view.name in {block.view for block in form.blocks}]
        self.blocks_ = form.blocks
        self.unknown_words_ = unknown_word_levels(views[0], counts[0], self.groups_) if self.max_size is None else None
        self.runtime_ = MultiLabelTextModel(compact(self._contents(form), self.max_size))
        if "left_out" in self.runtime_.meta:
            before = MultiLabelTextModel(self._contents(form)).predict(listed, self.n_jobs)
            changed = (before != self.runtime_.predict(listed, self.n_jobs)).any(axis=1)
            self.runtime_.meta["left_out"]["changed"] = float(changed.mean())
        return self

    def _compare(self, machines: "_Machines", tell: Callable[[str], None]) -> LabelTrial:
        """The model with the least log loss; figures and thresholds from its scores of rows not seen."""
        Y, n = machines.Y, len(machines.Y)
        splits = min(self.cv or 5, int(self.groups_.max()) + 1)
        self.description_ = []
        rows = _sample(self.groups_, machines.rows_within(_WORK, splits), self.random_state)
        compared, groups = machines, self.groups_
        if len(rows) < n:
            compared, groups = machines.part(rows), self.groups_[rows]
            self.description_.append(f"settings compared on {len(rows):,} of the texts, drawn at random")
        folds = make_folds(_strata(compared.Y, splits), groups=groups, n_splits=splits, random_state=self.random_state)
        recipes = [named(name) for name in (MODELS if self.model == "auto" else (self.model,))]
        if self.analyzer in ("char", "char_wb"):
            recipes = recipes[:1]  # there is one view: both machines are the same
        trials = [_walk(compared, recipe, folds, tell) for recipe in recipes]
        trials.sort(key=lambda trial: trial.log_loss)
        best = trials[0]
        self.rows_ = np.arange(n)
        if len(rows) < n:
            folds = make_folds(_strata(Y, splits), groups=self.groups_, n_splits=splits, random_state=self.random_state)
            most = max(1, int(_WORK / machines.work(best.recipe)))
            if most < splits:
                folds = Folds(list(folds)[:most], f"{folds.description}, {most} judged")
            best = trials[0] = machines.judge(best.recipe, best.setting, folds, tell)
            self.rows_ = np.flatnonzero(~np.isnan(best.scores[:, 0]))
        found: LabelThresholds | None = None
        for trial in trials:
            mine = machines if trial is best else compared
            at = self.rows_ if trial is best else np.arange(len(compared.Y))
            of_rows = (self.groups_ if trial is best else groups)[at]
            chosen = choose_label_thresholds(mine.Y[at], trial.probabilities, groups=of_rows)
            found = chosen if trial is best else found
            trial.figures = measure_labels(
                mine.Y[at],
                chosen.verdicts,
                probabilities=trial.probabilities,
                groups=of_rows,
                random_state=self.random_state,
            )
        assert found is not None
        self.trials_, self.figures_ = trials, best.figures
        self.thresholds_, self.oof_predictions_ = found.values, found.verdicts
        self.oof_probabilities_ = best.probabilities
        names = [str(label) for label in self.classes_]
        self.by_label_ = class_figures(
            Y[self.rows_], found.verdicts, self.classes_, groups=self.groups_[self.rows_], names=names
        )
        self.description_ = [
            f"compared by {folds.description}",
            *self.description_,
            f"kept {best.title}: least log loss on texts not seen",
            "thresholds by F1 on texts not seen; figures by thresholds chosen on other texts",
        ]
        return best

    def _contents(self, form: Form) -> model_file.Contents:
        """What would be saved: the file of a text model, with its own link and rule."""
        of_text_model = {
            "calibration_": Calibration(1.0, 0.0),
            "rule_": {"kind": "thresholds"},
            "cost_matrix_": np.empty((0, 0)),
            "time_limit": None,
        }
        facts: Any = SimpleNamespace(**vars(self), **of_text_model)
        meta, arrays = contents_of(facts, form)
        meta |= {"kind": "multi-label text classifier", "link": {"kind": "independent", "scale": 1.0, "shift": 0.0}}
        return model_file.Contents(meta, {**arrays, "label_thresholds": self.thresholds_})

    # --- answers and reasons ---

    def predict(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """1 where a text gets a label and 0 where not, one row a text, columns as in `classes_`."""
        check_is_fitted(self)
        return self.runtime_.predict(_texts(texts), self.n_jobs)

    def predict_labels(self, texts: Iterable[str]) -> list[list[Any]]:
        """The labels of each text, as lists."""
        check_is_fitted(self)
        return self.runtime_.predict_labels(_texts(texts), self.n_jobs)

    def predict_proba(self, texts: Iterable[str]) -> Array:
        """The probability of each label; they do not exclude each other and do not sum to 1."""
        check_is_fitted(self)
        return self.runtime_.predict_proba(_texts(texts), self.n_jobs)

    def score(self, texts: Iterable[str], y: Any, sample_weight: Any = None) -> float:
        """Micro F1, as `fit` takes labels; labels that were never learned count as missed."""
        check_is_fitted(self)
        given = LabelSets.of(y)
        gets = self.predict(texts).astype(bool)
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        weights = np.ones(len(gets)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        known = [(k, place[label]) for k, label in enumerate(given.classes.tolist()) if label in place]
        hits = sum(float(weights @ (given.Y[:, k] & gets[:, j])) for k, j in known)
        both = float(weights @ given.Y.sum(axis=1) + weights @ gets.sum(axis=1))
        return 2 * hits / both if both else 0.0

    def explain(self, text: str, label: Any = None) -> Explanation:
        """What each word of a text adds to the log odds of a label; see `MultiLabelTextModel.explain`."""
        check_is_fitted(self)
        return self.runtime_.explain(text, label)

    def flip(self, text: str, label: Any = None) -> Flip | None:
        """The fewest words whose removal or addition gives or takes a label; see `MultiLabelTextModel.flip`."""
        check_is_fitted(self)
        return self.runtime_.flip(text, label)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags


class _Machines:
    """The machines of all labels on the same texts: cross-validated, or fitted on everything."""

    def __init__(self, data: TrainingData, Y: Labels, sets: NDArray[np.uint8], n_jobs: int | None) -> None:
        self.data, self.Y, self.sets, self.n_jobs = data, Y, sets, n_jobs

    def part(self, rows: NDArray[np.intp]) -> "_Machines":
        """The same of some rows."""
        return _Machines(self.data.part(rows), self.Y[rows], self.sets, self.n_jobs)

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
        a, shift = np.array(trial.calibrations).T
        form = Form(np.ascontiguousarray((W * a[:, None]).T), a * b + shift)
        return self.data.unmerge(form, trial.recipe)._replace(blocks=self.data.blocks(trial.recipe))


def _calibrated(z: Array, y: Labels) -> Calibration:
    """Platt's sigmoid; where held-out scores mislead, the share of texts that have the label, whatever the score."""
    found = calibrate(z[:, None], y.astype(int))
    if y.any() and (y.all() or z[y].mean() > z[~y].mean()):
        return found
    share = (y.sum() + 1) / (len(y) + 2)
    return Calibration(found.scale, float(np.log(share / (1 - share)) - found.scale * z.mean()))


def _walk(machines: _Machines, recipe: Recipe, folds: Folds, tell: Callable[[str], None]) -> LabelTrial:
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


def _strata(Y: Labels, splits: int) -> NDArray[np.intp]:
    """The rarest label of each text, so that every fold gets some of each; one number for those that are too rare."""
    counts = Y.sum(axis=0)
    rarity = np.where(Y, counts, len(Y) + 1)
    found = np.where(Y.any(axis=1), rarity.argmin(axis=1), Y.shape[1])
    rare = np.flatnonzero(np.bincount(found, minlength=Y.shape[1] + 1) < splits)
    found[np.isin(found, rare)] = Y.shape[1]
    return np.asarray(found, dtype=np.intp)


def _sample(groups: NDArray[np.intp], size: int, random_state: int) -> NDArray[np.intp]:
    """Rows of whole groups, drawn at random, of about that number."""
    if size >= len(groups):
        return np.arange(len(groups))
    order = np.random.default_rng(random_state).permutation(int(groups.max()) + 1)
    return np.flatnonzero(order[groups] < size * (int(groups.max()) + 1) / len(groups))
