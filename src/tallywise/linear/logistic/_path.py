"""Logistic regression along a grid of penalties."""

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise._certificate import Certificate
from tallywise._penalty import from_inverse_strength
from tallywise.linear.logistic._fit import LogisticProblem, Progress, path


@dataclass(frozen=True)
class LogisticPath:
    """Fits for a grid of C.

    ``coefs[i]`` are the weights at ``Cs[i]``, an array, or a CSR matrix under an L1 penalty; ``intercepts[i]`` and
    ``certificates[i]`` belong to them.
    """

    Cs: NDArray[np.float64]
    coefs: list[Any]
    intercepts: NDArray[np.float64]
    certificates: list[Certificate]

    @classmethod
    def fit(cls, task: LogisticProblem, l1_ratio: float, Cs: NDArray[np.float64], callback: Progress | None) -> Self:
        """Fit the task at each C in turn."""
        began = time.perf_counter()
        fits = path(task, [from_inverse_strength(C, l1_ratio) for C in Cs], None, callback)
        seconds = (time.perf_counter() - began) / len(fits)
        return cls(
            Cs=np.asarray(Cs),
            coefs=[sp.csr_matrix(found.coef) if l1_ratio > 0 else found.coef for found in fits],
            intercepts=np.stack([found.intercept for found in fits]),
            certificates=[
                Certificate(found.primal, found.dual, found.iterations, seconds, task.rounding) for found in fits
            ],
        )


def default_grid(task: LogisticProblem, l1_ratio: float, count: int) -> NDArray[np.float64]:
    """Default grid of C, increasing."""
    if count < 1:
        msg = f"A path needs at least one C. Got {count}."
        raise ValueError(msg)
    if l1_ratio == 0:
        return np.logspace(-4, 4, count)
    first = l1_ratio / max(task.null_strength(), 1e-300)
    return first * np.logspace(0, 3, count)
