"""Naive Bayes for categories: one categorical distribution per feature and class."""

from __future__ import annotations

from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from tallywise import _native
from tallywise._arrays import Matrix
from tallywise._sklearn import Interval, StrOptions
from tallywise.naive_bayes._discrete import DiscreteNB
from tallywise.naive_bayes._input import NO_LABELS, holds_words, validated
from tallywise.naive_bayes._sufficient_statistics import Floats, Sums

LARGEST_CODE = 2**31 - 1  # a larger category number is a mistake, and would need as many counters


class CategoricalNB(DiscreteNB):
    r"""Naive Bayes for features that take one of a few values each.

    .. math::
        P(x_j = k \mid c) = \frac{N_{jkc} + \alpha}{N_c + \alpha K_j}

    with N_jkc the rows of class c that have value k in column j, and K_j the number of values of column j. A value
    never seen in learning gets the share that one more value would have, alpha / (N_c + alpha (K_j + 1)).

    Parameters
    ----------
    alpha : float or 'loo', default=1.0
        Smoothing, 0 or more; 'loo' chooses by exact leave-one-out log loss in `fit`.
    force_alpha : bool, default=True
        If False, smoothing below 1e-10 is raised to that, with a warning.
    fit_prior, class_prior, prior, prior_smoothing
        As in `MultinomialNB`.
    min_categories : int or array-like of shape (n_features,), default=None
        The least K_j, where values are numbers from 0.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, alpha_, n_features_in_
        As in `MultinomialNB`.
    category_count_, feature_log_prob_ : list of n_features arrays of shape (n_classes, K_j)
        N_jkc and the logarithms of the probabilities.
    n_categories_ : ndarray of shape (n_features,)
        K_j.
    categories_ : list of n_features lists, or None
        The values of each column, where these are not numbers from 0.

    Examples
    --------
    >>> from tallywise.naive_bayes import CategoricalNB
    >>> X = [["sunny", "hot"], ["sunny", "mild"], ["rain", "mild"], ["rain", "cool"]]
    >>> model = CategoricalNB().fit(X, ["stay", "stay", "go", "go"])
    >>> model.predict([["rain", "cool"], ["fog", "hot"]])
    array(['go', 'stay'], dtype='<U4')
    """

    _event = "categorical"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DiscreteNB._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"})],
        "min_categories": [None, "array-like", Interval(Integral, 1, None, closed="left")],
    }

    n_categories_: NDArray[Any]

    def __init__(
        self,
        *,
        alpha: float | str = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        prior: str | ArrayLike = "documents",
        prior_smoothing: float = 0.0,
        min_categories: int | ArrayLike | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            force_alpha=force_alpha,
            fit_prior=fit_prior,
            class_prior=class_prior,
            prior=prior,
            prior_smoothing=prior_smoothing,
        )
        self.min_categories = min_categories

    categories_: list[list[Any]] | None

    # --- values to numbers ---

    def _validated(self, X: Matrix, y: ArrayLike = NO_LABELS, *, reset: bool) -> tuple[Any, Any]:
        return self._codes(X, y, reset=reset, learn=reset)

    def _validated_growing(self, X: Matrix, y: ArrayLike, first: bool) -> tuple[Any, Any]:
        return self._codes(X, y, reset=first, learn=True)

    def _codes(self, X: Matrix, y: ArrayLike, *, reset: bool, learn: bool) -> tuple[NDArray[np.int64], Any]:
        words = holds_words(X)
        if not reset and words != (self.categories_ is not None):
            msg = "CategoricalNB learned " + ("numbers and was given strings." if words else "strings, not numbers.")
            raise ValueError(msg)
        kind = {"dtype": object, "ensure_all_finite": False} if words else {"dtype": "int"}
        try:
            with np.errstate(invalid="raise"):  # a float that no integer holds
                X, y = validated(self, X, y, reset=reset, **kind)
        except (OverflowError, FloatingPointError) as error:
            msg = "Categories are numbered from 0 without large gaps. X holds a number of 2^63 or more."
            raise ValueError(msg) from error
        if words:
            return self._numbered(X, learn=learn, fresh=reset), y
        # Numbers of categories are addresses of sums. A copy, which no other thread can change after it was looked at:
        # 8 bytes per cell, 13 % of the CPU time of `fit` (300,000 rows of 8 columns).
        X = np.array(X, dtype=np.int64, order="C")
        if X.size and X.min() < 0:
            msg = "Negative values in data passed to CategoricalNB (input X)."
            raise ValueError(msg)
        if learn and X.size and X.max() > LARGEST_CODE:
            msg = f"Categories are numbered from 0 without large gaps. Got category {X.max()}."
            raise ValueError(msg)
        if reset:
            self.categories_ = None
        return X, y

    def _numbered(self, X: NDArray[Any], *, learn: bool, fresh: bool) -> NDArray[np.int64]:
        """Values to their places in `categories_`; new ones are appended when learning, and out of range otherwise."""
        known: list[list[Any]] = [[] for _ in range(X.shape[1])] if fresh else self.categories_ or []
        codes = np.empty(X.shape, dtype=np.int64)
        grown = []
        for j, values in enumerate(known):
            column = X[:, j].tolist()
            place = {value: k for k, value in enumerate(values)}
            if learn:
                new = set(column).difference(place)
                place.update((value, len(values) + k) for k, value in enumerate(sorted(new, key=str)))
            codes[:, j] = [place.get(value, len(place)) for value in column]
            grown.append(list(place))
        if learn:
            self.categories_ = grown
        return codes

    # --- cells ---

    def _options(self) -> _native.EventOptions:
        options = super()._options()
        options.offsets = self._offsets.tolist()
        return options

    @property
    def _offsets(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(getattr(self, "n_categories_", []), dtype=np.int64)])

    def _sizes(self, X: NDArray[np.int64]) -> NDArray[np.int64]:
        """K_j by these rows and the parameters."""
        found = _column_max(X) + 1
        if self.min_categories is None:
            return found
        least = np.asarray(self.min_categories)
        if not np.issubdtype(least.dtype, np.signedinteger):
            msg = f"'min_categories' should have integral type. Got {least.dtype} instead."
            raise ValueError(msg)
        if least.ndim > 0 and least.shape != found.shape:
            msg = (
                f"'min_categories' should have shape ({X.shape[1]},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
            raise ValueError(msg)
        if (least > LARGEST_CODE).any():
            msg = f"'min_categories' must be at most {LARGEST_CODE}. Got {least.max()}."
            raise ValueError(msg)
        return np.maximum(found, least.astype(np.int64))

    def _start(self, classes: NDArray[Any], X: Matrix) -> None:
        self.n_categories_ = self._sizes(X)
        super()._start(classes, X)

    def _cells(self, X: Matrix) -> int:
        return int(self.n_categories_.sum())

    def _know(self, classes: NDArray[Any], X: Matrix) -> None:
        self._spread(np.maximum(self._sizes(X), self.n_categories_))
        super()._know(classes, X)

    def _spread(self, sizes: NDArray[np.int64]) -> None:
        """Make room for more categories within each feature."""
        if (sizes == self.n_categories_).all():
            return
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        within = np.concatenate([np.arange(n) for n in self.n_categories_])
        self._sums = _relaid(self._sums, within + np.repeat(starts, self.n_categories_), int(sizes.sum()))
        self.n_categories_ = sizes
        self._cache.clear()

    def _understood(self, other: Self) -> Sums:
        if (self.categories_ is None) != (other.categories_ is None) or self.n_features_in_ != other.n_features_in_:
            msg = "Only models of the same columns, both of numbers or both of strings, can be merged."
            raise ValueError(msg)
        places = [np.arange(n) for n in other.n_categories_]
        if self.categories_ is not None and other.categories_ is not None:
            known = [
                list(dict.fromkeys([*mine, *theirs]))
                for mine, theirs in zip(self.categories_, other.categories_, strict=True)
            ]
            places = [
                np.array([values.index(value) for value in theirs], dtype=np.int64)
                for values, theirs in zip(known, other.categories_, strict=True)
            ]
            self.categories_ = known
        reached = [int(place.max(initial=-1)) + 1 for place in places]
        self._spread(np.maximum(self.n_categories_, reached))
        cells = np.concatenate([place + start for place, start in zip(places, self._offsets[:-1], strict=True)])
        return _relaid(other._sums, cells, self._sums.cells)

    # --- what is known ---

    def statistics(self) -> dict[str, NDArray[Any]]:
        named = {} if self.categories_ is None else {"categories": np.array(list(chain(*self.categories_)), dtype=str)}
        return {**super().statistics(), "n_categories": self.n_categories_, **named}

    def restore(self, statistics: dict[str, NDArray[Any]]) -> Self:
        self.n_categories_ = np.asarray(statistics["n_categories"], dtype=np.int64)
        names = statistics.get("categories")
        self.categories_ = None if names is None else [part.tolist() for part in np.split(names, self._offsets[1:-1])]
        super().restore(statistics)
        self.n_features_in_ = len(self.n_categories_)
        return self

    def _by_feature(self, table: Floats) -> list[Floats]:
        return np.split(table, self._offsets[1:-1], axis=1)

    @property
    def category_count_(self) -> list[Floats]:
        """Counts by class and category, one array per feature."""
        return self._by_feature(self._sums.value[0])

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """Log-probabilities by class and category, one array per feature."""
        return self._by_feature(self._weights()[0][: self._sums.cells, : len(self.classes_)].T)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _column_max(X: NDArray[np.int64]) -> NDArray[np.int64]:
    """The largest of each column, of many rows at a time: NumPy's inner loop is as long as a row (16 times slower)."""
    at_once = 64
    whole = len(X) // at_once * at_once
    if whole < len(X) or not whole:
        rest: NDArray[np.int64] = X[whole:].max(axis=0)
        return np.maximum(_column_max(X[:whole]), rest) if whole else rest
    wide: NDArray[np.int64] = X.reshape(whole // at_once, -1).max(axis=0)
    largest: NDArray[np.int64] = wide.reshape(at_once, -1).max(axis=0)
    return largest


def _relaid(sums: Sums, places: NDArray[np.int64], cells: int) -> Sums:
    """The same sums with cell k moved to places[k]."""
    result = Sums.of_nothing(1, sums.totals.shape[1], cells)
    result.value[:, :, places] = sums.value
    result.totals[:] = sums.totals
    if sums.carry is not None:
        result.carry_room = np.zeros_like(result.value_room)
        result.carry_room[:, :, places] = sums.carry
    return result
