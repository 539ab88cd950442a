"""Margin losses and ordinal likelihoods from their formulas, and objectives to compare solvers by."""

import numpy as np
from scipy import stats


def margin_loss(name, y, z, epsilon=0.0):
    m, r = y * z, np.abs(y - z)
    formulas = {
        "hinge": np.maximum(0, 1 - m),
        "squared_hinge": np.maximum(0, 1 - m) ** 2,
        "modified_huber": np.where(m >= -1, np.maximum(0, 1 - m) ** 2, -4 * m),
        "epsilon_insensitive": np.maximum(0, r - epsilon),
        "squared_epsilon_insensitive": np.maximum(0, r - epsilon) ** 2,
        "huber": np.where(r <= epsilon, r**2 / 2, epsilon * r - epsilon**2 / 2),
    }
    return formulas[name]


def svm_objective(X, y, w, b, *, C=1.0, loss="squared_hinge", s=None, scaling=1.0, epsilon=0.0):
    """1/2 |w|^2 + 1/2 (b / scaling)^2 + C sum s l; scaling=None leaves the intercept free."""
    z = X @ w + b
    s = np.ones(len(y)) if s is None else s
    penalty = 0.5 * w @ w + (0.0 if scaling is None else 0.5 * (b / scaling) ** 2)
    return penalty + C * s @ margin_loss(loss, y, z, epsilon)


def crammer_singer_objective(X, codes, W, b, C=1.0):
    Z = X @ W.T + b
    own = Z[np.arange(len(codes)), codes]
    others = Z + 1.0
    others[np.arange(len(codes)), codes] -= 1.0
    return 0.5 * (W**2).sum() + 0.5 * (b**2).sum() + C * (others.max(axis=1) - own).sum()


DISTRIBUTIONS = {"logit": stats.logistic, "probit": stats.norm, "cloglog": stats.gumbel_l}


def ordinal_log_likelihood(link, X, codes, w, thresholds, s=None):
    F = DISTRIBUTIONS[link].cdf
    z = X @ w
    cuts = np.concatenate([[-np.inf], thresholds, [np.inf]])
    p = F(cuts[codes + 1] - z) - F(cuts[codes] - z)
    return (np.ones(len(codes)) if s is None else s) @ np.log(p)
