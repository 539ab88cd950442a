"""Nearest neighbours from the definitions, slowly: all distances, then a sort by (distance, row)."""

import numpy as np


def distance(u, v, metric, p=2.0):
    """Distance of two vectors."""
    gap = np.abs(u - v)
    if metric == "manhattan":
        return gap.sum()
    if metric == "euclidean":
        return np.sqrt(np.square(gap).sum())
    if metric == "chebyshev":
        return gap.max()
    if metric == "minkowski":
        return np.sum(gap**p) ** (1 / p)
    if metric == "hamming":
        return np.mean(u != v)
    if metric == "jaccard":
        either = np.sum((u != 0) | (v != 0))
        return np.sum((u != 0) != (v != 0)) / either if either else 0.0
    lengths = np.linalg.norm(u), np.linalg.norm(v)
    if min(lengths) == 0:
        return 1.0
    return np.square(u / lengths[0] - v / lengths[1]).sum() / 2


def distances(Q, X, metric, p=2.0):
    """All of them, a row a query."""
    Q, X = np.asarray(Q, dtype=np.float64), np.asarray(X, dtype=np.float64)
    return np.array([[distance(u, v, metric, p) for v in X] for u in Q])


def nearest(D, k, own=None):
    """The k smallest of each row of D, ties by column; with `own`, column i is no neighbour of row i."""
    if own is not None:
        D = D.copy()
        D[np.arange(len(D)), own] = np.inf
    rows = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, rows, axis=1), rows


def vote(labels, weights):
    """Label with the largest weight, the first in sorted order of equals."""
    classes = sorted(set(labels))
    totals = [sum(w for label, w in zip(labels, weights, strict=True) if label == c) for c in classes]
    return classes[int(np.argmax(totals))]
