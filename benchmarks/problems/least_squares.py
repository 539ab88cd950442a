"""Least squares and L1 paths at equal objective."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.problems import Problem


@dataclass(frozen=True)
class Regression:
    """X by rows and by columns, targets, and the penalty in scikit-learn's terms."""

    X: Any
    columns: Any
    y: np.ndarray
    alpha: float
    l1_ratio: float = 1.0


@dataclass(frozen=True)
class Path:
    """X by rows and by columns, targets -1 and +1, and the inverse strengths of an L1 penalty, rising."""

    X: Any
    columns: Any
    y: np.ndarray
    Cs: np.ndarray


@functools.cache
def _newsgroups() -> tuple[Any, Any, np.ndarray]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, groups = datasets.newsgroups()
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    return X, X.tocsc(), np.where(np.char.startswith(groups, "comp."), 1.0, -1.0)


def _top(X: Any, y: np.ndarray) -> float:
    return float(np.abs(X.T @ (y - y.mean())).max())


def lasso() -> Regression:
    X, columns, y = _newsgroups()
    return Regression(X, columns, y, alpha=_top(X, y) / len(y) / 100)


def elastic_net() -> Regression:
    X, columns, y = _newsgroups()
    return Regression(X, columns, y, alpha=_top(X, y) / len(y) / 50, l1_ratio=0.5)


def ridge() -> Regression:
    X, columns, y = _newsgroups()
    return Regression(X, columns, y, alpha=1.0)


def spambase() -> Regression:
    X, y = datasets.spambase()
    X = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    y = np.where(y == 1, 1.0, -1.0)
    return Regression(X, X, y, alpha=_top(X, y) / len(y) / 50, l1_ratio=0.5)


def cubic() -> Regression:
    """Products of up to three of eight skewed, dependent columns, as of a census of houses: columns nearly repeat."""
    from sklearn.preprocessing import PolynomialFeatures

    rng = np.random.default_rng(0)
    depend = rng.normal(size=(8, 8)) / np.sqrt(8)
    base = np.exp(0.5 * rng.normal(size=(20_640, 8)) @ (np.eye(8) + depend))
    y = np.log1p(base[:, 0]) + 0.2 * base[:, 1] / (1 + base[:, 2]) + 0.5 * rng.normal(size=len(base))
    X = PolynomialFeatures(3, include_bias=False).fit_transform((base - base.mean(axis=0)) / base.std(axis=0))
    X = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    return Regression(X, X, y - y.mean(), alpha=0.001)


def l1_path() -> Path:
    """A hundred strengths, from the first weight that moves to a hundredth of that."""
    X, columns, y = _newsgroups()
    return Path(X, columns, y, Cs=2 / np.geomspace(_top(X, y), _top(X, y) / 100, 100))


def objective(data: Regression, result: tuple[Any, Any]) -> dict[str, Any]:
    """Mean squared error over two plus penalty, of (w, b)."""
    w, b = np.asarray(result[0], dtype=np.float64).ravel(), float(np.ravel(result[1])[0])
    r = data.y - data.X @ w - b
    penalty = data.l1_ratio * np.abs(w).sum() + (1 - data.l1_ratio) / 2 * w @ w
    return {"objective": float(r @ r / (2 * len(r)) + data.alpha * penalty), "nonzeros": int(np.count_nonzero(w))}


def ridge_objective(data: Regression, result: tuple[Any, Any]) -> dict[str, Any]:
    w, b = np.asarray(result[0], dtype=np.float64).ravel(), float(np.ravel(result[1])[0])
    r = data.y - data.X @ w - b
    return {"objective": float(r @ r + data.alpha * w @ w)}


def path_objective(data: Path, result: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Sum over the path of each objective over its best possible value's size: log-loss plus |w| / C."""
    total = 0.0
    for C, (w, b) in zip(data.Cs, result, strict=True):
        w = np.asarray(w, dtype=np.float64).ravel()
        z = data.X @ w + float(np.ravel(b)[0])
        total += float(np.logaddexp(0, -data.y * z).sum() + np.abs(w).sum() / C)
    return {"objective": total, "nonzeros": int(np.count_nonzero(w))}


PROBLEMS = [
    Problem(
        name="lasso-news",
        title="Lasso, 20newsgroups tf-idf",
        load=lasso,
        check=objective,
        goals={"celer": 2},
    ),
    Problem(
        name="enet-news",
        title="Elastic net, 20newsgroups tf-idf",
        load=elastic_net,
        check=objective,
        goals={"celer": 2},
    ),
    Problem(
        name="enet-spambase",
        title="Elastic net, spambase",
        load=spambase,
        check=objective,
    ),
    Problem(
        name="lasso-cubic",
        title="Lasso, 20,640 x 164: products of eight columns",
        load=cubic,
        check=objective,
        goals={"sklearn": 20},
        tolerance=1e-5,
    ),
    Problem(
        name="ridge-news",
        title="Ridge regression, 20newsgroups tf-idf",
        load=ridge,
        check=ridge_objective,
        goals={"sklearn": 2},
    ),
    Problem(
        name="l1-path-news",
        title="Logistic regression, L1 path of 100 values, 20newsgroups tf-idf",
        load=l1_path,
        check=path_objective,
        goals={"skglm": 5, "liblinear": 5},
        repeats=2,
    ),
]
