"""Support vector machines with kernels, at equal dual objective, and their predictions."""

from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.problems import Problem


def _a9a() -> dict[str, Any]:
    X, y = datasets.svmlight("a9a")
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # scikit-learn's SVC wants these
    return {"X": X, "y": y, "test": X[:5000], "parameters": {"C": 1.0, "gamma": 0.05}}


def _mnist() -> dict[str, Any]:
    X, y = datasets.mnist()
    return {"X": X[:10_000], "y": y[:10_000], "test": X[10_000:12_000], "parameters": {"C": 10.0, "gamma": 0.02}}


def _regression() -> dict[str, Any]:
    """As large as the California housing data, with its kind of curvature and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=len(X))
    return {"X": X, "y": y, "test": X[:5000], "parameters": {"C": 1.0, "gamma": 0.125}}


def _clumps(rng: np.random.Generator, n: int, d: int, classes: int, clumps: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows around centres, several a class, whose spread differs by column and by clump: classes that touch."""
    centres = rng.normal(size=(classes * clumps, d))
    spread = rng.gamma(2.0, 0.25, size=(classes * clumps, d))
    which = rng.integers(classes * clumps, size=n)
    return centres[which] + spread[which] * rng.normal(size=(n, d)), which % classes


def _two_classes() -> dict[str, Any]:
    """Twelve measurements and one of ten states, one class in ten: as from an engine."""
    rng = np.random.default_rng(1)
    X, which = _clumps(rng, 20_000, 12, 10, 4)
    states = np.eye(10)[rng.integers(10, size=len(X))]
    y = ((which == 0) ^ (rng.random(len(X)) < 0.02)).astype(int)
    return _machine(np.hstack([X, states]), y, 1.0)


def _land() -> dict[str, Any]:
    """Ten measurements, one of four areas and one of forty soils that go with the class: seven classes of land."""
    rng = np.random.default_rng(2)
    X, y = _clumps(rng, 15_120, 10, 7, 6)
    soil = (6 * y + rng.geometric(0.15, size=len(y))) % 40
    area = (y + rng.geometric(0.5, size=len(y))) % 4
    return _machine(np.hstack([X, np.eye(4)[area], np.eye(40)[soil]]), y, 10.0)


def _letters() -> dict[str, Any]:
    """Sixteen whole numbers from 0 to 15, 26 classes."""
    X, y = _clumps(np.random.default_rng(3), 15_000, 16, 26, 5)
    return _machine(np.clip(np.round(7 + 3 * X), 0, 15), y, 10.0)


def _machine(X: np.ndarray, y: np.ndarray, C: float) -> dict[str, Any]:
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return {"X": X, "y": y, "test": X[:2000], "parameters": {"C": C, "gamma": 1 / X.shape[1]}}


def _text(kernel: str) -> dict[str, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, labels = datasets.newsgroups()
    chosen = np.random.default_rng(0).permutation(len(texts))[:5000]
    X = TfidfVectorizer(sublinear_tf=True).fit_transform([texts[i] for i in chosen])
    return {"X": X, "y": labels[chosen], "test": X[:1000], "parameters": {"kernel": kernel, "gamma": 1.0}}


def _dual(data: dict[str, Any], fitted: Any) -> dict[str, Any]:
    """Minus the dual objective, summed over the pairs of classes, in float64 from the coefficients alone."""
    parameters = data["parameters"]
    X, y = data["X"], data["y"]
    rows = np.asarray(fitted.support_)
    coefficients = fitted.dual_coef_
    coefficients = coefficients.toarray() if hasattr(coefficients, "toarray") else np.asarray(coefficients)
    V = X[rows].astype(np.float64)
    squares = np.asarray(V.multiply(V).sum(axis=1)).ravel() if hasattr(V, "multiply") else (V * V).sum(axis=1)

    def values(a: slice, b: slice) -> np.ndarray:
        S = V[a] @ V[b].T
        S = S.toarray() if hasattr(S, "toarray") else S
        if parameters.get("kernel") == "linear":
            return S
        return np.exp(-parameters["gamma"] * np.maximum(squares[a, None] + squares[b] - 2 * S, 0))

    def quadratic(beta: np.ndarray, where: slice) -> float:
        total = 0.0
        for start in range(where.start, where.stop, 1000):
            part = slice(start, min(start + 1000, where.stop))
            total += float(beta[part] @ (values(part, where) @ beta[where]))
        return total

    if not hasattr(fitted, "classes_"):
        beta, everything = coefficients[0], slice(0, len(rows))
        gain = float(beta @ y[rows] - 0.1 * np.abs(beta).sum())
        return {"objective": 0.5 * quadratic(beta, everything) - gain, "support": len(rows)}
    if len(fitted.classes_) == 2:
        beta = coefficients[0]
        objective = 0.5 * quadratic(beta, slice(0, len(rows))) - float(np.abs(beta).sum())
        return {"objective": objective, "support": len(rows)}
    starts = np.concatenate([[0], np.cumsum(fitted.n_support_)])
    objective = 0.0
    for i in range(len(fitted.classes_)):
        for j in range(i + 1, len(fitted.classes_)):
            a, b = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            u, v = coefficients[j - 1, a], coefficients[i, b]
            K_aa, K_ab, K_bb = values(a, a), values(a, b), values(b, b)
            objective += 0.5 * float(u @ K_aa @ u + 2 * u @ K_ab @ v + v @ K_bb @ v)
            objective -= float(np.abs(u).sum() + np.abs(v).sum())
    return {"objective": objective, "support": len(rows)}


def _predictions(data: dict[str, Any], predictions: np.ndarray) -> dict[str, Any]:
    """The label or the value of every row, to be compared one by one."""
    return {"values" if predictions.dtype.kind == "f" else "labels": predictions.tolist()}


_SVC = {"sklearn": 8.0, "sklearnex": 2.0}
_FEW = {"sklearn": 5.0, "sklearnex": 5.0}

PROBLEMS = [
    Problem("svc-a9a", "SVC, Gaussian, a9a, 32,561 rows", _a9a, _dual, _SVC, tolerance=1e-6, repeats=1),
    Problem("svc-mnist", "SVC, Gaussian, mnist, 10,000 rows, 45 pairs", _mnist, _dual, _SVC, tolerance=2e-6, repeats=2),
    Problem("svr-20k", "SVR, Gaussian, 20,000 x 8", _regression, _dual, {"sklearn": 4.0}, tolerance=1e-6, repeats=2),
    Problem("svc-few-two", "SVC, Gaussian, 20,000 x 22, 2 classes", _two_classes, _dual, _FEW, repeats=2),
    Problem("svc-few-land", "SVC, Gaussian, 15,120 x 54, 7 classes", _land, _dual, _FEW, tolerance=2e-6, repeats=2),
    Problem("svc-few-letters", "SVC, Gaussian, 15,000 x 16, 26 classes", _letters, _dual, _FEW,
            tolerance=2e-6, repeats=2),
    Problem("svc-text-linear", "SVC, linear, 20 Newsgroups tf-idf, 5,000 rows", lambda: _text("linear"), _dual,
            {"sklearn": 5.0}, tolerance=2e-6, repeats=1),
    Problem("svc-text-gaussian", "SVC, Gaussian, 20 Newsgroups tf-idf, 5,000 rows", lambda: _text("rbf"), _dual,
            {"sklearn": 5.0}, tolerance=2e-6, repeats=1),
    Problem("svc-predict-mnist", "SVC predict, mnist, 2,000 rows", _mnist, _predictions, {"sklearn": 5.0}, repeats=2),
    Problem("svr-predict", "SVR predict, 5,000 rows", _regression, _predictions, {"sklearn": 5.0}, repeats=2),
]  # fmt: skip
