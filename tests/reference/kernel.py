"""Slow twins of the kernel family, from the formulas."""

import numpy as np
from scipy.optimize import minimize


def polynomial(x, z, gamma, coef0, degree):
    return (gamma * float(x @ z) + coef0) ** degree


def monomial_sum(x, z, degree):
    return sum(float(x @ z) ** k for k in range(degree + 1))


def gaussian(x, z, gamma):
    return np.exp(-gamma * float((x - z) @ (x - z)))


def laplacian(x, z, gamma):
    return np.exp(-gamma * float(np.abs(x - z).sum()))


def sigmoid(x, z, gamma, coef0):
    return np.tanh(gamma * float(x @ z) + coef0)


def cosine(x, z):
    size = np.linalg.norm(x) * np.linalg.norm(z)
    return float(x @ z) / size if size else 0.0


def gram(k, X, Z):
    return np.array([[k(x, z) for z in Z] for x in X])


def svc_dual(K, y, C):
    """Largest sum(a) - 1/2 sum a a' y y' K over 0 <= a <= C, sum a y = 0, by a general solver."""
    Q = np.outer(y, y) * K
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(len(y)),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, c) for c in np.broadcast_to(C, len(y))],
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return -found.fun


def svr_primal(K, beta, b, y, C, epsilon):
    f = K @ beta + b
    return 0.5 * beta @ K @ beta + C * np.maximum(np.abs(y - f) - epsilon, 0).sum()


def least_mean_squares(K, y, step, iterations):
    """beta := beta + a (y - K beta), one step at a time."""
    beta = np.zeros_like(y)
    losses = [float(y @ y)]
    for _ in range(iterations):
        beta = beta + step * (y - K @ beta)
        losses.append(float((y - K @ beta) @ (y - K @ beta)))
    return beta, losses
