"""`TextClassifier`: the fit side of a text model."""

import numbers
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from tallywise import _arrays
from tallywise._allocator import return_memory
from tallywise.classifier.contents import text_file_of
from tallywise.classifier.familiarity import unknown_word_levels
from tallywise.classifier.inputs import check_settings, labels_of, texts_of
from tallywise.classifier.race import Outcome, choose
from tallywise.classifier.recipes import RECIPES, Block, Form, Recipe, naive_bayes_form, named
from tallywise.classifier.rules import decision_rule
from tallywise.classifier.serving import Served
from tallywise.classifier.trials import TrainingData, Trial, corrected_error, fit, judged
from tallywise.classifier.views import View, count_all, make_views
from tallywise.classifier.weighting import Weighting
from tallywise.evaluation import (
    Calibration,
    Figure,
    Threshold,
    duplicate_groups,
    measure,
)
from tallywise.evaluation.metrics import grades
from tallywise.models.text_serving import Explanation, Flip, TextModel

Array = NDArray[np.float64]


class TextClassifier(ClassifierMixin, Served):
    """A text model in one piece: from texts and labels to verdicts with reasons.

    Texts are counted in two views, words with punctuation marks and characters, weighted, and given to a classifier;
    its scores are calibrated by rows it had not seen, and a decision rule makes verdicts of probabilities. With
    ``model='auto'`` the families, and sums of two of them, are compared by cross-validation with repeated texts kept
    together, and the best is kept.

    Parameters
    ----------
    model : str or list of str
        ``'auto'``, or names of recipes: ``multinomial_nb``, ``complement_nb``, ``bernoulli_nb``, ``logistic``,
        ``linear_svm``, ``word_svm``, ``nb_svm``, ``ordinal``, ``nearest``, ``gaussian_svm``, as in
        `tallywise.classifier.RECIPES`.
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
        ``{(true, called): cost}``; verdicts then have the least expected cost. Unnamed mistakes cost 1.
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
        Seconds after which no further model is tried. By default the comparison is bounded by work instead, so that the
        same texts give the same model on any machine.
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
    recipe_, setting_ : Recipe, dict
        What was kept.
    estimator_ : estimator
        The fitted classifier; for a sum, a list of them.
    mixing_ : array of shape (n_classes, n_classes), or None
        What its scores are multiplied by, where scores of other classes help to tell a class; chosen on rows not seen.
    offsets_ : array
        Added to the scores then, for classes of unequal size; chosen likewise.
    views_ : list of View
        The views that the kept model sees, each with its fitted vectoriser.
    vectorizer_ : CountVectorizer
        The vectoriser of the first of them.
    trials_ : list of Trial
        Models tried on every fold, best first, with their held-out scores.
    dropped_ : list of str
        Models dropped before the last fold: clearly worse, or beyond the work or time allowed.
    figures_ : dict of str to Figure
        Quality on rows not seen, with intervals.
    corrected_error_ : float
        Error corrected for model selection.
    rows_ : array of int
        Rows that `oof_probabilities_` speaks of.
    oof_probabilities_ : array
        Calibrated probabilities of rows by models that had not seen them.
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
    recipe_: Any
    setting_: dict[str, Any]
    mixing_: Array | None
    offsets_: Array
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
    figures_: dict[str, Figure]
    corrected_error_: float
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
        check_settings(self.cv, self.model, self.time_limit)
        listed, y = texts_of(texts), labels_of(labels)
        if len(listed) != len(y):
            msg = f"There must be one label a text. Got {len(listed)} texts and {len(y)} labels."
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
        with threadpool_limits(1, user_api="blas"):
            self._fit(listed, codes, groups)
        return self

    def _fit(self, listed: list[str], codes: NDArray[np.intp], groups: Any) -> None:
        tell = self.progress or (lambda line: None)
        tell("counting words")
        views, counts = count_all(self._make_views(listed), listed, pairs=self.ngram_range is None)
        together = duplicate_groups(listed)
        if groups is not None:
            together = _joined(together, groups)
        self.groups_ = together
        if together.max() == 0:
            msg = "At least two different texts (or groups) are needed to learn from and to test on. Got 1."
            raise ValueError(msg)
        data = TrainingData(views, counts, codes, self.classes_, self.n_jobs, self.class_weight)
        found = choose(
            data,
            together,
            self._candidates(len(listed)),
            cv=self.cv,
            time_limit=self.time_limit,
            random_state=self.random_state,
            tell=tell,
        )
        self.trials_, self.dropped_ = found.trials, found.dropped
        best = self.trials_[0]
        self.recipe_, self.setting_ = best.recipe, best.setting
        tell(f"fitting {best.title} on everything")
        self.mixing_, self.offsets_ = best.mixing, best.offsets
        self.unknown_words_ = unknown_word_levels(views[0], counts[0], self.groups_) if self.max_size is None else None
        if data.many:  # memory is short; the parts of a sum need the counts one after the other
            counts.clear()
            data.forget_features()
            if isinstance(best.recipe, Recipe):
                data.keep_only(best.recipe)
            return_memory()
        form = fit(best.recipe, best.setting, data).adjusted(self.mixing_, self.offsets_)
        del data
        self.views_ = [view for view in views if view.name in {block.view for block in form.blocks}]
        self.vectorizer_ = self.views_[0].vectorizer
        self.blocks_ = form.blocks
        self.estimator_ = form.estimator
        self.calibration_ = best.calibration
        self._judge(codes, found, best)
        self._serve(form)
        if "left_out" in self.runtime_.meta:
            before = TextModel(text_file_of(self, form)).predict(listed, self.n_jobs)
            self.runtime_.meta["left_out"]["changed"] = float(
                np.mean(before != self.runtime_.predict(listed, self.n_jobs))
            )

    def _make_views(self, texts: list[str]) -> list[View]:
        return make_views(
            self.analyzer,
            self.ngram_range,
            self.min_df,
            self.n_features,
            deobfuscate=bool(self.deobfuscate),
            stop_words=self.stop_words,
            n_jobs=self.n_jobs,
            texts=texts,
            columns=1 if len(self.classes_) == 2 else len(self.classes_),
        )

    def _candidates(self, n: int) -> list[Recipe]:
        if self.model == "auto":
            return [recipe for recipe in RECIPES if recipe.fits(self.classes_, n)]
        return [named(name) for name in ([self.model] if isinstance(self.model, str) else self.model)]

    def _judge(self, all_codes: NDArray[np.intp], found: Outcome, best: Trial) -> None:
        """Figures on rows not seen, and the decision rule."""
        self.rows_, how = judged(found.folds), found.description
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
        self.corrected_error_ = corrected_error(self.trials_, groups, random_state=self.random_state)
        if self.views_[0].many:
            how = [f"{self.views_[0].describe()}: there are many of them", *how]
        self.description_ = [
            f"compared by {found.folds.description}",
            *how,
            f"kept {best.title}: {found.reason}",
        ]
        if grades(self.classes_) is not None:
            self.description_.append("the labels look like grades on one scale")

    # --- the serve side ---

    def _serve(self, form: Form) -> None:
        """Build the serve side from what would be saved."""
        self.runtime_ = TextModel(text_file_of(self, form).compact(self.max_size))

    # --- verdicts and reasons ---

    def predict(self, texts: Iterable[str]) -> NDArray[Any]:
        """Predicted classes: the most likely, or by the threshold or the costs."""
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
        if not isinstance(self.recipe_, Recipe) or not self.recipe_.learns:
            learners = ", ".join(recipe.name for recipe in RECIPES if recipe.learns)
            msg = f"{self.recipe_.title} cannot learn or forget after fit. Those that can: {learners}."
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
        view, kind = self.views_[0], self.recipe_.weighting
        X = view.count(listed)
        weighting = Weighting.fit(kind, X)
        getattr(self.estimator_, verb)(weighting.apply(X), codes)
        self.blocks_ = (Block(view.name, weighting),)
        self._serve(
            naive_bayes_form(self.estimator_)._replace(blocks=self.blocks_).adjusted(self.mixing_, self.offsets_)
        )
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
