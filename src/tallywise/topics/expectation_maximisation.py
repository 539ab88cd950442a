"""Topics by sums over documents: expectation-maximisation in passes, for collections that no memory holds.

With the topics phi and the prior alpha held fixed, every document gives its expected counts of words in topics; their
sum over all documents gives the next phi. The sums depend on phi and alpha alone, so they can be made wherever the
documents are, and made again. A document's theta is that of `LatentDirichletAllocation.transform` ("collapsed").
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays
from tallywise._arrays import Matrix
from tallywise._native import FoldDouble, prior_sums, topic_log_likelihoods
from tallywise.topics._inference_algorithms import seed_topics
from tallywise.topics._lda import LatentDirichletAllocation
from tallywise.topics._perplexity import FoldLimits, HeldOut, completion_logs, summarise

Array = NDArray[np.float64]
Sums = tuple[Array, Array, Array]

SAMPLE = 2000  # documents that the first topics are chosen from, or four a topic
_LIMITS = FoldLimits(max_iter=100, tol=1e-3, threads=1)
_FIRST_UPDATE = 2  # passes before the priors are first learned: sooner, the topics are still those of the start


class TopicState(NamedTuple):
    """Expected counts of words in topics (words x K) and the priors: all that a pass over documents needs."""

    counts: Array
    alpha: Array
    beta: float
    passes: int = 0

    @property
    def phi(self) -> Array:
        """Topics as distributions of words, words x K."""
        smoothed = self.counts + self.beta
        return np.asarray(smoothed / smoothed.sum(axis=0))


def first_state(sample: Any, K: int, tokens: float, seed: int) -> TopicState:
    """Topics from the words of K dissimilar documents of a sample (documents x words)."""
    topics = seed_topics(sample, K, np.random.default_rng(seed)).astype(np.float64)
    return TopicState(topics * (tokens / K), np.full(K, 1.0 / K), 1.0 / K)


def document_sums(X: Matrix, state: TopicState) -> Sums:
    """Sums over documents, which add: expected counts (words x K), what alpha is learned from, log likelihood.

    The log likelihood is that of all words given each document's theta: it grows with K, and judges no model.
    """
    fold = FoldDouble(state.phi, state.alpha, False, _LIMITS.max_iter, _LIMITS.tol)
    design = _arrays.rows(X)
    gamma = np.ones((design.lines, state.alpha.size))
    fold.fold_in(design, gamma, _LIMITS.threads)
    counts = np.asarray(fold.statistics(design, gamma, _LIMITS.threads))
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    logs = topic_log_likelihoods(design, theta, state.phi, _LIMITS.threads)
    own = np.ascontiguousarray(gamma - state.alpha, dtype=np.float32)
    return counts, np.asarray(prior_sums(own, state.alpha, True, _LIMITS.threads)), np.array([np.sum(logs)])


def next_state(state: TopicState, sums: Sums, *, learn_priors: bool) -> TopicState:
    """The state after a pass: phi from the expected counts, the priors by one step of their own fixed points."""
    counts, numerators, _ = sums
    alpha, beta, passes = state.alpha, state.beta, state.passes + 1
    if learn_priors and passes >= _FIRST_UPDATE:
        if numerators[-1] > 0:
            alpha = np.clip(alpha * numerators[:-1] / numerators[-1], 1e-5, 1e3)
        words = np.full(len(counts), beta)
        found = np.asarray(prior_sums(np.ascontiguousarray(counts.T, dtype=np.float32), words, True, 1))
        if found[-1] > 0:
            beta = float(np.clip(beta * found[:-1].sum() / (len(counts) * found[-1]), 1e-6, 1e2))
    return TopicState(counts, alpha, beta, passes)


def completion_sums(X: Matrix, state: TopicState, seed: Any) -> tuple[Array, Array]:
    """Document completion: log likelihoods of the predicted halves of documents, and their tokens."""
    return completion_logs(X, state.phi, state.alpha, _LIMITS, seed=seed)


def held_out(logs: Array, tokens: Array) -> HeldOut | None:
    """Held-out perplexity by document completion; None where no document has a token to predict."""
    return summarise("document completion", logs, tokens) if (tokens > 0).any() else None


def as_estimator(state: TopicState, history: list[tuple[int, float]], seed: int) -> LatentDirichletAllocation:
    """The estimator that `fit` would leave, but for the topics of its documents, which nobody has kept."""
    words, K = state.counts.shape
    model = LatentDirichletAllocation(K, max_iter=state.passes, random_state=seed)
    model._begin(sp.csr_matrix((0, words)))
    model.alpha_, model.beta_ = state.alpha, np.full(words, state.beta)
    model._show_priors()
    model.components_ = np.ascontiguousarray((state.counts + state.beta).T)
    model.theta_ = np.zeros((0, K))
    model.n_features_in_, model.n_iter_, model.history_ = words, state.passes, history
    model.bound_ = history[-1][1] if history else np.nan
    return model
