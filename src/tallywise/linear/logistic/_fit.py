"""One penalised logistic fit: the data as the native core takes them (it picks the solver), and what comes back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays, _native
from tallywise._lazy import lazy
from tallywise._native import Design
from tallywise._penalty import Penalty
from tallywise.linear._units import Units

Start = tuple[NDArray[Any], NDArray[Any]]
Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class LogisticProblem:
    """Validated data and the options that do not depend on the penalty."""

    X: Any
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    classes: int
    baseline: int | None
    fit_intercept: bool
    tol: float
    max_iter: int
    threads: int
    intercept_scaling: float | None = None  # the intercept is the penalised weight of a column of this value

    @property
    def lanes(self) -> int:
        """Weight vectors: one for two classes, else one per class, without the baseline's."""
        return 1 if self.classes == 2 else self.classes - (self.baseline is not None)

    @lazy
    def extended(self) -> "LogisticProblem":
        """The same without intercepts, whose place is taken by one more column."""
        column = np.full((self.X.shape[0], 1), self.intercept_scaling, dtype=self.X.dtype)
        X = sp.hstack([self.X, column], format="csr") if sp.issparse(self.X) else np.hstack([self.X, column])
        return replace(self, X=X, fit_intercept=False, intercept_scaling=None)

    def split(self, found: "LogisticFit") -> "LogisticFit":
        """A fit of the extended problem with the weights of its last column as intercepts."""
        assert self.intercept_scaling is not None
        return replace(
            found,
            coef=np.ascontiguousarray(found.coef[:, :-1]),
            intercept=found.coef[:, -1] * self.intercept_scaling,
        )

    def join(self, start: Start | None) -> Start | None:
        """A start for the extended problem."""
        if start is None:
            return None
        assert self.intercept_scaling is not None
        coef = np.column_stack([start[0], start[1] / self.intercept_scaling])
        return coef, np.zeros(len(coef))

    @lazy
    def units(self) -> Units:
        """X as solvers take it."""
        return Units.of(self.X, self.weights, self.fit_intercept)

    @lazy
    def rows(self) -> Design:
        """X by rows, in the solvers' units."""
        return _arrays.rows(self.units.X, any_order=True)

    @lazy
    def columns(self) -> Design:
        """X by columns, in the solvers' units."""
        return _arrays.columns(self.units.X)

    @lazy
    def lane_codes(self) -> NDArray[np.int64]:
        """Classes as the solvers count them: the baseline is class 0 of two and the last of more."""
        if self.baseline is None:
            return self.codes
        if self.classes == 2:
            return self.codes if self.baseline == 0 else 1 - self.codes
        order = np.insert(np.arange(self.classes - 1), self.baseline, self.classes - 1)
        return np.ascontiguousarray(order[self.codes])

    def problem(self, penalty: Penalty) -> _native.ClassProblem:
        """The same for the native solvers."""
        return _native.ClassProblem(
            self.classes,
            self.baseline is not None,
            penalty.l1,
            penalty.l2,
            self.tol,
            self.max_iter,
            self.fit_intercept,
            self.threads,
        )

    @property
    def rounding(self) -> float:
        """A gap within the rounding error of the sums, however small the objective."""
        return float(4e-16 * self.weights.sum() * np.log(self.classes + 1))

    def null_strength(self) -> float:
        """The smallest l1 at which every weight is zero: the largest slope of the loss at the best intercepts alone."""
        if self.intercept_scaling is not None:
            return self.extended.null_strength()
        none = replace(self, X=np.zeros((len(self.codes), 1)), max_iter=100, tol=1e-12)
        null = _class_fit(none, Penalty(0.0, 1.0), None)
        scores = np.tile(null.intercept, (len(self.codes), 1))
        if self.classes == 2 or self.baseline is not None:
            scores = np.append(scores, np.zeros((len(scores), 1)), axis=1)
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        codes = 1 - self.lane_codes if self.classes == 2 else self.lane_codes
        p[np.arange(len(p)), codes] -= 1
        return float(np.max(np.abs(self.X.T @ (self.weights[:, None] * p[:, : self.lanes]))))


@dataclass(frozen=True)
class LogisticFit:
    """Weights (one row per vector), intercepts, primal and dual value, and the covariance of unpenalised weights."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    primal: float
    dual: float
    iterations: int
    covariance: NDArray[np.float64] | None = None


def fit(task: LogisticProblem, penalty: Penalty, start: Start | None = None) -> LogisticFit:
    """Minimise the penalised loss of the task."""
    if task.intercept_scaling is not None and penalty.l1 + penalty.l2 > 0:
        return task.split(fit(task.extended, penalty, task.join(start)))
    if penalty.l1 > 0 and task.classes == 2:
        return _sparse_binary(task, [penalty], start, None)[0]
    if penalty.l1 == penalty.l2 == 0:
        return _unpenalised(task, start)
    return _class_fit(task, penalty, start)


def path(
    task: LogisticProblem, penalties: Sequence[Penalty], start: Start | None, progress: Progress | None
) -> list[LogisticFit]:
    """Fits along a sequence of penalties, each started from the last."""
    if task.intercept_scaling is not None and all(penalty.l1 + penalty.l2 > 0 for penalty in penalties):
        return [task.split(found) for found in path(task.extended, penalties, task.join(start), progress)]
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, len(penalties))

    if task.classes == 2 and all(penalty.l1 > 0 for penalty in penalties):
        return _sparse_binary(task, penalties, start, tell)
    fits: list[LogisticFit] = []
    for penalty in penalties:
        fits.append(fit(task, penalty, start))
        start = fits[-1].coef, fits[-1].intercept
        tell()
    return fits


def _class_fit(task: LogisticProblem, penalty: Penalty, start: Start | None, covariance: bool = False) -> LogisticFit:
    units = task.units
    problem = task.problem(units.penalty(penalty))
    w0 = b0 = None
    if start is not None:
        w0 = np.ascontiguousarray(start[0].T * units.scale, dtype=np.float64)
        b0 = np.ascontiguousarray(start[1] + units.shift(start[0]), dtype=np.float64)
    columns = problem.by_columns(*task.X.shape)
    X = task.columns if columns else task.rows
    found = _native.class_fit(X, task.lane_codes, task.weights, problem, columns, covariance, w0, b0)
    coef = np.ascontiguousarray(found.weights(task.lanes).T) / units.scale
    intercept = found.offsets - units.shift(coef) if task.fit_intercept else found.offsets
    told = _covariance(task, found) if covariance else None
    return _finite(LogisticFit(coef, intercept, found.primal, found.dual, found.iterations, told))


def _covariance(task: LogisticProblem, found: _native.LaneSolution) -> NDArray[np.float64]:
    """Of the weights, lane by lane with the intercept last, in the units of the user."""
    units, p = task.units, task.X.shape[1]
    q = p + task.fit_intercept
    to_user = np.eye(q)
    to_user[:p] /= units.scale
    if task.fit_intercept and units.mean is not None:
        to_user[-1, :p] = -units.mean / units.scale
    by_feature = found.covariance(q * task.lanes).reshape(q, task.lanes, q, task.lanes)
    by_lane = np.einsum("ai,ikjm,bj->kamb", to_user, by_feature, to_user, optimize=True)
    return np.asarray(by_lane.reshape(task.lanes * q, task.lanes * q))


def _sparse_binary(
    task: LogisticProblem, penalties: Sequence[Penalty], start: Start | None, tell: Callable[[], None] | None
) -> list[LogisticFit]:
    units = task.units
    problem = _native.SparseProblem(
        "logistic", "elastic_net", task.tol, task.max_iter, task.fit_intercept, task.threads
    )
    w0, b0 = None, 0.0
    if start is not None:
        w0 = np.ascontiguousarray(start[0][0] * units.scale, dtype=np.float64)
        b0 = float((start[1] + units.shift(start[0]))[0])
    strengths = np.array([[at.l1, at.l2] for at in map(units.penalty, penalties)])
    y = np.where(task.lane_codes == 1, 1.0, -1.0)
    found = _native.sparse_path(task.columns, problem, y, task.weights, strengths, w0, b0, tell)
    fits = []
    for w, b, primal, dual, iterations, _ in found:
        coef = w[None, :] / units.scale
        fits.append(_finite(LogisticFit(coef, np.array([b]) - units.shift(coef), primal, dual, iterations)))
    return fits


def _finite(found: LogisticFit) -> LogisticFit:
    if np.isfinite(found.primal) and np.isfinite(found.coef).all() and np.isfinite(found.intercept).all():
        return found
    msg = "The fit overflows: the numbers in X or the sample weights are too large. Scale them."
    raise ValueError(msg)


def _unpenalised(task: LogisticProblem, start: Start | None) -> LogisticFit:
    """Without a penalty weights of K classes are unique only against a baseline; without one, they are centred."""
    free = task.classes > 2 and task.baseline is None
    if free:
        task = replace(task, baseline=task.classes - 1)
        start = None if start is None else (start[0][:-1] - start[0][-1], start[1][:-1] - start[1][-1])
    found = _class_fit(task, Penalty(0.0, 0.0), start, covariance=not free)
    if not free:
        return found
    coef = np.vstack([found.coef, np.zeros(found.coef.shape[1])])
    intercept = np.append(found.intercept, 0.0)
    return replace(found, coef=coef - coef.mean(axis=0), intercept=intercept - intercept.mean(), covariance=None)
