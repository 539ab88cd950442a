"""The Bayes classifier by counting whole rows, without the naive assumption: right in the limit, blind before it."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from tallywise import _arrays
from tallywise.errors import NoPossibleClassError, NotLearnedError
from tallywise.naive_bayes._input import NO_LABELS, holds_words, validated
from tallywise.naive_bayes._sums import Floats


class JointBayes(ClassifierMixin, BaseEstimator):
    r"""The Bayes classifier: P(c | x) from the rows that were exactly x.

    .. math::
        P(c \mid x) = \frac{\#\{i: x_i = x, y_i = c\}}{\#\{i: x_i = x\}}

    No assumption, and so no opinion on a row never seen; in high dimension that is nearly all of them, which `coverage`
    puts in a number.

    Parameters
    ----------
    fallback : {'prior', 'error'} or classifier, default='prior'
        What to do with rows never seen: say the share of each class, refuse (`NoPossibleClassError`), or ask another
        classifier, which is cloned and fitted on the same rows.

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

    def __init__(self, fallback: Any = "prior") -> None:
        self.fallback = fallback

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        check_classification_targets(labels)
        self.classes_, codes = _arrays.encode_labels(labels)
        self._counts: dict[Hashable, Floats] = {}
        self.class_count_ = np.zeros(len(self.classes_))
        self.fallback_ = None
        self._add(rows, codes, self._weights_of(sample_weight, rows))
        if not isinstance(self.fallback, str):
            weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
            self.fallback_ = clone(self.fallback).fit(X, y, **weighted)
        return self

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count more rows; classes may be new. A fallback that is a classifier needs `partial_fit` too."""
        if not hasattr(self, "classes_"):
            rows, labels = self._validated(X, y, reset=True)
            self.classes_ = np.empty(0, dtype=labels.dtype)
            self._counts, self.class_count_, self.fallback_ = {}, np.zeros(0), None
        else:
            rows, labels = self._validated(X, y, reset=False)
        check_classification_targets(labels)
        found, codes = _arrays.encode_labels(labels)
        union = found if classes is None else np.union1d(found, np.asarray(classes))
        union = np.union1d(self.classes_, union) if len(self.classes_) else union
        places = np.searchsorted(union, self.classes_)
        if len(union) > len(self.classes_):
            self._counts = {key: _placed(count, places, len(union)) for key, count in self._counts.items()}
            self.class_count_ = _placed(self.class_count_, places, len(union))
            self.classes_ = union
        weights = self._weights_of(sample_weight, rows)
        if not isinstance(self.fallback, str):
            self.fallback_ = clone(self.fallback) if self.fallback_ is None else self.fallback_
            weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
            self.fallback_.partial_fit(X, y, classes=self.classes_, **weighted)
        self._add(rows, np.searchsorted(self.classes_, found)[codes], weights)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Undo learning of these rows; raises NotLearnedError, and changes nothing, if they were not learned."""
        check_is_fitted(self)
        rows, labels = self._validated(X, y, reset=False)
        if not np.isin(labels, self.classes_).all():
            msg = "Rows of an unknown class were never learned. Nothing has changed."
            raise NotLearnedError(msg)
        weights = self._weights_of(sample_weight, rows)
        before = {key: self._counts[key].copy() for key in set(_keys(rows)) if key in self._counts}
        total = self.class_count_.copy()
        self._add(rows, np.searchsorted(self.classes_, labels), -weights)
        for key in set(_keys(rows)):
            if key in self._counts and (self._counts[key] < 0).any():
                for changed in set(_keys(rows)):
                    self._counts.pop(changed, None)
                self._counts.update(before)
                self.class_count_ = total
                msg = "These rows cannot all have been learned. Nothing has changed."
                raise NotLearnedError(msg)
        for key in set(_keys(rows)):
            if key in self._counts and not self._counts[key].any():
                del self._counts[key]
        if self.fallback_ is not None:
            weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
            self.fallback_.forget(X, y, **weighted)
        return self

    def predict_proba(self, X: Any) -> Floats:
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

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most frequent class of each row of X; of equal ones the first in `classes_`."""
        probability = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[probability.argmax(axis=1)]
        return labels

    def coverage(self, X: Any) -> float:
        """Return the share of the rows of X that have been seen in learning."""
        check_is_fitted(self)
        rows, _ = self._validated(X, reset=False)
        return float(np.mean([key in self._counts for key in _keys(rows)]))

    @property
    def n_distinct_(self) -> int:
        """Number of different rows learned."""
        return len(self._counts)

    def _validated(self, X: Any, y: Any = NO_LABELS, *, reset: bool) -> tuple[Any, Any]:
        kind = {"dtype": object, "ensure_all_finite": False} if holds_words(X) else {}
        return validated(self, X, y, reset=reset, accept_sparse="csr", **kind)

    def _weights_of(self, sample_weight: Any, X: Any) -> Floats:
        weights: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return weights

    def _add(self, rows: Any, codes: NDArray[np.int64], weights: Floats) -> None:
        for key, code, weight in zip(_keys(rows), codes.tolist(), weights.tolist(), strict=True):
            count = self._counts.get(key)
            if weight == 0:
                continue
            if count is None:
                count = self._counts[key] = np.zeros(len(self.classes_))
            count[code] += weight
        self.class_count_ += np.bincount(codes, weights=weights, minlength=len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags


def _placed(values: Floats, places: NDArray[np.int64], size: int) -> Floats:
    wider = np.zeros(size)
    wider[places] = values
    return wider


def _keys(X: Any) -> list[Hashable]:
    """Something hashable a row, equal for equal rows, dense or sparse."""
    if X.dtype.kind in "OUS":
        return [tuple(row) for row in X.tolist()]
    X = sp.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    indices, ends = X.indices.astype(np.int64), X.indptr.tolist()
    return [(indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(ends)]
