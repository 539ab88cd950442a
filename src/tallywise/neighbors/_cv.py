"""Every k, weighting and p of a grid, evaluated from one search per p."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import LeaveOneOut, check_cv
from sklearn.utils import Tags

from tallywise import _arrays, _threads
from tallywise._arrays import Matrix
from tallywise._native import mean_curve, vote_curve
from tallywise.neighbors import _votes
from tallywise.neighbors._base import NeighborsBase
from tallywise.neighbors._concentration import warn_if_meaningless
from tallywise.neighbors._estimators import KNeighborsClassifier, KNeighborsRegressor
from tallywise.neighbors._search import Floats, Rows

_Z = 1.959963984540054  # of a 95 % interval


class _CrossValidated(NeighborsBase):
    """A grid of neighbour rules, of which the best is used."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NeighborsBase._parameter_constraints,
        "n_neighbors": ["array-like", None],
        "weights": ["array-like", str, callable],
        "p": ["array-like", *NeighborsBase._parameter_constraints["p"]],
        "cv": ["cv_object"],
    }

    n_neighbors_: int
    weights_: Any
    p_: float
    best_loss_: float
    curve_: dict[str, NDArray[Any]]

    def __init__(
        self,
        n_neighbors: Sequence[int] | None = None,
        *,
        weights: Any = ("uniform", "distance"),
        cv: Any = None,
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: Any = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.cv = cv
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def _rule(self) -> tuple[int, Any, float]:
        return self.n_neighbors_, self.weights_, self.p_

    def _fit(self, X: Any, y: Any = None) -> Self:
        X, y = self._checked(X, y, reset=True)
        name = type(self).__name__
        if y.ndim != 1:
            msg = f"{name} takes one target. Got y of shape {y.shape}."
            raise ValueError(msg)
        if X.shape[0] < 2:
            msg = f"{name} predicts each row from others and needs at least two rows. Got n_samples = {X.shape[0]}."
            raise ValueError(msg)
        groups, smallest = self._groups(X, y)
        ks, weightings, powers = self._ks(smallest), self._weightings(), self._powers()
        threads = _threads.count(self.n_jobs)
        judged: list[tuple[Any, ...]] = []
        searchers = {}
        for p in powers:
            self.n_neighbors_, self.weights_, self.p_ = max(ks), "uniform", p
            self._learn(X, y)
            # A row's own fold never votes, so one search serves all folds: the first k of the longest list are the
            # k nearest, whatever k.
            distances, rows = self._search().nearest(self._fit_X, max(ks), threads, (groups, groups))
            for weights in weightings:
                losses = self._losses(distances, rows, weights, ks, threads)
                judged += [(k, weights, p, *_interval(column, self)) for k, column in zip(ks, losses, strict=True)]
            if p == min(judged, key=lambda row: row[3])[2]:
                searchers = {p: self._search()}
        best = min(judged, key=lambda row: row[3])
        self.n_neighbors_, self.weights_, self.p_, self.best_loss_ = best[:4]
        self._learn(X, y)
        self._searcher = searchers[self.p_]
        fields = ("n_neighbors", "weights", "p", "loss", "low", "high")
        self.curve_ = {field: _column([row[at] for row in judged]) for at, field in enumerate(fields)}
        warn_if_meaningless(self._search(), threads)
        return self

    def _groups(self, X: Matrix, y: ArrayLike) -> tuple[Rows, int]:
        """The fold of each row, and how many rows the smallest training part has."""
        n = X.shape[0]
        if self.cv is None or isinstance(self.cv, LeaveOneOut):
            return np.arange(n), n - 1
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        _arrays.warn_if_ordered(splitter, np.asarray(y))
        groups, smallest = np.full(n, -1), n
        for fold, (train, test) in enumerate(splitter.split(X, y)):
            if len(train) + len(test) != n or len(np.union1d(train, test)) != n or np.any(groups[test] >= 0):
                msg = "The folds of 'cv' must partition the rows."
                raise ValueError(msg)
            groups[test] = fold
            smallest = min(smallest, len(train))
        if np.any(groups < 0):
            msg = "The folds of 'cv' must cover all rows."
            raise ValueError(msg)
        return groups, smallest

    def _ks(self, available: int) -> list[int]:
        if self.n_neighbors is None:
            return list(range(1, min(30, available) + 1))
        ks = list(self.n_neighbors)
        if not ks or not all(isinstance(k, Integral) and int(k) >= 1 for k in ks):
            self._refuse("n_neighbors", "whole numbers of at least 1")
        if max(ks) > available:
            msg = f"Expected n_neighbors <= n_samples of every training part, but n_neighbors = {max(ks)}, "
            raise ValueError(msg + f"n_samples = {available}")
        return [int(k) for k in ks]

    def _weightings(self) -> list[Any]:
        given = [self.weights] if isinstance(self.weights, str) or callable(self.weights) else list(self.weights)
        if not given or not all(callable(weights) or weights in ("uniform", "distance") for weights in given):
            self._refuse("weights", "'uniform', 'distance' or functions")
        return given

    def _powers(self) -> list[float]:
        given = [self.p] if isinstance(self.p, Real) else list(self.p)
        if not given or not all(isinstance(p, Real) and float(p) >= 1 for p in given):
            self._refuse("p", "numbers of at least 1")
        if len(given) > 1 and self.metric != "minkowski":
            msg = f"Several values of p need metric='minkowski'. Got metric={self.metric!r}."
            raise ValueError(msg)
        return [float(p) for p in given]

    def _refuse(self, parameter: str, wanted: str) -> NoReturn:
        got = getattr(self, parameter)
        msg = f"The '{parameter}' parameter of {type(self).__name__} must hold {wanted}. Got {got!r}."
        raise ValueError(msg)

    def _losses(
        self, distances: Floats, rows: Rows, weights: Any, ks: list[int], threads: int
    ) -> list[NDArray[np.float64]]:
        """Loss of every row, for each k."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.single_output = True
        return tags


def _column(values: list[Any]) -> NDArray[Any]:
    if not any(isinstance(value, str) or callable(value) for value in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _interval(losses: NDArray[np.float64], judge: Any) -> tuple[float, float, float]:
    """Mean loss and its 95 % interval: Wilson's for shares, the normal one for means."""
    n, mean = len(losses), float(np.mean(losses))
    if is_classifier(judge):
        centre = (mean + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * np.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n**2))
        return mean, max(0.0, float(centre - half)), min(1.0, float(centre + half))
    half = _Z * float(np.std(losses)) / np.sqrt(n)
    return mean, max(0.0, mean - half), mean + half


class KNeighborsClassifierCV(_CrossValidated, KNeighborsClassifier):
    """Vote of the nearest neighbours, with k, weighting and p chosen by cross-validation.

    One search finds the largest k's neighbours of every training row among the rows of other folds; every k and every
    weighting is then evaluated along these lists: the same as a loop of fits, at the cost of one search for each p.
    Ties go to the rule that comes first in the grid: k varies fastest, then weights, then p. `partial_fit` and `forget`
    keep the rule that `fit` chose.

    Parameters
    ----------
    n_neighbors : sequence of int, default=None
        Values of k; None means 1 to 30.
    weights : str, callable or a sequence of them, default=('uniform', 'distance')
        Weightings, as in `KNeighborsClassifier`.
    cv : int, splitter or iterable, default=None
        None means leave-one-out; otherwise folds that partition the rows, as scikit-learn's ``check_cv`` takes
        them.
    p : float or sequence of float, default=2
        Exponents of the Minkowski metric.
    algorithm, leaf_size, metric, metric_params, n_jobs
        As in `NearestNeighbors`.

    Attributes
    ----------
    n_neighbors_, weights_, p_
        The rule with the least loss.
    best_loss_ : float
        Its error rate.
    curve_ : dict of ndarray
        One row per rule: ``n_neighbors``, ``weights``, ``p``, ``loss`` and its 95 % interval ``low``, ``high``
        (Wilson).
    classes_, effective_metric_, effective_metric_params_, n_features_in_, feature_names_in_, n_samples_fit_
        As in `KNeighborsClassifier`.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36, 111-147.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallywise.neighbors import KNeighborsClassifierCV
    >>> model = KNeighborsClassifierCV(range(1, 21)).fit(*load_iris(return_X_y=True))
    >>> model.n_neighbors_, model.weights_, round(model.best_loss_, 3)
    (19, 'uniform', 0.02)
    """

    def _losses(
        self, distances: Floats, rows: Rows, weights: Any, ks: list[int], threads: int
    ) -> list[NDArray[np.float64]]:
        codes, n_classes = self._y, len(self.classes_)
        if callable(weights):
            votes = [_votes.classes(distances[:, :k], rows[:, :k], weights, codes, n_classes, threads) for k in ks]
        else:
            curve = vote_curve(distances, rows, weights == "distance", codes, n_classes, threads)
            votes = [curve[:, k - 1] for k in ks]
        return [(vote != codes).astype(np.float64) for vote in votes]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags


class KNeighborsRegressorCV(_CrossValidated, KNeighborsRegressor):
    """Mean of the nearest neighbours, with k, weighting and p chosen by cross-validation.

    As `KNeighborsClassifierCV`, by the mean squared error.

    Parameters
    ----------
    n_neighbors, weights, cv, p, algorithm, leaf_size, metric, metric_params, n_jobs
        As in `KNeighborsClassifierCV`.

    Attributes
    ----------
    n_neighbors_, weights_, p_
        The rule with the least loss.
    best_loss_ : float
        Its mean squared error.
    curve_ : dict of ndarray
        One row per rule: ``n_neighbors``, ``weights``, ``p``, ``loss`` and its 95 % interval ``low``, ``high``
        (normal).
    effective_metric_, effective_metric_params_, n_features_in_, feature_names_in_, n_samples_fit_
        As in `NearestNeighbors`.

    References
    ----------
    Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36, 111-147.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tallywise.neighbors import KNeighborsRegressorCV
    >>> model = KNeighborsRegressorCV().fit(*load_diabetes(return_X_y=True))
    >>> model.n_neighbors_, model.weights_, round(model.best_loss_)
    (18, 'distance', 3204)
    """

    def _losses(
        self, distances: Floats, rows: Rows, weights: Any, ks: list[int], threads: int
    ) -> list[NDArray[np.float64]]:
        y = np.ascontiguousarray(self._y, dtype=np.float64)
        if callable(weights):
            means = [_votes.mean(distances[:, :k], rows[:, :k], weights, y, threads) for k in ks]
        else:
            curve = mean_curve(distances, rows, weights == "distance", y, threads)
            means = [curve[:, k - 1] for k in ks]
        return [np.square(mean - y) for mean in means]
