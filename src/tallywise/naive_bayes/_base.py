"""What all naive Bayes models share: sums that learn and forget, weights derived from them when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tallywise import _arrays, _native, _threads
from tallywise.errors import NoPossibleClassError, NotLearnedError
from tallywise.naive_bayes._sums import Floats, Sums

ALPHAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


NO_LABELS = "no_validation"  # scikit-learn's word for it; y=None is a mistake of the caller's to be told


def validated(estimator: Any, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
    """Return X and y as scikit-learn wants them; y may be NO_LABELS."""
    found = validate_data(estimator, X, y=y, **checks)
    return (found, None) if isinstance(y, str) and y == NO_LABELS else found


def places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each label stands among sorted classes."""
    return np.asarray(np.searchsorted(classes, labels), dtype=np.int64)


def holds_words(X: Any) -> bool:
    """Whether X has strings, so that its values are names and not numbers."""
    if sp.issparse(X):
        return False
    array = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if array.dtype.kind in "US":
        return True
    return array.dtype.kind == "O" and any(isinstance(value, str) for value in array.ravel())


# What validation may change; partial_fit puts it back when it fails.
_SEEN = ("n_features_in_", "feature_names_in_", "categories_")


class Batch(NamedTuple):
    """Rows ready to be learned."""

    design: _native.Design
    weights: Floats | None
    integral: bool  # all that will be added is integer


class LinearRule(NamedTuple):
    """A classifier as scores ``X @ w.T + b``; with two classes one row, positive for the second class."""

    w: Floats
    b: Floats


@dataclass(frozen=True)
class LeaveOneOut:
    """What a model says of each row after learning all the others, for each smoothing.

    Rows whose class has no other row cannot be got right; they count as errors, but not in ``log_loss``.
    """

    alphas: Floats
    labels: NDArray[Any]  # (alphas, rows)
    log_probability: Floats  # of the true class; (alphas, rows)
    accuracy: Floats
    log_loss: Floats

    @property
    def best_alpha(self) -> float:
        """The smoothing with the least log loss; of equal ones the first."""
        return float(self.alphas[int(np.argmin(self.log_loss))])


class NaiveBayes(ClassifierMixin, BaseEstimator):
    """Base of the naive Bayes models: ``z_c(x) = log prior_c + b_c + sum_j g(x_j, theta_jc)``.

    The model is its sums (``_sums``). The weights that follow from them live in ``_cache`` until the sums change.
    """

    _event: ClassVar[str]
    _statistics: ClassVar[int] = 1
    _sparse: ClassVar[bool] = True
    _non_negative: ClassVar[bool] = True
    _adds_repeats: ClassVar[bool] = False  # entries of one cell may come in parts

    classes_: NDArray[Any]
    n_features_in_: int
    class_log_prior_: Floats
    _sums: Sums
    _alpha: Floats

    # --- what a model says about itself ---

    def _options(self) -> _native.EventOptions:
        return _native.EventOptions(self._event)

    def _smoothing(self) -> Floats:
        """One alpha, or one a cell."""
        raise NotImplementedError

    def _log_prior(self) -> Floats:
        raise NotImplementedError

    def _prior_kind(self) -> _native.PriorKind:
        raise NotImplementedError

    def _settle(self) -> None:
        """Check the parameters against the sums, after each change of these."""
        self._alpha = self._smoothing()
        self.class_log_prior_ = self._log_prior()

    # --- input ---

    def _validated(self, X: Any, y: Any = NO_LABELS, *, reset: bool) -> tuple[Any, Any]:
        # NaN and infinity are found by the native validation of the design, which comes next: one pass over X less.
        accept = "csr" if self._sparse else False
        return validated(self, X, y, reset=reset, accept_sparse=accept, ensure_all_finite=False)

    def _design(self, X: Any, exact: bool = False) -> _native.Design:
        return _arrays.rows(X, any_order=True, repeats=self._adds_repeats and not exact)

    def _known(self, X: Any) -> _native.Design:
        check_is_fitted(self)
        X, _ = self._validated(X, reset=False)
        return self._design(X)

    # --- learning ---

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X and y alone, forgetting what was learned before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 2 counts as two rows.

        Returns
        -------
        self
        """
        X, y = self._validated(X, y, reset=True)
        classes, codes = self._encode(y)
        batch = self._read(X, sample_weight)
        self._start(classes, X)
        self._learn(batch, codes)
        self._choose_alpha(X, codes)
        self._settle()
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows. The result is that of one `fit` on all rows so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows. Columns beyond those known so far are new features that no earlier row had.
        y : array-like of shape (n_samples,)
            Their classes, new ones included.
        classes : array-like of shape (n_classes,), default=None
            Classes to know of, seen or not. Not required; if given, y has no others.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        first = not hasattr(self, "classes_")
        before = {name: self.__dict__[name] for name in _SEEN if name in self.__dict__}
        try:
            X, y = self._validated_growing(X, y, first)
            found, codes = self._encode(y)
            batch = self._read(X, sample_weight)
            known = found if classes is None else self._declared(found, classes)
            self._check_settings()
        except Exception:
            self.__dict__.update(before)
            raise
        if first:
            self._start(known, X)
        else:
            self._know(known, X)
        self._learn(batch, places(found, self.classes_)[codes])
        self._settle()
        return self

    def _declared(self, found: NDArray[Any], classes: Any) -> NDArray[Any]:
        known = np.unique(np.asarray(classes))
        strangers = found[~np.isin(found, np.union1d(known, getattr(self, "classes_", known)))]
        if len(strangers):
            msg = f"The target label(s) {strangers} in y do not exist in the initial classes {known}"
            raise ValueError(msg)
        return known

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Undo learning: the sums become what they were without these rows.

        Integer counts come back to the bit. Real numbers do too when their sums fit into 106 bits, and to about 30
        digits otherwise. Classes and columns stay known, with nothing counted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to forget.
        y : array-like of shape (n_samples,)
            The classes they were learned with.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights they were learned with.

        Returns
        -------
        self

        Raises
        ------
        NotLearnedError
            If the rows cannot all have been learned. Nothing has changed then.
        """
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        found, codes = self._encode(y)
        strangers = found[~np.isin(found, self.classes_)]
        if len(strangers):
            msg = f"No row of class {strangers[0]!r} was ever learned. Nothing has changed."
            raise NotLearnedError(msg)
        batch = self._read(X, sample_weight)
        try:
            self._learn(batch, places(found, self.classes_)[codes], forget=True)
        except _native.NeverLearned as error:
            msg = (
                f"These rows cannot all have been learned: forgetting them would leave less than no {error} in a "
                "class. Nothing has changed."
            )
            raise NotLearnedError(msg) from None
        self._settle()
        return self

    def merge(self, other: Self) -> Self:
        """Learn what another model of this kind has learned, as if its rows had been learned here.

        Parameters
        ----------
        other : fitted model of the same class
            Its classes are matched by label, its columns by position.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if type(other) is not type(self):
            msg = f"{type(self).__name__} can be merged with its own kind only. Got {type(other).__name__}."
            raise TypeError(msg)
        self._match(other)
        theirs = self._understood(other)
        classes = np.union1d(self.classes_, other.classes_)
        cells = max(self._sums.cells, theirs.cells)
        mine = self._sums.grown(places(self.classes_, classes), len(classes), cells)
        self._sums = mine.plus(theirs.grown(places(other.classes_, classes), len(classes), cells))
        self.classes_ = classes
        self.n_features_in_ = max(self.n_features_in_, other.n_features_in_)
        self._cache.clear()
        self._settle()
        return self

    def _understood(self, other: Self) -> Sums:
        """Return the sums of another model, laid out as here."""
        return other._sums

    def _match(self, other: Self) -> None:
        """Raise where the sums of two models do not mean the same."""
        mine, theirs = getattr(self, "feature_names_in_", None), getattr(other, "feature_names_in_", None)
        if mine is not None and theirs is not None:
            shared = min(len(mine), len(theirs))
            if not np.array_equal(mine[:shared], theirs[:shared]):
                msg = "The feature names of the two models differ, so their sums cannot be added."
                raise ValueError(msg)
            if len(theirs) > len(mine):
                self.feature_names_in_ = theirs

    def _check_settings(self) -> None:
        """Raise where what was set since the first rows does not allow more of them."""

    def _choose_alpha(self, X: Any, codes: NDArray[np.int64]) -> None:
        """Choose the smoothing by leaving one out, where that was asked for."""

    def _start(self, classes: NDArray[Any], X: Any) -> None:
        self.classes_ = classes
        self._sums = Sums.of_nothing(self._statistics, len(classes), self._cells(X))
        self._cache: dict[str, Any] = {}

    def _cells(self, X: Any) -> int:
        return int(X.shape[1])

    def _know(self, classes: NDArray[Any], X: Any) -> None:
        """Make room for new classes and columns."""
        union = self.classes_ if np.isin(classes, self.classes_).all() else np.union1d(self.classes_, classes)
        cells = self._cells(X)
        if len(union) > len(self.classes_) or cells > self._sums.cells:
            self._sums = self._sums.grown(places(self.classes_, union), len(union), cells)
            self.classes_ = union
            self._cache.clear()

    def _read(self, X: Any, sample_weight: Any) -> Batch:
        """Validate rows and weights, before anything changes."""
        weights = self._weights_of(sample_weight, X)
        design = self._design(X)
        if self._statistics > 1:
            return Batch(design, weights, False)
        least, integral = _native.inspect_batch(self._options(), design, weights)
        if self._non_negative and least < 0:
            msg = f"Negative values in data passed to {type(self).__name__} (input X)."
            raise ValueError(msg)
        return Batch(design, weights, integral)

    def _learn(self, batch: Batch, codes: NDArray[np.int64], *, forget: bool = False) -> None:
        if not batch.integral:
            self._sums.keep_carry()
        self._sums.keep_writable()
        sums = self._sums.native()
        _native.learn(self._options(), batch.design, codes, batch.weights, forget, sums, _threads.count())
        self._cache.clear()

    def _validated_growing(self, X: Any, y: Any, first: bool) -> tuple[Any, Any]:
        """Validate X with at least the known columns; more are welcome."""
        shape = getattr(X, "shape", None)
        if first or shape is None or len(shape) != 2 or shape[1] <= self.n_features_in_:
            return self._validated(X, y, reset=first)
        old = list(getattr(self, "feature_names_in_", []))
        X, y = self._validated(X, y, reset=True)
        names = list(getattr(self, "feature_names_in_", []))
        if bool(names) != bool(old) or names[: len(old)] != old:
            msg = "New columns must follow the known ones, with feature names alike."
            raise ValueError(msg)
        return X, y

    def _encode(self, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        # scikit-learn's check of the labels sorts them all; strings and integers are labels without it.
        words = y.dtype.kind == "O" and set(map(type, y.tolist())) <= {str}
        if not words and y.dtype.kind not in "iubUS":
            check_classification_targets(y)
        return _arrays.encode_labels(y)

    def _weights_of(self, sample_weight: Any, X: Any) -> Floats | None:
        if sample_weight is None:
            return None
        weights: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            msg = "All of sample_weight are zero: there is nothing to learn from."
            raise ValueError(msg)
        return weights

    # --- saying ---

    def _weights(self) -> tuple[Floats, Floats]:
        """Theta (a row a cell, classes padded to fours) and b, from the sums as they are."""
        if "weights" not in self._cache:
            sums = self._sums.native()
            self._cache["weights"] = _native.estimate(self._options(), sums, self._alpha, _threads.count())
        weights: tuple[Floats, Floats] = self._cache["weights"]
        return weights

    def _scoring_prior(self) -> Floats:
        return self._log_prior()

    def _scores(self, X: Any, output: _native.Output) -> Floats:
        design = self._known(X)
        theta, b = self._weights()
        prior = self._scoring_prior()
        values, impossible = _native.scores(self._options(), design, theta, b, prior, output, _threads.count())
        self._refuse(impossible)
        return np.asarray(values)

    def _refuse(self, impossible: NDArray[np.int64]) -> None:
        if len(impossible):
            raise NoPossibleClassError(impossible.tolist())

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row of X; of equal ones the first in `classes_`."""
        design = self._known(X)
        theta, b = self._weights()
        prior = self._scoring_prior()
        codes, impossible = _native.labels(self._options(), design, theta, b, prior, _threads.count())
        self._refuse(impossible)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> Floats:
        """Return P(c | x) for each row x of X and class c, in the order of `classes_`."""
        return self._scores(X, _native.Output.probability)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(c | x) for each row x of X and class c."""
        return self._scores(X, _native.Output.log_probability)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log P(c) + log P(x | c) for each row x of X and class c, up to terms that are the same for all c."""
        return self._scores(X, _native.Output.joint)

    def leave_one_out(self, X: Any, y: Any, alphas: ArrayLike | None = None) -> LeaveOneOut:
        """Say of each row what the model would after learning all the others, for every smoothing in `alphas`.

        The rows are counted once; then each one's own share is taken out of the sums. The result equals refitting for
        each row, at about the price of one fit and one prediction a smoothing. What this model has learned is neither
        used nor changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        alphas : array-like of float, default=None
            Smoothings to try; by default nine from 0.001 to 10.

        Returns
        -------
        LeaveOneOut
        """
        grid = np.asarray(ALPHAS if alphas is None else alphas, dtype=np.float64).ravel()
        if not (len(grid) and np.isfinite(grid).all() and (grid >= 0).all()):
            msg = f"alphas must be numbers in [0, inf). Got {alphas!r}."
            raise ValueError(msg)
        model: Self = clone(self).set_params(**{self._smoothing_name: 1.0})
        model.fit(X, y)
        X, y = model._validated(X, y, reset=False)
        return model._leave_one_out(X, places(y, model.classes_), grid)

    _smoothing_name: ClassVar[str] = "alpha"

    def _leave_one_out(self, X: Any, codes: NDArray[np.int64], alphas: Floats) -> LeaveOneOut:
        options, design, threads = self._options(), self._design(X, exact=True), _threads.count()
        sums = self._sums.native()
        kind, prior = self._prior_kind(), self._scoring_prior()
        labels = np.empty((len(alphas), len(codes)), dtype=np.int64)
        log_probability = np.empty(labels.shape)
        for k, alpha in enumerate(alphas):
            labels[k], log_probability[k] = _native.leave_one_out(
                options, design, codes, sums, np.array([alpha]), kind, prior, threads
            )
        scored = self._sums.totals[0][codes] > 1
        losses = -log_probability[:, scored].mean(axis=1) if scored.any() else np.full(len(alphas), np.inf)
        return LeaveOneOut(alphas, self.classes_[labels], log_probability, (labels == codes).mean(axis=1), losses)

    # --- what is known ---

    def statistics(self) -> dict[str, NDArray[Any]]:
        """Return all that the model has learned as plain arrays, for a file or another process.

        Returns
        -------
        dict
            'classes'; 'value' of shape (statistics, n_classes, cells), the sums; 'carry' of that shape, what a double
            could not hold of them (absent while all is integer); 'totals' of shape (4, n_classes): documents, their
            carry, tokens, their carry.
        """
        check_is_fitted(self)
        state = self._sums.__getstate__()
        carry = {} if state["carry_room"] is None else {"carry": state["carry_room"]}
        return {"classes": self.classes_, "value": state["value_room"], **carry, "totals": state["totals"]}

    def restore(self, statistics: dict[str, NDArray[Any]]) -> Self:
        """Become a model that has learned what `statistics` says; the opposite of `statistics`.

        Parameters
        ----------
        statistics : dict
            What `statistics` returned.

        Returns
        -------
        self
        """
        value = np.array(statistics["value"], dtype=np.float64)
        carry = np.array(statistics["carry"], dtype=np.float64) if "carry" in statistics else None
        totals = np.array(statistics["totals"], dtype=np.float64)
        classes = np.asarray(statistics["classes"])
        shape = (self._statistics, len(classes), value.shape[-1])
        alike = value.shape == shape and totals.shape == (4, len(classes)) and (carry is None or carry.shape == shape)
        if not alike or not all(np.isfinite(table).all() for table in (value, totals)):
            msg = "These are not statistics of a model of this kind: their shapes or numbers do not fit."
            raise ValueError(msg)
        self.classes_, self._sums, self._cache = classes, Sums(value, carry, totals, shape[2]), {}
        self.n_features_in_ = shape[2]
        self._settle()
        return self

    @property
    def class_count_(self) -> Floats:
        """Weight of the rows learned, by class."""
        count: Floats = self._sums.totals[0]
        return count

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_cache" in state:
            state["_cache"] = {}
        return state
