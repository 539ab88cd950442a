"""`MultiLabelTextClassifier`: texts that have any number of labels each."""

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tallywise.classifier.contents import text_file
from tallywise.classifier.familiarity import unknown_word_levels
from tallywise.classifier.inputs import check_settings, texts_of
from tallywise.classifier.label_sets import LabelSets
from tallywise.classifier.label_trials import MODELS, LabelTrial, Machines, sample, strata, walk
from tallywise.classifier.model import _joined
from tallywise.classifier.recipes import Form, named
from tallywise.classifier.serving import Served
from tallywise.classifier.trials import TrainingData
from tallywise.classifier.views import count_all, make_views
from tallywise.evaluation import (
    ClassFigures,
    Figure,
    Folds,
    LabelThresholds,
    choose_label_thresholds,
    class_figures,
    duplicate_groups,
    make_folds,
    measure_labels,
)
from tallywise.models.decision_rule import DecisionRule, plain
from tallywise.models.label_set_serving import MultiLabelTextModel
from tallywise.models.text_schema import Link, ModelFacts, TextModelFile
from tallywise.models.text_serving import Explanation, Flip

Array = NDArray[np.float64]

_WORK = 3e9  # entries read by the machines of one trial: rows compared, and folds judged, are as many as that allows


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
        check_settings(self.cv)
        listed = texts_of(texts)
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
        machines = Machines(data, Y, sets, self.n_jobs)
        best = self._compare(machines, tell)
        self.recipe_, self.setting_ = best.recipe, best.setting
        tell(f"fitting {best.title} on everything")
        form = machines.fit(best)
        self.views_ = [view for view in views if view.name in {block.view for block in form.blocks}]
        self.blocks_ = form.blocks
        self.unknown_words_ = unknown_word_levels(views[0], counts[0], self.groups_) if self.max_size is None else None
        self.runtime_ = MultiLabelTextModel(self._file(form).compact(self.max_size))
        if "left_out" in self.runtime_.meta:
            before = MultiLabelTextModel(self._file(form)).predict(listed, self.n_jobs)
            changed = (before != self.runtime_.predict(listed, self.n_jobs)).any(axis=1)
            self.runtime_.meta["left_out"]["changed"] = float(changed.mean())
        return self

    def _compare(self, machines: Machines, tell: Callable[[str], None]) -> LabelTrial:
        """The model with the least log loss; figures and thresholds from its scores of rows not seen."""
        Y, n = machines.Y, len(machines.Y)
        splits = min(self.cv or 5, int(self.groups_.max()) + 1)
        self.description_ = []
        rows = sample(self.groups_, machines.rows_within(_WORK, splits), self.random_state)
        compared, groups = machines, self.groups_
        if len(rows) < n:
            compared, groups = machines.part(rows), self.groups_[rows]
            self.description_.append(f"settings compared on {len(rows):,} of the texts, drawn at random")
        folds = make_folds(strata(compared.Y, splits), groups=groups, n_splits=splits, random_state=self.random_state)
        recipes = [named(name) for name in (MODELS if self.model == "auto" else (self.model,))]
        if self.analyzer in ("char", "char_wb"):
            recipes = recipes[:1]  # there is one view: both machines are the same
        trials = [walk(compared, recipe, folds, tell) for recipe in recipes]
        trials.sort(key=lambda trial: trial.log_loss)
        best = trials[0]
        self.rows_ = np.arange(n)
        if len(rows) < n:
            folds = make_folds(strata(Y, splits), groups=self.groups_, n_splits=splits, random_state=self.random_state)
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

    def _file(self, form: Form) -> TextModelFile:
        """What would be saved."""
        facts = ModelFacts(
            self.recipe_.name,
            self.recipe_.describe(self.setting_),
            len(self.groups_),
            self.description_,
            {name: [f.value, f.low, f.high] for name, f in self.figures_.items()},
            self.unknown_words_,
        )
        classes = [plain(label) for label in self.classes_]
        rule = DecisionRule("thresholds")
        return text_file(form, self.views_, classes, Link("independent"), rule, facts, self.thresholds_)

    # --- answers and reasons ---

    def predict(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """1 where a text gets a label and 0 where not, one row a text, columns as in `classes_`."""
        check_is_fitted(self)
        return self.runtime_.predict(texts, self.n_jobs)

    def predict_labels(self, texts: Iterable[str]) -> list[list[Any]]:
        """The labels of each text, as lists."""
        check_is_fitted(self)
        return self.runtime_.predict_labels(texts, self.n_jobs)

    def predict_proba(self, texts: Iterable[str]) -> Array:
        """The probability of each label; they do not exclude each other and do not sum to 1."""
        check_is_fitted(self)
        return self.runtime_.predict_proba(texts, self.n_jobs)

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
