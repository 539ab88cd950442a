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


def optimum(X, y, classes, l2, free=None):
    """The least value over W and b for l2 >= 0, by Newton's method in 50 digits.

    Class 0 has its intercept held at 0, and without a penalty (l2 = 0) its weights too, which costs nothing.
    """
    mp.mp.dps = 50
    n, p = X.shape
    x = [[mp.mpf(float(v)) for v in row] + [mp.mpf(1)] for row in X]
    free = [(k, j) for k in range(classes) for j in range(p + 1) if not (k == 0 and (j == p or l2 == 0))]
    place = {at: a for a, at in enumerate(free)}
    w = {at: mp.mpf(0) for at in free}
    l2 = mp.mpf(l2)
    for _ in range(60):
        value = sum(l2 / 2 * v**2 for (k, j), v in w.items() if j < p)
        g = mp.matrix(len(free), 1)
        H = mp.matrix(len(free), len(free))
        for (k, j), v in w.items():
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
            return value
        step = mp.lu_solve(H, g)
        for at in free:
            w[at] -= step[place[at]]
    msg = "Newton's method did not settle"
    raise ArithmeticError(msg)
