"""Prediction: scores, classes, probabilities."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import check_is_fitted

from tallywise._arrays import Matrix, validate_data
from tallywise._base import BaseEstimator
from tallywise.linear._units import scores_of


def dense(coef: Any) -> NDArray[Any]:
    """Weights as a dense array."""
    return np.asarray(coef.toarray() if sp.issparse(coef) else coef)


class LogisticScores(ClassifierMixin, BaseEstimator):
    """Weights and intercepts, one row per class except the baseline, as scores and probabilities of classes."""

    classes_: NDArray[Any]
    coef_: Any
    intercept_: NDArray[Any]
    baseline: Any

    def decision_function(self, X: Matrix) -> NDArray[Any]:
        """Scores ``X W + b``: one per class, or for two classes the score of ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores. A baseline class has score 0.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        scores = scores_of(X, self.coef_.T, self.intercept_)
        code = self._baseline_code()
        if len(self.classes_) == 2:
            return -scores.ravel() if code == 1 else scores.ravel()
        return scores if code is None else np.insert(scores, code, 0.0, axis=1)

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Most probable class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Matrix) -> NDArray[Any]:
        """Probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        return np.asarray(softmax(scores, copy=False))

    def predict_log_proba(self, X: Matrix) -> NDArray[Any]:
        """Logarithm of `predict_proba`, exact where the probability underflows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    def sparsify(self) -> Self:
        """Hold `coef_` as a sparse matrix, which is smaller when most weights are zero.

        Returns
        -------
        Self
            The model.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Hold `coef_` as an array again.

        Returns
        -------
        Self
            The model.
        """
        check_is_fitted(self)
        self.coef_ = dense(self.coef_)
        return self

    def _baseline_code(self) -> int | None:
        if self.baseline is None:
            return None
        found = [k for k, label in enumerate(self.classes_) if label == self.baseline]
        if not found:
            msg = (
                f"The 'baseline' parameter of {type(self).__name__} must be one of the classes "
                f"{self.classes_.tolist()}. Got {self.baseline!r}."
            )
            raise ValueError(msg)
        return found[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
