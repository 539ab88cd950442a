"""Calls at random: any estimator, any settings, data of any shape, type, layout and size.

``python -m reliability.calls SEED COUNT [FIRST]`` makes calls in this process. A call may succeed, warn, or raise an
error that says what is wrong; what it returns holds no NaN, and probabilities sum to 1. Anything else is printed. A
crash or a hang is seen from outside.
"""

import inspect
import json
import math
import numbers
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tallywise
from reliability.results import Limit, Measured, ended, limit_processor_time
from tallywise.errors import TallywiseError

MEANT = (ValueError, TypeError, TallywiseError, AttributeError, MemoryError, OverflowError)
TEXTS = {
    *("Binner", "CountVectorizer", "HashingVectorizer", "TfidfVectorizer"),
    *("MultiLabelTextClassifier", "TableModel", "TextClassifier"),
}
VERBS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "kneighbors",
    "score_samples",
)
LONGEST = 60  # seconds of processor time for one call
MOST_MEMORY = 8 << 30
BATCH, PART = 2000, 2000  # calls of a seed, and of a child process, which takes as long as 600 of them to start
ROOT = Path(__file__).parent.parent

EXTREMES: dict[str, list[Any]] = {
    "C": [1e-12, 1.0, 1e12],
    "alpha": [0.0, 1e-12, 1.0, 1e12],
    "degree": [0, 1, 5],
    "epsilon": [0.0, 0.1, 1e9],
    "gamma": ["scale", 1e-12, 1.0, 1e12],
    "learning_rate": [None, 1e-9, 1e9],
    "max_iter": [1, 3, 20],
    "n_components": [1, 3, 20],
    "n_jobs": [None, 1, 2, -1],
    "n_neighbors": [1, 3, 1000],
    "p": [1, 2, 1.5, np.inf],
    "tol": [0.0, 1e-15, 1e-4, 1.0],
    "var_smoothing": [0.0, 1e-9, 1e9],
}
LEFT_ALONE = {
    "verbose",
    "progress",
    "callback",
    "callbacks",
    "input",
}  # they print, or open files, as they are asked to
WORK = {"n_init", "max_iter", "max_doc_update_iter"}  # who asks for 10**30 starts has asked for a fit that never ends
NONSENSE: list[Any] = ["nonsense", -1, math.nan, math.inf, [], {}, 10**30, "", b"x", (1, 2, 3), np.zeros(3), object()]


@cache
def estimators() -> dict[str, type]:
    """Public classes that learn from a matrix."""
    found = {name: getattr(tallywise, name) for name in tallywise.__all__ if name not in TEXTS}
    return {name: cls for name, cls in found.items() if inspect.isclass(cls) and callable(getattr(cls, "fit", None))
            and hasattr(cls, "get_params")}  # fmt: skip


def values(constraint: Any) -> list[Any]:
    """Values that a constraint of scikit-learn's kind allows, at its edges and between."""
    kind = type(constraint).__name__
    if kind == "Hidden":
        return values(constraint.constraint)
    if kind in ("StrOptions", "Options"):
        return sorted(constraint.options, key=str)
    if kind == "Interval":
        low, high = constraint.left, constraint.right
        whole = issubclass(constraint.type, numbers.Integral)
        start = 0 if low is None or math.isinf(low) else low
        found = [start, start + 1, start + 2, start + 20] if whole else [start, start + 1e-9, start + 0.5, start + 1e9]
        found += [] if high is None or math.isinf(high) else [high]
        return [value for value in found if value in constraint]
    if constraint == "boolean":
        return [True, False]
    if constraint == "random_state":
        return [0, 1]
    return [None] if constraint is None else []


@cache
def allowed(cls: type) -> dict[str, list[Any]]:
    """Values to try of each parameter of a class."""
    found: dict[str, list[Any]] = {}
    constraints = getattr(cls, "_parameter_constraints", {})
    for name in inspect.signature(cls).parameters:
        if name in LEFT_ALONE:
            continue
        given = constraints.get(name, [])
        listed = [value for one in (given if isinstance(given, list) else []) for value in values(one)]
        found[name] = [*listed, *EXTREMES.get(name, [])]
    return found


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
        "collinear": lambda: random.normal(size=(n, 1)) @ random.normal(size=(1, p)),
        "one": lambda: np.eye(n, p),
        "missing": lambda: np.where(random.random((n, p)) < 0.1, np.nan, 1.0),
        "infinite": lambda: np.where(random.random((n, p)) < 0.1, np.inf, 1.0),
    }
    usual = ["normal", "counts"] * 3
    X = kinds[random.choice([*kinds, *usual])]()
    with np.errstate(all="ignore"):
        X = X.astype(random.choice(["f8", "f8", "f8", "f4", "f2", "i8", "i4", "u1", "?", "O"]))
    layout = random.choice(
        ["C", "C", "F", "stride", "back", "list", "csr", "csc", "coo", "int64", "read", "array", "unsorted"]
    )
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "stride":
        return np.repeat(X, 2, axis=0)[::2]
    if layout == "back":
        return X[::-1, ::-1]
    if layout == "read":
        X.flags.writeable = False
    if layout == "list":
        return X.tolist()
    if X.dtype in (np.dtype("O"), np.dtype("f2")):
        return X
    if layout in ("csr", "csc", "coo"):
        return sp.coo_matrix(X).asformat(layout)
    if layout == "array":
        return sp.csr_array(X)
    if layout in ("int64", "unsorted"):
        X = sp.csr_matrix(X)
        if layout == "unsorted":
            X.indices, X.data = X.indices[::-1].copy(), X.data[::-1].copy()
            X.indptr = (X.indptr[-1] - X.indptr[::-1]).astype(X.indptr.dtype)
            X.has_sorted_indices = False
            return X
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def labels(random: np.random.Generator, n: int, kind: str) -> Any:
    """Numbers for a regressor; few classes, as numbers or words, for anything else."""
    if random.random() < 0.03:
        n = max(0, n + int(random.integers(-2, 3)))
    if kind == "regressor":
        y = random.normal(size=n) * 10.0 ** random.choice([-200, -3, 0, 0, 3, 200])
        if random.random() < 0.1:
            y = np.full(n, 7.0)
        if random.random() < 0.03 and n:
            y[0] = random.choice([np.nan, np.inf])
        return y.astype(random.choice(["f8", "f8", "f4"])) if np.abs(y).max(initial=0) < 1e30 else y
    classes = random.integers(0, random.integers(1, 6), n)
    look = random.choice(["int", "words", "float", "bool", "object", "column"])
    if look == "words":
        return np.array(["ham", "spam", "eggs", "", "z"])[classes]
    if look == "object":
        return np.array(["ham", "spam", "eggs", "", "z"], dtype=object)[classes]
    if look == "column":
        return classes[:, None] if random.random() < 0.2 else classes
    return classes.astype({"int": "i8", "float": "f8", "bool": "?"}[look])


def checked(verb: str, answer: Any) -> None:
    """Whether an answer is one: no NaN in it, probabilities that sum to 1."""
    for part in answer if isinstance(answer, tuple) else (answer,):
        values = part.data if sp.issparse(part) else np.asarray(part)
        if values.dtype.kind == "f" and np.isnan(values).any():
            msg = f"{verb} gives NaN"
            raise AssertionError(msg)
    if verb == "predict_proba" and len(answer):
        P = np.asarray(answer)
        if P.min() < 0 or np.abs(P.sum(axis=1) - 1).max() > 1e-6:
            msg = f"{verb} gives rows that sum to {P.sum(axis=1).min()}"
            raise AssertionError(msg)


def settings(random: np.random.Generator, cls: type) -> dict[str, Any]:
    """Some parameters at allowed values, and now and then one at nonsense."""
    choices = allowed(cls)
    found = {name: some[random.integers(len(some))] for name, some in choices.items() if some and random.random() < 0.3}
    if choices and random.random() < 0.05:
        name = str(random.choice([*choices]))
        some = [value for value in NONSENSE if name not in WORK or not isinstance(value, int)]
        found[name] = some[random.integers(len(some))]
    return found


def call(random: np.random.Generator, name: str, cls: type) -> str:
    """One fit, and whatever the fitted estimator offers for other rows; what became of it."""
    given = settings(random, cls)
    n, p = int(random.integers(0, 40)), int(random.integers(0, 12))
    if random.random() < 0.9:
        n, p = max(n, 1), max(p, 1)
    X, y = matrix(random, n, p), labels(random, n, _kind(cls))
    if random.random() < 0.02:
        X = [None, "text", 3.0, [[1, 2], [3]], np.zeros((2, 2, 2))][random.integers(5)]
    weight = random.choice([0.0, 1.0, 1e-12, 1e12, 2.5], n) if random.random() < 0.2 else None
    if weight is not None and random.random() < 0.1 and n:
        weight[0] = random.choice([-1.0, np.nan, np.inf])
    try:
        model = cls(**given)
        takes_weights = "sample_weight" in inspect.signature(model.fit).parameters
        weights = {"sample_weight": weight} if weight is not None and takes_weights else {}
        if hasattr(model, "partial_fit") and random.random() < 0.2:
            model.partial_fit(X, y, **({"classes": np.unique(y)} if _kind(cls) != "regressor" else {}))
            model.partial_fit(X, y)
        else:
            model.fit(X, y, **weights)
        new = matrix(random, int(random.integers(1, 9)), p if random.random() < 0.95 else p + 1)
        for verb in VERBS:
            if hasattr(model, verb):
                checked(verb, getattr(model, verb)(new))
        if hasattr(model, "score") and random.random() < 0.3:
            model.score(X, y)
        if hasattr(model, "forget") and random.random() < 0.3:
            model.forget(X, y)
    except np.linalg.LinAlgError:
        raise
    except MEANT as error:
        if not str(error).strip():
            msg = f"{type(error).__name__} without a word"
            raise AssertionError(msg) from error
        return "refused"
    return "answered"


ODD = [
    "",
    " ",
    "win a prize",
    "Straße İstanbul ΣΑΣ",
    "\ud800",
    "a" * 5000,
    "x\0y",
    "1 2 3",
    "ﬁ ﬂ",
    "m0rtgage",
    "\u202eabc",
    "the",
]


def text_call(random: np.random.Generator) -> str:
    """A vectoriser, or a binner, with settings and texts of any kind."""
    name = str(random.choice(["CountVectorizer", "HashingVectorizer", "TfidfVectorizer", "Binner"]))
    cls = getattr(tallywise, name)
    given = settings(random, cls)
    if "n_features" in given:
        given["n_features"] = int(random.choice([1, 2, 1000]))
    said: list[Any] = [ODD[random.integers(len(ODD))] for _ in range(random.integers(0, 8))]
    if random.random() < 0.05:
        said.append([None, 3, b"bytes", ["a"]][random.integers(4)])
    try:
        model = cls(**given)
        given_X: Any = matrix(random, 5, 2) if name == "Binner" else said
        checked("fit_transform", model.fit_transform(given_X))
        checked("transform", model.transform(given_X))
    except MEANT as error:
        if not str(error).strip():
            msg = f"{type(error).__name__} without a word"
            raise AssertionError(msg) from error
        return "refused"
    return "answered"


@cache
def _kind(cls: type) -> str:
    from sklearn.base import is_regressor

    try:
        return "regressor" if is_regressor(cls()) else "classifier"
    except TypeError:
        return "classifier"


def one(seed: int, k: int) -> tuple[str, str]:
    """Call k of a seed: what was called, and what became of it."""
    random = np.random.default_rng([seed, k])
    pool = [*estimators().items()]
    place = k % (len(pool) + 3)
    if place >= len(pool):
        return "text", text_call(random)
    name, cls = pool[place]
    return name, call(random, name, cls)


def batch(seed: int, first: int, count: int, report: int = 1) -> None:
    """Make calls in this process; a line of JSON for each that went wrong, and one at the end."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    estimators()  # imports are no part of a call
    became = {"answered": 0, "refused": 0}
    with os.fdopen(report, "w") as out:
        for k in range(first, first + count):
            limit_processor_time(LONGEST)
            out.write(f"{k}\n")
            out.flush()
            try:
                became[one(seed, k)[1]] += 1
            except Exception as error:
                name = [*estimators(), "text", "text", "text"][k % (len(estimators()) + 3)]
                said = f"call {k} of seed {seed}, {name}: {type(error).__name__}: {error}"[:400]
                out.write(json.dumps({"wrong": said}) + "\n")
        limit_processor_time(0)
        out.write(json.dumps(became) + "\n")


def run(seed: int, first: int, count: int) -> tuple[dict[str, int], list[str]]:
    """Calls in a child process; after a crash or a hang the next child goes on behind the call."""
    became = {"answered": 0, "refused": 0}
    wrong: list[str] = []
    end = first + count
    while first < end:
        with tempfile.TemporaryFile("w+") as report, tempfile.TemporaryFile("w+") as printed:
            command = [
                sys.executable,
                "-X",
                "faulthandler",
                "-m",
                "reliability.calls",
                str(seed),
                str(end - first),
                str(first),
                str(report.fileno()),
            ]
            done = subprocess.run(command, cwd=ROOT, stdout=printed, stderr=printed, pass_fds=(report.fileno(),))
            report.seek(0)
            printed.seek(0)
            said = printed.read()
            last = first
            for line in report:
                entry = json.loads(line)
                if isinstance(entry, int):
                    last = entry
                elif "wrong" in entry:
                    wrong.append(entry["wrong"])
                else:
                    became = {key: became[key] + entry[key] for key in became}
        if done.returncode != 0:
            wrong.append(f"call {last} of seed {seed} ended the process ({done.returncode}): {said[-600:]}")
            became["answered"] += last - first  # of which some were refused: what became of them is lost with the child
        elif said:
            wrong.append(f"calls {first} to {last} of seed {seed} printed: {said[:300]}")
        first = last + 1 if done.returncode != 0 else end
    return became, wrong


def measure(full: bool, seconds: float | None = None) -> Iterator[Measured]:
    """A million calls with `full`, else two thousand."""
    total, wrong, made = {"answered": 0, "refused": 0}, [], 0
    limit = Limit(seconds)
    wanted = 1_000_000 if full else BATCH
    while made < wanted and not limit.over():
        became, lines = run(1000 + made // BATCH, made % BATCH, PART)
        total = {key: total[key] + became[key] for key in total}
        wrong += lines
        made += PART
    yield Measured(
        "calls",
        "random calls of every public estimator: settings, types, layouts, degenerate shapes" + ended(made, wanted),
        f"an answer without NaN or an error that says why; no crash, {LONGEST} s and 8 GiB at most, nothing printed",
        {
            "calls": made,
            "answered": total["answered"],
            "refused": total["refused"],
            "estimators": len(estimators()) + 4,
        },
        wrong,
    )


if __name__ == "__main__":
    numbers_given = [int(word) for word in sys.argv[1:]]
    batch(
        numbers_given[0],
        *([0, *numbers_given[1:2]] if len(numbers_given) < 3 else [numbers_given[2], numbers_given[1]]),
        *numbers_given[3:4],
    )
