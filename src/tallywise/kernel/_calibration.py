"""Probabilities from a machine's own leave-one-out scores: no refit, and never at odds with its verdicts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_MOST_FREE = 4000  # beyond this many free vectors the span is bounded by k(x, x) instead of computed


def leave_one_out_scores(z: Vector, beta: Vector, free: NDArray[np.bool_], diagonal: Vector, block: Any) -> Vector:
    """Scores that each training point would get from a machine trained without it.

    A point that is no support vector does not change the machine. Taking out support vector i moves its own score by
    beta_i S_i^2, S_i the distance of its image from the span of the free support vectors (Vapnik & Chapelle 2000),
    under the assumption that the sets of free and bounded vectors stay as they are.

    Parameters
    ----------
    z, beta, diagonal : ndarray of shape (n,)
        Scores, signed coefficients, and k(x_i, x_i).
    free : ndarray of bool
        Support vectors strictly between their bounds.
    block : callable
        ``block(rows, columns)`` gives kernel values between training points.
    """
    shift = np.zeros_like(z)
    support = np.flatnonzero(beta)
    inside = np.flatnonzero(free)
    span = diagonal[support].astype(float)
    if 0 < len(inside) <= _MOST_FREE:
        m = len(inside)
        bordered = np.ones((m + 1, m + 1))
        bordered[:m, :m] = block(inside, inside)
        bordered[m, m] = 0.0
        bordered[np.arange(m), np.arange(m)] += 1e-10 * max(float(np.trace(bordered)), 1e-300)
        inverse = np.linalg.pinv(bordered, hermitian=True)
        own = {int(i): k for k, i in enumerate(inside)}
        place = np.array([own.get(int(i), -1) for i in support])
        is_free = place >= 0
        with np.errstate(divide="ignore"):
            own_span = 1.0 / np.diag(inverse)[place[is_free]]
        span[is_free] = np.where(own_span > 0, own_span, span[is_free])
        others = support[~is_free]
        for start in range(0, len(others), 2000):
            part = others[start : start + 2000]
            v = np.vstack([block(inside, part), np.ones((1, len(part)))])
            rest = diagonal[part] - np.einsum("ij,ij->j", v, inverse @ v)
            at = np.flatnonzero(~is_free)[start : start + 2000]
            span[at] = np.clip(rest, 0.0, diagonal[part])
    shift[support] = beta[support] * np.maximum(span, 0.0)
    return z - shift


def fit_slopes(z: Vector, positive: NDArray[np.bool_], weight: Vector) -> tuple[float, float]:
    """Slopes a, b >= 0 of p(+ | z) = sigmoid(a z) for z >= 0 and sigmoid(b z) below, by maximum likelihood.

    Two slopes through one half at z = 0: the probability crosses one half exactly where the verdict changes.
    Targets are drawn in from 0 and 1 as Platt (2000) does.
    """
    up, down = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (up + 1) / (up + 2), 1 / (down + 2))
    slopes = []
    for side in (z >= 0, z < 0):
        slopes.append(_slope(z[side], target[side], weight[side]))
    return slopes[0], slopes[1]


def _slope(z: Vector, target: Vector, weight: Vector) -> float:
    least = 1e-3
    if not np.any(z):
        return 1.0
    a = 1.0
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(a * z, -500, 500)))
        slope = float(np.sum(weight * (p - target) * z))
        curvature = float(np.sum(weight * p * (1 - p) * z * z))
        step = slope / max(curvature, 1e-12 * float(np.sum(weight * z * z)))
        new = min(max(a - step, least, a / 4), a * 4)
        if abs(new - a) <= 1e-10 * a:
            break
        a = new
    return a


def pair_probability(z: Vector, slopes: tuple[float, float]) -> Vector:
    """p(+ | z) with these slopes."""
    scaled = np.where(z >= 0, slopes[0] * z, slopes[1] * z)
    return np.asarray(1 / (1 + np.exp(-np.clip(scaled, -500, 500))))


def couple(pairs: Vector, classes: int) -> Vector:
    """Class probabilities from those of all pairs (i before j): p_i = 1 / (sum_j 1 / r_ij - (K - 2)), then to sum 1.

    Price, Knerr, Personnaz & Dreyfus (1995), Pairwise neural network classifiers with probabilistic outputs.
    """
    inverse = np.zeros((len(pairs), classes))
    k = 0
    for i in range(classes):
        for j in range(i + 1, classes):
            r = np.clip(pairs[:, k], 1e-7, 1 - 1e-7)
            inverse[:, i] += 1 / r
            inverse[:, j] += 1 / (1 - r)
            k += 1
    p = 1 / (inverse - (classes - 2))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def agree_with(verdict: NDArray[np.intp], p: Vector) -> Vector:
    """Nearest probabilities under which the verdict is the most probable class.

    Where others are above it, the verdict and those of them that the pooled mean does not clear share that mean: the
    projection onto the cone in which the verdict comes first.
    """
    p = p.copy()
    rows = np.arange(len(p))
    for row in np.flatnonzero(p.argmax(axis=1) != verdict):
        own = verdict[row]
        order = np.argsort(-p[row])
        pool = [own]
        mean = p[row, own]
        for k in order:
            if k != own and p[row, k] >= mean:
                pool.append(k)
                mean = p[row, pool].mean()
        p[row, pool] = mean
        p[row, own] = np.nextafter(mean, 1) + 1e-9
    p /= p.sum(axis=1, keepdims=True)
    assert (p[rows, verdict] >= p.max(axis=1)).all()
    return p
