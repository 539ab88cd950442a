"""The Bayes classifier by counts of whole rows, without the independence assumption."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tallywise._arrays import Matrix
from tallywise._base import BaseEstimator
from tallywise._sklearn import HasMethods, StrOptions, fit_context
from tallywise.errors import NoPossibleClassError, NotLearnedError
from tallywise.naive_bayes._input import NO_LABELS, encode, holds_words, places, validated, weights_of
from tallywise.naive_bayes._sufficient_statistics import Floats


class JointBayes(ClassifierMixin, BaseEstimator):
    r"""The Bayes classifier: P(c | x) from the training rows equal to x.

    .. math::
        P(c \mid x) = \frac{\#\{i: x_i = x, y_i = c\}}{\#\{i: x_i = x\}}

    Without an assumption it cannot predict rows never seen; in high dimension nearly all are, as `coverage` shows.

    Parameters
    ----------
    fallback : {'prior', 'error'} or classifier, default='prior'
        For rows never seen: the class prior, an error (`NoPossibleClassError`), or another classifier, which is cloned
        and fitted on the same rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Weight of the rows learned.
    n_distinct_ : int
        Number of different rows learned.
    fallback_ : classifier or None
        The fitted fallback.
    n_features_in_ : int
        Columns known.

    Examples
    --------
    >>> from tallywise.naive_bayes import JointBayes
    >>> model = JointBayes().fit([[0, 1], [0, 1], [1, 1]], ["a", "b", "b"])
    >>> model.predict_proba([[0, 1], [1, 0]]).round(3)
    array([[0.5  , 0.5  ],
           [0.333, 0.667]])
    >>> model.coverage([[0, 1], [1, 0]])
    0.5
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fallback": [StrOptions({"prior", "error"}), HasMethods(["fit", "predict_proba"])],
    }

    classes_: NDArray[Any]
    class_count_: Floats
    fallback_: Any
    _counts: dict[Hashable, Floats]

    def __init__(self, fallback: Any = "prior") -> None:
        self.fallback = fallback

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Count the rows of X by class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of numbers or strings.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        rows, labels = self._validated(X, y, reset=True)
        classes, codes = encode(labels)
        batch = _counted(rows, codes, len(classes), sample_weight)
        self._start(classes)
        self._add(batch)
        if not isinstance(self.fallback, str):
            self.fallback_ = clone(self.fallback).fit(X, y, **_weighted(sample_weight))
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Count more rows; classes may be new. A fallback that is a classifier needs `partial_fit` too."""
        first = not hasattr(self, "classes_")
        rows, labels = self._validated(X, y, reset=first)
        found, codes = encode(labels)
        known = found if classes is None else np.union1d(found, np.asarray(classes))
        union = known if first else np.union1d(self.classes_, known)
        batch = _counted(rows, places(found, union)[codes], len(union), sample_weight)
        if first:
            self._start(union)
        elif len(union) > len(self.classes_):
            where = places(self.classes_, union)
            self._counts = {key: _placed(count, where, len(union)) for key, count in self._counts.items()}
            self.class_count_ = _placed(self.class_count_, where, len(union))
            self.classes_ = union
        if not isinstance(self.fallback, str):
            self.fallback_ = clone(self.fallback) if self.fallback_ is None else self.fallback_
            self.fallback_.partial_fit(X, y, classes=self.classes_, **_weighted(sample_weight))
        self._add(batch)
        return self

    def forget(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Undo learning of these rows; raises NotLearnedError, and changes nothing, if they were not learned."""
        check_is_fitted(self)
        rows, labels = self._validated(X, y, reset=False)
        if not np.isin(labels, self.classes_).all():
            msg = "Rows of an unknown class were never learned. Nothing has changed."
            raise NotLearnedError(msg)
        batch = _counted(rows, places(labels, self.classes_), len(self.classes_), sample_weight)
        if any((self._counts.get(key, 0) < count).any() for key, count in batch.items()):
            msg = "These rows cannot all have been learned. Nothing has changed."
            raise NotLearnedError(msg)
        if self.fallback_ is not None:
            self.fallback_.forget(X, y, **_weighted(sample_weight))
        self._add({key: -count for key, count in batch.items()})
        return self

    def predict_proba(self, X: Matrix) -> Floats:
        """Return P(c | x) for each row x of X and class c; rows never seen go by the fallback."""
        check_is_fitted(self)
        rows, _ = self._validated(X, reset=False)
        keys = _keys(rows)
        counts = np.array([self._counts.get(key, self.class_count_) for key in keys]).reshape(len(keys), -1)
        unseen = np.array([key not in self._counts for key in keys], dtype=bool)
        if unseen.any() and isinstance(self.fallback, str) and self.fallback == "error":
            raise NoPossibleClassError(np.flatnonzero(unseen).tolist())
        probability: Floats = counts / counts.sum(axis=1, keepdims=True)
        if unseen.any() and self.fallback_ is not None:
            probability[unseen] = self.fallback_.predict_proba(X[unseen] if hasattr(X, "shape") else rows[unseen])
        return probability

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the most frequent class of each row of X; of equal ones the first in `classes_`."""
        probability = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[probability.argmax(axis=1)]
        return labels

    def coverage(self, X: Matrix) -> float:
        """Return the share of the rows of X that have been seen in learning."""
        check_is_fitted(self)
        rows, _ = self._validated(X, reset=False)
        return float(np.mean([key in self._counts for key in _keys(rows)]))

    @property
    def n_distinct_(self) -> int:
        """Number of different rows learned."""
        return len(self._counts)

    def _validated(self, X: Matrix, y: ArrayLike = NO_LABELS, *, reset: bool) -> tuple[Any, Any]:
        kind = {"dtype": object, "ensure_all_finite": False} if holds_words(X) else {}
        return validated(self, X, y, reset=reset, accept_sparse="csr", **kind)

    def _start(self, classes: NDArray[Any]) -> None:
        self.classes_, self.class_count_ = classes, np.zeros(len(classes))
        self._counts, self.fallback_ = {}, None

    def _add(self, batch: dict[Hashable, Floats]) -> None:
        for key, count in batch.items():
            total = self._counts.pop(key, 0) + count
            if total.any():
                self._counts[key] = total
            self.class_count_ = self.class_count_ + count

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


def _weighted(sample_weight: ArrayLike | None) -> dict[str, Any]:
    """Arguments of the fallback's fit, which may not take weights."""
    return {} if sample_weight is None else {"sample_weight": sample_weight}


def _counted(rows: Any, codes: NDArray[np.int64], K: int, sample_weight: ArrayLike | None) -> dict[Hashable, Floats]:
    """Weight of each different row by class."""
    weights = weights_of(sample_weight, rows)
    weights = np.ones(len(codes)) if weights is None else weights
    counts: dict[Hashable, Floats] = {}
    for key, code, weight in zip(_keys(rows), codes.tolist(), weights.tolist(), strict=True):
        counts.setdefault(key, np.zeros(K))[code] += weight
    return counts


def _placed(values: Floats, places: NDArray[np.int64], size: int) -> Floats:
    wider = np.zeros(size)
    wider[places] = values
    return wider


def _keys(X: Matrix) -> list[Hashable]:
    """A hashable key per row, equal for equal rows, dense or sparse."""
    if X.dtype.kind in "OUS":
        return [tuple(row) for row in X.tolist()]
    X = sp.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    indices, ends = X.indices.astype(np.int64), X.indptr.tolist()
    return [(indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(ends)]
