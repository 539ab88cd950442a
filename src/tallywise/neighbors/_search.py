"""One searcher for every metric: native indexes, and distances by scikit-learn for the metrics that have none."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import nan_euclidean_distances, pairwise_distances

from tallywise import _arrays
from tallywise._arrays import Matrix
from tallywise._native import NeighborIndex, metric_names, neighbor_index, select_nearest
from tallywise.neighbors import _rotation

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Groups = tuple[Rows, Rows]  # of the queries, of the training rows

_SYNONYMS = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "infinity": "chebyshev"}
_NORMS = {"manhattan": 1.0, "euclidean": 2.0, "chebyshev": np.inf}
_BLOCK = 2**22  # distances computed at a time for metrics without an index


def resolve(metric: str | Callable[..., float], p: float, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Metric and parameters in their plainest form: minkowski with p = 2 is euclidean, and so on."""
    params = dict(params)
    if metric != "minkowski":
        return metric, params
    p = params.pop("p", p)
    if params.get("w") is None:
        params.pop("w", None)
        for name, norm in _NORMS.items():
            if p == norm:
                return name, params
    return metric, {"p": p, **params}


class Searcher:
    """Finds the neighbours of queries among the rows of X.

    ``metric`` and ``params`` are as `resolve` gives them, or "precomputed", where X counts for its length alone.
    """

    def __init__(
        self,
        X: Matrix,
        metric: str | Callable[..., float],
        params: dict[str, Any],
        *,
        k: int,
        leaf: int | None,
        threads: int,
    ) -> None:
        self.X, self.metric, self.params = X, metric, params
        self._k, self._leaf, self._threads = k, leaf, threads
        self._made: tuple[NeighborIndex | None] | None = None
        self.checked = False  # whether its distances were looked at for concentration

    @property
    def _index(self) -> NeighborIndex | None:
        """Made for the first search, without a lock, which a fork would inherit; None for metrics that have none."""
        if self._made is None:
            self._made = (self._new_index(),)
        return self._made[0]

    def _new_index(self) -> NeighborIndex | None:
        name = _SYNONYMS.get(self.metric, self.metric) if isinstance(self.metric, str) else None
        p = float(self.params.get("p", 2.0))
        if name not in metric_names() or set(self.params) - {"p"} or p < 1:
            return None
        centre = axes = None
        if self._leaf is None and not sp.issparse(self.X) and name in ("euclidean", "cosine"):
            centre, axes = _rotation.plan(self.X, self._k, unit=name == "cosine")
        return neighbor_index(_arrays.rows(self.X), name, p, self._leaf or 0, centre, axes, self._threads)

    def nearest(self, Q: Matrix, k: int, threads: int, groups: Groups | None = None) -> tuple[Floats, Rows]:
        """Distances and rows of the k nearest, in order of (distance, row); rows of a query's own group left out."""
        found = [(d, r) for d, r, _ in self._search(Q, k, 0.0, threads, groups)]
        distances = np.concatenate([d for d, _ in found])
        known = isinstance(self.metric, str) and self.metric != "precomputed"
        if known and np.isinf(distances).any():  # all such rows would be alike
            msg = "Distances of these samples are beyond floating point: divide X, here and in fit, by a constant."
            raise ValueError(msg)
        return distances, np.concatenate([r for _, r in found])

    def within(self, Q: Matrix, radius: float, threads: int, groups: Groups | None = None) -> tuple[Floats, Rows, Rows]:
        """Distances and rows within the radius; those of query i are [begin[i], begin[i + 1])."""
        found = list(self._search(Q, 0, radius, threads, groups))
        lengths = np.concatenate([np.diff(begin) for _, _, begin in found])
        return (
            np.concatenate([d.ravel() for d, _, _ in found]),
            np.concatenate([r.ravel() for _, r, _ in found]),
            np.concatenate([[0], np.cumsum(lengths)]),
        )

    def _search(self, Q: Matrix, k: int, radius: float, threads: int, groups: Groups | None) -> Iterator[Any]:
        of_queries, of_rows = groups if groups is not None else (None, None)
        if self._index is not None:
            yield self._index.search(
                _arrays.rows(self._as_fitted(Q), any_order=True), k, radius, of_queries, of_rows, threads
            )
            return
        step = max(1, _BLOCK // max(1, self.X.shape[0]))
        for begin in range(0, max(Q.shape[0], 1), step):
            part = slice(begin, begin + step)
            mine = None if of_queries is None else of_queries[part]
            yield select_nearest(_arrays.rows(self._distances(Q[part])), k, radius, mine, of_rows, threads)

    def _as_fitted(self, Q: Any) -> Any:
        """Queries dense or sparse as the training rows are."""
        if sp.issparse(self.X):
            return Q if sp.issparse(Q) else sp.csr_matrix(Q)
        return Q.toarray() if sp.issparse(Q) else Q

    def _distances(self, Q: Matrix) -> Any:
        if self.metric == "precomputed":
            return Q
        if isinstance(self.metric, DistanceMetric):
            return self.metric.pairwise(Q, self.X)
        if self.metric == "nan_euclidean":
            return nan_euclidean_distances(Q, self.X, **self.params)
        return pairwise_distances(Q, self.X, metric=self.metric, **self.params)
