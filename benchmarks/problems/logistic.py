"""Logistic regression at equal objective."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.problems import Problem


@dataclass(frozen=True)
class Classes:
    """X, classes 0 .. K-1 and the penalty in scikit-learn's terms; without an intercept where a rival has none."""

    X: Any
    y: np.ndarray
    C: float
    l1_ratio: float = 0.0
    fit_intercept: bool = True

    @property
    def binary(self) -> bool:
        """Whether one weight vector says both classes."""
        return self.y.max() == 1


@functools.cache
def _newsgroups() -> tuple[Any, np.ndarray]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, groups = datasets.newsgroups()
    return TfidfVectorizer(sublinear_tf=True).fit_transform(texts), groups


def newsgroups() -> Classes:
    X, groups = _newsgroups()
    return Classes(X, np.unique(groups, return_inverse=True)[1], C=10)


def newsgroups_binary() -> Classes:
    X, groups = _newsgroups()
    return Classes(X, np.char.startswith(groups, "comp.").astype(int), C=10)


def newsgroups_binary_l1() -> Classes:
    X, groups = _newsgroups()
    return Classes(X, np.char.startswith(groups, "comp.").astype(int), C=10, l1_ratio=1, fit_intercept=False)


@functools.cache
def _pairs() -> tuple[Any, np.ndarray]:
    """All posts as words and pairs that occur twice: some 20,000 x 500,000."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    parts = [datasets.newsgroups(part) for part in ("train", "test")]
    texts = [text for part, _ in parts for text in part]
    groups = np.concatenate([labels for _, labels in parts])
    X = TfidfVectorizer(ngram_range=(1, 2), min_df=2).fit_transform(texts)
    return X, np.char.startswith(groups, "comp.").astype(int)


def pairs() -> Classes:
    return Classes(*_pairs(), C=10)


def pairs_l1() -> Classes:
    return Classes(*_pairs(), C=10, l1_ratio=1, fit_intercept=False)


def intents() -> Classes:
    from benchmarks.problems.margins import intents

    return Classes(*intents(), C=100)


def mnist() -> Classes:
    X, y = datasets.mnist()
    return Classes(X, y, C=0.1)


def a9a() -> Classes:
    X, y = datasets.svmlight("a9a")
    return Classes(X, (y > 0).astype(int), C=1)


def objective(data: Classes, result: tuple[Any, Any]) -> dict[str, Any]:
    """Objective and density of (coef, intercept), in float64."""
    W, b = (np.asarray(part, dtype=np.float64) for part in result)
    W = np.atleast_2d(W)
    Z = np.asarray(data.X @ W.T) + b
    if data.binary:
        Z = np.hstack([np.zeros_like(Z), Z])
    top = Z.max(axis=1)
    loss = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(len(Z)), data.y]
    penalty = data.l1_ratio * np.abs(W).sum() + (1 - data.l1_ratio) / 2 * (W**2).sum()
    return {"objective": float(loss.sum() + penalty / data.C), "nonzeros": int(np.count_nonzero(W))}


PROBLEMS = [
    Problem(
        name="logistic-news",
        title="Logistic regression, 20 classes, L2, 20newsgroups tf-idf",
        load=newsgroups,
        check=objective,
        goals={"sklearn": 4, "sklearn_default": 15},
    ),
    Problem(
        name="logistic-comp",
        title="Logistic regression, 2 classes, L2, 20newsgroups tf-idf",
        load=newsgroups_binary,
        check=objective,
        goals={"liblinear": 2},
    ),
    Problem(
        name="logistic-comp-l1",
        title="Logistic regression, 2 classes, L1, 20newsgroups tf-idf",
        load=newsgroups_binary_l1,
        check=objective,
        goals={"liblinear": 2, "celer": 4, "skglm": 4},
    ),
    Problem(
        name="logistic-pairs",
        title="Logistic regression, 2 classes, L2, 20newsgroups words and pairs",
        load=pairs,
        check=objective,
        goals={"liblinear": 5, "sklearn": 5},
        repeats=2,
    ),
    Problem(
        name="logistic-pairs-l1",
        title="Logistic regression, 2 classes, L1, 20newsgroups words and pairs",
        load=pairs_l1,
        check=objective,
        goals={"liblinear": 3},
        tolerance=1e-5,
        repeats=2,
    ),
    Problem(
        name="logistic-intents",
        title="Logistic regression, 77 classes, L2, C = 100, banking77 words, pairs and characters",
        load=intents,
        check=objective,
        goals={"sklearn": 12},
        tolerance=1e-5,
        repeats=1,
    ),
    Problem(
        name="logistic-a9a",
        title="Logistic regression, 2 classes, L2, a9a",
        load=a9a,
        check=objective,
    ),
    Problem(
        name="logistic-mnist",
        title="Logistic regression, 10 classes, L2, mnist",
        load=mnist,
        check=objective,
        goals={"sklearn": 3, "sklearnex": 3},
    ),
]
