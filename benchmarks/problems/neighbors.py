"""Nearest neighbours: fit and search, timed together; compared by the sum of the distances found, in float64."""

import functools
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.problems import Problem


def _mnist(queries: int, rows: int) -> dict[str, Any]:
    X, _ = datasets.mnist("train")
    Q, _ = datasets.mnist("test")
    return {"X": X[:rows], "Q": Q[:queries], "k": 5}


def _norm(p: float) -> Any:
    """Check of a result's rows: sum of the Minkowski distances to them."""

    def check(data: dict[str, Any], rows: Any) -> dict[str, Any]:
        total = 0.0
        for begin in range(0, len(rows), 256):
            part = slice(begin, begin + 256)
            gaps = np.abs(data["X"][rows[part]].astype(np.float64) - data["Q"][part, None].astype(np.float64))
            total += float(np.sum(np.sum(gaps**p, axis=-1) ** (1 / p)))
        return {"distances": total}

    return check


def _newsgroups() -> dict[str, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(datasets.newsgroups("train")[0])
    return {"X": X, "Q": vectorizer.transform(datasets.newsgroups("test")[0]), "k": 10}


def _cosine(data: dict[str, Any], rows: Any) -> dict[str, Any]:
    X, Q = data["X"], data["Q"]
    return {"distances": sum(float(np.sum(1 - Q.multiply(X[rows[:, j]]).sum(axis=1))) for j in range(rows.shape[1]))}


def _table() -> dict[str, Any]:
    """Eight columns such as a table of districts has: two close to clusters of places, others skewed and related."""
    rng = np.random.default_rng(0)

    def rows(n: int) -> Any:
        place = rng.choice(40, n)
        centres = np.random.default_rng(1).normal(0, 2, (40, 2))
        location = centres[place] + rng.normal(0, 0.2, (n, 2))
        income = rng.lognormal(1.2, 0.45, n)
        rooms = 2 + 0.6 * income + rng.gamma(3, 0.5, n)
        people = rng.lognormal(7, 0.7, n) / 1000
        columns = [income, rng.uniform(0, 5, n), rooms, rooms / 5 + rng.normal(0, 0.05, n), people]
        return np.column_stack([*columns, rng.lognormal(1, 0.3, n), location])

    return {"X": rows(20_000), "Q": rows(20_000), "k": 5}


def _axes(columns: int) -> dict[str, Any]:
    """Few columns with the spread of real ones: images along their first principal axes."""
    X = datasets.mnist("train")[0][:20_000]
    X = X - X.mean(axis=0)
    axes = np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :columns]
    rows = np.ascontiguousarray(X @ axes, dtype=np.float32)
    return {"X": rows[:15_000], "Q": rows[15_000:], "k": 5}


def _noise(columns: int) -> dict[str, Any]:
    """Independent normal columns, of which no bound leaves any out: what a search costs at worst."""
    rows = np.random.default_rng(0).normal(size=(20_000, columns)).astype(np.float32)
    return {"X": rows[:15_000], "Q": rows[15_000:], "k": 5}


def _labelled() -> dict[str, Any]:
    X, y = datasets.mnist("train")
    return {"X": X[:5000], "y": y[:5000], "ks": list(range(1, 31))}


def _losses(data: dict[str, Any], losses: Any) -> dict[str, Any]:
    """Sum over all k of the share of rows that the others predict wrongly."""
    return {"error": float(np.sum(losses))}


PROBLEMS = [
    Problem(
        name="knn-mnist",
        title="k nearest neighbours, mnist: 10,000 queries on 60,000 x 784, k = 5, float32",
        load=lambda: _mnist(10_000, 60_000),
        check=_norm(2),
        goals={"sklearn": 4, "faiss": 4, "sklearnex": 4},
        lower="distances",
        tolerance=1e-9,
    ),
    Problem(
        name="knn-newsgroups",
        title="k nearest neighbours, 20 Newsgroups tf-idf: 7,532 queries on 11,314 documents, cosine, k = 10",
        load=_newsgroups,
        check=_cosine,
        goals={"sklearn": 10},
        lower="distances",
        tolerance=1e-9,
    ),
    Problem(
        name="knn-table",
        title="k nearest neighbours, 20,000 queries on 20,000 x 8, k-d tree, k = 5",
        load=_table,
        check=_norm(2),
        goals={"sklearn": 2},
        lower="distances",
        tolerance=1e-9,
    ),
    *(
        Problem(
            name=f"knn-{kind}-{columns}",
            title=f"k nearest neighbours, {what}: 5,000 queries on 15,000 x {columns}, k = 5, float32",
            load=functools.partial(load, columns),
            check=_norm(2),
            goals={"faiss": 4},
            lower="distances",
            tolerance=1e-9,
        )
        for kind, what, load in (("axes", "principal axes of images", _axes), ("noise", "noise", _noise))
        for columns in (16, 54)
    ),
    Problem(
        name="knn-manhattan",
        title="k nearest neighbours, mnist: 2,000 queries on 10,000 x 784, Manhattan, k = 5",
        load=lambda: _mnist(2_000, 10_000),
        check=_norm(1),
        goals={"sklearn": 3},
        lower="distances",
        tolerance=1e-9,
    ),
    Problem(
        name="knn-cubic",
        title="k nearest neighbours, mnist: 2,000 queries on 10,000 x 784, Minkowski p = 3, k = 5",
        load=lambda: _mnist(2_000, 10_000),
        check=_norm(3),
        goals={"sklearn": 3},
        lower="distances",
        tolerance=1e-9,
    ),
    Problem(
        name="knn-cv",
        title="k nearest neighbours, mnist: 5,000 rows, k = 1 to 30 judged by 5 folds",
        load=_labelled,
        check=_losses,
        goals={"sklearn": 10},
        lower="error",
        tolerance=2e-3,  # scikit-learn's ties at the k-th distance fall as they may
    ),
]
