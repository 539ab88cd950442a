"""Penalised multinomial logistic regression, written from the formula, and its optimum to fifty digits."""

import mpmath as mp
import numpy as np


def objective(W, b, X, y, l1, l2, s=None):
    """sum s_i (log sum_k exp z_ik - z_iy) + l1 |W|_1 + l2/2 |W|^2 with z = X W' + b and a row of W a class."""
    Z = np.asarray(X @ np.asarray(W, dtype=np.float64).T) + b
    s = np.ones(len(y)) if s is None else s
    top = Z.max(axis=1)
    loss = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(len(y)), y]
    return float(s @ loss + l1 * np.abs(W).sum() + l2 / 2 * np.sum(np.asarray(W, dtype=np.float64) ** 2))


def optimum(X, y, classes, l2, l1=0.0, signs=None):
    """The least value over W and b, by Newton's method in 50 digits.

    Class 0 has its intercept held at 0, and without a penalty its weights too, which costs nothing. Under an L1 penalty
    the signs of the weights (a row a class, 0 for none) are given and found to be right: subgradients prove it.
    """
    mp.mp.dps = 50
    n, p = X.shape
    x = [[mp.mpf(float(v)) for v in row] + [mp.mpf(1)] for row in X]
    every = [(k, j) for k in range(classes) for j in range(p + 1) if not (k == 0 and j == p)]
    free = [(k, j) for k, j in every if not (k == 0 and l2 == 0)]
    if signs is not None:
        free = [(k, j) for k, j in every if j == p or signs[k][j] != 0]
    slope = {(k, j): mp.mpf(l1) * int(signs[k][j]) for k, j in free if j < p} if signs is not None else {}
    place = {at: a for a, at in enumerate(free)}
    w = {at: mp.mpf(0) for at in free}
    l2 = mp.mpf(l2)
    for _ in range(60):
        value = sum(l2 / 2 * v**2 for (k, j), v in w.items() if j < p) + sum(v * w[at] for at, v in slope.items())
        g = mp.matrix(len(free), 1)
        H = mp.matrix(len(free), len(free))
        for (k, j), v in w.items():
            g[place[k, j]] += slope.get((k, j), 0)
            if j < p:
                g[place[k, j]] += l2 * v
                H[place[k, j], place[k, j]] += l2
        for i in range(n):
            z = [sum(w.get((k, j), mp.mpf(0)) * x[i][j] for j in range(p + 1)) for k in range(classes)]
            e = [mp.exp(v) for v in z]
            total = sum(e)
            q = [v / total for v in e]
            value += mp.log(total) - z[y[i]]
            for k, j in free:
                a = place[k, j]
                g[a] += (q[k] - (y[i] == k)) * x[i][j]
                for m, h in free:
                    if place[m, h] <= a:
                        H[a, place[m, h]] += q[k] * ((k == m) - q[m]) * x[i][j] * x[i][h]
        for a in range(len(free)):
            for c in range(a):
                H[c, a] = H[a, c]
        if mp.norm(g) < mp.mpf(10) ** -35:
            break
        step = mp.lu_solve(H, g)
        for at in free:
            w[at] -= step[place[at]]
    else:
        msg = "Newton's method did not settle"
        raise ArithmeticError(msg)
    for at, v in slope.items():
        assert v * w[at] > 0
    for k, j in [] if signs is None else every:
        if (k, j) not in place and not (classes == 2 and k == 0):
            q = [_probabilities(w, x[i], classes)[k] - (y[i] == k) for i in range(n)]
            assert abs(sum(v * x[i][j] for i, v in enumerate(q))) <= l1
    return value


def _probabilities(w, x, classes):
    e = [mp.exp(sum(w.get((k, j), mp.mpf(0)) * v for j, v in enumerate(x))) for k in range(classes)]
    return [v / sum(e) for v in e]
