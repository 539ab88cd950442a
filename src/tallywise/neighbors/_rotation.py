"""Whether to search on principal axes, and on how many: decided on a sample of the data."""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Floats = NDArray[np.float64]

_SAMPLE = 2048  # rows that the axes are computed from
_PROBES = 64  # of them, queries that the choices are tried with
_CHOICES = (30, 62, 94, 126)  # axes; with the residual and the norm, multiples of the native tile
_FEW = 62  # columns up to which all axes are taken where fewer do not pay: boxes along them are the tightest

# Nanoseconds: a product of the float32 tables, and an exact distance (a row fetched at random, then a column).
_PRODUCT, _FETCH, _COLUMN = 0.025, 100.0, 0.4


def plan(X: NDArray[Any], k: int, *, unit: bool) -> tuple[Floats, Floats | None]:
    """Centre for a product search of X and, where they pay, the axes to rotate to (as rows).

    Any centre and orthonormal axes give the right answer; good ones make it fast. ``unit``: rows will be
    scaled to length 1 first (cosine).
    """
    n, d = X.shape
    sample = _take(X, min(n, _SAMPLE, max(64, 2**22 // d)), unit)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = sample.mean(axis=0)
        if not np.all(np.isfinite(centre)):
            return np.zeros(d), None
        sample -= centre
    choices = [r for r in _CHOICES if 2 * r <= d]
    largest = np.abs(sample).max()
    if n < 4000 or not (choices or d <= _FEW) or len(sample) < 512 or not 0 < largest < np.inf:
        return centre, None
    sample /= largest
    with _libraries().limit(limits=1, user_api="blas"):  # its threads wait in a loop, and the products are small
        axes = _choose(sample, choices, n, k) if choices else None
        return centre, _principal_axes(sample, d) if axes is None and d <= _FEW else axes


def _choose(sample: Floats, choices: list[int], n: int, k: int) -> Floats | None:
    """The axes that should make a search of n such rows fastest."""
    d = sample.shape[1]
    axes = _principal_axes(sample, choices[-1])
    probes, rows = sample[:_PROBES], sample[_PROBES:]
    squares = _squares(probes, rows)
    # The k-th of n rows is about the (k m / n)-th of m.
    place = min(k * len(rows) // n, len(rows) - 1)
    limit = np.partition(squares, place, axis=1)[:, [place]]
    costs: dict[int | None, float] = {None: n * d * _PRODUCT}
    for r in choices:
        bounds = _squares(_shorten(probes, axes[:r]), _shorten(rows, axes[:r]))
        survivors = n * np.mean(bounds <= limit)
        costs[r] = n * (r + 2) * _PRODUCT + survivors * (_FETCH + d * _COLUMN)
    best = min(costs, key=costs.__getitem__)
    return None if best is None else np.ascontiguousarray(axes[:best])


@functools.cache
def _libraries() -> ThreadpoolController:
    """What NumPy computes with; to look for it takes as long as the axes of 100 columns."""
    return ThreadpoolController()


def _take(X: NDArray[Any], size: int, unit: bool) -> Floats:
    """Rows of X chosen at random, in float64."""
    chosen = np.random.default_rng(0).choice(len(X), size, replace=False)
    sample = X[chosen].astype(np.float64)
    if unit:
        largest = np.abs(sample).max(axis=1, keepdims=True)  # first, so that the squares do not overflow
        sample /= np.where(largest > 0, largest, 1.0)
        sample /= np.maximum(np.linalg.norm(sample, axis=1, keepdims=True), 1.0)  # at least 1 but for zeros
    return sample


def _principal_axes(sample: Floats, r: int) -> Floats:
    """Directions of largest variance of centred rows.

    Of many columns by subspace iteration from a random start (Halko et al. 2011): the largest are right after two
    rounds, which is enough for bounds.
    """
    if sample.shape[1] <= 2 * r:
        return np.ascontiguousarray(np.linalg.eigh(sample.T @ sample)[1][:, : -r - 1 : -1].T)
    Y = sample @ np.random.default_rng(1).standard_normal((sample.shape[1], r + 16))
    for _ in range(2):
        basis, _ = np.linalg.qr(sample.T @ Y)
        Y = sample @ basis
    _, turn = np.linalg.eigh(Y.T @ Y)
    axes, _ = np.linalg.qr(basis @ turn[:, : -r - 1 : -1])
    return np.ascontiguousarray(axes.T)


def _shorten(Y: Floats, axes: Floats) -> Floats:
    prefix = Y @ axes.T
    rest = np.sqrt(np.maximum(np.square(Y).sum(axis=1) - np.square(prefix).sum(axis=1), 0.0))
    return np.column_stack([prefix, rest])


def _squares(A: Floats, B: Floats) -> Floats:
    squares: Floats = np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1) - 2.0 * (A @ B.T)
    return squares
