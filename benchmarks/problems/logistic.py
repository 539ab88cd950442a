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
