"""How many topics: held-out likelihood and coherence over a range of K."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from tallywise._arrays import Matrix, check_array
from tallywise.topics._lda import LatentDirichletAllocation
from tallywise.topics._perplexity import summarise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TopicChoice:
    """What ``choose_topics`` found. Printing it draws the curve; ``svg()`` gives it as a picture.

    Attributes
    ----------
    topics : ndarray of int
        The numbers of topics that were tried.
    perplexity : ndarray of shape (n, 3)
        Held-out perplexity: low end, estimate and high end of a 95 % interval over documents.
    coherence : ndarray of shape (n, 3)
        Mean NPMI over topics, likewise, the interval being over topics.
    best : int
        The smallest K whose perplexity, document by document, is not worse than the lowest one's by more than one
        standard error.
    estimator : str
        How perplexity was estimated.
    """

    topics: NDArray[np.int64]
    perplexity: Array
    coherence: Array
    best: int
    estimator: str

    def __str__(self) -> str:
        low, high = self.perplexity[:, 0].min(), self.perplexity[:, 2].max()
        width = 40
        place = np.round((self.perplexity - low) / max(high - low, 1e-300) * (width - 1)).astype(int)
        lines = [f"topics  perplexity ({self.estimator}, 95 % interval)  coherence (NPMI)"]
        for k, figures, (a, b, c), coherence in zip(self.topics, self.perplexity, place, self.coherence, strict=True):
            bar = [" "] * width
            bar[a : c + 1] = "-" * (c + 1 - a)
            bar[b] = "o"
            mark = " <- best" if k == self.best else ""
            lines.append(f"{k:6d}  {figures[1]:8.1f} |{''.join(bar)}|  {coherence[1]:+.3f}{mark}")
        return "\n".join(lines)

    def svg(self, width: int = 480, height: int = 280) -> str:
        """The perplexity curve with its intervals, as an SVG document."""
        left, right, top, bottom = 60, 15, 15, 40
        low, high = float(self.perplexity[:, 0].min()), float(self.perplexity[:, 2].max())
        first, last = float(self.topics.min()), float(self.topics.max())

        def x(k: float) -> str:
            return f"{left + (k - first) / max(last - first, 1e-300) * (width - left - right):.1f}"

        def y(p: float) -> str:
            return f"{top + (high - p) / max(high - low, 1e-300) * (height - top - bottom):.1f}"

        order = np.argsort(self.topics)
        points = [(float(self.topics[i]), self.perplexity[i].tolist()) for i in order]
        line = " ".join(f"{x(k)},{y(p[1])}" for k, p in points)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
            f'font-size="11"><rect width="{width}" height="{height}" fill="white"/>',
            f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/>',
        ]
        for k, (a, b, c) in points:
            colour = "#c0392b" if k == self.best else "#1f5fa8"
            parts.append(f'<line x1="{x(k)}" x2="{x(k)}" y1="{y(a)}" y2="{y(c)}" stroke="{colour}"/>')
            parts.append(f'<circle cx="{x(k)}" cy="{y(b)}" r="3" fill="{colour}"/>')
            parts.append(f'<text x="{x(k)}" y="{height - bottom + 16}" text-anchor="middle">{k:g}</text>')
        for p in (low, high):
            parts.append(f'<text x="{left - 6}" y="{y(p)}" text-anchor="end">{p:.0f}</text>')
        middle = (width + left) // 2
        parts.append(f'<text x="{middle}" y="{height - 6}" text-anchor="middle">topics</text>')
        parts.append(f'<text x="12" y="{height // 2}" transform="rotate(-90 12 {height // 2})">perplexity</text></svg>')
        return "\n".join(parts)


def choose_topics(
    X: Matrix,
    topics: Iterable[int],
    *,
    cv: int = 5,
    estimator: LatentDirichletAllocation | None = None,
    words: int = 10,
    random_state: int = 0,
) -> TopicChoice:
    """Compare numbers of topics by held-out perplexity.

    Each document is held out once: topics are learned from the other folds, half of its tokens are folded in and the
    other half predicted. All K see the same folds and the same halves, so that they are compared document by document.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts of words in documents.
    topics : iterable of int
        Numbers of topics to try, for example ``range(10, 101, 10)``.
    cv : int, default=5
        Number of folds, at least 2.
    estimator : LatentDirichletAllocation, optional
        The model whose settings are used.
    words : int, default=10
        Words per topic, for coherence.
    random_state : int, default=0
        Seed of folds, halves and fits.

    Returns
    -------
    TopicChoice

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.topics import choose_topics
    >>> X = np.kron(np.eye(3, dtype=int), np.full((12, 5), 4))
    >>> choose_topics(X, [1, 3], cv=3).best
    3
    """
    tried = np.array(sorted(set(topics)), dtype=np.int64)
    if tried.size == 0 or tried[0] < 1:
        msg = f"The 'topics' parameter of choose_topics must hold whole numbers > 0. Got {tried.tolist()}."
        raise ValueError(msg)
    X = sp.csr_matrix(check_array(X, accept_sparse="csr"))
    base = LatentDirichletAllocation() if estimator is None else estimator
    splits = list(KFold(cv, shuffle=True, random_state=random_state).split(X))
    logs = np.zeros((tried.size, X.shape[0]))
    tokens = np.zeros(X.shape[0])
    coherence = np.zeros((tried.size, 3))
    figures = []
    for i, k in enumerate(tried.tolist()):
        scores = []
        for train, test in splits:
            lda = clone(base).set_params(n_components=k, random_state=random_state).fit(X[train])
            found = lda.held_out(X[test], random_state=random_state)
            logs[i, test] = found.documents
            lengths = np.asarray(X[test].sum(axis=1), dtype=np.float64).ravel()
            tokens[test] = lengths - lengths // 2
            scores.append(lda.coherence(X[train], n=words))
        result = summarise(found.estimator, logs[i], tokens)
        figures.append([result.interval[0], result.perplexity, result.interval[1]])
        each = np.concatenate(scores)
        error = 1.96 * each.std() / np.sqrt(max(k, 1))
        coherence[i] = each.mean() - error, each.mean(), each.mean() + error
    lowest = int(np.argmax(logs.sum(axis=1)))
    losses = logs[lowest] - logs
    errors = losses.std(axis=1) * np.sqrt(X.shape[0])
    best = int(tried[np.flatnonzero(losses.sum(axis=1) <= errors)[0]])
    return TopicChoice(tried, np.array(figures), coherence, best, found.estimator)
