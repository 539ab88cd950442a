"""Interpretation of topics: top words, coherence, correlation, similar documents, labels."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from tallywise._arrays import Matrix

Array = NDArray[np.float64]
Words = list[tuple[str, float]]


class ReadingMixin:
    """Ways to read fitted topics; needs ``components_``, ``theta_``, ``alpha_`` and ``beta_``."""

    n_components: int
    transform: Any
    components_: Any
    doc_topic_prior_: Any
    theta_: Any
    alpha_: Array
    beta_: Array

    @property
    def phi_(self) -> Array:
        """Word distribution of each topic, K x words."""
        components = np.asarray(self.components_, dtype=np.float64)
        return np.asarray(components / components.sum(axis=1, keepdims=True))

    @property
    def topic_shares_(self) -> Array:
        """Share of the tokens that each topic holds."""
        counts = np.maximum(np.asarray(self.components_, dtype=np.float64) - self.beta_, 0).sum(axis=1)
        return np.asarray(counts / counts.sum() if counts.sum() > 0 else self.alpha_ / self.alpha_.sum())

    def topics(
        self,
        n: int = 10,
        by: str = "probability",
        *,
        names: Sequence[str] | None = None,
        relevance: float = 0.6,
        exclusivity: float = 0.5,
    ) -> list[Words]:
        """The n highest-ranked words of each topic, with their scores.

        Parameters
        ----------
        n : int
            Words per topic.
        by : {"probability", "relevance", "frex"}
            probability is phi. relevance is ``relevance * log phi + (1 - relevance) * log(phi / p(word))`` (Sievert and
            Shirley 2014). frex is the harmonic mean of the ranks of frequency and exclusivity, the latter with weight
            ``exclusivity`` (Bischof and Airoldi 2012).
        names : sequence of str, optional
            The vocabulary; ``feature_names_in_`` by default.
        relevance, exclusivity : float in [0, 1]
            See ``by``.

        Returns
        -------
        list of list of (word, score)
        """
        phi = self.phi_
        for parameter, value in (("relevance", relevance), ("exclusivity", exclusivity)):
            if not 0 <= value <= 1:
                msg = f"The '{parameter}' parameter of topics must be in [0, 1]. Got {value}."
                raise ValueError(msg)
        if by == "probability":
            scores = phi
        elif by == "relevance":
            overall = self.topic_shares_ @ phi
            scores = np.log(phi) - (1 - relevance) * np.log(overall)
        elif by == "frex":
            exclusive = phi / phi.sum(axis=0)
            ranks = [np.apply_along_axis(rankdata, 1, values) / phi.shape[1] for values in (exclusive, phi)]
            scores = 1 / (exclusivity / ranks[0] + (1 - exclusivity) / ranks[1])
        else:
            msg = f"The 'by' parameter of topics must be 'probability', 'relevance' or 'frex'. Got {by!r}."
            raise ValueError(msg)
        vocabulary = self._vocabulary(names)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return [
            [(vocabulary[w], float(row[w])) for w in best] for row, best in zip(scores, order.tolist(), strict=True)
        ]

    def coherence(
        self,
        X: Matrix | None = None,
        measure: str = "npmi",
        *,
        n: int = 10,
        texts: Any = None,
        window: int = 110,
        names: Sequence[str] | None = None,
    ) -> Array:
        """How often the n most probable words of each topic occur together in reference texts.

        Parameters
        ----------
        X : matrix of counts, optional
            Reference documents: words co-occur when they are in one document.
        measure : {"npmi", "c_v"}
            npmi is the mean over pairs of log(p_ij / (p_i p_j)) / -log p_ij, in [-1, 1]. c_v is the mean cosine of each
            word's vector of npmi with the sum of all n vectors (Röder, Both and Hinneburg 2015).
        n : int
            Words per topic.
        texts : list of list of str, optional
            Tokens in order, instead of X: words co-occur when they are in one window.
        window : int
            Tokens per window.
        names : sequence of str, optional
            The vocabulary, for `texts`; ``feature_names_in_`` by default.

        Returns
        -------
        ndarray of shape (K,)
        """
        if measure not in ("npmi", "c_v"):
            msg = f"The 'measure' parameter of coherence must be 'npmi' or 'c_v'. Got {measure!r}."
            raise ValueError(msg)
        if (X is None) == (texts is None):
            msg = "Coherence needs reference documents: give either X or texts."
            raise ValueError(msg)
        phi = self.phi_
        best = np.argsort(-phi, axis=1, kind="stable")[:, :n]
        used, inverse = np.unique(best, return_inverse=True)
        present = _windows(texts, self._vocabulary(names), used, window) if X is None else sp.csc_matrix(X)[:, used] > 0
        present = sp.csr_matrix(present, dtype=np.float64)
        joint = (present.T @ present).toarray() / max(present.shape[0], 1)
        return np.array([_coherence(joint[np.ix_(words, words)], measure) for words in inverse.reshape(best.shape)])

    def correlation(self, X: Matrix | None = None) -> Array:
        """Correlation of the topics' shares over documents (those of the fit, or of X), K x K."""
        theta = np.asarray(self.theta_ if X is None else self.transform(X), dtype=np.float64)
        centred = theta - theta.mean(axis=0)
        scale = np.sqrt((centred**2).sum(axis=0))
        scale[scale == 0] = np.inf
        result = (centred / scale).T @ (centred / scale)
        np.fill_diagonal(result, 1.0)
        return np.asarray(np.clip(result, -1, 1))

    def nearest_documents(self, X: Matrix, n: int = 5, reference: Any = None) -> tuple[Array, NDArray[np.int64]]:
        """Documents (those of the fit, or of `reference`) with the nearest topics, by Hellinger distance.

        Returns
        -------
        distances, indices : ndarrays of shape (n_samples, n)
        """
        own = np.sqrt(np.asarray(self.transform(X), dtype=np.float64))
        theta = self.theta_ if reference is None else self.transform(reference)
        affinity = own @ np.sqrt(np.asarray(theta, dtype=np.float64)).T
        distances = np.sqrt(np.maximum(1 - affinity, 0))
        order = np.argsort(distances, axis=1, kind="stable")[:, :n]
        return np.take_along_axis(distances, order, axis=1), order

    def merge_topics(self, *groups: Sequence[int]) -> Self:
        """A copy in which each group of topics is merged into its first member.

        Counts and priors add up; everything that is derived from them follows.
        """
        K = self.components_.shape[0]
        members = [k for group in groups for k in group]
        if any(not 0 <= k < K for k in members) or len(set(members)) < len(members):
            msg = f"Groups must be disjoint lists of topics in [0, {K}). Got {[list(group) for group in groups]}."
            raise ValueError(msg)
        home = np.arange(K)
        for group in groups:
            home[list(group)] = group[0]
        kept, place = np.unique(home, return_inverse=True)
        gather = np.zeros((len(kept), K))
        gather[place, np.arange(K)] = 1
        merged = deepcopy(self)
        counts = np.asarray(self.components_, dtype=np.float64) - self.beta_
        merged.components_ = (gather @ counts + self.beta_).astype(self.components_.dtype)
        merged.theta_ = (np.asarray(self.theta_) @ gather.T).astype(self.components_.dtype)
        merged.alpha_ = gather @ self.alpha_
        merged.doc_topic_prior_ = merged.alpha_
        merged.n_components = len(kept)
        return merged

    def labels(self, phrases: Any, names: Sequence[str] | None = None, n: int = 1) -> list[list[str]]:
        """The n most indicative phrases of each topic.

        A phrase scores p(phrase | topic) log(p(phrase | topic) / p(phrase)): frequent in the topic's documents, and
        more so than elsewhere.

        Parameters
        ----------
        phrases : list of str, or matrix of counts
            The documents of the fit: their texts, in which pairs and triples of words that occur in five documents or
            more are phrases, or counts of phrases with `names`.
        names : sequence of str, optional
            The columns of `phrases`.
        n : int
            Phrases per topic.
        """
        if names is None:
            from sklearn.feature_extraction.text import CountVectorizer

            least = min(5, max(1, len(phrases) // 20))
            vectorizer = CountVectorizer(ngram_range=(2, 3), stop_words="english", min_df=least)
            phrases = vectorizer.fit_transform(phrases)
            names = vectorizer.get_feature_names_out()
        counts = sp.csr_matrix(phrases, dtype=np.float64)
        theta = np.asarray(self.theta_, dtype=np.float64)
        if counts.shape != (theta.shape[0], len(names)):
            msg = f"Phrases must be counted in the {theta.shape[0]} documents of the fit. Got shape {counts.shape}."
            raise ValueError(msg)
        within = np.asarray(counts.T @ theta).T
        overall = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
        within /= np.maximum(within.sum(axis=1, keepdims=True), 1e-300)
        overall /= max(overall.sum(), 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(within > 0, within * np.log(within / overall), -np.inf)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return [[str(names[j]) for j in best] for best in order.tolist()]

    def _vocabulary(self, names: Sequence[str] | None) -> list[str]:
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        words = self.components_.shape[1]
        if names is None:
            return [str(j) for j in range(words)]
        if len(names) != words:
            msg = f"The 'names' parameter must name {words} words. Got {len(names)}."
            raise ValueError(msg)
        return [str(name) for name in names]


def _coherence(joint: Array, measure: str) -> float:
    """Coherence of one topic from the probabilities that two words (a word, on the diagonal) are in a window."""
    tiny = 1e-12
    single = np.diag(joint)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log((joint + tiny) / np.outer(single, single)) / -np.log(joint + tiny)
    npmi[~np.isfinite(npmi)] = 0  # a word absent from the reference counts 0
    npmi = np.clip(npmi, -1, 1)
    if measure == "npmi":
        pairs = npmi[np.triu_indices(len(single), 1)]
        return float(pairs.mean()) if pairs.size else 0.0
    total = npmi.sum(axis=0)
    norms = np.linalg.norm(npmi, axis=1) * np.linalg.norm(total)
    return float(np.divide(npmi @ total, norms, out=np.zeros(len(norms)), where=norms > 0).mean())


def _windows(texts: Any, vocabulary: list[str], used: NDArray[np.int64], window: int) -> Any:
    """Windows x used words: 1 where the word is in the window."""
    column = {vocabulary[w]: j for j, w in enumerate(used.tolist())}
    rows, columns, count = [], [], 0
    for tokens in texts:
        found = [(i, column[token]) for i, token in enumerate(tokens) if token in column]
        last = max(len(tokens) - window, 0)
        for i, j in found:
            begin, end = max(i - window + 1, 0), min(i, last)
            rows.append(np.arange(count + begin, count + end + 1))
            columns.append(np.full(end - begin + 1, j))
        count += last + 1
    if not rows:
        return sp.csr_matrix((count, len(used)))
    ones = np.ones(sum(map(len, rows)))
    return sp.csr_matrix((ones, (np.concatenate(rows), np.concatenate(columns))), shape=(count, len(used))) > 0
