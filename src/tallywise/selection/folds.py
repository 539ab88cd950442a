"""Rows that models are compared on: whole groups, the same folds for all candidates, as many as the work allows."""

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import Folds

Rows = NDArray[np.intp]


def draw_groups(codes: Rows, groups: Rows, size: int, random_state: int) -> Rows:
    """Rows of about that number: whole groups drawn at random, at least two of each class where there are two."""
    n = len(codes)
    if n <= size:
        return np.arange(n)
    random = np.random.default_rng(random_state)
    numbers = np.unique(groups, return_inverse=True)[1]
    place = random.permutation(numbers.max() + 1)[numbers]  # each group's place in a random order
    order = np.lexsort((np.arange(n), place))
    chosen = np.zeros(n, dtype=bool)
    chosen[order[:size]] = True
    rare = np.bincount(codes[chosen], minlength=codes.max() + 1) < 2
    by_class = order[np.argsort(codes[order], kind="stable")]  # class by class, each in the random order
    begin = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    first_two = np.arange(n) - begin[codes[by_class]] < 2
    chosen[by_class[first_two & rare[codes[by_class]]]] = True
    drawn = np.zeros(numbers.max() + 1, dtype=bool)
    drawn[numbers[chosen]] = True
    return np.flatnonzero(drawn[numbers])


def folds_within(folds: Folds, cost: float, limit: float) -> Folds:
    """As many of the folds as the work allows, at least one; `cost` is that of one fit on all rows."""
    whole = len(folds)
    count = int(np.clip(limit // max(cost * (1 - 1 / whole), 1.0), 1, whole))
    if count == whole:
        return folds
    what = "one of them" if count == 1 else f"{count} of them"
    return Folds(list(folds)[:count], f"{folds.description}, {what} used")


def held_rows(folds: Folds) -> Rows:
    """Rows that are in the test part of some fold, in rising order."""
    return np.unique(np.concatenate([test for _, test in folds]))


def fold_numbers(folds: Folds, n: int) -> NDArray[np.int32]:
    """The fold that each of n rows is tested in; -1 for rows that are only learned from."""
    found = np.full(n, -1, dtype=np.int32)
    for number, (_, test) in enumerate(folds):
        found[test] = number
    return found


def parts_of(groups: Rows, count: int) -> Rows:
    """A number below `count` for each row, the same for the rows of a group, groups shared out evenly."""
    numbers = np.unique(groups, return_inverse=True)[1]
    return np.asarray(numbers % min(count, int(numbers.max()) + 1))
