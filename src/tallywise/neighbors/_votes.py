"""From neighbours to predictions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise._native import mean_curve, vote_curve, vote_shares

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def own_weights(weights: Any, distances: Floats) -> Floats:
    """Weights by the user's function of the distances, checked."""
    given = np.asarray(weights(distances), dtype=np.float64)
    if given.shape != distances.shape:
        msg = f"'weights' must return one weight per neighbour, shape {distances.shape}. Got shape {given.shape}."
        raise ValueError(msg)
    return given


def classes(distances: Floats, rows: Rows, weights: Any, codes: Rows, n_classes: int, threads: int) -> Rows:
    """Code of the class that wins the vote of all neighbours; the lowest of equals."""
    if callable(weights):
        winners: Rows = np.argmax(_own_votes(distances, rows, weights, codes, n_classes), axis=1)
        return winners
    return vote_curve(distances, rows, weights == "distance", codes, n_classes, threads)[:, -1]


def probabilities(distances: Floats, rows: Rows, weights: Any, codes: Rows, n_classes: int, threads: int) -> Floats:
    """Share of each class in the vote."""
    if callable(weights):
        votes = _own_votes(distances, rows, weights, codes, n_classes)
        shares: Floats = votes / votes.sum(axis=1, keepdims=True)
        return shares
    return vote_shares(distances, rows, weights == "distance", codes, n_classes, threads)


def _own_votes(distances: Floats, rows: Rows, weights: Any, codes: Rows, n_classes: int) -> Floats:
    given = own_weights(weights, distances)
    if np.any(np.all(given == 0, axis=1)):
        msg = "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you "
        raise ValueError(msg + "are using a user-defined function.")
    votes = np.zeros((len(rows), n_classes))
    for rank in range(rows.shape[1]):
        votes[np.arange(len(rows)), codes[rows[:, rank]]] += given[:, rank]
    return votes


def mean(distances: Floats, rows: Rows, weights: Any, y: NDArray[Any], threads: int) -> Floats:
    """Weighted mean of one target."""
    if callable(weights):
        given = own_weights(weights, distances)
        means: Floats = np.sum(given * y[rows], axis=1) / np.sum(given, axis=1)
        return means
    y = np.ascontiguousarray(y, dtype=np.float64)
    return mean_curve(distances, rows, weights == "distance", y, threads)[:, -1]
