"""Every estimator that scikit-learn has too, with default parameters, on many shapes: ``python -m benchmarks.sweep``.

``[Estimator ...] [--shapes dense-300x10 ...] [--data plain correlated] [--classes 2 10] [--seed 0] [--json FILE]``.

A cell is one estimator on one shape. Ours and scikit-learn's fit take turns; the figure is CPU time on one thread, the
least of several calls, and the objective that each reached by its own coefficients, computed here in float64. Above 1
in "fit" and "predict" we are faster. "excess" is how far our objective is above theirs, relative to theirs: below 0
ours is lower. Shapes, seeds and data are for finding weak spots; none of them is to be tuned for.
"""

import argparse
import importlib
import json
import math
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TALLYWISE_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 (the number of threads is read on import)
import scipy.sparse as sp  # noqa: E402

Call = Callable[[], Any]
REPEATS = 3
PATIENCE = 20.0  # seconds: a call slower than this is timed once
BRIEF = 0.05  # seconds: calls faster than this are repeated until they have taken this long

SHAPES = {
    "dense-300x10": (300, 10, None),
    "dense-5000x50": (5_000, 50, None),
    "dense-2000x300": (2_000, 300, None),
    "dense-400x2000": (400, 2_000, None),
    "dense-30000x20": (30_000, 20, None),
    "sparse-5000x20000": (5_000, 20_000, 40),
    "sparse-30000x3000": (30_000, 3_000, 20),
    "sparse-500x50000": (500, 50_000, 200),
}


class Twin(NamedTuple):
    """An estimator: its module here and in scikit-learn, what it predicts, and the objective it minimises."""

    ours: str
    theirs: str
    target: str  # "classes" or "numbers"
    objective: Callable[[Any, Any, Any], float] | None = None
    counts: bool = False  # X must not be negative


# --- data ---


def problem(shape: str, data: str, classes: int, seed: int, *, counts: bool = False) -> tuple[Any, Any, Any]:
    """X, labels of some classes, and numbers; "correlated" columns share a few directions or topics."""
    n, p, filled = SHAPES[shape]
    random = np.random.default_rng([seed, n, p, data == "correlated", classes])
    if filled is None:
        X: Any = random.normal(size=(n, p))
        if data == "correlated":
            X = 0.3 * X + random.normal(size=(n, 5)) @ random.normal(size=(5, p)) + random.normal(size=p)
        X = np.abs(X) if counts else X
    else:
        share = 1 / (np.arange(p) + 2.7)
        columns = random.choice(p, size=(n, filled), p=share / share.sum())
        if data == "correlated":  # two words in three come in runs of eight
            columns = (columns // 8) * 8 + np.arange(filled) % 8 if filled % 8 == 0 else columns
            columns = np.minimum(columns, p - 1)
        values = 1.0 + random.poisson(0.3, size=(n, filled))
        if not counts:
            values = np.log1p(values)
        rows = np.repeat(np.arange(n), filled)
        X = sp.csr_matrix((values.ravel(), (rows, columns.ravel())), shape=(n, p))
    weights = random.normal(size=(p, max(classes, 2))) * (random.random((p, 1)) < max(0.1, 5 / p))
    scores = np.asarray(X @ weights)
    scores = scores / (scores.std(axis=0) + 1e-300)
    noisy = scores - scores.mean(axis=0) + random.normal(size=scores.shape)
    labels = noisy[:, :classes].argmax(axis=1) if classes > 2 else (noisy[:, 0] > 0).astype(int)
    return X, labels, 10.0 * (3.0 + noisy[:, 0])


# --- objectives: those that the estimators of both libraries minimise with default parameters ---


def _codes(model: Any, y: Any) -> tuple[Any, Any]:
    W = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    return W, np.searchsorted(model.classes_, y)


def _intercepts(model: Any, W: Any) -> Any:
    return np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (len(W),))


def logistic(model: Any, X: Any, y: Any, C: float | None = None) -> float:
    """C sum log-loss + |W|^2 / 2."""
    from scipy.special import log_softmax

    W, codes = _codes(model, y)
    Z = np.asarray(X @ W.T) + _intercepts(model, W)
    if len(W) == 1:
        Z = np.column_stack([np.zeros(len(Z)), Z[:, 0]])
    C = model.C if C is None else C
    return float(-C * log_softmax(Z, axis=1)[np.arange(len(Z)), codes].sum() + 0.5 * (W**2).sum())


def squared_hinge(model: Any, X: Any, y: Any) -> float:
    """C sum max(0, 1 - y z)^2 + (|w|^2 + b^2) / 2, summed over classes."""
    W, codes = _codes(model, y)
    b = _intercepts(model, W)
    signs = np.where(codes[:, None] == (np.arange(len(W)) if len(W) > 1 else [1]), 1.0, -1.0)
    misses = np.maximum(0.0, 1.0 - signs * (np.asarray(X @ W.T) + b))
    return float(model.C * (misses**2).sum() + 0.5 * ((W**2).sum() + (b**2).sum()))


def _residuals(model: Any, X: Any, y: Any) -> Any:
    return y - np.asarray(X @ np.ravel(model.coef_)) - np.ravel(model.intercept_)


def epsilon_insensitive(model: Any, X: Any, y: Any) -> float:
    """C sum max(0, |r| - epsilon) + (|w|^2 + b^2) / 2."""
    misses = np.maximum(0.0, np.abs(_residuals(model, X, y)) - model.epsilon)
    b = np.ravel(model.intercept_)
    return float(model.C * misses.sum() + 0.5 * ((np.asarray(model.coef_) ** 2).sum() + (b**2).sum()))


def squares(model: Any, X: Any, y: Any) -> float:
    """|r|^2 + alpha |w|^2, with alpha 0 where there is none."""
    alpha = getattr(model, "alpha", 0.0)
    return float((_residuals(model, X, y) ** 2).sum() + alpha * (np.asarray(model.coef_) ** 2).sum())


def elastic_net(model: Any, X: Any, y: Any) -> float:
    """|r|^2 / 2n + alpha (rho |w|_1 + (1 - rho) |w|^2 / 2)."""
    ratio = getattr(model, "l1_ratio", 1.0)
    w = np.asarray(model.coef_, dtype=np.float64)
    penalty = ratio * np.abs(w).sum() + 0.5 * (1 - ratio) * (w**2).sum()
    return float(0.5 * np.mean(_residuals(model, X, y) ** 2) + model.alpha * penalty)


LINEAR, NAIVE_BAYES = "tallywise.linear", "tallywise.naive_bayes"
TWINS = {
    "LogisticRegression": Twin(LINEAR, "sklearn.linear_model", "classes", logistic),
    "LogisticRegressionCV": Twin(LINEAR, "sklearn.linear_model", "classes"),
    "LinearSVC": Twin(LINEAR, "sklearn.svm", "classes", squared_hinge),
    "LinearSVR": Twin(LINEAR, "sklearn.svm", "numbers", epsilon_insensitive),
    "LinearRegression": Twin(LINEAR, "sklearn.linear_model", "numbers", squares),
    "Ridge": Twin(LINEAR, "sklearn.linear_model", "numbers", squares),
    "RidgeCV": Twin(LINEAR, "sklearn.linear_model", "numbers"),
    "Lasso": Twin(LINEAR, "sklearn.linear_model", "numbers", elastic_net),
    "ElasticNet": Twin(LINEAR, "sklearn.linear_model", "numbers", elastic_net),
    "LassoCV": Twin(LINEAR, "sklearn.linear_model", "numbers"),
    "ElasticNetCV": Twin(LINEAR, "sklearn.linear_model", "numbers"),
    "Perceptron": Twin(LINEAR, "sklearn.linear_model", "classes"),
    "MultinomialNB": Twin(NAIVE_BAYES, "sklearn.naive_bayes", "classes", counts=True),
    "ComplementNB": Twin(NAIVE_BAYES, "sklearn.naive_bayes", "classes", counts=True),
    "BernoulliNB": Twin(NAIVE_BAYES, "sklearn.naive_bayes", "classes", counts=True),
    "GaussianNB": Twin(NAIVE_BAYES, "sklearn.naive_bayes", "classes"),
    "SVC": Twin("tallywise.kernels", "sklearn.svm", "classes"),
    "SVR": Twin("tallywise.kernels", "sklearn.svm", "numbers"),
    "KernelRidge": Twin("tallywise.kernels", "sklearn.kernel_ridge", "numbers"),
    "KNeighborsClassifier": Twin("tallywise.neighbors", "sklearn.neighbors", "classes"),
    "KNeighborsRegressor": Twin("tallywise.neighbors", "sklearn.neighbors", "numbers"),
}
DENSE_ONLY = {"GaussianNB"}
WITH_SLOW_DEFAULTS = {"LogisticRegressionCV", "LassoCV", "ElasticNetCV", "RidgeCV", "SVC", "SVR", "KernelRidge"}


# --- timing ---


def least(calls: list[Call]) -> list[float]:
    """CPU seconds of each, the least of several, taking turns."""
    best = [math.inf] * len(calls)
    for _ in range(REPEATS):
        for k, call in enumerate(calls):
            if best[k] == math.inf or best[k] < PATIENCE:
                best[k] = min(best[k], _once(call))
    return best


def _once(call: Call) -> float:
    began = time.process_time()
    call()
    first = time.process_time() - began
    rounds = 0 if first >= BRIEF else min(200, int(BRIEF / max(first, 1e-5)))
    best = first
    for _ in range(min(rounds, 20)):
        began = time.process_time()
        for _ in range(max(1, rounds // 20)):
            call()
        best = min(best, (time.process_time() - began) / max(1, rounds // 20))
    return best


def cell(name: str, shape: str, data: str, classes: int, seed: int) -> dict[str, Any]:
    """Fit and predict by both libraries."""
    twin = TWINS[name]
    ours, theirs = (getattr(importlib.import_module(module), name) for module in (twin.ours, twin.theirs))
    X, labels, numbers = problem(shape, data, classes, seed, counts=twin.counts)
    y = labels if twin.target == "classes" else numbers
    models = [ours(), theirs()]
    fit = least([lambda model=model: model.fit(X, y) for model in models])  # type: ignore[misc]
    for model in models:
        model.fit(X, y)
    predict = least([lambda model=model: model.predict(X) for model in models])  # type: ignore[misc]
    found: dict[str, Any] = {"estimator": name, "shape": shape, "data": data, "seed": seed}
    found["classes"] = classes if twin.target == "classes" else 0
    found |= {"fit": fit, "predict": predict}
    if twin.objective is not None:
        found["objectives"] = values = [twin.objective(model, X, y) for model in models]
        found["excess"] = (values[0] - values[1]) / max(abs(values[1]), 1e-12 * float(np.sum(np.square(y)) + 1))
    return found


def cells(args: argparse.Namespace) -> Iterator[tuple[str, str, str, int]]:
    """What was asked for, where the estimator takes it."""
    for name in args.estimators or TWINS:
        for shape in args.shapes:
            if shape.startswith("sparse") and name in DENSE_ONLY:
                continue
            for data in args.data:
                for classes in args.classes if TWINS[name].target == "classes" else args.classes[:1]:
                    yield name, shape, data, classes


def line(found: dict[str, Any]) -> str:
    """One row of the report."""
    parts = []
    for action in ("fit", "predict"):
        ours, theirs = found[action]
        parts.append(f"{1e3 * ours:10.3f} {1e3 * theirs:10.3f} {theirs / ours:6.2f}x")
    excess = f"{found['excess']:+.1e}" if "excess" in found else ""
    what = f"{found['estimator']:21s} {found['shape']:18s} {found['data']:10s} {found['classes'] or '':>3}"
    return f"{what} | {parts[0]} | {parts[1]} | {excess}"


def main() -> None:
    """Print a row per cell as it is done, then how many are slower and the median."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("estimators", nargs="*", metavar="Estimator", help=f"of {', '.join(TWINS)}; default all")
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--data", nargs="+", default=["plain", "correlated"], choices=["plain", "correlated"])
    parser.add_argument("--classes", nargs="+", type=int, default=[2, 10])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the cells to this file, too")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':54s} | fit, ms: ours, theirs, ratio   | predict, ms: ours, theirs     | excess")
    done = []
    for chosen in cells(args):
        try:
            done.append(cell(*chosen, seed=args.seed))
        except (ValueError, MemoryError) as error:
            print(*chosen, type(error).__name__, str(error).splitlines()[0][:80], flush=True)
            continue
        print(line(done[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(done, indent=1) + "\n")
    for action in ("fit", "predict"):
        ratios = [found[action][1] / found[action][0] for found in done]
        slow = sum(1 for r, found in zip(ratios, done, strict=True) if r < 0.95 and found[action][0] > 3e-4)
        print(f"{action}: {len(done)} cells, median {statistics.median(ratios or [math.nan]):.2f}x, {slow} slower")


if __name__ == "__main__":
    main()
