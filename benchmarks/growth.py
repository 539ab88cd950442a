"""How cost grows with the size of a job: ``python -m benchmarks.growth [job ...] [--keep]``.

For each job and each of its sizes (rows n, columns p, classes or topics K) the others are held and this one is doubled
three times; the exponent e is that of cost ~ size^e by least squares on logarithms. Cost is CPU time of one thread, the
least of several calls. Threads are an exponent of the time on the clock, so that this column wants a machine with
nothing else to do. Data are drawn from generators with the statistics of texts (words by Zipf's law) and tables.
``--keep`` writes benchmarks/results/growth/figures.json and the table in docs/speeds.md, ``--docs`` alone the table.
"""

import argparse
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed_tables import PAGE, duration, write_between

RESULTS = Path(__file__).parent / "results" / "growth" / "figures.json"
BEGIN, END = "<!-- growth: made by benchmarks/growth.py -->", "<!-- end of growth -->"
NOTE = (
    "Cost ~ size^e, by the sizes of a job: e by least squares over three doublings, the others held at those of the "
    "second column, whose time is that of one thread. 1 is cost in proportion; below 1, part of the cost does not "
    "depend on this size. Threads: -1 would be half the time for twice the threads."
)
DOUBLINGS = 3
Call = Callable[[], Any]


class Job(NamedTuple):
    """What is timed, and its sizes at the largest; ``make`` draws the data for some sizes and gives the call."""

    title: str
    make: Callable[[dict[str, int]], Call]
    sizes: dict[str, int]


# --- data ---


def documents(n: int, p: int, K: int, length: int = 100) -> tuple[Any, np.ndarray]:
    """Counts of n documents over p words by Zipf's law; a third of a document's words are drawn as its class does."""
    import scipy.sparse as sp

    random = np.random.default_rng(0)
    y = random.integers(K, size=n)
    share = 1 / (np.arange(p) + 2.7)
    words = random.choice(p, size=(n, length), p=share / share.sum())
    own = random.random((n, length)) < 1 / 3
    words = np.where(own, (words + y[:, None] * 7919) % p, words)
    rows = np.repeat(np.arange(n), length)
    X = sp.csr_matrix((np.ones(n * length, dtype=np.int64), (rows, words.ravel())), shape=(n, p))
    X.sum_duplicates()
    return X, y


def weighted_documents(n: int, p: int, K: int) -> tuple[Any, np.ndarray]:
    """The same as tf-idf."""
    from sklearn.feature_extraction.text import TfidfTransformer

    X, y = documents(n, p, K)
    return TfidfTransformer().fit_transform(X), y


def table(n: int, p: int, K: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of p correlated columns; classes by the sign of products of columns, and a target that is half noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, p)) @ (np.eye(p) + 0.5 * random.normal(size=(p, p)) / math.sqrt(p))
    scores = np.stack([X[:, k % p] * X[:, (k + 1) % p] + X[:, (k + 2) % p] for k in range(K)], axis=1)
    scores += 0.5 * random.normal(size=scores.shape)
    target = X[:, : max(1, p // 4)].sum(axis=1) + math.sqrt(p / 4) * random.normal(size=n)
    return X, scores.argmax(axis=1), target


# --- jobs ---


def _words(size: dict[str, int]) -> Call:
    from tallywise import CountVectorizer

    X, _ = documents(size["n"], 50_000, 2)
    texts = [" ".join(f"w{j}" for j in X.indices[X.indptr[i] : X.indptr[i + 1]]) for i in range(X.shape[0])]
    return lambda: CountVectorizer().fit_transform(texts)


def _bayes(size: dict[str, int]) -> Call:
    from tallywise import MultinomialNB

    X, y = documents(**size)
    return lambda: MultinomialNB().fit(X, y).feature_log_prob_


def _bayes_predict(size: dict[str, int]) -> Call:
    from tallywise import MultinomialNB

    X, y = documents(**size)
    model = MultinomialNB().fit(X, y)
    model.predict(X[:1])
    return lambda: model.predict(X)


def _gaussian_bayes(size: dict[str, int]) -> Call:
    from tallywise import GaussianNB

    X, y, _ = table(**size)
    return lambda: GaussianNB().fit(X, y).var_


def _logistic(size: dict[str, int]) -> Call:
    from tallywise import LogisticRegression

    X, y = weighted_documents(**size)
    return lambda: LogisticRegression(C=10).fit(X, y)


def _sparse_logistic(size: dict[str, int]) -> Call:
    from tallywise import LogisticRegression

    X, y = weighted_documents(**size, K=2)
    return lambda: LogisticRegression(C=10, l1_ratio=1).fit(X, y)


def _margins(size: dict[str, int]) -> Call:
    from tallywise import LinearSVC

    X, y = weighted_documents(**size)
    return lambda: LinearSVC().fit(X, y)


def _lasso(size: dict[str, int]) -> Call:
    from tallywise import Lasso

    X, _, target = table(**size)
    return lambda: Lasso(alpha=0.05).fit(X, target)


def _machine(size: dict[str, int]) -> Call:
    from tallywise import SVC

    X, y, _ = table(**size)
    return lambda: SVC(cache_size=2000).fit(X, y)


def _neighbors(size: dict[str, int]) -> Call:
    from tallywise import KNeighborsClassifier

    X, y, _ = table(**size)
    model = KNeighborsClassifier().fit(X, y)
    return lambda: model.predict(X[:1000])


def _topics(size: dict[str, int]) -> Call:
    from tallywise import LatentDirichletAllocation

    X, _ = documents(size["n"], 5000, 20)
    return lambda: LatentDirichletAllocation(size["K"], method="collapsed", max_iter=20, random_state=0).fit(X)


JOBS = {
    "words": Job("CountVectorizer, words", _words, {"n": 40_000}),
    "bayes": Job("multinomial naive Bayes, fit", _bayes, {"n": 40_000, "p": 100_000, "K": 40}),
    "bayes-predict": Job("multinomial naive Bayes, predict", _bayes_predict, {"n": 40_000, "p": 100_000, "K": 40}),
    "gaussian-bayes": Job("Gaussian naive Bayes, fit", _gaussian_bayes, {"n": 200_000, "p": 64, "K": 16}),
    "logistic": Job("logistic regression, L2, C = 10, tf-idf", _logistic, {"n": 16_000, "p": 64_000, "K": 16}),
    "logistic-l1": Job("logistic regression, L1, C = 10, tf-idf", _sparse_logistic, {"n": 16_000, "p": 64_000}),
    "margins": Job("LinearSVC, tf-idf", _margins, {"n": 16_000, "p": 64_000, "K": 16}),
    "lasso": Job("Lasso, dense", _lasso, {"n": 40_000, "p": 256}),
    "machine": Job("SVC, Gaussian, dense", _machine, {"n": 8000, "p": 64}),
    "neighbors": Job("1,000 queries of nearest neighbours, dense", _neighbors, {"n": 80_000, "p": 256}),
    "topics": Job("LDA, 20 sweeps", _topics, {"n": 8000, "K": 128}),
}


# --- measuring ---


def cost(call: Call, clock: Callable[[], float], least: float = 0.3, most: int = 7) -> float:
    """Seconds of the fastest call: at least two, more while together they take less than ``least``."""
    best, spent, calls = math.inf, 0.0, 0
    while calls < 2 or (spent < least and calls < most):
        began = clock()
        call()
        seconds = clock() - began
        best, spent, calls = min(best, seconds), spent + seconds, calls + 1
        if spent > 4:
            break
    return best


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log seconds on log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def middle(job: Job) -> dict[str, int]:
    """The sizes that are held while another one grows."""
    return {name: max(2, largest // 4) for name, largest in job.sizes.items()}


def measure(job: Job, threads: int) -> dict[str, Any]:
    """Exponents of a job by its sizes and by threads, and the cost of its middle on one thread."""
    held, found = middle(job), {}
    os.environ["TALLYWISE_NUM_THREADS"] = "1"
    for name, largest in job.sizes.items():
        sizes = [largest >> k for k in range(DOUBLINGS, -1, -1)]
        found[name] = exponent(sizes, [cost(job.make(held | {name: size}), time.process_time) for size in sizes])
    call = job.make(held)
    alone = cost(call, time.perf_counter)
    if threads > 1:
        os.environ["TALLYWISE_NUM_THREADS"] = str(threads)
        found["threads"] = math.log(cost(call, time.perf_counter) / alone) / math.log(threads)
    return {"title": job.title, "held": held, "seconds": alone, "exponents": found}


def lines(figures: dict[str, Any]) -> list[str]:
    """The table."""
    names = ("n", "p", "K", "threads")
    rows = ["| job | at | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for row in figures["jobs"]:
        at = ", ".join(f"{name} = {size:,}" for name, size in row["held"].items())
        cells = (f"{row['exponents'][name]:.2f}" if name in row["exponents"] else "" for name in names)
        rows.append(f"| {row['title']} | {at}: {duration(row['seconds'])} | " + " | ".join(cells) + " |")
    return [f"{NOTE} Measured on {figures['machine']}.", "", *rows]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", help=f"some of {', '.join(JOBS)}; all by default")
    parser.add_argument("--keep", action="store_true", help="write the figures and the table")
    parser.add_argument("--docs", action="store_true", help="write the table of kept figures, measure nothing")
    options = parser.parse_args()
    if unknown := [name for name in options.jobs if name not in JOBS]:
        parser.error(f"no job is called {' or '.join(unknown)}; there are: {', '.join(JOBS)}")
    if options.docs:
        write_between(PAGE, BEGIN, END, lines(json.loads(RESULTS.read_text())))
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    figures: dict[str, Any] = {"machine": f"{os.uname().machine}, {cores} cores", "jobs": []}
    warnings.simplefilter("ignore")
    for name in options.jobs or JOBS:
        row = measure(JOBS[name], cores)
        figures["jobs"].append(row)
        print(lines(figures)[-1], flush=True)
    if options.keep:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
        write_between(PAGE, BEGIN, END, lines(figures))


if __name__ == "__main__":
    main()
