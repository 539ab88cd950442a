"""Slow twins of the topic models, written from the formulas."""

import itertools

import numpy as np
from scipy.special import digamma, gammaln


def cvb0(X, alpha, beta, gamma, sweeps):
    """Collapsed variational sweeps over a dense X, entry by entry; gamma is (documents, words, K)."""
    gamma = gamma.copy()
    for _ in range(sweeps):
        for d in range(len(X)):
            nk = (X[:, :, None] * gamma).sum((0, 1))
            for w in np.flatnonzero(X[d]):
                weighted = X[:, :, None] * gamma
                own = weighted[d, w]
                nd, nw = weighted[d].sum(0), weighted[:, w].sum(0)
                p = (nd - own + alpha) * (nw - own + beta[w]) / (nk + beta.sum())
                gamma[d, w] = p / p.sum()
    weighted = X[:, :, None] * gamma
    return weighted.sum(0), weighted.sum(1)


def log_joint(words, documents, z, alpha, beta):
    """The logarithm of p(w, z), theta and phi integrated out."""
    D, V, K = documents.max() + 1, beta.size, alpha.size
    nd, nw = np.zeros((D, K)), np.zeros((K, V))
    np.add.at(nd, (documents, z), 1)
    np.add.at(nw, (z, words), 1)
    total = 0.0
    for row in nd:
        total += gammaln(row + alpha).sum() - gammaln(row.sum() + alpha.sum())
    for row in nw:
        total += gammaln(row + beta).sum() - gammaln(row.sum() + beta.sum())
    return total


def posterior(words, documents, alpha, beta):
    """Every assignment of topics to tokens, with its probability given the words."""
    states = list(itertools.product(range(alpha.size), repeat=len(words)))
    logs = np.array([log_joint(words, documents, np.array(z), alpha, beta) for z in states])
    p = np.exp(logs - logs.max())
    return states, p / p.sum()


def e_step(X, weights, alpha, gamma, iterations):
    """Variational Bayes for documents, with word weights (K, V) fixed."""
    gamma = gamma.copy()
    for _ in range(iterations):
        e = np.exp(digamma(gamma) - digamma(gamma.sum(1, keepdims=True)))
        gamma = alpha + e * ((X / (e @ weights)) @ weights.T)
    return gamma


def log_probability(tokens, phi, alpha):
    """The logarithm of p(tokens | phi, alpha), by summing over all assignments."""
    total = 0.0
    for z in itertools.product(range(alpha.size), repeat=len(tokens)):
        counts = np.bincount(z, minlength=alpha.size)
        log_prior = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(tokens))
        log_prior += (gammaln(counts + alpha) - gammaln(alpha)).sum()
        total += np.exp(log_prior + np.log(phi[list(z), tokens]).sum())
    return np.log(total)


def generate(documents, length, alpha, phi, random):
    """Counts drawn from the model."""
    theta = random.dirichlet(alpha, size=documents)
    return np.array([random.multinomial(length, t @ phi) for t in theta])


def matched_cosine(phi, truth):
    """The mean cosine between true topics and the fitted ones that suit them best, one to one."""
    from scipy.optimize import linear_sum_assignment

    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (truth, phi)]
    cosines = unit[0] @ unit[1].T
    rows, columns = linear_sum_assignment(-cosines)
    return cosines[rows, columns].mean()
