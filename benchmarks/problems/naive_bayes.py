"""Naive Bayes: learning, predicting, learning one document at a time, from texts to a fitted model.

Fitting is timed up to the parameters (`feature_log_prob_`, `var_`), which tallywise otherwise derives when first asked
for.
"""

from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.problems import Problem, digest


def _counts() -> dict[str, Any]:
    from sklearn.feature_extraction.text import CountVectorizer

    texts, y = datasets.newsgroups("train")
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(texts)
    return {"X": X, "y": y, "test": vectorizer.transform(datasets.newsgroups("test")[0])}


def _mnist() -> dict[str, Any]:
    (X, y), (test, _) = datasets.mnist("train"), datasets.mnist("test")
    return {"X": X.astype(np.float64), "y": y, "test": test.astype(np.float64)}


def _table() -> dict[str, Any]:
    """300,000 rows such as a table of land has: ten measurements in whole numbers, and 44 indicators, two a row."""
    rng = np.random.default_rng(0)
    n, kinds = 310_000, 7
    y = rng.choice(kinds, n, p=[0.36, 0.49, 0.06, 0.01, 0.02, 0.03, 0.03])
    centre = np.random.default_rng(1).normal(0, 1, (kinds, 10))
    X = np.zeros((n, 54))
    X[:, :10] = np.round(1500 + 400 * (centre[y] + rng.normal(0, 1, (n, 10))))
    X[np.arange(n), 10 + (y + rng.integers(0, 2, n)) % 4] = 1
    X[np.arange(n), 14 + (5 * y + rng.geometric(0.2, n)) % 40] = 1
    return {"X": X[:300_000], "y": y[:300_000], "test": X[300_000:]}


def _nursery() -> dict[str, Any]:
    from sklearn.preprocessing import OrdinalEncoder

    X, y = datasets.categorical("nursery")
    codes = OrdinalEncoder().fit_transform(X).astype(np.int64)
    return {"X": np.tile(codes, (20, 1)), "y": np.tile(y, 20), "test": codes}


def _documents() -> dict[str, Any]:
    data = _counts()
    rows = np.random.default_rng(0).permutation(len(data["y"]))[:1000]
    return {**data, "rows": [(data["X"][[i]], data["y"][[i]]) for i in rows]}


def _texts() -> dict[str, Any]:
    texts, y = datasets.newsgroups("train")
    return {"texts": texts, "y": y}


def _labels(data: dict[str, Any], model: Any) -> dict[str, Any]:
    return {"labels": digest(model.predict(data["test"]).astype(str))}


def _given(data: dict[str, Any], labels: Any) -> dict[str, Any]:
    return {"labels": digest(labels.astype(str))}


def _vocabulary(data: dict[str, Any], model: Any) -> dict[str, Any]:
    return {"counts": digest(model.feature_count_)}


def _loss(data: dict[str, Any], losses: Any) -> dict[str, Any]:
    return {"losses": digest(np.round(losses, 6))}


PROBLEMS = [
    *(
        Problem(
            f"nb_fit_{name}", f"{name} naive Bayes, fit, 20 Newsgroups", _counts, _labels, {"sklearn": 6}, repeats=5
        )
        for name in ("multinomial", "bernoulli", "complement")
    ),
    *(
        Problem(
            f"nb_predict_{name}",
            f"{name} naive Bayes, predict, 20 Newsgroups",
            _counts,
            _given,
            {"sklearn": 4},
            repeats=5,
        )
        for name in ("multinomial", "bernoulli", "complement")
    ),
    Problem("nb_fit_gaussian", "Gaussian naive Bayes, fit, MNIST", _mnist, _labels, {"sklearn": 4}),
    Problem(
        "nb_fit_table_gaussian", "Gaussian naive Bayes, fit, 300,000 x 54", _table, _labels, {"sklearn": 8}, repeats=5
    ),
    Problem("nb_predict_gaussian", "Gaussian naive Bayes, predict, MNIST", _mnist, _given, {"sklearn": 4}),
    Problem("nb_fit_categorical", "categorical naive Bayes, fit, nursery x 20", _nursery, _labels, {"sklearn": 5}),
    Problem(
        "nb_partial_fit",
        "multinomial naive Bayes, 1,000 documents one by one",
        _documents,
        _labels,
        {"sklearn": 20},
        repeats=1,
    ),
    Problem("nb_text", "texts to fitted multinomial naive Bayes, 20 Newsgroups", _texts, _vocabulary, {"sklearn": 20}),
    Problem(
        "nb_leave_one_out", "multinomial naive Bayes, leave one out, four smoothings, 20 Newsgroups", _counts, _loss
    ),
]
