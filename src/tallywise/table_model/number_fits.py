"""Linear models of numbers, also with pairs of columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.table_model.fitted import LOOSE, Fitted, with_pairs
from tallywise.table_model.pairs import choose_pairs
from tallywise.table_model.training_columns import Problem, TableData
from tallywise.text_model.forms import Form

Array = NDArray[np.float64]
HUBER = 1.345  # standard deviations at which the loss turns linear: 95 % efficient for normal errors


def regression(view: str, make: Callable[..., Any]) -> Callable[..., Fitted]:
    """A linear model of numbers, columns of numbers in a view."""

    def fit(problem: Problem, **setting: Any) -> Fitted:
        return Fitted(problem.design(view), regress(problem, problem.features(view), make, **setting))

    return fit


def regress(problem: Problem, X: Any, make: Callable[..., Any], **setting: Any) -> Form:
    """A linear model of the standardised target, in the units of the target."""
    mean, scale = units(problem.y)
    model = make(problem.data, len(problem.y), **setting).fit(X, (problem.y - mean) / scale)
    w = np.asarray(model.coef_, dtype=float).reshape(-1, 1)
    return Form(np.ascontiguousarray(scale * w), mean + scale * np.reshape(np.asarray(model.intercept_, float), 1))


def units(y: Array) -> tuple[float, float]:
    """Mean and standard deviation, or 1 where that is 0."""
    return float(y.mean()), float(y.std()) or 1.0


def ridge(data: TableData, n: int, *, alpha: float) -> Any:
    """Least squares, weights drawn to 0 by their squares."""
    from tallywise.linear import Ridge

    return Ridge(alpha=alpha, tol=1e-4)


def lasso(data: TableData, n: int, *, alpha: float) -> Any:
    """Least squares, weights drawn to 0 by their sizes."""
    from tallywise.linear import Lasso

    return Lasso(alpha=alpha, tol=1e-3, max_iter=10_000)


def elastic_net(data: TableData, n: int, *, alpha: float) -> Any:
    """Least squares, weights drawn to 0 by both."""
    from tallywise.linear import ElasticNet

    return ElasticNet(alpha=alpha, l1_ratio=0.5, tol=1e-3, max_iter=10_000)


def svr(data: TableData, n: int, *, C: float) -> Any:
    """Least absolute errors."""
    from tallywise.linear import LinearSVR

    return LinearSVR(C=C, epsilon=0.0, tol=LOOSE, max_iter=10_000, n_jobs=data.n_jobs)


def huber(data: TableData, n: int, *, C: float) -> Any:
    """Errors squared up to a usual size, and by their size beyond."""
    from tallywise.linear import LinearSVR

    return LinearSVR(C=C, loss="huber", epsilon=HUBER / 2, tol=LOOSE, max_iter=10_000, n_jobs=data.n_jobs)


def pairs_ridge(problem: Problem, *, alpha: float, pairs: int) -> Fitted:
    """Curves, then products of the pairs of columns where their errors are not random."""
    first = regress(problem, problem.features("curve"), ridge, alpha=alpha)
    rest = (problem.features("curve") @ first.W + first.b)[:, 0] - problem.y
    size = float(rest.std()) or 1.0
    H = np.ones((len(rest), 1))
    found = problem.last(("pairs", alpha), lambda: choose_pairs(problem, rest[:, None] / size, H))
    return with_pairs(
        problem, found[:pairs], first, ("ridge", alpha), lambda X: regress(problem, X, ridge, alpha=alpha)
    )
