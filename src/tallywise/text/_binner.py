"""`Binner`: a continuous feature to bins."""

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tallywise._arrays import Matrix, validate_data
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, StrOptions, align_api_if_sparse, check_feature_names_in, fit_context


class Binner(TransformerMixin, BaseEstimator):
    """Discretise numbers into bins, for models of categories and of counts.

    With edges ``e_0 < e_1 < ... < e_K`` a value ``x`` is in bin ``k`` where ``e_k <= x < e_(k+1)``. What is below
    ``e_0`` counts in the first bin, what is above ``e_K`` in the last.

    Parameters
    ----------
    n_bins : int, default=5
        Bins of each feature, where ``edges`` are not given.
    strategy : {'width', 'quantile'}, default='width'
        Bins of equal width between the least and the greatest value seen, or with equally many values. Quantiles that
        coincide make one edge, so there may be fewer bins.
    edges : sequence of numbers, or one sequence for each feature, default=None
        The edges themselves: ``K + 1`` of them make ``K`` bins.
    encode : {'onehot', 'ordinal'}, default='onehot'
        A column of 0 and 1 for each bin (a sparse matrix), or the number of the bin.

    Attributes
    ----------
    edges_ : list of arrays
        Edges of each feature.
    n_bins_ : array of shape (n_features,)
        Bins of each feature.
    n_features_in_ : int
        Features seen when fitting.

    References
    ----------
    J. Dougherty, R. Kohavi, M. Sahami, Supervised and unsupervised discretization of continuous features, ICML 1995.

    Examples
    --------
    >>> from tallywise.text import Binner
    >>> sizes = [[250.0], [420.0], [799.0], [3000.0]]
    >>> binner = Binner(edges=[0, 400, 800, 1200], encode="ordinal")
    >>> binner.fit_transform(sizes).ravel()
    array([0, 1, 1, 2])
    >>> binner.get_feature_names_out(["size"])
    array(['size'], dtype=object)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "n_bins": [Interval(Integral, 1, None, closed="left")],
        "strategy": [StrOptions({"width", "quantile"})],
        "edges": ["array-like", None],
        "encode": [StrOptions({"onehot", "ordinal"})],
    }

    edges_: list[NDArray[Any]]
    n_bins_: NDArray[Any]

    def __init__(
        self,
        n_bins: int = 5,
        *,
        strategy: str = "width",
        edges: Sequence[Any] | NDArray[Any] | None = None,
        encode: str = "onehot",
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.edges = edges
        self.encode = encode

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike | None = None) -> "Binner":
        """Choose the edges.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Finite numbers.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The binner.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        if self.edges is not None:
            self.edges_ = self._given_edges(X.shape[1])
        else:
            self.edges_ = [self._chosen_edges(column.astype(np.float64)) for column in X.T]
        self.n_bins_ = np.array([len(edges) - 1 for edges in self.edges_])
        return self

    def _given_edges(self, n_features: int) -> list[NDArray[np.float64]]:
        assert self.edges is not None
        own = len(self.edges) > 0 and np.ndim(self.edges[0]) > 0
        each = list(self.edges) if own else [self.edges] * n_features
        if len(each) != n_features:
            msg = f"The 'edges' parameter of Binner must be one sequence, or one for each of {n_features} features. "
            msg += f"Got {len(each)}."
            raise ValueError(msg)
        result = [np.asarray(edges, dtype=np.float64) for edges in each]
        for edges in result:
            if len(edges) < 2 or not (np.diff(edges) > 0).all():
                msg = f"The 'edges' parameter of Binner must be at least two increasing numbers. Got {edges.tolist()}."
                raise ValueError(msg)
        return result

    def _chosen_edges(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.strategy == "quantile":
            edges = np.unique(np.quantile(x, np.linspace(0, 1, self.n_bins + 1)))
        else:
            edges = np.unique(np.linspace(x.min(), x.max(), self.n_bins + 1))
        return edges if len(edges) > 1 else np.array([edges[0], np.inf])

    def transform(self, X: Matrix) -> sp.csr_matrix:
        """Bins of numbers.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        bins : CSR matrix of shape (n_samples, sum(n_bins_)), or array of shape (n_samples, n_features)
            One 1 for each feature, or the numbers of the bins, by ``encode``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        bins = np.empty(X.shape, dtype=np.int64)
        for j, edges in enumerate(self.edges_):
            bins[:, j] = np.searchsorted(edges[1:-1], X[:, j], side="right")
        if self.encode == "ordinal":
            return bins
        n, p = bins.shape
        columns = bins + (np.cumsum(self.n_bins_) - self.n_bins_)
        indptr = np.arange(0, n * p + 1, p, dtype=np.int32)
        ones = np.ones(n * p)
        shape = (n, int(self.n_bins_.sum()))
        return align_api_if_sparse(sp.csr_array((ones, columns.ravel().astype(np.int32), indptr), shape=shape))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns: the feature, and its bin where each bin has a column.

        Parameters
        ----------
        input_features : array of str, default=None
            Names of the features.

        Returns
        -------
        names : array of str
            One for each column of the result.
        """
        check_is_fitted(self, "n_features_in_")
        names = check_feature_names_in(self, input_features)
        if self.encode == "ordinal":
            return np.asarray(names, dtype=object)
        return np.array(
            [
                f"{name}[{low:g}, {high:g})"
                for name, edges in zip(names, self.edges_, strict=True)
                for low, high in pairwise(edges)
            ],
            dtype=object,
        )
