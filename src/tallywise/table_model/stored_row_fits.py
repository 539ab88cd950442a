"""Models that remember rows: nearest neighbours, Gaussian kernels, and Gaussian kernels to a few landmarks."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.models.stored_rows import StoredRows
from tallywise.models.table_encoding import DateCode, Design, beside, knots_of
from tallywise.table_model.class_fits import independent, linear
from tallywise.table_model.fitted import LOOSE, Fitted, Neighbours
from tallywise.table_model.number_fits import regress, ridge, units
from tallywise.table_model.training_columns import Problem
from tallywise.text_model.forms import Form

Array = NDArray[np.float64]
_LANDMARKS = 300
_TARGET_BINS = 20
MOST_NEAR = 120


def _nearest(problem: Problem, view: str, k: int, A: Array, *, votes: bool) -> Fitted:
    design = problem.design(view)
    X = problem.kept(("rows", view), lambda: _dense(problem, design))
    memory = StoredRows("nearest", float(k), X, A, votes=votes)
    neighbours = problem.kept(("neighbours", view), lambda: Neighbours(MOST_NEAR))
    return Fitted(design, Form(np.empty((0, memory.columns)), np.zeros(memory.columns)), memory, neighbours)


def nearest_classes(problem: Problem, *, n_neighbors: int, view: str) -> Fitted:
    """Votes of the nearest rows."""
    K = len(problem.data.target.classes)
    return _nearest(problem, view, n_neighbors, np.eye(K)[problem.codes], votes=True)


def nearest_numbers(problem: Problem, *, n_neighbors: int, view: str) -> Fitted:
    """The mean of the nearest rows."""
    return _nearest(problem, view, n_neighbors, problem.y[:, None], votes=False)


def joint_bayes(problem: Problem, *, alpha: float) -> Fitted:
    """Shares of the classes among the rows that are equal in all columns, drawn to the prior by `alpha` rows."""
    from tallywise.naive_bayes import JointBayes

    design, codes, K = problem.design("coarse"), problem.codes, len(problem.data.target.classes)
    cells = beside(design.slots(problem.values, len(codes))).columns
    distinct, counts = np.unique(cells, axis=0, return_counts=True)
    M = np.zeros((len(distinct), design.width))
    np.put_along_axis(M, distinct, 1.0, axis=1)
    model = JointBayes().fit(cells, codes)
    prior = (np.bincount(codes, minlength=K) + 0.5) / (len(codes) + 0.5 * K)
    P = np.zeros((len(M), K))
    P[:, model.classes_] = model.predict_proba(distinct)
    A = np.log((counts[:, None] * P + alpha * prior) / (counts[:, None] + alpha) / prior)
    b = np.log(prior)
    if K == 2:
        A, b = A[:, 1:] - A[:, :1], b[1:] - b[:1]
    return Fitted(design, Form(np.empty((0, A.shape[1])), b), StoredRows("equal", 1.0, M, np.ascontiguousarray(A)))


def bayes_numbers(problem: Problem, *, share: float) -> Fitted:
    """Naive Bayes of the bin that the target is in, and the mean of the bins by their probabilities.

    Columns say the same thing more than once; `share` is what counts of each (Hand & Yu 2001, Idiot's Bayes: not so
    stupid after all?, International Statistical Review 69).
    """
    design, y = problem.design("bins"), problem.y
    knots = knots_of(y, min(_TARGET_BINS, max(2, math.isqrt(len(y)) // 2)))
    bins = np.unique(np.searchsorted(knots[1:], y, side="right"), return_inverse=True)[1]
    counts = np.bincount(bins)
    W, b = independent(problem, "bins", bins, len(counts), 1.0)
    W *= share
    # Each row has one feature of its first column: the priors are added there.
    first = design.parts[0].code
    W[: first.day.width if isinstance(first, DateCode) else first.width] += b
    means = np.bincount(bins, y) / counts
    memory = StoredRows("mixture", 1.0, np.ascontiguousarray(W.T), means[:, None])
    return Fitted(design, Form(np.empty((0, 1)), np.zeros(1)), memory)


def gaussian_svm(problem: Problem, *, C: float, gamma: float, view: str) -> Fitted:
    """A support vector machine with a Gaussian kernel; for more than two classes, one against the rest each."""
    from tallywise.kernels import SVC

    design = problem.design(view)
    X, codes, K = _dense(problem, design), problem.codes, len(problem.data.target.classes)
    g = gamma / _spread(X)
    columns = [1] if K == 2 else range(K)
    A, b = np.zeros((len(X), len(columns))), np.full(len(columns), -1.0)
    for column, k in enumerate(columns):
        inside = codes == k
        if inside.all() or not inside.any():  # a class that these rows lack
            b[column] = 1.0 if inside.all() else -1.0
            continue
        model = SVC(kernel="rbf", C=C, gamma=g, tol=LOOSE).fit(X, inside)
        A[model.support_, column] = model.dual_coef_[0]
        b[column] = float(model.intercept_[0])
    return _remembered(design, X, A, b, g)


def _remembered(design: Design, X: Array, A: Array, b: Array, gamma: float) -> Fitted:
    used = np.flatnonzero(np.abs(A).max(axis=1))
    memory = StoredRows("gaussian", gamma, X[used], A[used])
    return Fitted(design, Form(np.empty((0, A.shape[1])), b), memory)


def _kernel_regression(problem: Problem, gamma: float, view: str, make: Callable[[float], Any]) -> Fitted:
    design = problem.design(view)
    X, (mean, scale) = _dense(problem, design), units(problem.y)
    g = gamma / _spread(X)
    model = make(g).fit(X, (problem.y - mean) / scale)
    A, b = np.zeros((len(X), 1)), 0.0
    if hasattr(model, "support_"):
        A[model.support_, 0], b = np.ravel(model.dual_coef_), float(np.ravel(model.intercept_)[0])
    else:
        A[:, 0] = model.dual_coef_
    return _remembered(design, X, scale * A, np.array([mean + scale * b]), g)


def gaussian_svr(problem: Problem, *, C: float, gamma: float, view: str) -> Fitted:
    """Support vector regression with a Gaussian kernel."""
    from tallywise.kernels import SVR

    return _kernel_regression(problem, gamma, view, lambda g: SVR(C=C, gamma=g, epsilon=0.1, tol=LOOSE))


def kernel_ridge(problem: Problem, *, alpha: float, gamma: float, view: str) -> Fitted:
    """Kernel ridge regression with a Gaussian kernel."""
    from tallywise.kernels import KernelRidge

    return _kernel_regression(problem, gamma, view, lambda g: KernelRidge(alpha=alpha, kernel="rbf", gamma=g))


def _landmarks(problem: Problem, gamma: float, view: str) -> tuple[Design, Any, Array]:
    """A Gaussian kernel to some rows drawn at random, and the features that it gives: its work is linear in rows.

    About sqrt(n) log n of n rows do as well as all of them (Rudi, Camoriano & Rosasco 2015, Less is more, NeurIPS).
    """
    from tallywise.kernels import Nystroem

    def make() -> tuple[Design, Any, Array]:
        design = problem.design(view)
        X = _dense(problem, design)
        most = min(_LANDMARKS, math.ceil(math.sqrt(len(X)) * math.log(len(X) + 1)), len(X))
        kernel = Nystroem(gamma=gamma / _spread(X), n_components=most, random_state=0).fit(X)
        return design, kernel, kernel.transform(X)

    found: tuple[Design, Any, Array] = problem.last(("landmarks", gamma, view), make)
    return found


def _of_landmarks(design: Design, kernel: Any, W: Array, b: Array) -> Fitted:
    """The same as a sum over landmarks."""
    A = kernel.normalization_.T @ W
    memory = StoredRows("gaussian", kernel.gamma, kernel.components_, A)
    return Fitted(design, Form(np.empty((0, A.shape[1])), b), memory)


def gaussian_logistic(problem: Problem, *, C: float, gamma: float, view: str) -> Fitted:
    """Logistic regression on a Gaussian kernel to landmarks."""
    design, kernel, features = _landmarks(problem, gamma, view)
    form = linear(problem, features, "logistic", C=C)
    return _of_landmarks(design, kernel, form.W, form.b)


def gaussian_ridge(problem: Problem, *, alpha: float, gamma: float, view: str) -> Fitted:
    """Ridge on a Gaussian kernel to landmarks."""
    design, kernel, features = _landmarks(problem, gamma, view)
    form = regress(problem, features, ridge, alpha=alpha)
    return _of_landmarks(design, kernel, form.W, form.b)


def _dense(problem: Problem, design: Design) -> Array:
    return design.dense(problem.values, len(problem.rows))


def _spread(X: Array) -> float:
    """Sum of the variances of the columns: half the mean squared distance of two rows."""
    return float(X.var(axis=0).sum()) or 1.0
