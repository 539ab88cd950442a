"""Topics of the stored texts: sizes, a map, words by relevance, documents."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.text import CountVectorizer
from tallywise.topics import LatentDirichletAllocation

RELEVANCES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_MOST_TEXTS = 20_000


def find_topics(rows: Sequence[tuple[int, str]], n_topics: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Fit topics and gather what the page shows."""
    step = max(1, -(-len(rows) // _MOST_TEXTS))
    kept = list(rows[::step])
    if len(kept) < max(10, n_topics):
        msg = f"{n_topics} topics need at least {max(10, n_topics)} texts. There are {len(kept)}."
        raise ValueError(msg)
    tell("counting words")
    vectorizer = CountVectorizer(stop_words="english", min_df=2 if len(kept) >= 50 else 1)
    X = vectorizer.fit_transform([text for _, text in kept])
    tell(f"finding {n_topics} topics")
    model = LatentDirichletAllocation(n_topics, random_state=0).fit(X)
    names = vectorizer.get_feature_names_out().tolist()
    theta = np.asarray(model.transform(X))
    words = {
        str(relevance): [[word for word, _ in topic] for topic in
                         model.topics(12, by="relevance", names=names, relevance=relevance)]
        for relevance in RELEVANCES
    }  # fmt: skip
    order = np.argsort(-theta, axis=0, kind="stable")[:8].T
    return {
        "texts": len(kept),
        "shares": theta.mean(axis=0).tolist(),
        "places": places(np.asarray(model.phi_)).tolist(),
        "words": words,
        "documents": [[[kept[i][0], float(theta[i, k])] for i in best] for k, best in enumerate(order.tolist())],
    }


def places(phi: NDArray[np.float64]) -> NDArray[np.float64]:
    """Topics in the plane, so that distances are near the Hellinger distances of their words (classical scaling).

    References
    ----------
    Torgerson (1952), Multidimensional scaling: I. Theory and method, Psychometrika 17.
    """
    root = np.sqrt(phi)
    squared = np.maximum(1 - root @ root.T, 0)
    K = len(phi)
    centre = np.eye(K) - 1 / K
    value, vector = np.linalg.eigh(-centre @ squared @ centre / 2)
    found = vector[:, ::-1][:, :2] * np.sqrt(np.maximum(value[::-1][:2], 0))
    if found.shape[1] < 2:
        found = np.column_stack([found, np.zeros(K)])
    return np.asarray(found)
