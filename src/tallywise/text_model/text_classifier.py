"""`TextClassifier`: the fit side of a text model."""

import numbers
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from tallywise import _arrays
from tallywise._allocator import return_memory
from tallywise.evaluation import (
    Calibration,
    Metric,
    Threshold,
    measure,
)
from tallywise.models.text_serving import Explanation, Flip, TextModel
from tallywise.selection import COMPARED, Combination, Deadline, Selection, TimeUpError, Trial, select
from tallywise.text_model.candidates import TextCandidate, fit_trial
from tallywise.text_model.contents import text_file_of
from tallywise.text_model.corpora import Corpus, TextList
from tallywise.text_model.familiarity import unknown_word_levels
from tallywise.text_model.fits import naive_bayes_form
from tallywise.text_model.forms import Block, Form, combined
from tallywise.text_model.inputs import check_settings, labels_of, texts_of
from tallywise.text_model.model_types import DEFAULT, MODEL_TYPES, REFERENCE, ModelType, named
from tallywise.text_model.rules import decision_rule
from tallywise.text_model.serve_side import Served
from tallywise.text_model.training_data import TrainingData
from tallywise.text_model.views import View, make_views, too_wide
from tallywise.text_model.weighting import Weighting

Array = NDArray[np.float64]
_REFIT = 2.0  # what a fit on all rows takes of that on four fifths: a quarter more rows, a fifth of the gap


class TextClassifier(ClassifierMixin, Served):
    """A text model in one piece: from texts and labels to predictions with reasons.

    Texts are counted in two views, words with punctuation marks and characters, and weighted. Two linear models with
    fixed settings, an SVM on words and characters (C = 1) and one on log-count ratios of words (C = 0.1), score the
    same held-out folds: as many of five as the work limit allows, at least one. Their scores are added with weights
    >= 0 that minimise held-out log loss; weight 0 leaves a model out. Each class gets an offset, drawn to 0 with the
    weight of five rows. Of softmax, sigmoids and, for at most ten classes, mixed scores, the one with the least
    held-out log loss makes the probabilities. The models in the sum are refitted on all rows. Repeated texts are kept
    on one side of every split.

    Parameters
    ----------
    model : str or list of str
        ``'auto'`` for the sum above, or a model type by name: ``multinomial_nb``, ``complement_nb``, ``bernoulli_nb``,
        ``logistic``, ``linear_svm``, ``word_svm``, ``nb_svm``, ``ordinal``, ``nearest``, ``gaussian_svm``, as in
        `tallywise.text_model.MODEL_TYPES`. Of several names, the linear ones are added up in the same way; ``ordinal``,
        ``nearest`` and ``gaussian_svm`` stand beside the sum, and the least held-out log loss wins.
    ngram_range : (int, int), optional
        Shortest and longest n-gram of words, or with ``analyzer='char'`` and ``'char_wb'`` of characters. By default
        words go to 3 and characters to 5; models that take terms for independent get words to 2. Above 40 million
        characters of text there are only words, and pairs of words that are in one of 200,000 texts; fewer of both,
        the most frequent, where weights of all classes would be more than 33 million.
    analyzer : {'auto', 'word', 'char', 'char_wb'}
        What n-grams are made of: words and punctuation marks, characters, characters of one word; ``'auto'`` for words
        and characters of one word side by side, each with its own weights.
    min_df : int or float
        Terms in fewer texts are left out; n-grams of characters in a single text always are.
    n_features : int, optional
        Columns by hash, this many in each view, instead of a vocabulary: a bound on memory however many words there
        are, at the price of words that share a column. Reasons are still given in words, those of the text.
    deobfuscate : bool
        Fold look-alikes (``m0rtgage``, full-width and Cyrillic twins) to plain words.
    stop_words : None, 'english' or list of str
        Words to leave out.
    class_weight : None, 'balanced' or dict
        Weight of the classes while learning.
    costs : dict, optional
        ``{(true, called): cost}``; predictions then have the least expected cost. Unnamed mistakes cost 1. Ordinal
        labels (three to ten whole numbers, such as stars) cost their distance by default: the prediction is the median
        of the probabilities.
    max_flagged : dict, optional
        ``{'ham': 0.001}``: with two classes, at most this share of that class is flagged as the other. The threshold
        is set on held-out rows.
    max_size : int, optional
        Bytes that the model's file may have. Terms are left out until it fits, those first that add least to the scores
        of usual texts; ``runtime_.meta['left_out']`` says how many, and the share of the training texts whose verdict
        that changes.
    cv : int, optional
        Folds of the cross-validation; by default 5, of which large sets judge as many as the work allows.
    time_limit : float, optional
        Seconds after which no further model is fitted, and those under way are stopped; multinomial naive Bayes, which
        takes least, is the model where there is time for no other. Where there is no time for it either, ``fit`` raises
        TimeoutError within two seconds (not outside of the main thread, and not on Windows). By default
        cross-validation is bounded by work instead, so that the same texts give the same model on any machine.
    random_state : int
        Seed of the folds and of the intervals.
    n_jobs : int, optional
        Threads; None for the default. Results do not depend on it.
    progress : callable, optional
        Called with a line of text now and then.

    Attributes
    ----------
    classes_ : array
        Labels, sorted.
    title_ : str
        The model in words: the model types in the sum, and their settings.
    model_types_ : list of ModelType
        The model types in the sum.
    combination_ : Combination
        Weights of the model types, offsets of the classes, the matrix that mixes scores (or None) and the link; chosen
        on held-out rows.
    estimator_ : estimator
        The fitted classifier; for a sum, a list of them. Columns that are the same in every text are one to it.
    views_ : list of View
        The views that the kept model sees, each with its fitted vectoriser.
    vectorizer_ : CountVectorizer
        The vectoriser of the first of them.
    trials_ : list of Trial
        The model first; then each model of the sum alone, and multinomial naive Bayes as a reference. Each held-out row
        is scored by models that had not learned it, with weights, offsets and link chosen on other rows.
    dropped_ : list of str
        Models that the time limit or the memory left out, each with the reason.
    figures_ : dict of str to Metric
        Quality on held-out rows, with intervals; probabilities as in `trials_`.
    rows_ : array of int
        Rows that `oof_probabilities_` speaks of.
    oof_probabilities_ : array
        Calibrated probabilities of these rows; no row had a part in the models, weights or link that scored it.
    threshold_ : Threshold or None
        With ``max_flagged``: the threshold, the share flagged and the share caught.
    description_ : list of str
        How the models were compared and which was kept, in sentences.
    unknown_words_ : dict or None
        Mean and 99 % quantile of the share of a training text's words that no other has; see `TextModel.unknown_words`.
    runtime_ : TextModel
        The serve side; `predict` and the rest go through it.

    Examples
    --------
    >>> from tallywise import TextClassifier
    >>> texts = ["win a prize now", "claim your prize", "meeting at noon", "lunch at noon?"] * 5
    >>> model = TextClassifier("multinomial_nb", cv=2).fit(texts, ["spam", "spam", "ham", "ham"] * 5)
    >>> print(model.predict(["a prize for you"])[0], model.explain("a prize for you").words[0].term)
    spam prize

    References
    ----------
    Wang & Manning (2012), Baselines and bigrams, ACL.
    """

    classes_: NDArray[Any]
    trials_: Any
    dropped_: list[str]
    title_: str
    model_types_: list[ModelType]
    combination_: Combination
    unknown_words_: dict[str, float] | None
    views_: Any
    vectorizer_: Any
    blocks_: Any
    estimator_: Any
    calibration_: Calibration
    rows_: NDArray[Any]
    oof_probabilities_: Array
    threshold_: Threshold | None
    rule_: dict[str, Any]
    cost_matrix_: NDArray[Any]
    figures_: dict[str, Metric]
    description_: list[str]
    groups_: NDArray[Any]

    def __init__(
        self,
        model: Any = "auto",
        *,
        ngram_range: tuple[int, int] | None = None,
        analyzer: str = "auto",
        min_df: float = 1,
        n_features: int | None = None,
        deobfuscate: bool = False,
        stop_words: Any = None,
        class_weight: Any = None,
        costs: Any = None,
        max_flagged: Any = None,
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
        self.class_weight = class_weight
        self.costs = costs
        self.max_flagged = max_flagged
        self.max_size = max_size
        self.cv = cv
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    # --- learning ---

    def fit(self, texts: Iterable[str], labels: Iterable[Any], groups: Any = None) -> Self:
        """Learn from texts and labels.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        labels : iterable
            One label a text.
        groups : array, optional
            Rows that must stay on one side of a split, such as mails of one thread; repeated texts always do.
        """
        return self.fit_corpus(TextList(texts_of(texts)), labels, groups)

    def fit_corpus(self, corpus: Corpus, labels: Iterable[Any], groups: Any = None) -> Self:
        """Learn from texts that may have been read elsewhere; as `fit` for the rest."""
        check_settings(self.cv, self.model, self.time_limit)
        y = labels_of(labels)
        if len(corpus) != len(y):
            msg = f"There must be one label a text. Got {len(corpus)} texts and {len(y)} labels."
            raise ValueError(msg)
        self.classes_, codes = _arrays.encode_labels(y)
        del y
        if len(self.classes_) < 2:
            msg = f"At least two classes are needed to learn from. Got {self.classes_.tolist()}."
            raise ValueError(msg)
        if self.max_flagged is not None and self.costs is not None:
            msg = "max_flagged and costs are two rules of decision: give one of them."
            raise ValueError(msg)
        if self.max_size is not None and not (isinstance(self.max_size, numbers.Integral) and self.max_size > 0):
            msg = f"max_size must be a number of bytes, an int of at least 1, or None. Got {self.max_size!r}."
            raise ValueError(msg)
        # Products here are small, and threads that wait for the next one cost more than they bring.
        clock, task = Deadline(self.time_limit), f"{len(corpus):,} texts in {len(self.classes_):,} classes"
        with threadpool_limits(1, user_api="blas"), clock.bounded(task):
            self._fit(corpus, codes, groups, clock)
        return self

    def _fit(self, corpus: Corpus, codes: NDArray[np.intp], groups: Any, clock: Deadline) -> None:
        tell = self.progress or (lambda line: None)
        together = corpus.groups()
        if groups is not None:
            together = _joined(together, groups)
        self.groups_ = together
        if together.max() == 0:
            msg = "At least two different texts (or groups) are needed to learn from and to test on. Got 1."
            raise ValueError(msg)
        tell("counting words")
        data = self._counted(corpus, codes)
        if too_wide(data.widths, self._columns, hurry=self.time_limit is not None):
            del data
            data = self._counted(corpus, codes, few=True)
        views = data.views
        reference = named(REFERENCE) if self.model == "auto" else None
        if len(codes) <= COMPARED and not data.many:  # else only a part of the rows is compared on, and not all models
            data.make_features([*self._model_types(), *([reference] if reference else [])])
        found = select(
            [TextCandidate(model_type, data) for model_type in self._model_types()],
            codes,
            together,
            reference=TextCandidate(reference, data) if reference else None,
            cv=self.cv,
            deadline=clock,
            random_state=self.random_state,
            tell=tell,
        )
        form = self._refit(found, data, clock, tell)
        del data
        return_memory()
        self.views_ = [view for view in views if view.name in {block.view for block in form.blocks}]
        self.vectorizer_ = self.views_[0].vectorizer
        self.blocks_ = form.blocks
        self.estimator_ = form.estimator
        self._judge(codes, found)
        self._serve(form)
        if "left_out" in self.runtime_.meta:
            texts = list(corpus.documents)
            before = TextModel(text_file_of(self, form)).predict(texts, self.n_jobs)
            self.runtime_.meta["left_out"]["changed"] = float(
                np.mean(before != self.runtime_.predict(texts, self.n_jobs))
            )

    def _refit(self, found: Selection, data: TrainingData, clock: Deadline, tell: Callable[[str], None]) -> Form:
        """The selected model fitted on all rows; where the time is too short for that, one that takes less."""
        best, cheapest = found.trials[0], min(found.trials, key=lambda trial: trial.seconds)
        form = None
        if best is cheapest or best.seconds / found.fits * _REFIT < clock.left:
            with clock.enforced() if best is not cheapest else nullcontext(), suppress(TimeUpError):
                form = self._fit_on_all(best, data, tell)
        if form is None:
            found.left_out.append(f"{best.title} (no time was left to fit it on all texts)")
            found.description.append(f"the time limit of {clock.seconds:g} s left out: {found.left_out[-1]}")
            found.trials = [cheapest, *(trial for trial in found.trials[1:] if trial is not cheapest)]
            form = self._fit_on_all(cheapest, data, tell)
        self.trials_, self.dropped_ = found.trials, found.left_out
        return form

    def _fit_on_all(self, trial: Trial, data: TrainingData, tell: Callable[[str], None]) -> Form:
        tell(f"fitting {trial.title} on all texts")
        self.title_, self.combination_, self.calibration_ = trial.title, trial.combination, trial.combination.link
        self.model_types_ = [named(name) for name in trial.names]
        if data.many:  # memory is short; the models of a sum need the counts one after the other
            data.forget_features()
            if len(trial.names) == 1 and self.time_limit is None:
                data.keep_only(self.model_types_[0])
            return_memory()
        return fit_trial(trial, data, last=self.time_limit is None)

    def _counted(self, corpus: Corpus, codes: NDArray[np.intp], *, few: bool = False) -> TrainingData:
        """Texts counted in every view, with what the models need of that."""
        model_types = self._model_types() + ([named(REFERENCE)] if self.model == "auto" else [])
        self.unknown_words_ = None

        def look(view: View, counts: Any) -> None:
            if self.max_size is None:
                self.unknown_words_ = unknown_word_levels(view, counts, self.groups_)

        how = codes, self.classes_, self.n_jobs, self.class_weight
        views, pairs = self._make_views(corpus, few=few), self.ngram_range is None
        return TrainingData.counted(
            views, lambda view: view.fit(corpus.documents), model_types, *how, pairs=pairs, look=look
        )

    @property
    def _columns(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _make_views(self, corpus: Corpus, *, few: bool = False) -> list[View]:
        return make_views(
            self.analyzer,
            self.ngram_range,
            self.min_df,
            self.n_features,
            deobfuscate=bool(self.deobfuscate),
            stop_words=self.stop_words,
            n_jobs=self.n_jobs,
            corpus=corpus,
            columns=self._columns,
            few=few,
        )

    def _model_types(self) -> list[ModelType]:
        if self.model == "auto":
            return [named(name) for name in DEFAULT]
        return [named(name) for name in dict.fromkeys([self.model] if isinstance(self.model, str) else self.model)]

    def _judge(self, all_codes: NDArray[np.intp], found: Selection) -> None:
        """Metrics on held-out rows, and the decision rule."""
        self.rows_, how, best = found.rows, found.description, self.trials_[0]
        self.oof_probabilities_ = best.probabilities
        codes = all_codes[self.rows_]
        groups = self.groups_[self.rows_]
        decided = decision_rule(
            self.classes_,
            codes,
            self.oof_probabilities_,
            groups,
            max_flagged=self.max_flagged,
            costs=self.costs,
            random_state=self.random_state,
            median=True,
        )
        self.threshold_, self.rule_, self.cost_matrix_ = decided.threshold, decided.rule, decided.costs
        verdicts = decided.verdicts
        self.figures_ = measure(
            self.classes_[codes],
            self.oof_probabilities_,
            self.classes_,
            predictions=None if verdicts is None else self.classes_[verdicts],
            groups=groups,
            random_state=self.random_state,
        )
        if self.views_[0].many:
            how = [f"{self.views_[0].describe()}: there are many of them", *how]
        self.description_ = [f"compared by {found.split}", *how, _explained(best)]
        if self.rule_.get("answer") == "median":
            self.description_.append("the labels are ordinal: the answer is the median of the probabilities")

    # --- the serve side ---

    def _serve(self, form: Form) -> None:
        """Build the serve side from what would be saved."""
        self.runtime_ = TextModel(text_file_of(self, form).compact(self.max_size))

    # --- verdicts and reasons ---

    def predict(self, texts: Iterable[str]) -> NDArray[Any]:
        """Predicted classes: the most likely, of ordinal labels the median, or by the threshold or the costs."""
        return self.classes_[self.runtime_.decide(self.predict_proba(texts))]

    def predict_proba(self, texts: Iterable[str]) -> Array:
        """Calibrated probabilities; without ``max_flagged`` and ``costs`` the largest decides."""
        check_is_fitted(self)
        return self.runtime_.predict_proba(texts, self.n_jobs)

    def explain(self, text: str, label: Any = None) -> Explanation:
        """What each word of a text adds to the score of a class; see `TextModel.explain`."""
        check_is_fitted(self)
        return self.runtime_.explain(text, label)

    def flip(self, text: str) -> Flip | None:
        """The fewest words whose removal or addition changes the verdict; see `TextModel.flip`."""
        check_is_fitted(self)
        return self.runtime_.flip(text)

    # --- on line ---

    def learn(self, texts: Iterable[str], labels: Iterable[Any]) -> Self:
        """Go on learning; new words are taken up. For naive Bayes models, exactly as if learned at once."""
        return self._update(texts, labels, "partial_fit")

    def forget(self, texts: Iterable[str], labels: Iterable[Any]) -> Self:
        """Undo learning, exactly; what was never learned raises and changes nothing."""
        return self._update(texts, labels, "forget")

    def _update(self, texts: Iterable[str], labels: Iterable[Any], verb: str) -> Self:
        check_is_fitted(self)
        if len(self.model_types_) > 1 or not self.model_types_[0].learns:
            learners = ", ".join(model_type.name for model_type in MODEL_TYPES if model_type.learns)
            msg = f"{self.title_} cannot learn or forget after fit. Those that can: {learners}."
            raise TypeError(msg)
        listed, y = texts_of(texts), labels_of(labels)
        if len(listed) == len(y) == 0:
            return self
        known = {label: k for k, label in enumerate(self.classes_.tolist())}
        new = [label for label in y.tolist() if label not in known]
        if new:
            msg = f"{new[0]!r} is not one of the classes {self.classes_.tolist()}: fit again to add one."
            raise ValueError(msg)
        codes = np.array([known[label] for label in y.tolist()], dtype=np.intp)
        if verb == "partial_fit":
            self.vectorizer_.partial_fit(listed)  # new words in new columns behind the old ones
        view, kind = self.views_[0], self.model_types_[0].weighting
        X = view.count(listed)
        weighting = Weighting.fit(kind, X)
        getattr(self.estimator_, verb)(weighting.apply(X), codes)
        self.blocks_ = (Block(view.name, weighting),)
        form = naive_bayes_form(self.estimator_)._replace(blocks=self.blocks_)
        self._serve(combined([form], self.combination_))
        return self

    def features(self, texts: Iterable[str]) -> Any:
        """Feature values of texts (CSR), the blocks of the kept model side by side."""
        check_is_fitted(self)
        from scipy.sparse import hstack

        listed = texts_of(texts)
        counts = {view.name: view.count(listed) for view in self.views_}
        return hstack([block.weighting.apply(counts[block.view]) for block in self.blocks_], format="csr")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _explained(trial: Trial) -> str:
    """How the models of a trial became probabilities."""
    if trial.link == "ordered":
        return "thresholds on one score make the probabilities; fitted on all texts"
    weights = ", ".join(f"{weight:.2g}" for weight in trial.combination.weights)
    what = f"scores added with weights {weights}" if len(trial.names) > 1 else f"scores times {weights}"
    return f"{what}, {trial.link} by the least log loss on held-out texts, fitted on all texts"


def _joined(first: NDArray[np.intp], second: Any) -> NDArray[np.intp]:
    """Groups that hold together whatever either grouping does."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    other = np.unique(np.asarray(second), return_inverse=True)[1]
    if len(other) != len(first):
        msg = f"groups must have one entry a text. Got {len(other)} for {len(first)} texts."
        raise ValueError(msg)
    a, b = first.max() + 1, other.max() + 1
    links = coo_matrix((np.ones(len(first)), (first, a + other)), shape=(a + b, a + b))
    return np.asarray(connected_components(links, directed=False)[1][first])
