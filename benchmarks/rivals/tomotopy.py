"""Problems solved with tomotopy."""

from typing import Any

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "tomotopy"
SOLVERS = Solvers()


def _words(X: Any, d: int) -> list[str]:
    entries = slice(X.indptr[d], X.indptr[d + 1])
    return [str(w) for w in np.repeat(X.indices[entries], X.data[entries])]


def _model(data: Any) -> Any:
    import tomotopy

    from benchmarks.problems.topics import ALPHA, BETA

    model = tomotopy.LDAModel(k=data.K, alpha=ALPHA, eta=BETA, seed=1)
    for d in range(data.train.shape[0]):
        model.add_doc(_words(data.train, d))
    return model


def _phi(model: Any, data: Any) -> np.ndarray:
    phi = np.zeros((data.K, data.train.shape[1]))
    columns = [int(word) for word in model.used_vocabs]
    for k in range(data.K):
        phi[k, columns] = model.get_topic_word_dist(k)
    return phi


def _trainer(data: Any, threads: int, iterations: int, turns: int = 1) -> Any:
    models = [_model(data) for _ in range(turns)]  # a second call of one would go on training

    def train() -> np.ndarray:
        model = models.pop()
        model.train(iterations, workers=threads)
        return _phi(model, data)

    return train


@SOLVERS.of("topics_kos")
def topics(data: Any, threads: int) -> Any:
    return _trainer(data, threads, 500)


@SOLVERS.of("topics_kos_best")
def topics_long(data: Any, threads: int) -> Any:
    return _trainer(data, threads, 1000)


@SOLVERS.of("topics_long")
def topics_of_long(data: Any, threads: int) -> Any:
    return _trainer(data, threads, 300)


@SOLVERS.of("topics_kos_50", "topics_kos_200", "topics_kos_1000")
def topics_sweeps(data: Any, threads: int) -> Any:
    return _trainer(data, threads, 20, turns=3)


@SOLVERS.of("topics_kos_new")
def topics_new(data: Any, threads: int) -> Any:
    model = _model(data)
    model.train(500, workers=threads)
    documents = [_words(data.seen, d) for d in range(data.seen.shape[0])]
    made = [[model.make_doc(words) for words in documents] for _ in range(3)]

    def infer() -> Any:
        theta, _ = model.infer(made.pop(), workers=threads)
        return _phi(model, data), np.array(theta)

    return infer
