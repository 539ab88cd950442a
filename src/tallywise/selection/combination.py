"""Held-out scores of several models to probabilities: weights of the sum, offsets of the classes, and the link."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from tallywise.evaluation.calibration import Calibration, calibrate_sigmoids

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

# Measured on eight sets of texts (SMS, mail, reviews by stars, department and recommendation, intents, posts of 20 and
# of 3 groups) with 300 rows, 1,000 rows and all: mean change of accuracy in points / log loss x 100.
_OFFSET_ROWS = 5.0  # rows that draw an offset to 0. 1: +.1/+.1, 0/0, 0/+.1; 20: -.3/+.9, -.1/+.3, 0/0; none: -.4/+1.4
_SPREAD_ROWS = 1.0  # rows' worth of labels spread over all classes. 0: 0/+.4 (SMS -.2/+3.2), 0/0, 0/0; 4: no change
_WEIGHT_ROWS = 1e-3  # rows that draw weights to 0: only there so that they stay finite. 0.1: no change
_MOST_MIXED = 10  # classes whose scores are mixed. None: -.3/+.7, -.3/+1.1, -.5/+1.7 (stars at full size -2.1/+7.6)
_MOST_SHIFTED = 500  # classes that get offsets: the Hessian has a row per class, and of 500 it is solved in 10 ms
_MOST_WORK = 1e9  # rows times classes squared that a Newton step reads: a second; enough rows for a handful of numbers
_MOST_SCORES = 4_000_000  # scores that weights are chosen by where there are no offsets: the same, of more classes
_LEAST_ROWS = 100
_MOST_ROWS = 20_000  # likewise: standard errors of weights are then below 1 %
_STEPS = 30
_TINY = float(np.finfo(float).tiny)
_MISLEADING = 0.01  # weight, in units of one standard deviation of the scores, where all weights would be negative


class Combination(NamedTuple):
    """Probabilities link((sum of weights_m Z[m]) mixing + offsets) of scores Z[m] of models m.

    One column of scores is the second of two classes against the first; else there is one per class.
    """

    weights: Array
    offsets: Array
    mixing: Array | None = None
    link: Calibration = Calibration(1.0, 0.0)

    def scores(self, Z: Array) -> Array:
        """The combined scores, shape (n, columns), of those of the models, shape (models, n, columns)."""
        S: Array = np.tensordot(self.weights, Z, 1)
        return (S if self.mixing is None else S @ self.mixing) + self.offsets

    def probabilities(self, Z: Array) -> Array:
        """Probabilities of the classes, rows summing to 1."""
        return self.link.probabilities(self.scores(Z))


def weighted_sum(Z: Array, y: Codes, start: Combination | None = None) -> Combination:
    """Weights a >= 0 of models with scores Z[m], and offsets c, of least log loss of softmax(sum of a_m Z[m] + c).

    With one column of scores the link is the sigmoid. An offset is drawn to 0 with the weight of five rows, so that a
    class of few rows is moved little; one row's worth of labels is spread over all classes, as in Platt's targets, so
    that probabilities stay off 0 and 1 where no held-out row is wrong. Newton's method; a model whose weight would be
    negative is left out. Where all would be, the first is kept with little weight: predictions are its own.

    Parameters
    ----------
    Z : array of shape (models, n, columns)
        Held-out scores.
    y : array of int, shape (n,)
        Codes of the classes.
    start : Combination, optional
        Where to begin: that of nearly the same rows.

    References
    ----------
    Breiman (1996), Stacked regressions, Machine Learning 24: weights that are not negative make stacking stable.
    Platt (1999), Probabilistic outputs for support vector machines.
    """
    rows = few_of(*Z.shape[1:])
    Z, y = Z[:, rows], y[rows]
    m, _, columns = Z.shape
    spread = np.array([float(z.std()) or 1.0 for z in Z])
    shifted = columns <= _MOST_SHIFTED
    first = np.append(np.ones(m), np.zeros(columns if shifted else 0))
    if start is not None:
        first = np.append(start.weights * spread, start.offsets if shifted else [])
    kept = np.arange(m)
    while True:
        loss = _Loss(Z[kept] / spread[kept, None, None], y, shifted=shifted)
        found = _newton(loss, np.append(first[kept], first[m:]))
        if found[: len(kept)].min() > 0:
            break
        kept = np.delete(kept, int(found[: len(kept)].argmin()))
        if not len(kept):
            return Combination(np.append(_MISLEADING / spread[0], np.zeros(m - 1)), np.zeros(columns))
    weights = np.zeros(m)
    weights[kept] = found[: len(kept)] / spread[kept]
    return Combination(weights, found[len(kept) :] if shifted else np.zeros(columns))


def sigmoids(Z: Array, y: Codes, softmax: Combination, start: Combination | None = None) -> Combination:
    """The sum with a sigmoid per class, divided by their sum, in the place of the softmax; see `calibrate_sigmoids`."""
    rows = few_of(*Z.shape[1:])
    known = None if start is None else start.link
    return softmax._replace(link=calibrate_sigmoids(softmax.scores(Z[:, rows]), y[rows], known))


def mixed_scores(Z: Array, y: Codes, softmax: Combination, start: Combination | None = None) -> Combination:
    """The sum z with a matrix A and offsets c of least log loss of softmax(z A + c): scores speak of other classes.

    Linear SVMs of one class against the rest do not know that a text between four and five stars has a high score for
    neither; a mixture of all scores does. A is drawn towards the identity: |z D|^2 / 2 n for A = I + D, so that changes
    of scores cost the same whatever their units, and |c|^2 / 2, both against the log likelihood of all rows.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multi-class probabilities with Dirichlet
    calibration, NeurIPS.
    Ting & Witten (1999), Issues in stacked generalization, JAIR 10.
    """
    chosen = few_of(*Z.shape[1:])
    z, y = softmax.scores(Z[:, chosen]), y[chosen]
    n, K = z.shape
    middle = z.mean(axis=0)
    centred = z - middle
    spread = centred.T @ centred / n
    root = cholesky(spread + (1e-9 * np.trace(spread) / K + _TINY) * np.eye(K))  # spread = root' root
    U = np.asarray(solve_triangular(root, centred.T, trans="T").T)  # uncorrelated, of variance 1: a well-posed problem
    rows = np.arange(n)

    def loss(theta: Array) -> tuple[float, Array]:
        E, c = theta[:-K].reshape(K, K), theta[-K:]
        S = z + U @ E + c
        S -= S.max(axis=1)[:, None]
        own = S[rows, y]
        P = np.exp(S, out=S)
        sums = P.sum(axis=1)
        P /= sums[:, None]
        value = float((np.log(sums) - own).sum() + theta @ theta / 2)
        P[rows, y] -= 1
        return value / n, (np.append((U.T @ P).ravel(), P.sum(axis=0)) + theta) / n

    first = np.zeros(K * K + K)
    if start is not None and start.mixing is not None:
        D = start.mixing - np.eye(K)
        first = np.append((root @ D).ravel(), start.offsets - softmax.offsets @ start.mixing + middle @ D)
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": 100, "ftol": 1e-7}).x
    D = np.asarray(solve_triangular(root, found[:-K].reshape(K, K)))
    A = np.eye(K) + D
    return softmax._replace(mixing=A, offsets=softmax.offsets @ A + found[-K:] - middle @ D)


Link = Callable[[Array, Codes, Combination, Combination | None], Combination]  # (Z, y, the softmax, where to begin)


def plain_softmax(Z: Array, y: Codes, softmax: Combination, start: Combination | None = None) -> Combination:
    """The sum as it is."""
    return softmax


def links(columns: int) -> dict[str, Link]:
    """The links that scores with so many columns may have, by name; each is fitted from the softmax's weights."""
    found: dict[str, Link] = {"softmax" if columns > 1 else "sigmoid": plain_softmax}
    if columns > 1:
        found["sigmoids"] = sigmoids
    if 1 < columns <= _MOST_MIXED:
        found["mixed scores"] = mixed_scores
    return found


def few_of(n: int, columns: int) -> Codes:
    """Rows that numbers are chosen by: all, or where these are too many an even choice of them."""
    most = min(_MOST_ROWS, int(_MOST_WORK / columns**2) if columns <= _MOST_SHIFTED else _MOST_SCORES // columns)
    most = max(most, _LEAST_ROWS)
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)


class _Point(NamedTuple):
    value: float
    gradient: Array
    P: Array  # probabilities


class _Loss:
    """The log loss, with its penalties, as a function of weights and offsets in one array, or of weights alone."""

    def __init__(self, U: Array, y: Codes, *, shifted: bool) -> None:
        self.U, self.y, self.shifted = U, y, shifted
        self.m, self.n, self.columns = U.shape
        classes = max(self.columns, 2)
        self.spread = _SPREAD_ROWS / (self.n + 2)  # of each label, over all classes
        if self.columns == 1:
            self.target = ((1 - self.spread) * (y == 1) + self.spread / classes)[:, None]
        self.share = self.spread / classes
        self.pull = np.full(self.m + (self.columns if shifted else 0), _WEIGHT_ROWS)
        if self.columns > 1:  # the one offset of two classes is where the scores change sign: it is free
            self.pull[self.m :] = _OFFSET_ROWS

    def at(self, theta: Array) -> _Point:
        m, n = self.m, self.n
        S = np.tensordot(theta[:m], self.U, 1)
        if self.shifted:
            S += theta[m:]
        if self.columns == 1:
            P = expit(S)
            total = float((np.logaddexp(0, S) - self.target * S).sum())
            R = P - self.target
        else:
            rows = np.arange(n)
            wanted = (1 - self.spread) * S[rows, self.y] + self.share * S.sum(axis=1)
            top = S.max(axis=1)
            S -= top[:, None]
            P = np.exp(S, out=S)
            sums = P.sum(axis=1)
            P /= sums[:, None]
            total = float((np.log(sums) + top - wanted).sum())
            R = P - self.share
            R[rows, self.y] -= 1 - self.spread
        gradient = np.tensordot(self.U, R, 2)
        if self.shifted:
            gradient = np.append(gradient, R.sum(axis=0))
        gradient += self.pull * theta
        return _Point((total + self.pull @ np.square(theta) / 2) / n, gradient / n, P)

    def curvature(self, P: Array) -> Array:
        m, U = self.m, self.U
        H: Array = np.diag(self.pull)
        if self.columns == 1:
            D = np.column_stack([*U[:, :, 0], np.ones(self.n)])
            H += D.T @ (D * (P * (1 - P)))
        else:
            mean = np.einsum("nk,mnk->mn", P, U)  # of the scores of each model, by the probabilities of a row
            for a in range(m):
                V = P * (U[a] - mean[a][:, None])
                for b in range(m):
                    H[a, b] += np.vdot(V, U[b])
                if self.shifted:
                    H[a, m:] += V.sum(axis=0)
                    H[m:, a] = H[a, m:]
            if self.shifted:
                H[m:, m:] += np.diag(P.sum(axis=0)) - P.T @ P
        H /= self.n
        return H


def _newton(loss: _Loss, theta: Array) -> Array:
    """Newton's method with halved steps; the loss is strictly convex."""
    here = loss.at(theta)
    for _ in range(_STEPS):
        step = np.linalg.solve(loss.curvature(here.P), here.gradient)
        slope = float(step @ here.gradient)
        if slope < 1e-9:
            break
        size, there = 1.0, here
        while size > 1e-6:
            there = loss.at(theta - size * step)
            if there.value <= here.value - 0.25 * size * slope:
                break
            size /= 2
        else:
            break
        theta, here = theta - size * step, there
    return theta
