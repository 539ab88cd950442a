"""Penalised linear models from their formulas: accelerated proximal gradient in extended precision, slow and sure."""

import numpy as np


def objective(X, y, w, b, s, l1, l2, loss="squared_error"):
    """sum s_i l(y_i, z_i) + l1 |w|_1 + l2/2 |w|^2."""
    z = X @ w + b
    each = 0.5 * (z - y) ** 2 if loss == "squared_error" else np.logaddexp(np.longdouble(0), -y * z)
    return float(s @ each + l1 * np.abs(w).sum() + 0.5 * l2 * w @ w)


def minimise(X, y, s, l1, l2, *, loss="squared_error", fit_intercept=True, positive=False, rounds=20000):
    """w and b of the minimum, by FISTA with restarts."""
    X, y, s = (np.asarray(a, dtype=np.longdouble) for a in (X, y, s))
    A = np.column_stack([X, np.ones(len(y))]) if fit_intercept else X
    p = X.shape[1]
    smooth = 1.0 if loss == "squared_error" else 0.25
    step = 1 / (smooth * np.linalg.norm((np.sqrt(s)[:, None] * A).astype(float), 2) ** 2 + l2)

    def gradient(v):
        z = A @ v
        g = A.T @ (s * (z - y if loss == "squared_error" else -y / (1 + np.exp(y * z))))
        g[:p] += l2 * v[:p]
        return g

    def prox(v):
        out = v.copy()
        if positive:
            out[:p] = np.maximum(v[:p] - step * l1, 0)
        else:
            out[:p] = np.sign(v[:p]) * np.maximum(np.abs(v[:p]) - step * l1, 0)
        return out

    v = ahead = np.zeros(A.shape[1], dtype=np.longdouble)
    t = 1.0
    for _ in range(rounds):
        new = prox(ahead - step * gradient(ahead))
        if (ahead - new) @ (new - v) > 0:
            t, ahead = 1.0, v
            new = prox(v - step * gradient(v))
        if np.abs(new - v).max() <= 1e-19 * max(1, np.abs(new).max()):
            break
        grown = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / grown * (new - v)
        v, t = new, grown
    return v[:p], (v[p] if fit_intercept else np.longdouble(0))
