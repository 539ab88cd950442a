"""Which metric goes with which search, in scikit-learn's words, and training rows out of what others have fitted."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE, BallTree, KDTree

from tallywise._arrays import Matrix
from tallywise._native import metric_names
from tallywise.neighbors._search import _SYNONYMS

_NORMS = {"minkowski", "manhattan", "euclidean", "chebyshev", "l1", "l2", "cityblock", "infinity"}
_NATIVE = {*metric_names(), *_SYNONYMS}
_SPARSE = {*_NATIVE, *VALID_METRICS_SPARSE["brute"], "precomputed"}
METRICS = {*_NATIVE, *(name for names in VALID_METRICS.values() for name in names), "precomputed"}


def rows_of(X: Matrix) -> Matrix:
    """X, or the training rows of a fitted neighbour estimator, k-d tree or ball tree."""
    if isinstance(X, KDTree | BallTree):
        return np.asarray(X.data)
    if isinstance(X, BaseEstimator) and hasattr(X, "_fit_X"):
        return X._fit_X
    return X


def method_for(
    X: Matrix, algorithm: str, metric: str | Callable[..., float], p: float, params: dict[str, Any], k: int
) -> str:
    """'kd_tree', 'ball_tree' or 'brute', by scikit-learn's rule; a metric that does not go with it is refused.

    A ball tree is served by the k-d tree, or by distances in blocks: it would find the same neighbours.
    """
    _check(algorithm, metric)
    if sp.issparse(X):
        if isinstance(metric, str) and metric not in _SPARSE:
            msg = f"Metric {metric!r} not valid for sparse input. Use a dense X, or one of {sorted(_SPARSE)}. "
            raise ValueError(msg + "Metric can also be a callable function.")
        if algorithm not in ("auto", "brute"):
            warnings.warn("cannot use tree with sparse input: using brute force", stacklevel=6)
        return "brute"
    weighted = params.get("w") is not None
    semi = metric == "minkowski" and params.get("p", p) < 1
    method = algorithm
    if algorithm == "auto":
        method = "brute"
        if metric != "precomputed" and X.shape[1] <= 15 and k < X.shape[0] // 2 and not semi:
            method = "ball_tree" if callable(metric) or metric in VALID_METRICS["ball_tree"] else "brute"
            method = "kd_tree" if is_norm(metric, params) else method
    if semi and method != "brute":
        msg = f'algorithm="{method}" does not support 0 < p < 1 for the Minkowski metric. To resolve this problem '
        raise ValueError(msg + 'either set p >= 1 or algorithm="brute".')
    if semi:
        msg = "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the execution with "
        warnings.warn(msg + "`algorithm='brute'`.", stacklevel=6)
    if method == "kd_tree" and weighted:
        msg = "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter 'w': try "
        raise ValueError(msg + "algorithm='ball_tree' or algorithm='brute' instead.")
    return method


def is_norm(metric: str | Callable[..., float], params: dict[str, Any]) -> bool:
    """Whether the k-d tree serves the metric."""
    return isinstance(metric, str) and metric in _NORMS and not set(params) - {"p"}


def _check(algorithm: str, metric: str | Callable[..., float]) -> None:
    if algorithm == "kd_tree" and callable(metric):
        msg = f"kd_tree does not support callable metric '{metric}'. Function call overhead will result in very poor "
        raise ValueError(msg + "performance.")
    if callable(metric) or isinstance(metric, DistanceMetric):
        return
    searched = "brute" if algorithm == "auto" else algorithm
    valid = _NATIVE | set(VALID_METRICS[searched]) if searched == "brute" else set(VALID_METRICS[searched])
    if algorithm == "auto":
        valid |= set(VALID_METRICS["ball_tree"]) | set(VALID_METRICS["kd_tree"])
    if metric not in valid:
        msg = f"Metric '{metric}' not valid. Use sorted(sklearn.neighbors.VALID_METRICS['{searched}']) to get valid "
        raise ValueError(msg + "options. Metric can also be a callable function.")
