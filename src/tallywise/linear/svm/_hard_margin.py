"""Hard margins, or the proof that there is none."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _native
from tallywise._native import Design
from tallywise.errors import NotSeparableError


@dataclass(frozen=True)
class HardMargins:
    """Result of the native solvers, and the rows of each problem's support vectors."""

    answer: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
    support: list[NDArray[np.intp]]


def hard_margins(
    X: Design, codes: NDArray[np.int64], classes: NDArray[Any], options: _native.MarginOptions
) -> HardMargins:
    """Separate each class from the rest with the largest margin; of two classes the second from the first."""
    problems = [1] if len(classes) == 2 else range(len(classes))
    found = []
    for k in problems:
        signs = np.where(codes == k, 1.0, -1.0)
        if len(np.unique(signs)) < 2:
            msg = f"The hard margin needs samples of positive weight inside and outside of class {classes[k]!r}."
            raise ValueError(msg)
        fit = _native.hard_margin(X, signs, options)
        if not fit[0]:
            raise not_separable(fit[3], classes[k])
        found.append(fit)
    answer: Any = (
        np.array([fit[1] for fit in found]),
        np.array([fit[2] for fit in found]),
        *(np.array([fit[k] for fit in found]) for k in (4, 5, 6)),
    )
    return HardMargins(answer, [np.flatnonzero(fit[3] > 0) for fit in found])


def not_separable(combination: NDArray[np.float64], label: Any) -> NotSeparableError:
    """The error that carries the proof."""
    rows = np.flatnonzero(combination)
    msg = (
        f"No hyperplane separates class {label!r} from the rest: a convex combination of {len(rows)} of the signed "
        "points lies at the origin (attribute `combination`). Use a finite C."
    )
    return NotSeparableError(msg, combination, label)
