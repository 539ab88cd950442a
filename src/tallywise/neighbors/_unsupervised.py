"""Nearest neighbours without a target."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from tallywise._arrays import Matrix
from tallywise._sklearn import Interval, StrOptions, fit_context
from tallywise.neighbors._base import NeighborsBase

_WEIGHTS: dict[str, Any] = {"weights": [StrOptions({"uniform", "distance"}), callable, None]}


class NearestNeighbors(NeighborsBase):
    """Exact nearest neighbours, without a target.

    Neighbours come in order of (distance, training row), so answers never depend on threads, blocks or algorithm.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that `kneighbors` finds.
    radius : float, default=1.0
        Radius of `radius_neighbors`.
    algorithm : {'auto', 'brute', 'kd_tree', 'ball_tree'}, default='auto'
        How to search; answers are the same. 'brute' means block products with bounds for dense rows and an inverted
        index for sparse ones; 'ball_tree' is served by the k-d tree.
    leaf_size : int, default=30
        Rows in a leaf of the k-d tree.
    metric : str or callable, default='minkowski'
        'minkowski' (with `p`), 'manhattan', 'euclidean', 'chebyshev', 'cosine', 'hamming', 'jaccard' have native
        searches, dense and sparse. 'precomputed' takes distances for X. Functions of two rows and the other metrics of
        scikit-learn's ``pairwise_distances`` are computed by it. Under 'cosine' a row of zeros is at distance 1 from
        every row; under 'jaccard' every value but 0 is a member, and two empty rows are at distance 0.
    p : float, default=2
        Of the Minkowski metric (sum_j |u_j - v_j|^p)^(1/p); more than 0, or inf. Below 1 it is no metric, and
        only blocks of distances serve it.
    metric_params : dict, default=None
        More parameters of the metric.
    n_jobs : int, default=None
        Threads; None means all cores. Answers do not depend on it.

    Attributes
    ----------
    effective_metric_, effective_metric_params_
        The metric in its plainest form.
    n_features_in_, feature_names_in_, n_samples_fit_
        Of the training rows.

    See Also
    --------
    distance_concentration : Whether distances are informative on these data.

    References
    ----------
    Cover & Hart (1967), Nearest neighbor pattern classification, IEEE Trans. Information Theory 13, 21-27.

    Examples
    --------
    >>> from tallywise.neighbors import NearestNeighbors
    >>> search = NearestNeighbors(n_neighbors=2).fit([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> distances, rows = search.kneighbors([[0.0, 1.5]])
    >>> rows.tolist()
    [[1, 2]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NeighborsBase._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="both"), None],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: str | Callable[..., float] = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike | None = None) -> Self:
        """Set the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; (n_samples, n_samples) distances for ``metric='precomputed'``.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        return self._fit(X)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add rows below those already there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        return self._more(X, None)

    def forget(self, X: Any, y: Any = None) -> Self:
        """Drop rows: exactly as if they had never been learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows to remove; of equal ones the last is removed. Otherwise `NotLearnedError`, and nothing
            changes.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        return self._less(X, None)
