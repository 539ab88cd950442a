"""Linear support vector machines, the perceptron, ordered levels."""

import functools
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.problems import Problem


@functools.cache
def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer().fit(datasets.newsgroups()[0])


@functools.cache
def newsgroups(part: str = "train") -> tuple[Any, np.ndarray]:
    texts, labels = datasets.newsgroups(part)
    return _vectorizer().transform(texts), np.unique(labels, return_inverse=True)[1]


def newsgroups_length() -> tuple[Any, np.ndarray]:
    """The logarithm of a post's length, from its words."""
    texts, _ = datasets.newsgroups()
    length = np.log([len(text) for text in texts])
    return newsgroups()[0], (length - length.mean()) / length.std()


@functools.cache
def intents() -> tuple[Any, np.ndarray]:
    """Short questions of 77 classes, as words, pairs and pieces of words: thousands of rows, ten times as wide."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union

    texts, labels = datasets.banking()
    chosen = np.random.default_rng(0).permutation(len(texts))[:6400]
    features = make_union(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5))
    )
    X = features.fit_transform([texts[i] for i in chosen]).tocsr()
    return X, np.unique(labels[chosen], return_inverse=True)[1]


@functools.cache
def clothing() -> tuple[Any, np.ndarray]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, stars = datasets.clothing()
    return TfidfVectorizer(ngram_range=(1, 2)).fit_transform(texts), stars


def svc_check(loss: str) -> Any:
    """Figures of coefficients (K x p) and intercepts, penalised, C = 1."""

    def check(data: Any, result: Any) -> dict[str, Any]:
        X, y = data
        W, b = result
        signs = np.where(y[:, None] == np.arange(len(W)), 1, -1) if len(W) > 1 else np.where(y > 0, 1, -1)[:, None]
        hinge = np.maximum(0, 1 - signs * (X @ W.T + b))
        losses = (hinge**2 if loss == "squared_hinge" else hinge).sum()
        return {"objective": float(0.5 * (W**2).sum() + 0.5 * (b**2).sum() + losses)}

    return check


def svr_check(data: Any, result: Any) -> dict[str, Any]:
    X, y = data
    w, b = result
    losses = np.maximum(0, np.abs(X @ w + b - y) - 0.1).sum()
    return {"objective": float(0.5 * w @ w + 0.5 * b**2 + losses)}


def ordinal_check(data: Any, result: Any) -> dict[str, Any]:
    """Minus the log-likelihood of weights and plain thresholds."""
    X, y = data
    w, cuts = result
    codes = np.unique(y, return_inverse=True)[1]
    z = X @ w
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(z - ends[codes + 1])) - 1 / (1 + np.exp(z - ends[codes]))
    return {"objective": float(-np.log(p).sum())}


def wine() -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.wine()
    return (X - X.mean(0)) / X.std(0), y


def held_out_labels(_: Any, result: Any) -> dict[str, Any]:
    """Labels of the posts that were not learned, to be compared one by one, and how many are right."""
    X, y = newsgroups("test")
    W, b = result
    labels = np.argmax(X @ W.T + b, axis=1)
    return {"labels": labels.tolist(), "accuracy": float((labels == y).mean())}


PROBLEMS = [
    Problem(
        name="linear-svc-newsgroups",
        title="LinearSVC, squared hinge: 20 newsgroups, tf-idf, 20 classes",
        load=newsgroups,
        check=svc_check("squared_hinge"),
        goals={"sklearn": 3.0},
    ),
    Problem(
        name="linear-svc-hinge-newsgroups",
        title="LinearSVC, hinge: 20 newsgroups, tf-idf, 20 classes",
        load=newsgroups,
        check=svc_check("hinge"),
        goals={"sklearn": 3.0},
        tolerance=1e-5,
    ),
    Problem(
        name="linear-svc-intents",
        title="LinearSVC, squared hinge: banking77, words, pairs and characters, 77 classes",
        load=intents,
        check=svc_check("squared_hinge"),
        goals={"sklearn": 5.0},
        tolerance=1e-5,
    ),
    *(
        Problem(
            name=f"linear-svc{'' if loss == 'squared_hinge' else '-hinge'}-{name}",
            title=f"LinearSVC, {loss.replace('_', ' ')}: {name}",
            load=functools.partial(datasets.svmlight, name),
            check=svc_check(loss),
            goals={"liblinear": 2.0},
            tolerance=1e-5,
        )
        for name in ("a9a", "w8a")
        for loss in ("squared_hinge", "hinge")
    ),
    Problem(
        name="linear-svr-newsgroups",
        title="LinearSVR: length of 20 newsgroups posts from their words",
        load=newsgroups_length,
        check=svr_check,
        goals={"sklearn": 2.0},
        tolerance=1e-4,
    ),
    Problem(
        name="perceptron-newsgroups",
        title="Perceptron: 20 newsgroups, tf-idf, 20 classes, 20 passes",
        load=newsgroups,
        check=held_out_labels,
        goals={"sklearn": 3.0},
    ),
    Problem(
        name="ordinal-wine",
        title="OrdinalRegression: red wine, 11 measurements, 6 levels",
        load=wine,
        check=ordinal_check,
        goals={"statsmodels": 30.0, "mord": 10.0},
    ),
    Problem(
        name="ordinal-clothing",
        title="OrdinalRegression: clothing reviews, 1-2 grams, 5 stars",
        load=clothing,
        check=ordinal_check,
    ),
    Problem(
        name="ordinal-clothing-binary",
        title="LogisticRegression on the same clothing reviews, 5 stars against fewer",
        load=clothing,
        check=lambda data, result: {},
    ),
]
