"""Nearest neighbours: search, vote, mean."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _threads
from tallywise._arrays import Matrix
from tallywise._sklearn import StrOptions, fit_context
from tallywise.neighbors import _votes
from tallywise.neighbors._base import NeighborsBase

_WEIGHTS: dict[str, Any] = {"weights": [StrOptions({"uniform", "distance"}), callable, None]}


class _Supervised(NeighborsBase):
    """Neighbours that have a target."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {**NeighborsBase._parameter_constraints, **_WEIGHTS}

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[..., NDArray[Any]] | None = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: str | Callable[..., float] = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Take X and y for the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; (n_samples, n_samples) distances for ``metric='precomputed'``.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def forget(self, X: Matrix, y: ArrayLike) -> Self:
        """Drop rows: exactly as if they had never been learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows to remove; of equal ones the last is removed. Otherwise `NotLearnedError`, and nothing
            changes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.

        Returns
        -------
        self
        """
        return self._less(X, y)


class KNeighborsClassifier(ClassifierMixin, _Supervised):
    """Vote of the nearest neighbours.

    The class with the largest sum of weights among the k nearest training rows; of equals, the first in order of
    ``classes_``. Neighbours are exact and ties go by training order; see `NearestNeighbors` for the searches.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    weights : {'uniform', 'distance'}, callable or None, default='uniform'
        Weight of a neighbour: 1; or 1 / distance, where rows at distance 0 outweigh all others; or what a function
        makes of the array of distances.
    algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of them
        Labels in order, a list with several outputs.
    outputs_2d_ : bool
        Whether y had several columns.
    effective_metric_, effective_metric_params_, n_features_in_, feature_names_in_, n_samples_fit_
        As in `NearestNeighbors`.

    See Also
    --------
    KNeighborsClassifierCV : The same, with k and the weights chosen by cross-validation.

    References
    ----------
    Cover & Hart (1967), Nearest neighbor pattern classification, IEEE Trans. Information Theory 13, 21-27.

    Examples
    --------
    >>> from tallywise.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [3]], ["a", "a", "b", "b"])
    >>> model.predict([[1.1]]).tolist(), model.predict_proba([[0.9]]).round(2).tolist()
    (['a'], [[0.67, 0.33]])
    """

    outputs_2d_: bool

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Add rows below those already there; labels may be new.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels.
        classes : array-like, default=None
            Ignored: a class is known once a row has it.

        Returns
        -------
        self
        """
        return self._more(X, y)

    def _learn_targets(self, y: NDArray[Any]) -> None:
        self.outputs_2d_ = y.ndim == 2
        encoded = [_arrays.encode_labels(column) for column in (y.T if self.outputs_2d_ else [y])]
        self.classes_: Any = [classes for classes, _ in encoded] if self.outputs_2d_ else encoded[0][0]
        self._y = np.column_stack([codes for _, codes in encoded]) if self.outputs_2d_ else encoded[0][1]

    def _targets(self) -> Any:
        if not self.outputs_2d_:
            return self.classes_[self._y]
        return np.column_stack([classes[codes] for classes, codes in self._outputs()])

    def _outputs(self) -> list[tuple[Any, NDArray[np.int64]]]:
        """Classes and codes of each output."""
        if not self.outputs_2d_:
            return [(self.classes_, self._y)]
        return [(classes, np.ascontiguousarray(self._y[:, j])) for j, classes in enumerate(self.classes_)]

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Classes of the queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Queries; None means the training rows, each judged by the others (leave-one-out).

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Labels.
        """
        check_is_fitted(self)
        distances, rows = self.kneighbors(X)
        weights, threads = self._rule()[1], _threads.count(self.n_jobs)
        columns = [
            classes[_votes.classes(distances, rows, weights, codes, len(classes), threads)]
            for classes, codes in self._outputs()
        ]
        return np.column_stack(columns) if self.outputs_2d_ else np.asarray(columns[0])

    def predict_proba(self, X: Matrix) -> NDArray[Any] | list[NDArray[Any]]:
        """Shares of the classes in the vote.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Queries, as in `predict`.

        Returns
        -------
        ndarray of shape (n_queries, n_classes), or a list of them
            In the order of ``classes_``; a list with several outputs.
        """
        check_is_fitted(self)
        distances, rows = self.kneighbors(X)
        weights, threads = self._rule()[1], _threads.count(self.n_jobs)
        shares = [
            _votes.probabilities(distances, rows, weights, codes, len(classes), threads)
            for classes, codes in self._outputs()
        ]
        return shares if self.outputs_2d_ else shares[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class KNeighborsRegressor(RegressorMixin, _Supervised):
    """Mean of the nearest neighbours.

    The weighted mean of y over the k nearest training rows. Neighbours are exact and ties go by training order; see
    `NearestNeighbors` for the searches.

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    weights : {'uniform', 'distance'}, callable or None, default='uniform'
        As in `KNeighborsClassifier`.
    algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    effective_metric_, effective_metric_params_, n_features_in_, feature_names_in_, n_samples_fit_
        As in `NearestNeighbors`.

    See Also
    --------
    KNeighborsRegressorCV : The same, with k and the weights chosen by cross-validation.

    References
    ----------
    Altman (1992), An introduction to kernel and nearest-neighbor nonparametric regression, American Statistician 46.

    Examples
    --------
    >>> from tallywise.neighbors import KNeighborsRegressor
    >>> KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [2], [3]], [0.0, 0.0, 1.0, 1.0]).predict([[1.5]])
    array([0.5])
    """

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Matrix, y: ArrayLike) -> Self:
        """Add rows below those already there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        self
        """
        return self._more(X, y)

    def _targets(self) -> Any:
        return self._y

    def predict(self, X: Matrix) -> NDArray[np.float64]:
        """Means at the queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Queries; None means the training rows, each judged by the others (leave-one-out).

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Predictions.
        """
        check_is_fitted(self)
        distances, rows = self.kneighbors(X)
        weights, threads = self._rule()[1], _threads.count(self.n_jobs)
        if self._y.ndim == 1:
            return _votes.mean(distances, rows, weights, self._y, threads)
        return np.column_stack([_votes.mean(distances, rows, weights, y, threads) for y in self._y.T])
