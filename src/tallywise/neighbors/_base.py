"""Shared by the neighbour estimators: parameters, adding and removing training rows, and the two kinds of search."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import DistanceMetric
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tallywise import _threads
from tallywise._arrays import Matrix, check_array, validate_data
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, KNeighborsMixin, StrOptions
from tallywise.errors import NotLearnedError
from tallywise.neighbors import _graph
from tallywise.neighbors._concentration import warn_if_meaningless
from tallywise.neighbors._metrics import METRICS, is_norm, method_for, rows_of
from tallywise.neighbors._search import Searcher, resolve

_FLOATS = (np.float64, np.float32)


class NeighborsBase(KNeighborsMixin, MultiOutputMixin, BaseEstimator):
    """Training rows, a metric, and searches."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 0, None, closed="right"), None],
        "metric": [StrOptions(METRICS), callable, DistanceMetric],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
    }

    n_neighbors: Any
    algorithm: str
    leaf_size: int
    p: Any
    metric: Any
    metric_params: dict[str, Any] | None
    n_jobs: int | None

    effective_metric_: Any
    effective_metric_params_: dict[str, Any]
    n_samples_fit_: int

    def _rule(self) -> tuple[int, Any, float]:
        """k, weights and p in use: parameters here, the chosen ones where a grid was searched."""
        return self.n_neighbors, getattr(self, "weights", None), 2 if self.p is None else self.p

    def _fit(self, X: Any, y: Any = None) -> Self:
        self._learn(*self._checked(X, y, reset=True))
        self._search()
        return self

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """X and, where the estimator takes one, y, as scikit-learn would have them."""
        X = rows_of(X)
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": _FLOATS, "order": "C", "reset": reset}
        options["ensure_all_finite"] = self._finite()
        if self.metric == "precomputed":
            _refuse_explicit_zeros(X)
        tags = self.__sklearn_tags__()
        if not tags.target_tags.required:
            return validate_data(self, X, **options), None
        y = y.toarray() if sp.issparse(y) else y
        X, y = validate_data(self, X, y, multi_output=True, **options)
        if y.ndim == 2 and y.shape[1] == 1 and (is_classifier(self) or not tags.target_tags.multi_output):
            msg = "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            warnings.warn(msg + "(n_samples,), for example using ravel().", DataConversionWarning, stacklevel=4)
            y = y.ravel()
        if is_classifier(self):
            check_classification_targets(y)
        return X, y

    def _learn(self, X: Any, y: Any) -> None:
        """Set the training rows."""
        if self.metric == "precomputed":
            if X.shape[0] != X.shape[1]:
                msg = f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} matrix."
                raise ValueError(msg)
            if (X.data if sp.issparse(X) else X).min(initial=0) < 0:
                msg = "Negative values in data passed to precomputed distance matrix."
                raise ValueError(msg)
        params = self.metric_params or {}
        if "p" in params and self.metric == "minkowski":
            msg = "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored."
            warnings.warn(msg, SyntaxWarning, stacklevel=5)
        k, _, p = self._rule()
        if self.metric == "minkowski" and not params.get("p", p) > 0:
            msg = f"The 'p' of the Minkowski metric must be more than 0. Got {params.get('p', p)!r}."
            raise ValueError(msg)
        method = method_for(X, self.algorithm, self.metric, p, params, k)  # before anything changes: it may refuse
        self.effective_metric_, self.effective_metric_params_ = resolve(self.metric, p, params)
        self._fit_method = method
        self._fit_X = _sorted_copy(X) if sp.issparse(X) else X
        self.n_samples_fit_ = X.shape[0]
        if y is not None:
            self._learn_targets(y)
        self._searcher: Searcher | None = None

    def _learn_targets(self, y: NDArray[Any]) -> None:
        self._y = y

    def _finite(self) -> Any:
        """What validation lets through: missing values for the one metric that knows what to do with them."""
        return "allow-nan" if self.metric == "nan_euclidean" else True

    def _search(self) -> Searcher:
        """The search structure; rebuilt after unpickling."""
        if getattr(self, "_searcher", None) is None:
            self._searcher = Searcher(
                self._fit_X,
                self.effective_metric_,
                self.effective_metric_params_,
                k=self._rule()[0],
                leaf=self.leaf_size if self._in_tree() else None,
                threads=_threads.count(self.n_jobs),
            )
        assert self._searcher is not None
        return self._searcher

    def _searched(self) -> Searcher:
        """The search structure for queries; the first ones warn where neighbours mean little."""
        searcher = self._search()
        warn_if_meaningless(searcher, _threads.count(self.n_jobs))
        return searcher

    def _in_tree(self) -> bool:
        return self._fit_method != "brute" and is_norm(self.effective_metric_, self.effective_metric_params_)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_searcher" in state:
            state["_searcher"] = None
        return state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags

    # --- adding and removing training rows ---

    def _targets(self) -> Any:
        """Of the training rows, as they were given; None without any."""
        return None

    def _more(self, X: Any, y: Any) -> Self:
        if not hasattr(self, "_fit_X"):
            return self._fit(X, y)
        self._refuse_precomputed("partial_fit")
        X, y = self._checked(X, y, reset=False)
        old = self._targets()
        if old is not None and np.shape(old)[1:] != np.shape(y)[1:]:
            msg = f"y has shape {np.shape(y)}, but the rows learned before have targets of shape {np.shape(old)}."
            raise ValueError(msg)
        self._learn(_stack(self._fit_X, X), None if old is None else np.concatenate([old, y]))
        return self

    def _less(self, X: Any, y: Any) -> Self:
        check_is_fitted(self)
        self._refuse_precomputed("forget")
        X, y = self._checked(X, y, reset=False)
        targets = self._targets()
        places: dict[Any, list[int]] = {}
        for row, key in enumerate(_keys(self._fit_X, targets, self._fit_X.dtype)):
            places.setdefault(key, []).append(row)
        gone = []
        for row, key in enumerate(_keys(X, y, self._fit_X.dtype)):
            if not places.get(key):
                msg = f"Row {row} was never learned{'' if y is None else ' with this target'}; nothing has changed."
                raise NotLearnedError(msg)
            gone.append(places[key].pop())
        kept = np.ones(self.n_samples_fit_, dtype=bool)
        kept[gone] = False
        if not kept.any():
            msg = "An estimator cannot forget its last row; nothing has changed."
            raise ValueError(msg)
        self._learn(self._fit_X[kept], None if targets is None else targets[kept])
        return self

    def _refuse_precomputed(self, what: str) -> None:
        if self.metric == "precomputed":
            msg = f"{what} needs rows; with metric='precomputed' there are only distances."
            raise ValueError(msg)

    # --- searches ---

    def _queries(self, X: Matrix) -> tuple[Any, NDArray[np.int64] | None]:
        """Checked queries and, where they are the training rows (X is None), which rows they are."""
        if X is None:
            return self._fit_X, np.arange(self.n_samples_fit_)
        if self.metric != "precomputed":
            options = {"accept_sparse": "csr", "dtype": _FLOATS, "order": "C", "ensure_all_finite": self._finite()}
            return validate_data(self, X, reset=False, **options), None
        _refuse_explicit_zeros(X)
        X = check_array(X, accept_sparse="csr", dtype=_FLOATS, order="C", ensure_non_negative=True)
        if X.shape[1] != self.n_samples_fit_:
            msg = f"Precomputed metric requires shape (n_queries, {self.n_samples_fit_}). Got {X.shape}."
            raise ValueError(msg)
        return X, None

    def kneighbors(
        self, X: Matrix | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Find the nearest training rows of each query, in order of (distance, training row).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            Queries; (n_queries, n_indexed) distances for ``metric='precomputed'``. None means the training rows, of
            which none is its own neighbour.
        n_neighbors : int, default=None
            How many; by default the estimator's.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            Distances in float64, only with ``return_distance``.
        neigh_ind : ndarray of shape (n_queries, n_neighbors)
            Training rows.
        """
        check_is_fitted(self)
        k = self._rule()[0] if n_neighbors is None else n_neighbors
        if not isinstance(k, Integral):
            msg = f"n_neighbors does not take {type(k)} value, enter integer value"
            raise TypeError(msg)
        if k <= 0:
            msg = f"Expected n_neighbors > 0. Got {k}"
            raise ValueError(msg)
        X, own = self._queries(X)
        available = self.n_samples_fit_ - (own is not None)
        if k > available:
            sign = "<=" if own is None else "<"
            msg = f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
            raise ValueError(msg + f"{self.n_samples_fit_}, n_samples = {X.shape[0]}")
        if self.metric == "precomputed" and sp.issparse(X):
            found = _graph.nearest(X, int(k), own)
        else:
            groups = None if own is None else (own, own)
            found = self._searched().nearest(X, int(k), _threads.count(self.n_jobs), groups)
        return found if return_distance else found[1]

    def radius_neighbors(
        self,
        X: Matrix | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Find all training rows within a radius of each query, including its boundary.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            Queries, as in `kneighbors`.
        radius : float or array-like of shape (n_queries,), default=None
            Largest distance, of all queries or of each; by default the estimator's ``radius``, or 1 where it has none.
        return_distance : bool, default=True
            Whether to return the distances too.
        sort_results : bool, default=False
            Whether results come in order of (distance, training row), or of training row alone.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries,) of arrays
            Distances, only with ``return_distance``.
        neigh_ind : ndarray of shape (n_queries,) of arrays
            Training rows.
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            msg = "return_distance must be True if sort_results is True."
            raise ValueError(msg)
        X, own = self._queries(X)
        radius, of_each = _radii(getattr(self, "radius", 1.0) if radius is None else radius, X.shape[0])
        if self.metric == "precomputed" and sp.issparse(X):
            distances, rows, begin = _graph.within(X, radius, own)
        else:
            groups = None if own is None else (own, own)
            distances, rows, begin = self._searched().within(X, radius, _threads.count(self.n_jobs), groups)
        if of_each is not None:
            kept = distances <= np.repeat(of_each, np.diff(begin))
            distances, rows = distances[kept], rows[kept]
            begin = np.concatenate([[0], np.cumsum(kept)])[begin]
        if not sort_results:
            order = np.lexsort((rows, np.repeat(np.arange(len(begin) - 1), np.diff(begin))))
            distances, rows = distances[order], rows[order]
        return (_ragged(distances, begin), _ragged(rows, begin)) if return_distance else _ragged(rows, begin)

    def kneighbors_graph(
        self, X: Matrix | None = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sp.csr_matrix:
        """Sparse matrix with an entry for each query and neighbour: 1, or with mode="distance" the distance.

        Parameters
        ----------
        X, n_neighbors
            As in `kneighbors`.
        mode : {'connectivity', 'distance'}, default='connectivity'
            What the entries are.

        Returns
        -------
        csr_matrix of shape (n_queries, n_samples_fit)
            Rows sorted by distance.
        """
        check_is_fitted(self)
        _check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        begin = np.arange(0, rows.size + 1, rows.shape[1])
        return self._graph_of(distances.ravel(), rows.ravel(), begin, mode)

    def radius_neighbors_graph(
        self,
        X: Matrix | None = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> sp.csr_matrix:
        """Sparse matrix with an entry for each query and row within the radius; see `kneighbors_graph`.

        Parameters
        ----------
        X, radius, sort_results
            As in `radius_neighbors`.
        mode : {'connectivity', 'distance'}, default='connectivity'
            What the entries are.

        Returns
        -------
        csr_matrix of shape (n_queries, n_samples_fit)
            In the order of `radius_neighbors`.
        """
        check_is_fitted(self)
        _check_mode(mode)
        distances, rows = self.radius_neighbors(X, radius, sort_results=sort_results)
        begin = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        return self._graph_of(np.concatenate(list(distances)), np.concatenate(list(rows)), begin, mode)

    def _graph_of(self, distances: Any, rows: Any, begin: Any, mode: str) -> sp.csr_matrix:
        data = distances if mode == "distance" else np.ones(len(rows))
        return sp.csr_matrix((data, rows, begin), shape=(len(begin) - 1, self.n_samples_fit_))


def _sorted_copy(X: sp.csr_matrix) -> Any:
    copy = X.copy()  # whose flag is not the cached one of X, which callers can leave wrong
    return copy if copy.has_sorted_indices else X.tocsc().tocsr()  # counting twice is faster than sorting each row


def _refuse_explicit_zeros(X: Any) -> None:
    """Formats whose zeros do not say which rows are neighbours at distance 0 and which are none."""
    if sp.issparse(X) and X.format not in ("csr", "csc", "coo", "lil"):
        msg = f"Sparse matrix in {X.format!r} format is not supported due to its handling of explicit zeros"
        raise TypeError(msg)


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        msg = f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead'
        raise ValueError(msg)


def _radii(radius: float | None, queries: int) -> tuple[float, NDArray[np.float64] | None]:
    """The largest radius of a search, and the radius of each query where they were given one by one."""
    if isinstance(radius, Real) and float(radius) >= 0:
        return float(radius), None
    each = np.asarray(radius, dtype=np.float64) if isinstance(radius, np.ndarray | list | tuple) else np.empty(0)
    if each.shape != (queries,) or not (each >= 0).all():
        msg = (
            "The 'radius' of a search must be a number of at least 0, or one for each of the "
            f"{queries} queries. Got {radius!r}."
        )
        raise ValueError(msg)
    return float(each.max(initial=0.0)), each


def _ragged(values: NDArray[Any], begin: NDArray[Any]) -> NDArray[Any]:
    parts = np.empty(len(begin) - 1, dtype=object)
    for i in range(len(parts)):
        parts[i] = values[begin[i] : begin[i + 1]]
    return parts


def _stack(A: Any, B: Any) -> Any:
    """B below A, in A's form and type."""
    B = B.astype(A.dtype, copy=False)
    if sp.issparse(A):
        return sp.vstack([A, sp.csr_matrix(B)], format="csr")
    return np.vstack([A, B.toarray() if sp.issparse(B) else B])


def _keys(X: Any, y: Any, dtype: Any) -> list[Any]:
    """One hashable value per row: equal for equal rows and targets, dense or sparse."""
    if not sp.issparse(X):
        X = sp.csr_matrix(X)
    X = X.astype(dtype, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    labels = [None] * X.shape[0] if y is None else [tuple(row) if np.ndim(row) else row for row in y.tolist()]
    bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    indices = X.indices.astype(np.int64, copy=False)
    return [
        (indices[a:b].tobytes(), X.data[a:b].tobytes(), label) for (a, b), label in zip(bounds, labels, strict=True)
    ]
