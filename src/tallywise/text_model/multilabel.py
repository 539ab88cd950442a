"""`MultiLabelTextClassifier`: texts that have any number of labels each."""

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tallywise.evaluation import (
    ClassMetrics,
    Metric,
    choose_label_thresholds,
    class_metrics,
    duplicate_groups,
    measure_labels,
)
from tallywise.models.decision_rule import DecisionRule, plain
from tallywise.models.label_set_serving import MultiLabelTextModel
from tallywise.models.text_schema import Link, ModelFacts, TextModelFile
from tallywise.models.text_serving import Explanation, Flip
from tallywise.selection import Deadline
from tallywise.text_model.contents import text_file
from tallywise.text_model.familiarity import unknown_word_levels
from tallywise.text_model.forms import Form
from tallywise.text_model.inputs import check_settings, texts_of
from tallywise.text_model.label_matrix import LabelMatrix
from tallywise.text_model.label_selection import LabelSelection, fit_labels, select_for_labels
from tallywise.text_model.model_types import DEFAULT, ModelType, named
from tallywise.text_model.serve_side import Served
from tallywise.text_model.text_classifier import _joined
from tallywise.text_model.training_data import TrainingData
from tallywise.text_model.views import View, make_views

Array = NDArray[np.float64]
MODELS = ("linear_svm", "nb_svm", "word_svm")


class MultiLabelTextClassifier(ClassifierMixin, Served):
    """A text model for texts that have any number of labels each: one score and one threshold per label.

    The models are those of `TextClassifier`: for each label, a linear SVM on words and characters and one on log-count
    ratios of words tell the texts that have it from the rest. Held-out scores are added with weights >= 0, common to
    all labels, that minimise log loss. Each label has its own sigmoid (Platt) and its own threshold, chosen to maximise
    F1 (`tallywise.evaluation.choose_label_thresholds`). A text may get no label.

    Parameters
    ----------
    model : {'auto', 'linear_svm', 'nb_svm', 'word_svm'}
        The sum of the first two, or one SVM: on words and characters, on log-count ratios of words, or on words.
    ngram_range, analyzer, min_df, n_features, deobfuscate, stop_words, max_size, cv, time_limit, random_state, n_jobs,
    progress
        As for `TextClassifier`.

    Attributes
    ----------
    classes_ : array
        Labels, sorted; for a matrix without names the numbers of its columns.
    title_ : str
        The model in words: the model types in the sum, and their settings.
    model_types_ : list of ModelType
        The model types in the sum.
    thresholds_ : array
        Probabilities from which on a text gets each label.
    trials_ : list of LabelTrial
        The model first, then each model type of the sum alone.
    figures_ : dict of str to Metric
        Quality on texts not seen, by thresholds chosen on others, with intervals: micro and macro F1 and more.
    by_label_ : list of ClassMetrics
        Precision, recall and F1 of each label, likewise.
    rows_ : array of int
        Texts that the figures, `oof_probabilities_` and `oof_predictions_` speak of.
    oof_probabilities_, oof_predictions_ : arrays
        Of texts by models that had not seen them, one column a label.
    description_ : list of str
        How the models were compared, in sentences.
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
    title_: str
    model_types_: list[ModelType]
    views_: Any
    blocks_: Any
    unknown_words_: dict[str, float] | None
    description_: list[str]
    rows_: NDArray[Any]
    trials_: Any
    figures_: dict[str, Metric]
    thresholds_: NDArray[Any]
    oof_predictions_: NDArray[Any]
    oof_probabilities_: Array
    by_label_: list[ClassMetrics]

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
        time_limit: float | None = None,
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
        self.time_limit = time_limit
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
        check_settings(self.cv, time_limit=self.time_limit)
        listed = texts_of(texts)
        self.classes_, Y = labels = LabelMatrix.of(y)
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
        clock = Deadline(self.time_limit)
        with clock.bounded(f"{len(listed):,} texts with {len(self.classes_):,} labels"):
            self._fit(listed, labels, groups, clock)
        return self

    def _fit(self, listed: list[str], labels: LabelMatrix, groups: Any, clock: Deadline) -> None:
        tell, Y = self.progress or (lambda line: None), labels.Y
        tell("counting words")
        self.groups_ = duplicate_groups(listed)
        if groups is not None:
            self.groups_ = _joined(self.groups_, groups)
        if self.groups_.max() == 0:
            msg = "At least two different texts (or groups) are needed to learn from and to test on. Got 1."
            raise ValueError(msg)
        ids, sets = labels.ids
        names = DEFAULT if self.model == "auto" else (self.model,)
        self.unknown_words_ = None

        def look(view: View, counts: Any) -> None:
            if self.max_size is None:
                self.unknown_words_ = unknown_word_levels(view, counts, self.groups_)

        data = TrainingData.counted(
            make_views(
                self.analyzer,
                self.ngram_range,
                self.min_df,
                self.n_features,
                deobfuscate=bool(self.deobfuscate),
                stop_words=self.stop_words,
                n_jobs=self.n_jobs,
            ),
            lambda view: view.fit(listed),
            [named(name) for name in names],
            ids.astype(np.intp),
            np.arange(len(sets)),
            self.n_jobs,
            None,
            np.ascontiguousarray(sets),
            pairs=self.ngram_range is None,
            look=look,
        )
        found = select_for_labels(
            data,
            Y,
            self.groups_,
            names,
            cv=self.cv,
            deadline=clock,
            random_state=self.random_state,
            tell=tell,
        )
        best = found.trials[0]
        self.title_, self.model_types_ = best.title, [named(name) for name in best.names]
        self._judge(found, Y)
        tell(f"fitting {best.title} on all texts")
        form = fit_labels(best, data)
        self.views_ = [view for view in data.views if view.name in {block.view for block in form.blocks}]
        self.blocks_ = form.blocks
        self.runtime_ = MultiLabelTextModel(self._file(form).compact(self.max_size))
        if "left_out" in self.runtime_.meta:
            before = MultiLabelTextModel(self._file(form)).predict(listed, self.n_jobs)
            changed = (before != self.runtime_.predict(listed, self.n_jobs)).any(axis=1)
            self.runtime_.meta["left_out"]["changed"] = float(changed.mean())

    def _judge(self, found: LabelSelection, Y: NDArray[np.bool_]) -> None:
        """Thresholds and metrics from the scores of held-out texts."""
        self.rows_, self.trials_ = found.rows, found.trials
        Y, groups = Y[self.rows_], self.groups_[self.rows_]
        for trial in reversed(found.trials):  # the model last: what it leaves is kept
            chosen = choose_label_thresholds(Y, trial.probabilities, groups=groups)
            trial.figures = measure_labels(
                Y, chosen.verdicts, probabilities=trial.probabilities, groups=groups, random_state=self.random_state
            )
        best = found.trials[0]
        self.figures_ = best.figures
        self.thresholds_, self.oof_predictions_ = chosen.values, chosen.verdicts
        self.oof_probabilities_ = best.probabilities
        names = [str(label) for label in self.classes_]
        self.by_label_ = class_metrics(Y, chosen.verdicts, self.classes_, groups=groups, names=names)
        weights = ", ".join(f"{weight:.2g}" for weight in best.weights)
        self.description_ = [
            *found.description,
            f"{best.title}: weights {weights} by the least log loss on held-out texts",
            "thresholds by F1 on held-out texts; metrics by weights and thresholds chosen on other texts",
        ]

    def _file(self, form: Form) -> TextModelFile:
        """What would be saved."""
        facts = ModelFacts(
            "sum" if len(self.model_types_) > 1 else self.model_types_[0].name,
            self.title_,
            len(self.groups_),
            self.description_,
            {name: [f.value, f.low, f.high] for name, f in self.figures_.items()},
            self.unknown_words_,
            None if self.time_limit is None else float(self.time_limit),
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
        given = LabelMatrix.of(y)
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
