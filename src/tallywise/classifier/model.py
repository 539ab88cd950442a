"""`TextClassifier`: the fit side of a text model."""

import os
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, model_file
from tallywise.classifier.contents import contents_of, plain
from tallywise.classifier.recipes import RECIPES, Form, Recipe, naive_bayes_form, named, ordered
from tallywise.classifier.trials import TrainingData, Trial, corrected_error, fit_form, run
from tallywise.classifier.weighting import Weighting
from tallywise.evaluation import (
    Folds,
    Threshold,
    choose_threshold,
    duplicate_groups,
    make_folds,
    measure,
)
from tallywise.runtime import Explanation, Flip, TextModel
from tallywise.text import CountVectorizer, HashingVectorizer

Array = NDArray[np.float64]


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A text model in one piece: from texts and labels to verdicts with reasons.

    Texts are counted (words and pairs of words by default), weighted, and given to a classifier; its scores are
    calibrated by rows it had not seen, and a decision rule makes verdicts of probabilities. With ``model='auto'`` the
    families race over cross-validation folds that keep repeated texts together, and the best one is kept.

    Parameters
    ----------
    model : str or list of str
        ``'auto'``, or names of recipes: ``multinomial_nb``, ``complement_nb``, ``bernoulli_nb``, ``logistic``,
        ``linear_svm``, ``nb_svm``, ``ordinal``, ``nearest``, ``gaussian_svm`` and the others in
        `tallywise.classifier.RECIPES`.
    ngram_range : (int, int)
        Shortest and longest n-gram.
    analyzer : {'word', 'char', 'char_wb'}
        What a run is made of.
    min_df : int or float
        Features in fewer texts are left out.
    n_features : int, optional
        Columns by hash, this many, instead of a vocabulary: a bound on memory however many words there are, at the
        price of words that share a column. Reasons are still given in words, those of the text.
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
    cv : int, optional
        Folds of the cross-validation; by default 5, and 3 from 10,000 texts on.
    time_limit : float
        Time after which no further model is tried.
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
        The fitted classifier.
    vectorizer_ : CountVectorizer
        The fitted vectoriser.
    trials_ : list of Trial
        Models tried on every fold, best first, with their held-out scores.
    dropped_ : list of str
        Models dropped before the last fold: clearly worse, or out of time.
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

    def __init__(
        self,
        model: Any = "auto",
        *,
        ngram_range: tuple[int, int] = (1, 2),
        analyzer: str = "word",
        min_df: float = 1,
        n_features: int | None = None,
        deobfuscate: bool = False,
        stop_words: Any = None,
        class_weight: Any = None,
        costs: Any = None,
        max_flagged: Any = None,
        cv: int | None = None,
        time_limit: float = 60.0,
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
        listed, y = _texts(texts), np.asarray(list(labels))
        if len(listed) != len(y):
            msg = f"There must be one label a text. Got {len(listed)} texts and {len(y)} labels."
            raise ValueError(msg)
        self.classes_, codes = _arrays.encode_labels(y)
        if len(self.classes_) < 2:
            msg = f"At least two classes are needed to learn from. Got {self.classes_.tolist()}."
            raise ValueError(msg)
        if self.max_flagged is not None and self.costs is not None:
            msg = "max_flagged and costs are two rules of decision: give one of them."
            raise ValueError(msg)
        tell = self.progress or (lambda line: None)
        tell("counting words")
        self.vectorizer_ = self._vectorizer()
        X = self.vectorizer_.fit_transform(listed)
        numbers = duplicate_groups(listed)
        if groups is not None:
            numbers = _joined(numbers, groups)
        self.groups_ = numbers
        if numbers.max() == 0:
            msg = "At least two different texts (or groups) are needed to learn from and to test on. Got 1."
            raise ValueError(msg)
        folds = make_folds(codes, groups=numbers, n_splits=self._n_folds(numbers), random_state=self.random_state)
        data = TrainingData(X, codes, self.classes_, self.n_jobs, self.class_weight)
        trials = [Trial(recipe, setting, np.empty((0, 0))) for recipe, setting in self._candidates(len(listed))]
        self.trials_ = run(data, folds, trials, self.time_limit, tell)
        finished = {trial.recipe.name for trial in self.trials_}
        behind = [trial.recipe.title for trial in trials if trial.recipe.name not in finished]
        self.dropped_ = list(dict.fromkeys(behind))
        best = self.trials_[0]
        self.recipe_, self.setting_ = best.recipe, best.setting
        tell(f"fitting {best.title} on everything")
        self.weighting_ = Weighting.fit(best.recipe.weighting, X)
        form = fit_form(best.recipe, best.setting, self.weighting_.apply(X), codes, data)
        self.estimator_ = form.estimator
        self.calibration_ = best.calibration
        self._judge(codes, folds, best)
        self._serve(form)
        return self

    def _vectorizer(self) -> CountVectorizer | HashingVectorizer:
        shared: dict[str, Any] = {
            "ngram_range": self.ngram_range,
            "analyzer": self.analyzer,
            "deobfuscate": self.deobfuscate,
            "stop_words": self.stop_words,
        }
        if self.n_features is None:
            return CountVectorizer(min_df=self.min_df, grow=True, **shared)
        return HashingVectorizer(n_features=self.n_features, norm=None, alternate_sign=False, **shared)

    def _n_folds(self, numbers: NDArray[np.intp]) -> int:
        wanted = self.cv or (5 if len(numbers) < 10_000 else 3)
        return min(wanted, len(np.unique(numbers)))

    def _candidates(self, n: int) -> list[tuple[Recipe, dict[str, Any]]]:
        if self.model == "auto":
            chosen = [recipe for recipe in RECIPES if recipe.fits(self.classes_, n)]
        else:
            chosen = [named(name) for name in ([self.model] if isinstance(self.model, str) else self.model)]
        # Settings in turn: the first of every recipe before the second of any, should time run out.
        rounds = max(len(recipe.grid) for recipe in chosen)
        return [(r, r.grid[k]) for k in range(rounds) for r in chosen if k < len(r.grid)]

    def _judge(self, all_codes: NDArray[np.intp], folds: Folds, best: Trial) -> None:
        """Figures on rows not seen, and the decision rule."""
        self.rows_ = np.unique(np.concatenate([test for _, test in folds]))
        self.oof_probabilities_ = best.probabilities
        codes = all_codes[self.rows_]
        groups = self.groups_[self.rows_]
        self.threshold_: Threshold | None = None
        self.rule_: dict[str, Any] = {"kind": "most likely"}
        self.cost_matrix_ = np.empty((0, 0))
        verdicts = None
        if self.max_flagged is not None:
            verdicts = self._set_threshold(codes, groups)
        elif self.costs is not None:
            verdicts = self._set_costs()
        self.figures_ = measure(
            self.classes_[codes],
            self.oof_probabilities_,
            self.classes_,
            predictions=None if verdicts is None else self.classes_[verdicts],
            groups=groups,
            random_state=self.random_state,
        )
        self.corrected_error_ = corrected_error(self.trials_, codes, groups, random_state=self.random_state)
        self.description_ = [
            f"compared by {folds.description}",
            f"kept {best.title}: least error on rows not seen, ties by log loss",
        ]
        if ordered(self.classes_):
            self.description_.append("the labels look like grades on one scale")

    def _set_threshold(self, codes: NDArray[np.intp], groups: NDArray[np.intp]) -> NDArray[np.intp]:
        if not isinstance(self.max_flagged, dict) or len(self.max_flagged) != 1 or len(self.classes_) != 2:
            msg = f"max_flagged needs two classes and one entry, such as {{'ham': 0.001}}. Got {self.max_flagged!r}."
            raise ValueError(msg)
        ((keep, share),) = self.max_flagged.items()
        if keep not in self.classes_.tolist():
            msg = f"max_flagged names {keep!r}, which is not a class: {self.classes_.tolist()}."
            raise ValueError(msg)
        k = 1 - self.classes_.tolist().index(keep)
        scores = self.oof_probabilities_[:, k]
        found = choose_threshold(codes == k, scores, share, groups=groups, random_state=self.random_state)
        self.threshold_ = found
        self.rule_ = {"kind": "threshold", "class": plain(self.classes_[k]), "threshold": found.value}
        return np.asarray(np.where(scores >= found.value, k, 1 - k))

    def _set_costs(self) -> NDArray[np.intp]:
        names = self.classes_.tolist()
        costs = 1.0 - np.eye(len(names))
        for (true, called), cost in dict(self.costs).items():
            if true not in names or called not in names or not cost >= 0:
                msg = (
                    f"Costs are {{(true, called): number >= 0}} of classes {names}. Got ({true!r}, {called!r}): {cost}."
                )
                raise ValueError(msg)
            costs[names.index(true), names.index(called)] = cost
        self.cost_matrix_ = costs
        self.rule_ = {"kind": "costs"}
        return np.asarray((self.oof_probabilities_ @ costs).argmin(axis=1))

    # --- the serve side ---

    def _serve(self, form: Form) -> None:
        """Build the serve side from what would be saved."""
        self.runtime_ = TextModel(contents_of(self, form, self.weighting_))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "runtime_" in state:
            state = {**state, "runtime_": state["runtime_"].contents}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "runtime_" in self.__dict__:
            self.runtime_ = TextModel(self.__dict__["runtime_"])

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model to one safe file for `tallywise.load` and ``tally classify``; returns its size in bytes."""
        check_is_fitted(self)
        return model_file.write(path, *self.runtime_.contents)

    # --- verdicts and reasons ---

    def predict(self, texts: Iterable[str]) -> NDArray[Any]:
        """Predicted classes: the most likely, or by the threshold or the costs."""
        return self.classes_[self.runtime_.decide(self.predict_proba(texts))]

    def predict_proba(self, texts: Iterable[str]) -> Array:
        """Calibrated probabilities; without ``max_flagged`` and ``costs`` the largest decides."""
        check_is_fitted(self)
        return self.runtime_.predict_proba(_texts(texts), self.n_jobs)

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
        if not self.recipe_.learns:
            learners = ", ".join(recipe.name for recipe in RECIPES if recipe.learns)
            msg = f"{self.recipe_.title} cannot learn or forget after fit. Those that can: {learners}."
            raise TypeError(msg)
        listed, y = _texts(texts), np.asarray(list(labels))
        known = {label: k for k, label in enumerate(self.classes_.tolist())}
        new = [label for label in y.tolist() if label not in known]
        if new:
            msg = f"{new[0]!r} is not one of the classes {self.classes_.tolist()}: fit again to add one."
            raise ValueError(msg)
        codes = np.array([known[label] for label in y.tolist()], dtype=np.intp)
        X = self._grown(listed) if verb == "partial_fit" else self.vectorizer_.transform(listed)
        self.weighting_ = Weighting(self.weighting_.tf, self.weighting_.norm, np.ones(X.shape[1]))
        getattr(self.estimator_, verb)(self.weighting_.apply(X), codes)
        self._serve(naive_bayes_form(self.estimator_))
        return self

    def _grown(self, texts: list[str]) -> Any:
        """Counts of texts, their new words in new columns behind the old ones."""
        self.vectorizer_.partial_fit(texts)
        return self.vectorizer_.transform(texts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _texts(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        msg = "Texts are wanted as a list. Got one str: put it in brackets."
        raise ValueError(msg)
    return texts if type(texts) is list else list(texts)


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
