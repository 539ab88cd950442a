"""Probabilities from scores of held-out points, consistent with the predictions."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


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
    """Class probabilities p from r_ij = p(i | i or j, z) of all pairs, i before j.

    Minimises the sum over pairs of (r_ji p_i - r_ij p_j)^2 subject to sum p = 1: one linear system for each row.

    Wu, Lin & Weng (2004), Probability estimates for multi-class classification by pairwise coupling, second method.
    """
    at = 1_000_000 // (classes + 1) ** 2 + 1  # rows at a time: 8 MB of systems
    return np.vstack([_couple(pairs[k : k + at], classes) for k in range(0, max(len(pairs), 1), at)])


def _couple(pairs: Vector, classes: int) -> Vector:
    first, second = np.triu_indices(classes, 1)
    r = np.clip(pairs, 1e-7, 1 - 1e-7)
    R = np.zeros((len(pairs), classes, classes))
    R[:, first, second], R[:, second, first] = r, 1 - r
    system = np.ones((len(pairs), classes + 1, classes + 1))
    system[:, -1, -1] = 0
    system[:, :-1, :-1] = -R * R.transpose(0, 2, 1)
    own = np.arange(classes)
    system[:, own, own] = (R**2).sum(axis=1)
    right = np.zeros((len(pairs), classes + 1, 1))
    right[:, -1] = 1
    p = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 1e-12)
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
