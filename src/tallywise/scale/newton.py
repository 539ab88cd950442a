"""Newton's method with conjugate gradients for a convex objective whose rows lie with many workers.

Minimises over weights W and offsets b (intercepts or thresholds, not penalised)::

    sum_i s_i l(y_i, z_i, b) + l2/2 |W|^2,     z = X W.

The workers give sums: of the loss, of X' dl/dz, of products with the Hessian, of conjugates. The offsets are at their
best for every W (a Newton iteration of its own that moves a few numbers), which makes the residuals a feasible point of
the dual: with the sum of the conjugates, ``-sum s l* - |X' dl/dz|^2 / (2 l2)`` bounds every objective from below. Loss
and conjugate of one row add up to z dl/dz, so that the gap between the two is |gradient|^2 / (2 l2): the residual of
the conjugate gradients says what it will be after the step, and they stop where that is enough.

Directions and products are of short numbers (`trees.shortened`), for they choose the way alone; loss, gradient and dual
value are of full ones, and prove what was found.

J. Nocedal and S. Wright (2006), Numerical Optimization, algorithm 7.1.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise._certificate import Certificate
from tallywise.scale.checkpoints import Checkpoints
from tallywise.scale.engines import Fleet
from tallywise.scale.trees import Sum, gathered, shortened
from tallywise.scale.worker import Point, ShardProblem

Array = NDArray[np.float64]

_FIFTH = 0.04  # of a length, squared

# Workers know points by name across fits: a second fit of the same problem must not find the scores of the first.
_POINTS = itertools.count()


@dataclass(frozen=True)
class Solution:
    """Weights (features x lanes), offsets, and the proof of how good they are."""

    W: Array
    b: Array
    certificate: Certificate
    products: int  # with the Hessian: each is a pass over all rows


def named(problem: ShardProblem, W: Array) -> Point:
    """Weights with a name that no others have."""
    return Point(f"{problem.key}/{next(_POINTS)}", W)


class Objective:
    """The objective of a problem as sums over a fleet of n leaves: shards, or runs of small ones."""

    def __init__(self, fleet: Fleet, problem: ShardProblem, n: int, l2: float) -> None:
        self.fleet, self.problem, self.n, self.l2 = fleet, problem, n, l2

    def _sum(self, verb: str, *arguments: Any, short: bool = False) -> Sum:
        return gathered(self.fleet.ask(verb, self.problem, *arguments), self.n, short)

    def point(self, W: Array) -> Point:
        """Weights with a name of their own."""
        return named(self.problem, W)

    def settle(self, point: Point, towards: Point | None, t: float, b: Array, weight: float) -> tuple[float, Array]:
        """Least loss over the offsets at W + t D, and the offsets; Newton's method, halving where it goes too far."""
        best, best_b, step, scale, last = np.inf, b, np.zeros_like(b), 1.0, np.inf
        for _ in range(100):
            (value,), slope, curvature = self._sum("offset_sums", point, towards, t, b, True)
            if not value <= best + 1e-13 * abs(best):
                scale /= 2
                if scale < 1e-12:
                    break
                b = best_b - scale * step
                continue
            violation = float(np.abs(slope).sum())
            improved = violation <= 0.5 * last
            best, best_b, last, scale = float(value), b, violation, 1.0
            self.violation = violation
            if violation <= 1e-13 * weight or (not improved and violation <= 1e-9 * weight):
                break
            step = _solved(curvature, slope)
            longest = float(np.abs(step).max(initial=0.0))
            step *= min(1.0, 8.0 / longest) if longest > 0 else 1.0
            b = best_b - step
        return best, best_b

    def gradient(self, point: Point, b: Array) -> tuple[Array, float]:
        """X' dl/dz, and the dual value there."""
        G, (conjugates,) = self._sum("gradient", point, b)
        reach = max(1.0, float(np.abs(b).max(initial=0.0)))
        slack = 2 * reach * self.violation  # what is left of the offsets' own slope
        return G, float(-conjugates - slack - 0.5 * (G * G).sum() / self.l2)

    def curvature(self, point: Point, b: Array) -> tuple[Array, Array]:
        """The Hessian's diagonal by weights, and its block of the offsets: what preconditions."""
        (d,) = self._sum("diagonal", point, b, short=True)
        _, _, block = self._sum("offset_sums", point, None, 0.0, b, True)
        return d + self.l2, block

    def product(self, point: Point, b: Array, D: Array, e: Array) -> tuple[Array, Array]:
        """The Hessian times a direction."""
        H, q = self._sum("product", point, b, D, e, short=True)
        return H + self.l2 * D, q


def fit(
    objective: Objective,
    shape: tuple[int, int],
    b: Array,
    weight: float,
    *,
    W: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
    checkpoint: Checkpoints | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Solution:
    """Minimise an objective to a relative duality gap of `tol`.

    Parameters
    ----------
    objective : Objective
        Sums over the rows.
    shape : (int, int)
        Features and lanes.
    b : array
        Offsets to begin with.
    weight : float
        Sum of the rows' weights.
    W : array, optional
        Weights to begin with.
    checkpoint : Checkpoints, optional
        Where every iterate goes; a fit that finds one there goes on from it, to the same result.
    """
    began = time.perf_counter()
    W = np.zeros(shape) if W is None else W
    products, iteration, dual, before, care = 0, 0, -np.inf, np.inf, 1.0
    if checkpoint is not None and (saved := _saved(checkpoint, shape)) is not None:
        W, b, iteration, products, dual, before, care = saved
    point = objective.point(W)
    loss, b = objective.settle(point, None, 0.0, b, weight)
    primal = loss + 0.5 * objective.l2 * float((W * W).sum())
    while True:
        G, bound = objective.gradient(point, b)
        dual = max(dual, bound)
        certificate = Certificate(primal, dual, iteration, time.perf_counter() - began)
        tell(f"iteration {iteration}: objective {primal:.6g}, relative gap {certificate.relative_gap:.1e}")
        if certificate.relative_gap <= tol or iteration >= max_iter:
            return Solution(W, b, certificate, products)
        G = G + objective.l2 * W
        # Where a step has not halved a gap that was small, the next is taken with more care.
        care = care / 10 if before / 2 < certificate.relative_gap < 0.1 else 1.0
        before = certificate.relative_gap
        D, e, rounds = _direction(objective, point, b, G, _enough(objective, G, certificate, tol, care), care)
        products += rounds
        towards = objective.point(D)
        slope = float((G * D).sum())
        t, step = 1.0, None
        while t > 1e-10:
            settled, moved = objective.settle(point, towards, t, b + t * e, weight)
            value = settled + 0.5 * objective.l2 * float(((W + t * D) ** 2).sum())
            if value <= primal + 1e-4 * t * slope or (abs(value - primal) <= 1e-14 * abs(primal) and slope < 0):
                step = (value, moved)
                break
            t /= 2
        iteration += 1
        if step is None or slope >= 0:  # rounding is all that is left
            return Solution(W, b, certificate, products)
        primal, b = step
        W = W + t * D
        point = objective.point(W)
        # The objective at the new point, not along the way there: what a worker started anew would find.
        loss, b = objective.settle(point, None, 0.0, b, weight)
        primal = loss + 0.5 * objective.l2 * float((W * W).sum())
        if checkpoint is not None:
            numbers = {"b": b.tolist(), "iteration": iteration, "products": products, "dual": dual}
            checkpoint.save("iterate", W.tobytes(), numbers | {"before": min(before, 1e300), "care": care})


def _saved(checkpoint: Checkpoints, shape: tuple[int, int]) -> tuple[Any, ...] | None:
    found = checkpoint.load("iterate")
    if found is None:
        return None
    data, meta = found
    W = np.frombuffer(data).reshape(shape).copy()
    return W, np.array(meta["b"]), *(meta[name] for name in ("iteration", "products", "dual", "before", "care"))


def _enough(objective: Objective, G: Array, certificate: Certificate, tol: float, care: float) -> float:
    """The squared gradient that a direction should leave: of a gap well below `tol`, or of a good step towards it.

    A curved loss is no longer what its Hessian says far from here, and a step that leaves a fifth of the gradient is as
    good as an exact one; near the end the share falls with the gap (Nocedal and Wright, section 7.1). Short numbers
    cannot do better than a thousandth. On 200,000 texts 60 products and 6 steps to a gap of 1e-3; a tenth of the
    gradient, however near `tol` that was, took 98.
    """
    squared = float((G * G).sum())
    share = 0.0 if objective.problem.loss == "squared_error" else care * min(_FIFTH, certificate.relative_gap)
    return max(max(share, 1e-6) * squared, 0.3 * care * tol * 2 * objective.l2 * abs(certificate.primal))


def _direction(
    objective: Objective, point: Point, b: Array, G: Array, enough: float, care: float
) -> tuple[Array, Array, int]:
    """Newton's direction by conjugate gradients, preconditioned by the Hessian's diagonal and its block of offsets."""
    d, block = objective.curvature(point, b)
    D, e = np.zeros_like(G), np.zeros_like(b)
    R, r = -G, np.zeros_like(b)  # the offsets' own slope is 0: they are at their best
    M, m = R / d, _solved(block, r)
    P, p = M.copy(), m.copy()
    rho = float((R * M).sum() + r @ m)
    first, rounds = rho, 0
    # The gap is blind to columns of little curvature, the preconditioned residual is not. By the gap alone, a squared
    # hinge on 20 classes went from 2e-3 to 1e-3 in 17 steps of one product.
    while rounds < 500 and (rho > max(_FIFTH * care, 1e-6) * first or float((R * R).sum()) > enough):
        P = shortened(P)
        H, q = objective.product(point, b, P, p)
        rounds += 1
        bend = float((P * H).sum() + p @ q)
        if not bend > 0:
            break
        alpha = float((R * P).sum() + r @ p) / bend  # not rho / bend: P is not quite what it was
        D += alpha * P
        e += alpha * p
        R -= alpha * H
        r -= alpha * q
        M, m = R / d, _solved(block, r)
        new = float((R * M).sum() + r @ m)
        P, p = M + new / rho * P, m + new / rho * p
        rho = new
    return shortened(D), e, rounds


def _solved(A: Array, g: Array) -> Array:
    """A^-1 g for a small matrix that may be blind to some directions: those stay where they are."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    known = values > 1e-12 * max(float(values[-1]), 1e-300)
    parts = np.where(known, (vectors.T @ g) / np.where(known, values, 1.0), 0.0)
    return np.asarray(vectors @ parts)
