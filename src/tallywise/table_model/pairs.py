"""Pairs of columns worth a product: where the errors of an additive model differ between the cells of the two."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from tallywise.models.table_encoding import coarse
from tallywise.table_model.training_columns import Problem

Array = NDArray[np.float64]
_MOST_COLUMNS = 40  # 780 pairs
_LEVEL = 0.01  # of the test that a pair says nothing, over all pairs


def choose_pairs(problem: Problem, G: Array, H: Array) -> list[tuple[str, str]]:
    """The pairs that gain more than luck explains, those with the largest gain first.

    With g and h the first and second derivative of the loss by the score of each row, a step of one Newton iteration
    for the cells of a pair lowers the loss by half of sum over cells of (sum g)^2 / (sum h). If the pair says nothing,
    that sum is about chi-squared, with as many degrees of freedom as cells less those that the columns alone explain.

    Parameters
    ----------
    problem : Problem
        Rows, and values of their columns.
    G, H : arrays of shape (n, columns of scores)
        Derivatives at the additive model.

    References
    ----------
    Lou, Caruana, Gehrke & Hooker (2013), Accurate intelligible models with pairwise interactions, KDD.
    """
    columns = [column for column in problem.data.columns if column.kind in ("number", "category")]
    coded = {}
    for column in columns:
        code = coarse(column.kind, problem.values[column.name])
        cells = code.slots(problem.values[column.name]).columns[:, 0]
        if len(np.unique(cells)) > 1:
            coded[column.name] = (cells, code.width)
    names = list(coded) if len(coded) <= _MOST_COLUMNS else _liveliest(coded, G, H)
    pairs = list(combinations(names, 2))
    used = {name: len(np.unique(cells)) for name, (cells, _) in coded.items()}
    gains, freedoms = np.zeros(len(pairs)), np.ones(len(pairs))
    for k, (a, b) in enumerate(pairs):
        (first, m), (second, width) = coded[a], coded[b]
        gains[k], cells_seen = _gain(first * width + second, m * width, G, H)
        freedoms[k] = G.shape[1] * max(cells_seen - used[a] - used[b] + 1, 1)
    there = np.flatnonzero(chi2.sf(gains, freedoms) * len(pairs) < _LEVEL)
    return [pairs[k] for k in sorted(there.tolist(), key=lambda k: (freedoms[k] - gains[k], pairs[k]))]


def _gain(cells: NDArray[np.intp], size: int, G: Array, H: Array) -> tuple[float, int]:
    gain = 0.0
    for g, h in zip(G.T, H.T, strict=True):
        slope, bend = np.bincount(cells, g, size), np.bincount(cells, h, size)
        gain += float((slope**2 / np.maximum(bend, 1.0)).sum())
    return gain, int((np.bincount(cells, minlength=size) > 0).sum())


def _liveliest(coded: dict[str, tuple[NDArray[np.intp], int]], G: Array, H: Array) -> Sequence[str]:
    """The columns in whose cells the squared errors differ most."""
    E = (G**2).sum(axis=1, keepdims=True)
    E = E - E.mean()
    scores = {name: _gain(cells, width, E, H.sum(axis=1, keepdims=True))[0] for name, (cells, width) in coded.items()}
    return sorted(coded, key=lambda name: (-scores[name], name))[:_MOST_COLUMNS]
