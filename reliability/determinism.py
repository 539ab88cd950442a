"""The same bytes for any number of threads, however often, and where promised on every instruction set.

A child process fits a model of every family and prints the SHA-256 of its file, or of the arrays that an estimator has
learned; the parent compares children with other threads, another instruction set, another Python.
"""

import hashlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tallywise
from reliability.models import save_all, texts
from reliability.results import Limit, Measured, ended
from tallywise.spam import SpamFilter
from tools.levels import built_levels

# Bits are promised across instruction sets where sums are of whole numbers or none may be fused: counting, naive Bayes
# of counts, the mail filter. Elsewhere a fused product and sum rounds once instead of twice, and last bits differ.
PROMISED = (
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "CountVectorizer",
    "HashingVectorizer",
    "MultinomialNB",
    "spam",
)


def digest(value: Any, into: Any) -> None:
    """Feed what a value holds, by content, to a hash."""
    if sp.issparse(value):
        value = value.tocsr()
        digest([value.shape, value.indptr, value.indices, value.data], into)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        into.update(f"{value.dtype.str}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, dict):
        digest([item for pair in sorted(value.items(), key=lambda pair: str(pair[0])) for item in pair], into)
    elif isinstance(value, (list, tuple, np.ndarray)):
        for item in value:
            digest(item, into)
    elif isinstance(value, (str, bytes, int, float, bool, np.generic)) or value is None:
        into.update(repr(value).encode())


def fitted(model: Any) -> str:
    """SHA-256 of what an estimator has learned: its attributes that end in an underscore, but for seconds."""
    into = hashlib.sha256()
    learned = {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("__")}
    learned.pop("certificate_", None)  # says how many seconds it took
    digest(learned, into)
    return into.hexdigest()


def estimators() -> dict[str, str]:
    """Name and SHA-256 of every public estimator fitted to made-up data, dense and sparse."""
    random = np.random.default_rng(0)
    counts = random.poisson(0.6, (400, 30)).astype(float)
    numbers = random.normal(size=(400, 30)) + counts
    classes = (numbers[:, 0] + numbers[:, 1] + random.normal(size=400) > 1).astype(int) + (counts[:, 2] > 0)
    target = numbers @ random.normal(size=30) + random.normal(size=400)
    said, _ = texts(300)
    found = {}
    for name in tallywise.__all__:
        cls = getattr(tallywise, name)
        if not inspect.isclass(cls) or not hasattr(cls, "fit") or not hasattr(cls, "get_params"):
            continue
        if name in ("MultiLabelTextClassifier", "TextClassifier", "TableModel"):
            continue
        from sklearn.base import is_regressor

        nonnegative = name in (
            "CategoricalNB",
            "JointBayes",
            "LatentDirichletAllocation",
            "Dirichlet",
        ) or name.endswith("NB")
        X = counts if nonnegative else numbers
        try:
            model = cls(random_state=0) if "random_state" in inspect.signature(cls).parameters else cls()
            y = target if is_regressor(model) else classes
            if name.endswith("Vectorizer"):
                model.fit(said)
                into = hashlib.sha256()
                digest(model.transform(said), into)
                found[name] = into.hexdigest()
                continue
            found[name] = fitted(model.fit(X, y))
            found[f"{name}, sparse"] = fitted(type(model)(**model.get_params()).fit(sp.csr_matrix(X), y))
        except (TypeError, ValueError) as error:
            if name not in found:
                found[f"{name}: not fitted"] = type(error).__name__
    return found


def spam_weights() -> dict[str, str]:
    """SHA-256 of the weights of both mail filters after a stream."""
    said, labels = texts(400)
    found = {}
    for model in ("online", "naive_bayes"):
        with SpamFilter(model=model) as mail:
            for text, label in zip(said, labels, strict=True):
                mail.learn(f"Subject: {text[:20]}\n\n{text}\n".encode(), label)
            found[f"spam {model}"] = hashlib.sha256(mail._weights.learner.state()).hexdigest()
    return found


def child(what: str) -> None:
    """Print the digests of this process."""
    warnings.simplefilter("ignore")
    found = estimators() | spam_weights()
    if what == "all":
        with tempfile.TemporaryDirectory() as folder:
            saved = save_all(Path(folder), 150)
            found |= {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in saved.items()}
    print(json.dumps(found))


def digests(python: str = sys.executable, **environment: str) -> dict[str, str]:
    """What a child prints."""
    command = [python, "-m", "reliability.determinism", "all"]
    root = Path(__file__).parent.parent
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def measure(full: bool, seconds: float | None = None) -> Iterator[Measured]:
    """1, 2, 4 and 8 threads, and twenty repeats with `full`; other levels and Pythons where they are installed."""
    limit = Limit(seconds)
    first = digests(TALLYWISE_NUM_THREADS="1")
    threads = [2, 8, 4] + [1 + k % 8 for k in range(20)] if full else [2]
    wrong, runs = [], 1
    for count in threads:
        if limit.over():
            break
        found = digests(TALLYWISE_NUM_THREADS=str(count))
        runs += 1
        wrong += [f"{name} with {count} threads" for name in first if found.get(name) != first[name]]
    yield Measured(
        "determinism",
        "models of every family fitted again with 1, 2, 4 and 8 threads, and twenty times more"
        + ended(runs, 1 + len(threads)),
        "the SHA-256 of every model file and of every fitted estimator is the same",
        {"models": len(first), "runs": runs},
        wrong,
    )
    if len(levels := built_levels()) > 1:
        wide, *others = (digests(TALLYWISE_LEVEL=level) for level in levels)
        same = [name for name in wide if all(narrow.get(name) == wide[name] for narrow in others)]
        promised = [name for name in wide if name.startswith(PROMISED)]
        yield Measured(
            "determinism_levels",
            f"the same models on the instruction sets {', '.join(levels)}",
            "counts, naive Bayes of counts and the mail filter have the same SHA-256; others may differ in last bits",
            {"models promised": len(promised), "models the same": len(same), "models in all": len(wide)},
            [f"{name} differs" for name in promised if name not in same],
            "python -m reliability.run determinism --full",
        )
    if other := os.environ.get("TALLYWISE_OTHER_PYTHON"):
        found = digests(other, TALLYWISE_NUM_THREADS="2")
        version = subprocess.run([other, "-V"], capture_output=True, text=True, check=True).stdout.strip()
        yield Measured(
            "determinism_python",
            f"the same models under {version}",
            "the SHA-256 of every model file and of every fitted estimator is the same",
            {"models": len(found)},
            [f"{name} differs" for name in first if found.get(name) != first[name]],
            "TALLYWISE_OTHER_PYTHON=python3.12 python -m reliability.run determinism --full",
        )


if __name__ == "__main__":
    child(sys.argv[1])
