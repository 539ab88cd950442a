"""Topics of the KOS blog, 3,000 documents to learn from and the rest to complete; and of long documents."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import datasets
from benchmarks.problems import Problem

ALPHA, BETA = 0.1, 0.01


@dataclass(frozen=True)
class Corpus:
    """What every library gets: counts to learn from, and two halves of each held-out document."""

    train: Any
    seen: Any
    hidden: Any
    K: int


def load(K: int) -> Corpus:
    return split(datasets.kos()[0], 3000, K)


def load_long(K: int) -> Corpus:
    """Long documents: thirteen posts of one group each, 1,350 of them to learn from."""
    from sklearn.feature_extraction.text import CountVectorizer

    documents = []
    for part in ("train", "test"):
        texts, groups = datasets.newsgroups(part)
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            for begin in range(0, len(rows) - 12, 13):
                bodies = (texts[i].split("\n\n", 1)[-1] for i in rows[begin : begin + 13])
                documents.append("\n".join(bodies))
    return split(CountVectorizer(stop_words="english", min_df=4, max_df=0.4).fit_transform(documents), 1350, K)


def split(X: Any, documents: int, K: int) -> Corpus:
    """So many documents to learn from; halves of the others."""
    random = np.random.default_rng(0)
    order = random.permutation(X.shape[0])
    train, test = X[order[:documents]], X[order[documents:]]
    known = np.flatnonzero(train.sum(axis=0))  # libraries differ in what they give to words they never saw
    train, test = train[:, known], sp.csr_matrix(test[:, known])
    first = np.concatenate(
        [
            random.multivariate_hypergeometric(row, int(row.sum()) // 2, method="marginals")
            for row in np.split(test.data, test.indptr[1:-1])
        ]
    )
    halves = [
        sp.csr_matrix((n, test.indices, test.indptr), shape=test.shape, copy=True) for n in (first, test.data - first)
    ]
    for half in halves:
        half.eliminate_zeros()
    return Corpus(sp.csr_matrix(train), halves[0], halves[1], K)


def fold_in(X: Any, phi: np.ndarray, iterations: int = 100) -> np.ndarray:
    """The same fold-in for every library: expectation-maximisation for theta under a Dirichlet(ALPHA) prior."""
    theta = np.empty((X.shape[0], phi.shape[0]))
    for d in range(X.shape[0]):
        entries = slice(X.indptr[d], X.indptr[d + 1])
        P, n = phi[:, X.indices[entries]], X.data[entries]
        row = np.ones(phi.shape[0])
        for _ in range(iterations):
            row = ALPHA + row * (P @ (n / (row @ P)))
        theta[d] = row / row.sum()
    return theta


def perplexity(data: Corpus, phi: np.ndarray, theta: np.ndarray) -> float:
    """Document completion: the hidden halves given theta of the seen ones."""
    logs = 0.0
    for d in range(data.hidden.shape[0]):
        entries = slice(data.hidden.indptr[d], data.hidden.indptr[d + 1])
        logs += data.hidden.data[entries] @ np.log(theta[d] @ phi[:, data.hidden.indices[entries]])
    return float(np.exp(-logs / data.hidden.sum()))


def normal(rows: Any) -> np.ndarray:
    values = np.asarray(rows, dtype=np.float64)
    return values / values.sum(axis=1, keepdims=True)


def judge_topics(data: Corpus, phi: Any) -> dict[str, Any]:
    """Perplexity of the hidden halves, theta by the one fold-in."""
    phi = normal(phi)
    return {"perplexity": perplexity(data, phi, fold_in(data.seen, phi))}


def judge_documents(data: Corpus, result: Any) -> dict[str, Any]:
    """Perplexity of the hidden halves, theta as the library found it."""
    phi, theta = result
    return {"perplexity": perplexity(data, normal(phi), normal(theta))}


PROBLEMS = [
    Problem(
        name="topics_kos",
        title="LDA, KOS, 50 topics: to the perplexity of tomotopy's 500 iterations",
        load=functools.partial(load, 50),
        check=judge_topics,
        lower="perplexity",
        goals={"tomotopy": 10, "sklearn": 20, "gensim": 20},
        tolerance=0.0,
        repeats=1,
    ),
    Problem(
        name="topics_kos_best",
        title="LDA, KOS, 50 topics: our default against tomotopy's 1,000 iterations, perplexity 5 % lower",
        load=functools.partial(load, 50),
        check=judge_topics,
        lower="perplexity",
        tolerance=-0.05,
        repeats=1,
    ),
    Problem(
        name="topics_long",
        title="LDA, 1,350 long documents, 100 topics: our default against tomotopy's 300 iterations",
        load=functools.partial(load_long, 100),
        check=judge_topics,
        lower="perplexity",
        goals={"tomotopy": 10},
        tolerance=0.0,
        repeats=1,
    ),
    Problem(
        name="topics_kos_new",
        title="LDA, KOS, 50 topics: topics of 430 new documents",
        load=functools.partial(load, 50),
        check=judge_documents,
        lower="perplexity",
        goals={"tomotopy": 5},
        tolerance=0.0,
        repeats=3,
    ),
    *(
        Problem(
            name=f"topics_kos_{K}",
            title=f"LDA, KOS, {K} topics: 20 sweeps",
            load=functools.partial(load, K),
            check=judge_topics,
            lower="perplexity",
            tolerance=0.0,
            repeats=3,
        )
        for K in (50, 200, 1000)
    ),
]
