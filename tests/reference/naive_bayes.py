"""Naive Bayes as the page has it: loops over rows, classes and features, no tricks."""

import math

import numpy as np


def log(x):
    return math.log(x) if x > 0 else -math.inf


def times_log(a, x):
    return a * log(x) if a > 0 else 0.0


def joint(y, rows, likelihood_of, prior=True):
    """log P(c) + log P(x | c) of each row and class; likelihood_of(which rows have class c) gives x -> log P(x | c)."""
    classes = sorted(set(y.tolist()))
    scores = np.zeros((len(rows), len(classes)))
    for k, c in enumerate(classes):
        log_prior, log_likelihood = log(np.mean(y == c)) if prior else 0.0, likelihood_of(y == c)
        for i, x in enumerate(rows):
            scores[i, k] = log_prior + log_likelihood(x)
    return scores


def bernoulli(X, y, rows, alpha):
    """P(x | c) = prod_j theta^x_j (1 - theta)^(1 - x_j), with theta = (N_jc + alpha) / (N_c + 2 alpha)."""

    def likelihood(mine):
        theta = ((X[mine] > 0).sum(axis=0) + alpha) / (mine.sum() + 2 * alpha)
        return lambda x: sum(log(t) if a > 0 else log(1 - t) for a, t in zip(x, theta, strict=True))

    return joint(y, rows, likelihood)


def multinomial(X, y, rows, alpha):
    """P(x | c) = prod_j theta_jc^x_j, with theta = (N_jc + alpha_j) / sum_j (N_jc + alpha_j)."""

    def likelihood(mine):
        count = X[mine].sum(axis=0) + alpha
        return lambda x: sum(times_log(a, t) for a, t in zip(x, count / count.sum(), strict=True))

    return joint(y, rows, likelihood)


def complement(X, y, rows, alpha):
    """- sum_j x_j log theta_jc, with theta from all classes but c."""

    def likelihood(mine):
        count = X[~mine].sum(axis=0) + alpha
        return lambda x: -sum(times_log(a, t) for a, t in zip(x, count / count.sum(), strict=True))

    return joint(y, rows, likelihood, prior=False)


def poisson(X, y, rows, alpha):
    """P(x | c) ~ prod_j lambda_jc^x_j exp(-lambda_jc), with lambda = (N_jc + alpha) / (N_c + alpha)."""

    def likelihood(mine):
        rates = (X[mine].sum(axis=0) + alpha) / (mine.sum() + alpha)
        return lambda x: sum(times_log(a, rate) - rate for a, rate in zip(x, rates, strict=True))

    return joint(y, rows, likelihood)


def categorical(X, y, rows, alpha):
    """P(x | c) = prod_j theta_jkc, k = x_j, with theta = (N_jkc + alpha) / (N_c + alpha K_j)."""
    K = X.max(axis=0) + 1

    def likelihood(mine):
        def theta(j, k):
            return ((X[mine, j] == k).sum() + alpha) / (mine.sum() + alpha * (K[j] + (k >= K[j])))

        return lambda x: sum(log(theta(j, k)) for j, k in enumerate(x))

    return joint(y, rows, likelihood)


def gaussian(X, y, rows, alpha, shared=False):
    """P(x | c) = prod_j N(x_j; mu_jc, v_jc), with alpha times the largest variance added to each v."""
    epsilon = alpha * X.var(axis=0).max()
    within = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in set(y.tolist())) / len(X)

    def likelihood(mine):
        mu = X[mine].mean(axis=0)
        v = (within if shared else X[mine].var(axis=0)) + epsilon
        return lambda x: sum(
            -0.5 * math.log(2 * math.pi * s) - (a - m) ** 2 / (2 * s) for a, m, s in zip(x, mu, v, strict=True)
        )

    return joint(y, rows, likelihood)
