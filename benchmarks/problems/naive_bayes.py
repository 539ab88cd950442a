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
