"""Naive Bayes as the page has it: loops over rows, classes and features, no tricks."""

import math

import numpy as np


def log(x):
    return math.log(x) if x > 0 else -math.inf


def priors(y, classes):
    return [log(np.mean(np.asarray(y) == c)) for c in classes]


def bernoulli(X, y, rows, alpha):
    """log P(c) + sum_j log P(x_j | c), with theta = (N_jc + alpha) / (N_c + 2 alpha)."""
    X, y, rows = np.asarray(X) > 0, np.asarray(y), np.asarray(rows) > 0
    classes = sorted(set(y.tolist()))
    scores = np.zeros((len(rows), len(classes)))
    prior = priors(y, classes)
    for k, c in enumerate(classes):
        theta = (X[y == c].sum(axis=0) + alpha) / ((y == c).sum() + 2 * alpha)
        for i, x in enumerate(rows):
            scores[i, k] = prior[k] + sum(log(t) if here else log(1 - t) for here, t in zip(x, theta, strict=True))
    return scores


def multinomial(X, y, rows, alpha):
    """log P(c) + sum_j x_j log theta_jc, with theta = (N_jc + alpha) / (N_c + alpha d)."""
    X, y, rows = np.asarray(X), np.asarray(y), np.asarray(rows)
    classes = sorted(set(y.tolist()))
    scores = np.zeros((len(rows), len(classes)))
    prior = priors(y, classes)
    for k, c in enumerate(classes):
        count = X[y == c].sum(axis=0)
        theta = (count + alpha) / (count.sum() + alpha * X.shape[1])
        for i, x in enumerate(rows):
            scores[i, k] = prior[k] + sum(a * log(t) for a, t in zip(x, theta, strict=True) if a > 0)
    return scores


def complement(X, y, rows, alpha):
    """- sum_j x_j log theta_jc, with theta from all classes but c."""
    X, y, rows = np.asarray(X), np.asarray(y), np.asarray(rows)
    classes = sorted(set(y.tolist()))
    scores = np.zeros((len(rows), len(classes)))
    for k, c in enumerate(classes):
        count = X[y != c].sum(axis=0) + alpha
        for i, x in enumerate(rows):
            scores[i, k] = -sum(a * log(t) for a, t in zip(x, count / count.sum(), strict=True) if a > 0)
    return scores


def categorical(X, y, rows, alpha):
    """log P(c) + sum_j log theta_jkc, k = x_j, with theta = (N_jkc + alpha) / (N_c + alpha K_j)."""
    X, y, rows = np.asarray(X), np.asarray(y), np.asarray(rows)
    classes = sorted(set(y.tolist()))
    scores = np.zeros((len(rows), len(classes)))
    prior = priors(y, classes)
    for k, c in enumerate(classes):
        for i, x in enumerate(rows):
            scores[i, k] = prior[k]
            for j, value in enumerate(x):
                K = X[:, j].max() + 1
                count = ((X[:, j] == value) & (y == c)).sum()
                scores[i, k] += log((count + alpha) / ((y == c).sum() + alpha * (K + (value >= K))))
    return scores


def gaussian(X, y, rows, alpha, shared=False):
    """log P(c) + sum_j log N(x_j; mu_jc, v_jc), with alpha times the largest variance added to each v."""
    X, y, rows = np.asarray(X, dtype=float), np.asarray(y), np.asarray(rows, dtype=float)
    classes = sorted(set(y.tolist()))
    scores = np.zeros((len(rows), len(classes)))
    epsilon = alpha * X.var(axis=0).max()
    within = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in classes) / len(X)
    prior = priors(y, classes)
    for k, c in enumerate(classes):
        mu = X[y == c].mean(axis=0)
        v = (within if shared else X[y == c].var(axis=0)) + epsilon
        for i, x in enumerate(rows):
            scores[i, k] = prior[k] + sum(
                -0.5 * math.log(2 * math.pi * s) - (a - m) ** 2 / (2 * s) for a, m, s in zip(x, mu, v, strict=True)
            )
    return scores
