"""One penalised logistic fit: the data a solver takes, the choice of solver, what comes back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays, _native
from tallywise._native import Design
from tallywise._penalty import Penalty

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

    @property
    def lanes(self) -> int:
        """Weight vectors: one for two classes, else one a class, without the baseline's."""
        return 1 if self.classes == 2 else self.classes - (self.baseline is not None)

    @cached_property
    def rows(self) -> Design:
        """X by rows."""
        return _arrays.rows(self.X, any_order=True)

    @cached_property
    def columns(self) -> Design:
        """X by columns."""
        return _arrays.columns(self.X)

    @cached_property
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
        """A gap that is no more than the rounding of the numbers added up, however small the objective."""
        return float(4e-16 * self.weights.sum() * np.log(self.classes + 1))

    def null_strength(self) -> float:
        """The smallest l1 at which every weight is zero: the largest slope of the loss at the best intercepts alone."""
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
    """Weights (a row a lane), intercepts, both sides of the gap, and the covariance of unpenalised weights."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    primal: float
    dual: float
    iterations: int
    covariance: NDArray[np.float64] | None = None


def fit(task: LogisticProblem, penalty: Penalty, start: Start | None = None) -> LogisticFit:
    """Minimise the penalised loss of the task."""
    if penalty.l1 > 0 and task.classes == 2:
        return _sparse_binary(task, [penalty], start)[0]
    if penalty.l1 == penalty.l2 == 0:
        return _unpenalised(task, start)
    return _class_fit(task, penalty, start)


def path(
    task: LogisticProblem, penalties: Sequence[Penalty], start: Start | None, progress: Progress | None
) -> list[LogisticFit]:
    """Fits along a sequence of penalties, each started from the last."""
    if progress is None and task.classes == 2 and all(penalty.l1 > 0 for penalty in penalties):
        return _sparse_binary(task, penalties, start)
    fits: list[LogisticFit] = []
    for penalty in penalties:
        fits.append(fit(task, penalty, start))
        start = fits[-1].coef, fits[-1].intercept
        if progress is not None:
            progress(len(fits), len(penalties))
    return fits


def _class_fit(task: LogisticProblem, penalty: Penalty, start: Start | None) -> LogisticFit:
    problem = task.problem(penalty)
    w0 = b0 = None
    if start is not None:
        w0 = np.ascontiguousarray(start[0].T, dtype=np.float64)
        b0 = np.ascontiguousarray(start[1], dtype=np.float64)
    columns = problem.by_columns(*task.X.shape)
    X = task.columns if columns else task.rows
    W, b, primal, dual, iterations, covariance = _native.class_fit(
        X, task.lane_codes, task.weights, problem, columns, w0, b0
    )
    return LogisticFit(np.ascontiguousarray(W.T), b, primal, dual, iterations, covariance if covariance.size else None)


def _sparse_binary(task: LogisticProblem, penalties: Sequence[Penalty], start: Start | None) -> list[LogisticFit]:
    problem = _native.SparseProblem(
        "logistic", "elastic_net", task.tol, task.max_iter, task.fit_intercept, task.threads
    )
    w0, b0 = None, 0.0
    if start is not None:
        w0, b0 = np.ascontiguousarray(start[0][0], dtype=np.float64), float(start[1][0])
    strengths = np.array([[penalty.l1, penalty.l2] for penalty in penalties])
    y = np.where(task.lane_codes == 1, 1.0, -1.0)
    found = _native.sparse_path(task.columns, problem, y, task.weights, strengths, w0, b0)
    return [
        LogisticFit(w[None, :], np.array([b]), primal, dual, iterations) for w, b, primal, dual, iterations, _ in found
    ]


def _unpenalised(task: LogisticProblem, start: Start | None) -> LogisticFit:
    """Without a penalty weights of K classes are unique only against a baseline; without one, they are centred."""
    free = task.classes > 2 and task.baseline is None
    if free:
        task = replace(task, baseline=task.classes - 1)
        start = None if start is None else (start[0][:-1] - start[0][-1], start[1][:-1] - start[1][-1])
    found = _class_fit(task, Penalty(0.0, 0.0), start)
    if not free:
        q = found.coef.shape[1] + task.fit_intercept
        assert found.covariance is not None
        by_lane = found.covariance.reshape(q, task.lanes, q, task.lanes).transpose(1, 0, 3, 2)
        return replace(found, covariance=by_lane.reshape(task.lanes * q, task.lanes * q))
    coef = np.vstack([found.coef, np.zeros(found.coef.shape[1])])
    intercept = np.append(found.intercept, 0.0)
    return replace(found, coef=coef - coef.mean(axis=0), intercept=intercept - intercept.mean(), covariance=None)
