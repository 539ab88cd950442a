"""How every naive Bayes model learns: rows become sums, which add, subtract and merge."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _native, _threads
from tallywise._arrays import Matrix
from tallywise._base import BaseEstimator
from tallywise._sklearn import fit_context
from tallywise.errors import NotLearnedError
from tallywise.naive_bayes._input import NO_LABELS, encode, places, validated, weights_of
from tallywise.naive_bayes._sufficient_statistics import Floats, Sums

# What validation may change; partial_fit puts it back when it fails.
_SEEN = ("n_features_in_", "feature_names_in_", "categories_")


class Batch(NamedTuple):
    """Rows ready to be learned."""

    design: _native.Design
    weights: Floats | None
    integral: bool  # all that will be added is integer
    largest: float  # amount of an entry


class SumLearner(ClassifierMixin, BaseEstimator):
    """The sums of a naive Bayes model, and all that changes them: fit, partial_fit, forget, merge.

    What follows from the sums lives in ``_cache`` until they change.
    """

    _event: ClassVar[str]  # a name in cpp/core/naive_bayes/events.hpp

    classes_: NDArray[Any]
    n_features_in_: int
    _sums: Sums
    feature_names_in_: NDArray[Any]

    # --- what a model overrides ---

    @property
    def _traits(self) -> _native.EventTraits:
        return _native.event_traits(self._event)

    def _options(self) -> _native.EventOptions:
        return _native.EventOptions(self._event)

    def _finalise(self) -> None:
        """Check the parameters against the sums, after each change of these."""
        raise NotImplementedError

    def _check_settings(self) -> None:
        """Raise where what was set since the first rows does not allow more of them."""

    def _choose_alpha(self, X: Matrix, codes: NDArray[np.int64]) -> None:
        """Choose the smoothing by leave-one-out, if requested."""

    # --- input ---

    def _validated(self, X: Matrix, y: ArrayLike = NO_LABELS, *, reset: bool) -> tuple[Any, Any]:
        # NaN and infinity are found by the native validation of the design, which comes next: one pass over X less.
        accept = "csr" if self._traits.reads_sparse else False
        return validated(self, X, y, reset=reset, accept_sparse=accept, ensure_all_finite=False, to_design=True)

    def _design(self, X: Matrix, exact: bool = False) -> _native.Design:
        return _arrays.rows(X, any_order=True, repeats=self._traits.adds_repeats and not exact)

    def _known(self, X: Matrix) -> _native.Design:
        if not hasattr(self, "classes_"):
            check_is_fitted(self)
        X, _ = self._validated(X, reset=False)
        return self._design(X)

    # --- learning ---

    @fit_context(prefer_skip_nested_validation=True)
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
        classes, codes = encode(y)
        batch = self._read(X, sample_weight)
        self._start(classes, X)
        self._learn(batch, codes)
        self._choose_alpha(X, codes)
        self._finalise()
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: Any = None) -> Self:
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
            found, codes = encode(y)
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
        self._finalise()
        return self

    def _declared(self, found: NDArray[Any], classes: ArrayLike) -> NDArray[Any]:
        known = np.unique(np.asarray(classes))
        unknown = found[~np.isin(found, np.union1d(known, getattr(self, "classes_", known)))]
        if len(unknown):
            msg = f"The target label(s) {unknown} in y do not exist in the initial classes {known}"
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
            If the sums show that these rows cannot all have been learned with these classes and weights: one would
            become negative, or a model of whole numbers would lose a fraction. Nothing has changed then. Sums do not
            show every mistake: a row of another class whose words are all frequent in this one is forgotten here.
        """
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        found, codes = encode(y)
        unknown = found[~np.isin(found, self.classes_)]
        if len(unknown):
            msg = f"No row of class {unknown[0]!r} was ever learned. Nothing has changed."
            raise NotLearnedError(msg)
        batch = self._read(X, sample_weight)
        if not batch.integral and self._sums.carry is None:
            msg = (
                "These rows cannot all have been learned: they hold fractions, or have fractional weights, and "
                "everything learned so far was whole. Nothing has changed."
            )
            raise NotLearnedError(msg)
        try:
            self._learn(batch, places(found, self.classes_)[codes], forget=True)
        except _native.NeverLearned as error:
            msg = (
                f"These rows cannot all have been learned: forgetting them would make the number of {error} of a "
                "class negative. Nothing has changed."
            )
            raise NotLearnedError(msg) from None
        self._finalise()
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
        self._finalise()
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

    def _start(self, classes: NDArray[Any], X: Matrix) -> None:
        self.classes_ = classes
        self._sums = Sums.of_nothing(self._traits.statistics, len(classes), self._cells(X))
        self._cache: dict[str, Any] = {}

    def _cells(self, X: Matrix) -> int:
        return int(X.shape[1])

    def _know(self, classes: NDArray[Any], X: Matrix) -> None:
        """Make room for new classes and columns."""
        union = self.classes_ if np.isin(classes, self.classes_).all() else np.union1d(self.classes_, classes)
        cells = self._cells(X)
        if len(union) > len(self.classes_) or cells > self._sums.cells:
            self._sums = self._sums.grown(places(self.classes_, union), len(union), cells)
            self.classes_ = union
            self._cache.clear()

    def _read(self, X: Matrix, sample_weight: ArrayLike | None) -> Batch:
        """Validate rows and weights, before anything changes."""
        weights = weights_of(sample_weight, X)
        design = self._design(X)
        negative, integral, largest = _native.inspect_batch(self._options(), design, weights, _threads.count())
        if negative:
            msg = f"Negative values in data passed to {type(self).__name__} (input X)."
            raise ValueError(msg)
        return Batch(design, weights, integral, largest)

    def _learn(self, batch: Batch, codes: NDArray[np.int64], *, forget: bool = False) -> None:
        if not batch.integral:
            self._sums.keep_carry()
        self._sums.keep_writable()
        sums, threads = self._sums.native(), _threads.count()
        _native.learn(self._options(), batch.design, codes, batch.weights, batch.largest, forget, sums, threads)
        self._cache.clear()

    def _validated_growing(self, X: Matrix, y: ArrayLike, first: bool) -> tuple[Any, Any]:
        """Validate X with at least the known columns; more are allowed."""
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
        """Restore a model from what `statistics` returned.

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
        shape = (self._traits.statistics, len(classes), value.shape[-1])
        alike = value.shape == shape and totals.shape == (4, len(classes)) and (carry is None or carry.shape == shape)
        if not alike or not all(np.isfinite(table).all() for table in (value, totals)):
            msg = "These are not statistics of a model of this kind: their shapes or values are invalid."
            raise ValueError(msg)
        self.classes_, self._sums, self._cache = classes, Sums(value, carry, totals, shape[2]), {}
        self.n_features_in_ = shape[2]
        self._finalise()
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._traits.reads_sparse
        return tags
