"""From text to probabilities with the same weights: many texts at once, and one message at a time."""

from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.problems import Problem, digest


def _model(texts: list[str], labels: np.ndarray, new: list[str]) -> dict[str, Any]:
    """Terms, idf and weights of a tf-idf classifier; the weights are random, because only scoring is timed."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(texts)
    classes = np.unique(labels)
    K = len(classes) if len(classes) > 2 else 1
    random = np.random.default_rng(0)
    return {
        "vectorizer": vectorizer,
        "classes": classes,
        "W": random.normal(0, 5, (len(vectorizer.vocabulary_), K)),
        "b": random.normal(0, 1, K),
        "new": new,
    }


def _batch() -> Any:
    texts, labels = datasets.newsgroups()
    return _model(texts, labels, datasets.newsgroups("test")[0])


def _messages() -> Any:
    texts, labels = datasets.sms()
    return _model(texts, labels, texts[:1000])


def _check(data: Any, P: Any) -> dict[str, Any]:
    return {"labels": digest(np.asarray(P).argmax(axis=1).astype(np.int64)), "texts": len(P)}


PROBLEMS = [
    Problem(
        "classify_batch",
        "text to probabilities, 7,532 posts, 20 classes",
        _batch,
        _check,
        goals={"sklearn": 15},
    ),
    Problem(
        "classify_one",
        "1,000 short messages, one at a time",
        _messages,
        _check,
        goals={"sklearn": 26},  # 15 us against 400
        threads=1,
    ),
]
