"""How well topics predict documents that they were not learned from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays
from tallywise._arrays import Matrix
from tallywise._native import FoldFloat, left_to_right, topic_log_likelihoods

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FoldLimits:
    """Stopping rule and threads of fold-in."""

    max_iter: int
    tol: float
    threads: int


@dataclass(frozen=True)
class HeldOut:
    """Held-out log likelihood and the name of its estimator. Values of different estimators are not comparable.

    Attributes
    ----------
    estimator : str
        "document completion" or "left-to-right".
    log_likelihood : float
        Sum over the predicted tokens.
    tokens : float
        How many tokens were predicted.
    perplexity : float
        exp(-log_likelihood / tokens).
    interval : tuple of float
        95 % interval of the perplexity over the choice of documents.
    documents : ndarray
        Log likelihood of each document.
    """

    estimator: str
    log_likelihood: float
    tokens: float
    perplexity: float
    interval: tuple[float, float]
    documents: Array

    def __repr__(self) -> str:
        low, high = self.interval
        return f"HeldOut(perplexity={self.perplexity:.1f} ({low:.1f} to {high:.1f}), estimator={self.estimator!r})"


def ratio(sums: Array, tokens: Array) -> tuple[float, float]:
    """Mean over tokens from sums by document, and its standard error over documents (delta method)."""
    n, total = int((tokens > 0).sum()), float(tokens.sum())
    mean = float(sums.sum() / total)
    rest = sums - mean * tokens
    return mean, float(np.sqrt((rest**2).sum() * n / max(n - 1, 1)) / total)


def summarise(estimator: str, logs: Array, tokens: Array) -> HeldOut:
    """Token-weighted mean of log likelihoods, with its interval over documents."""
    if not (tokens > 0).any():
        msg = "No document has a token to predict."
        raise ValueError(msg)
    total = float(tokens.sum())
    mean, error = ratio(logs, tokens)
    with np.errstate(over="ignore"):
        edges = np.exp([-mean - 1.96 * error, -mean, -mean + 1.96 * error])
    return HeldOut(estimator, float(logs.sum()), total, float(edges[1]), (float(edges[0]), float(edges[2])), logs)


def split_tokens(X: Matrix, random_state: np.random.Generator) -> tuple[Any, Any]:
    """Halves of each document: its tokens are assigned at random to an observed and a predicted half.

    With counts that are not whole numbers, words are assigned instead of tokens.
    """
    X = sp.csr_matrix(X)
    X.sum_duplicates()
    seen = np.zeros(X.nnz)
    whole = bool((X.data == np.floor(X.data)).all())
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        counts = X.data[begin:end]
        if whole:
            n = counts.astype(np.int64)
            seen[begin:end] = random_state.multivariate_hypergeometric(n, int(n.sum()) // 2, method="marginals")
        else:
            first = random_state.permutation(end - begin) < (end - begin) // 2
            seen[begin:end] = np.where(first, counts, 0)
    halves = []
    for data in (seen, X.data - seen):
        half = sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape, copy=True)
        half.eliminate_zeros()
        halves.append(half)
    return halves[0], halves[1]


def fold_in(X: Matrix, phi: Any, alpha: Any, limits: FoldLimits) -> NDArray[np.float32]:
    """Counts of topics in each document plus prior, by expectation-maximisation with phi (words x K) held fixed."""
    prior = np.ascontiguousarray(alpha, dtype=np.float32)
    design = _arrays.rows(X)
    gamma = np.ones((design.lines, prior.size), dtype=np.float32)
    topics = FoldFloat(np.ascontiguousarray(phi, dtype=np.float32), prior, False, limits.max_iter, limits.tol)
    topics.fold_in(design, gamma, limits.threads)
    return gamma


def completion_logs(X: Matrix, phi: Array, alpha: Array, limits: FoldLimits, *, seed: Any) -> tuple[Array, Array]:
    """Document by document: log likelihood of the half of its tokens that the other half predicts, and their number."""
    seen, hidden = split_tokens(X, np.random.default_rng(seed))
    gamma = fold_in(seen, phi, alpha, limits).astype(np.float64)
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    logs = topic_log_likelihoods(_arrays.rows(hidden), theta, np.ascontiguousarray(phi), limits.threads)
    return np.asarray(logs), np.asarray(hidden.sum(axis=1), dtype=np.float64).ravel()


def completion(X: Matrix, phi: Array, alpha: Array, limits: FoldLimits, *, seed: int) -> HeldOut:
    """Document completion: theta from half of each document's tokens predicts the other half."""
    return summarise("document completion", *completion_logs(X, phi, alpha, limits, seed=seed))


def sequential(X: Matrix, phi: Array, alpha: Array, limits: FoldLimits, *, seed: int, particles: int) -> HeldOut:
    """Left-to-right: each token predicted from those before it, with the topics of those resampled."""
    topics, prior = np.ascontiguousarray(phi), np.ascontiguousarray(alpha)
    logs = left_to_right(_arrays.rows(X), topics, prior, particles, seed, limits.threads)
    return summarise("left-to-right", logs, np.asarray(X.sum(axis=1), dtype=np.float64).ravel())
