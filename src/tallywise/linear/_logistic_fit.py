"""One penalised logistic fit: the data a solver takes, the choice of solver, what comes back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _native
from tallywise._native import Design
from tallywise._penalty import Penalty

Start = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Task:
    """Validated data and the options that do not depend on the penalty."""

    X: Design
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

    @property
    def options(self) -> _native.SolveOptions:
        """The same for the native solvers."""
        return _native.SolveOptions(self.tol, self.max_iter, self.fit_intercept, self.threads)


@dataclass(frozen=True)
class Fit:
    """Weights (a row a lane), intercepts, and both sides of the gap."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    primal: float
    dual: float
    iterations: int


def fit(task: Task, penalty: Penalty, start: Start | None = None) -> Fit:
    """Minimise the penalised loss of the task."""
    if penalty.l1 > 0:
        msg = "L1 and elastic net penalties are not available yet."
        raise ValueError(msg)
    w0 = b0 = None
    if start is not None:
        w0 = np.ascontiguousarray(start[0].T, dtype=np.float64)
        b0 = np.ascontiguousarray(start[1], dtype=np.float64)
    W, b, primal, dual, iterations = _native.ridge_logistic(
        task.X, task.codes, task.weights, task.classes, penalty.l2, task.options, w0, b0
    )
    return Fit(np.ascontiguousarray(W.T), b, primal, dual, iterations)
