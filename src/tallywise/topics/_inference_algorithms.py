"""The two ways of learning: sweeps over collapsed counts, and steps of variational Bayes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import digamma, gammaln
from sklearn.preprocessing import normalize

from tallywise import _arrays
from tallywise._arrays import Matrix
from tallywise._native import CollapsedTopics, Documents, FoldDouble, GibbsTopics, prior_sums, topic_log_likelihoods
from tallywise.topics._perplexity import FoldLimits

Array = NDArray[np.float64]

ROUND = 10  # sweeps between looks at the likelihood, prior updates and samples
FIRST_UPDATE = 20  # sweeps before the priors are first learned: sooner, the topics are still noise


def seed_topics(X: Matrix, K: int, random: np.random.Generator, threads: int = 1) -> NDArray[np.float32]:
    """Initial topics (words x K): the words of one document each, plus noise.

    On KOS this saves twenty sweeps against random responsibilities, and varies half as much with the seed.
    """
    topic = random.random((X.shape[1], K), dtype=np.float32) * 2
    X = sp.csr_matrix(X)
    for k, d in enumerate(_spread_documents(X, K, random, threads)):
        words = slice(X.indptr[d], X.indptr[d + 1])
        topic[X.indices[words], k] += X.data[words]
    return np.asarray(topic / topic.sum(axis=0), dtype=np.float32)


def _spread_documents(X: sp.csr_matrix, K: int, random: np.random.Generator, threads: int) -> NDArray[np.int64]:
    """K dissimilar documents: greedy k-means++ on the cosines of square roots of counts.

    Documents drawn evenly leave topics without a seed: with 20 known topics, two of them then usually share one.
    """
    full = np.flatnonzero(np.diff(X.indptr))
    if full.size <= K:
        return np.asarray(random.choice(full, K) if full.size else full, dtype=np.int64)
    pool = random.permutation(full)[: max(2000, 4 * K)]
    units = Documents(_arrays.rows(normalize(X[pool].astype(np.float32).sqrt())))
    at_once = max(1, K // 32)  # many topics are chosen in 32 rounds or so
    tries = 2 + int(np.log(K)) if at_once == 1 else 2
    distance = np.ones(pool.size)
    chosen: list[int] = []
    while len(chosen) < K:
        weight = np.maximum(distance, 1e-6) ** 2
        fresh = random.choice(pool.size, tries * at_once, p=weight / weight.sum())
        after = np.minimum(distance[:, None], np.maximum(1 - units.products(fresh, threads), 0))
        best = np.argsort((after**2).sum(axis=0), kind="stable")[: min(at_once, K - len(chosen))]
        chosen += fresh[best].tolist()
        distance = after[:, best].min(axis=1)
    return np.asarray(pool[chosen], dtype=np.int64)


class CollapsedFit:
    """A fit over collapsed counts that is under way. ``run`` goes on exactly where it stopped."""

    def __init__(
        self, method: str, X: Matrix, priors: tuple[Array, Array], *, learn_priors: bool, seed: int, threads: int
    ) -> None:
        self.alpha, self.beta = priors
        self.done = 0
        self.perplexity = np.nan
        self.history: list[tuple[int, float]] = []
        self.shape = X.shape
        self.tokens = float(X.sum())
        self._learn_priors = learn_priors
        self._threads = threads
        self._expected = method == "collapsed"
        self._sum: NDArray[np.float32] | None = None
        self._samples = 0
        design = _arrays.rows(X)
        make: Any = CollapsedTopics if self._expected else GibbsTopics
        self._native: Any = make(design, *self._native_priors(), seed)

    def start(self, share: Any, topic: Any) -> None:
        """First responsibilities, proportional to share (documents x K, or None) times topic (words x K)."""
        self._native.start(share, topic, self._threads)

    def run(self, sweeps: int, every: int, tell: Callable[["CollapsedFit"], bool], look: int = ROUND) -> None:
        """Sweep until `sweeps` in all are done or `tell`, called every `every`, `look` and ROUND sweeps, says so."""
        while self.done < sweeps:
            step = min(*(n - self.done % n for n in (ROUND, every, look)), sweeps - self.done)
            logs = self._native.run(step, self._threads)
            self.done += step
            self.perplexity = float(np.exp(-logs / self.tokens)) if self.tokens else np.nan
            self.history.append((self.done, self.perplexity))
            if self.done % ROUND == 0:
                self._sample()
                if self._learn_priors and self.done >= FIRST_UPDATE:
                    self._update_priors()
            if tell(self):
                break

    def word_topic(self) -> NDArray[np.float32]:
        """CollapsedFit, words x K: the mean of the later samples in Gibbs sampling, else the state."""
        if self._sum is not None:
            return self._sum / np.float32(self._samples)
        return np.asarray(self._native.word_topic())

    def document_topic(self) -> NDArray[np.float32]:
        """CollapsedFit, documents x K."""
        return np.asarray(self._native.document_topic())

    def assignments(self) -> NDArray[np.uint32]:
        """Topics of the tokens (Gibbs sampling)."""
        return np.asarray(self._native.assignments())

    def _sample(self) -> None:
        # The mean restarts at each power of two, so that it covers the later half or more of the sweeps without
        # knowing how many there will be.
        if self._expected:
            return
        counts = np.asarray(self._native.word_topic())
        if self._sum is None or (self.done // ROUND) & (self.done // ROUND - 1) == 0:
            self._sum, self._samples = counts, 1
        else:
            self._sum += counts
            self._samples += 1

    def _update_priors(self) -> None:
        topics = np.ascontiguousarray(np.asarray(self._native.word_topic()).T)
        documents = self.document_topic()
        for _ in range(2):
            sums = prior_sums(documents, self.alpha, self._expected, self._threads)
            if sums[-1] > 0:
                self.alpha = np.clip(self.alpha * sums[:-1] / sums[-1], 1e-5, 1e3)
        sums = prior_sums(topics, self.beta, self._expected, self._threads)
        # beta stays symmetric (or in proportion, where it was given by word): Wallach, Mimno and McCallum, NIPS 2009.
        if sums[-1] > 0:
            ratio = (self.beta * sums[:-1]).sum() / (self.beta.sum() * sums[-1])
            self.beta = np.clip(self.beta * ratio, 1e-6, 1e2)
        self._native.set_priors(*self._native_priors())

    def _native_priors(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self.alpha.astype(np.float32), self.beta.astype(np.float32)


def exp_mean_log(components: Any) -> Array:
    """exp(E[log phi]) of rows of Dirichlet parameters."""
    values = np.asarray(components, dtype=np.float64)
    return np.asarray(np.exp(digamma(values) - digamma(values.sum(axis=1, keepdims=True))))


class Variational:
    """E-steps of variational Bayes against fixed word weights (K x words)."""

    def __init__(self, weights: Any, alpha: Array, limits: FoldLimits) -> None:
        phi = np.ascontiguousarray(np.asarray(weights, dtype=np.float64).T)
        self._topics = FoldDouble(phi, np.ascontiguousarray(alpha, dtype=np.float64), True, limits.max_iter, limits.tol)
        self._phi = phi
        self._alpha = alpha
        self._threads = limits.threads

    def gamma(self, X: Matrix, start: Any = None) -> Array:
        """Dirichlet parameters of the documents' topics."""
        design = _arrays.rows(X)
        gamma = np.ones((design.lines, self._alpha.size)) if start is None else np.ascontiguousarray(start)
        self._topics.fold_in(design, gamma, self._threads)
        return gamma

    def statistics(self, X: Matrix, gamma: Array) -> Array:
        """Expected counts, K x words."""
        return np.asarray(self._topics.statistics(_arrays.rows(X), gamma, self._threads)).T

    def bounds(self, X: Matrix, gamma: Array) -> Array:
        """A lower bound on log p(document | phi, alpha) for each document."""
        mean_log = digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))
        fit = topic_log_likelihoods(_arrays.rows(X), np.exp(mean_log), self._phi, self._threads)
        kl = (
            gammaln(gamma.sum(axis=1))
            - gammaln(gamma).sum(axis=1)
            - gammaln(self._alpha.sum())
            + gammaln(self._alpha).sum()
            + ((gamma - self._alpha) * mean_log).sum(axis=1)
        )
        return np.asarray(fit - kl)
