"""Calls at random: any estimator, settings at their extremes, data of any shape, type, layout and size.

``python -m tests.random_calls SEED COUNT`` makes COUNT calls. A call may succeed, warn, or raise an error that says
what is wrong; anything else is printed and ends the process with status 1. A crash or a hang is seen from outside.
"""

import inspect
import sys
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import tallywise
from tallywise.errors import TallywiseError

MEANT = (ValueError, TypeError, TallywiseError, AttributeError)
TEXTS = {"Binner", "CountVectorizer", "HashingVectorizer", "TextClassifier", "TfidfVectorizer"}

EXTREMES: dict[str, list[Any]] = {
    "C": [1e-12, 1.0, 1e12],
    "alpha": [0.0, 1e-12, 1.0, 1e12],
    "algorithm": ["auto", "brute", "kd_tree"],
    "class_weight": [None, "balanced"],
    "degree": [0, 1, 5],
    "epsilon": [0.0, 0.1, 1e9],
    "fit_intercept": [True, False],
    "fit_prior": [True, False],
    "gamma": ["scale", 1e-12, 1.0, 1e12],
    "kernel": ["rbf", "linear", "poly", "sigmoid"],
    "l1_ratio": [0.0, 0.5, 1.0],
    "learning_rate": [None, 1e-9, 1e9],
    "leaf_size": [1, 30],
    "link": ["logit", "probit", "cloglog"],
    "max_iter": [1, 3, 20],
    "metric": ["minkowski", "cosine", "jaccard", "chebyshev"],
    "n_components": [1, 3, 20],
    "n_neighbors": [1, 3, 1000],
    "p": [1, 2, 1.5, np.inf],
    "positive": [True, False],
    "shuffle": [True, False],
    "tol": [0.0, 1e-15, 1e-4, 1.0],
    "var_smoothing": [0.0, 1e-9, 1e9],
    "weights": ["uniform", "distance"],
}


def estimators() -> dict[str, type]:
    """Public classes that learn from a matrix."""
    found = {name: getattr(tallywise, name) for name in tallywise.__all__ if name not in TEXTS}
    return {name: cls for name, cls in found.items() if inspect.isclass(cls) and callable(getattr(cls, "fit", None))
            and hasattr(cls, "get_params")}  # fmt: skip


def matrix(random: np.random.Generator, n: int, p: int) -> Any:
    """Values of one kind, in one type and layout."""
    kinds = {
        "normal": lambda: random.normal(size=(n, p)),
        "counts": lambda: random.poisson(0.7, (n, p)).astype(float),
        "zeros": lambda: np.zeros((n, p)),
        "constant": lambda: np.full((n, p), 3.0),
        "huge": lambda: random.normal(size=(n, p)) * 10.0 ** random.integers(100, 308),
        "tiny": lambda: random.random((n, p)) * 10.0 ** -random.integers(100, 320),
        "mixed": lambda: random.normal(size=(n, p)) * 10.0 ** random.integers(-12, 12, p),
        "repeats": lambda: random.normal(size=(max(n // 3, 1), p))[random.integers(0, max(n // 3, 1), n)],
        "missing": lambda: np.where(random.random((n, p)) < 0.1, np.nan, 1.0),
    }
    X = kinds[random.choice([*kinds, "normal", "counts"])]()
    with np.errstate(all="ignore"):
        X = X.astype(random.choice(["f8", "f8", "f4", "i8", "u1", "?"]))
    layout = random.choice(["C", "F", "stride", "list", "csr", "csc", "coo", "int64"])
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "stride":
        return np.repeat(X, 2, axis=0)[::2]
    if layout == "list":
        return X.tolist()
    if layout in ("csr", "csc", "coo"):
        return sp.coo_matrix(X).asformat(layout)
    if layout == "int64":
        X = sp.csr_matrix(X)
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def labels(random: np.random.Generator, n: int, kind: str) -> Any:
    """Numbers for a regressor; few classes, as numbers or words, for anything else."""
    if kind == "regressor":
        return random.normal(size=n) * 10.0 ** random.choice([-200, -3, 0, 3, 200])
    classes = random.integers(0, random.integers(1, 6), n)
    return classes if random.random() < 0.5 else np.array(["ham", "spam", "eggs", "", "z"])[classes]


def call(random: np.random.Generator, name: str, cls: type) -> None:
    """One fit, and whatever the fitted estimator offers for other rows."""
    accepted = set(inspect.signature(cls).parameters)
    chosen = [key for key in EXTREMES if key in accepted and random.random() < 0.4]
    settings = {key: EXTREMES[key][random.integers(len(EXTREMES[key]))] for key in chosen}
    n, p = int(random.integers(1, 40)), int(random.integers(1, 12))
    X, y = matrix(random, n, p), labels(random, n, getattr(cls, "_estimator_type", "") or _kind(cls))
    weight = random.choice([0.0, 1.0, 1e-12, 1e12], n) if random.random() < 0.2 else None
    try:
        model = cls(**settings)
        takes_weights = "sample_weight" in inspect.signature(model.fit).parameters
        model.fit(X, y, **({"sample_weight": weight} if weight is not None and takes_weights else {}))
        new = matrix(random, int(random.integers(1, 9)), p)
        for verb in ("predict", "predict_proba", "decision_function", "transform", "kneighbors"):
            if hasattr(model, verb):
                getattr(model, verb)(new)
    except MEANT:
        return


def _kind(cls: type) -> str:
    from sklearn.base import is_regressor

    try:
        return "regressor" if is_regressor(cls()) else "classifier"
    except TypeError:
        return "classifier"


def main() -> None:
    """Make the calls; say which one raised what it should not."""
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    warnings.simplefilter("ignore")
    pool = list(estimators().items())
    for k in range(count):
        random = np.random.default_rng([seed, k])
        name, cls = pool[k % len(pool)]
        try:
            call(random, name, cls)
        except Exception as error:
            print(f"call {k} of seed {seed}, {name}: {type(error).__name__}: {error}")
            sys.exit(1)


if __name__ == "__main__":
    main()
