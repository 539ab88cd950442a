"""The smallest change of a row found that makes its verdict another. Needs NumPy alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_CHANGES = 4
_HALVINGS = 20

Changes = dict[str, Any]
Judge = Callable[[Sequence[Changes]], NDArray[np.float64]]


def smallest_change(
    row: Mapping[str, Any],
    choices: Mapping[str, Sequence[Any]],
    deviations: Mapping[str, float],
    judge: Judge,
    decide: Callable[[NDArray[np.float64]], NDArray[np.intp]],
) -> tuple[Changes, int] | None:
    """Fewest columns, and then numbers moved the least, that change the verdict; and what it becomes.

    Columns are changed one after the other, that which brings the verdict nearest to another first. What is returned
    has been judged.

    Parameters
    ----------
    row : mapping
        Values of the columns: floats (NaN where absent) or strings.
    choices : mapping
        Values worth trying.
    deviations : mapping
        Standard deviations of the columns of numbers.
    judge : callable
        Probabilities of the classes for the row with each of some changes.
    decide : callable
        Verdicts from probabilities.
    """
    k = int(decide(judge([{}]))[0])
    now: Changes = {}
    for _ in range(_MOST_CHANGES):
        trials = [{**now, name: v} for name, tried in choices.items() if name not in now for v in tried]
        if not trials:
            return None
        P = judge(trials)
        flipped = np.flatnonzero(decide(P) != k)
        if len(flipped):
            best = min(flipped.tolist(), key=lambda i: _cost(row, trials[i], deviations))
            found = _moved_back(row, trials[best], deviations, lambda t: int(decide(judge([t]))[0]) != k)
            return found, int(decide(judge([found]))[0])
        now = trials[int(P[:, k].argmin())]
    return None


def _cost(row: Mapping[str, Any], changes: Changes, deviations: Mapping[str, float]) -> float:
    """Standard deviations by which numbers move; a change of category, or of an absent number, counts as one."""
    total = 0.0
    for name, value in changes.items():
        known = name in deviations and not math.isnan(row[name])
        total += abs(value - row[name]) / deviations[name] if known else 1.0
    return total


def _moved_back(
    row: Mapping[str, Any], changes: Changes, deviations: Mapping[str, float], flips: Callable[[Changes], bool]
) -> Changes:
    """The same changes, numbers moved back by halves as far as the verdict stays changed, then to few digits."""
    found = dict(changes)
    for name in changes:
        if name not in deviations or math.isnan(row[name]):
            continue
        near, far = float(row[name]), float(found[name])
        for _ in range(_HALVINGS):
            middle = near + (far - near) / 2
            if flips({**found, name: middle}):
                far = middle
            else:
                near = middle
        for digits in range(1, 16):
            short = float(f"{far:.{digits}g}")
            inside = min(far, float(changes[name])) <= short <= max(far, float(changes[name]))
            if inside and flips({**found, name: short}):
                far = short
                break
        found[name] = far
    return found
