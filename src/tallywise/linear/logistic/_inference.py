"""Inference for unpenalised logistic regression: standard errors, and separation."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise._arrays import Matrix
from tallywise._certificate import Certificate
from tallywise.linear._wald import two_sided, wald_interval
from tallywise.linear.logistic._fit import LogisticFit, LogisticProblem


@dataclass(frozen=True)
class LogisticSummary:
    """Weights of an unpenalised fit with their standard errors, z statistics and p-values.

    Arrays have a row for each class beside the baseline and a column for each feature, the intercept last.
    """

    classes: list[Any]
    baseline: Any
    names: list[str]
    coef: NDArray[np.float64]
    std_err: NDArray[np.float64]
    log_likelihood: float
    n_samples: int
    confidence: float = 0.95

    @property
    def z(self) -> NDArray[np.float64]:
        """Weight over standard error."""
        return self.coef / self.std_err

    @property
    def p_value(self) -> NDArray[np.float64]:
        """Probability of a z at least as large when the true weight is zero (Wald's test, both sides)."""
        return two_sided(self.z)

    @property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper end of the confidence interval of each weight."""
        return wald_interval(self.coef, self.std_err, self.confidence)

    def __str__(self) -> str:
        lower, upper = self.interval
        width = max(12, *(len(name) for name in self.names))
        lines = [f"log-likelihood {self.log_likelihood:.6g} over {self.n_samples} samples"]
        for k, label in enumerate(self.classes):
            lines += ["", f"{label} against {self.baseline}"]
            head = f"{100 * self.confidence:g} % interval"
            lines.append(f"{'':{width}} {'coef':>10} {'std err':>10} {'z':>8} {'p':>8}  {head:>21}")
            for j, name in enumerate(self.names):
                lines.append(
                    f"{name:{width}} {self.coef[k, j]:10.4g} {self.std_err[k, j]:10.4g} {self.z[k, j]:8.2f} "
                    f"{self.p_value[k, j]:8.3g}  {lower[k, j]:10.4g} {upper[k, j]:10.4g}"
                )
        return "\n".join(lines)


@dataclass(frozen=True)
class Separation:
    """A direction along which no sample gets worse and some get better."""

    message: str
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    complete: bool

    @classmethod
    def find(cls, task: LogisticProblem, found: LogisticFit, tol: float, classes: NDArray[Any]) -> Self | None:
        """Whether the weights diverge because a hyperplane separates the classes; None if they do not.

        A certificate of convergence at moderate scores is proof enough that they do not. Otherwise the weights
        themselves separate, or a linear program looks for a direction (Albert & Anderson 1984, On the existence of
        maximum likelihood estimates in logistic regression models).
        """
        seen = task.weights > 0
        X, codes = task.X[seen], task.codes[seen]
        coef, intercept = _one_row_a_class(task, found.coef, found.intercept)
        scores = X @ coef.T + intercept
        gap = Certificate(found.primal, found.dual, found.iterations, 0.0).relative_gap
        if gap <= tol and np.ptp(scores, axis=1).max() < 12:
            return None
        direction = found.coef, found.intercept
        if not np.all(_margins(scores, codes) > 0):
            from_program = _program(X, codes, task)
            if from_program is None:
                return None
            direction = from_program
            coef, intercept = _one_row_a_class(task, *direction)
            scores = X @ coef.T + intercept
        size = max(np.abs(scores).max(), 1e-300)
        margins = _margins(scores / size, codes)
        rounding = 1e-9
        if margins.min() < -rounding or margins.max() <= rounding:
            return None
        complete = bool(margins.min() > rounding)
        labels = classes.tolist()
        apart = ", ".join(repr(labels[k]) for k in range(task.classes) if np.all(margins[codes == k] > rounding))
        what = "perfectly" if complete else f"in part (all of {apart or 'some samples'}, with ties elsewhere)"
        message = (
            f"A hyperplane separates the classes {what}: without a penalty the weights grow without bound along the "
            "direction in 'coef' and 'intercept' of this warning. Set C to a finite value."
        )
        return cls(message, direction[0] / size, direction[1] / size, complete)


def _one_row_a_class(
    task: LogisticProblem, coef: NDArray[Any], intercept: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and intercepts of all classes, the baseline's zeros included."""
    if task.classes == 2:
        k = 0 if task.baseline is None else task.baseline
        return np.insert(coef, k, 0.0, axis=0), np.insert(intercept, k, 0.0)
    if len(coef) == task.classes:
        return coef, intercept
    assert task.baseline is not None
    return np.insert(coef, task.baseline, 0.0, axis=0), np.insert(intercept, task.baseline, 0.0)


def _margins(scores: NDArray[Any], codes: NDArray[np.int64]) -> NDArray[Any]:
    """Score of the true class over the best of the others, by sample."""
    rows = np.arange(len(codes))
    own = scores[rows, codes]
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(own - others.max(axis=1))


def _program(X: Matrix, codes: NDArray[np.int64], task: LogisticProblem) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Directions d with margins x_i'(d_y - d_k) >= 0 of the largest sum, entries at most 1 where columns reach 1.

    None if that sum is 0, or if the program is too large to be solved at the price of a fit.
    """
    from scipy.optimize import linprog

    X = sp.csr_matrix(X, dtype=np.float64)
    if task.fit_intercept:
        X = sp.hstack([X, np.ones((X.shape[0], 1))], format="csr")
    size = np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-300)
    X = X @ sp.diags(1 / size)
    q = X.shape[1]
    K = task.classes
    if X.nnz * 2 * (K - 1) > 5_000_000:
        return None
    blocks = []
    for k in range(K):
        rows = np.flatnonzero(codes != k)
        at = X[rows]
        own = sp.hstack([sp.diags((codes[rows] == m).astype(float)) @ at for m in range(K)], format="csr")
        blocks.append(own - sp.hstack([at if m == k else sp.csr_matrix(at.shape) for m in range(K)], format="csr"))
    margins = sp.vstack(blocks, format="csr")
    bounds = np.tile([-1.0, 1.0], (K * q, 1))
    bounds[(K - 1) * q :] = 0.0  # one class is fixed at zero
    answer = linprog(
        -np.asarray(margins.sum(axis=0)).ravel(),
        A_ub=-margins,
        b_ub=np.zeros(margins.shape[0]),
        bounds=bounds,
        method="highs-ds",
        options={"maxiter": 20_000},
    )
    if answer.status != 0 or -answer.fun <= 1e-9:
        return None
    d = answer.x.reshape(K, q) / size
    coef, intercept = (d[:, :-1], d[:, -1]) if task.fit_intercept else (d, np.zeros(K))
    if K == 2:
        sign = -1.0 if task.baseline == 1 else 1.0
        return sign * (coef[1:] - coef[:1]), sign * (intercept[1:] - intercept[:1])
    if task.baseline is not None:
        coef, intercept = coef - coef[task.baseline], intercept - intercept[task.baseline]
        return np.delete(coef, task.baseline, axis=0), np.delete(intercept, task.baseline)
    return coef - coef.mean(axis=0), intercept - intercept.mean()
