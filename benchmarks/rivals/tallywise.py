"""Every problem, solved with tallywise."""

from typing import Any

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


def _topics(data: Any, threads: int, **settings: Any) -> Any:
    from benchmarks.problems.topics import ALPHA, BETA
    from tallywise.topics import LatentDirichletAllocation

    priors = {"doc_topic_prior": ALPHA, "topic_word_prior": BETA}
    return LatentDirichletAllocation(data.K, n_jobs=threads, random_state=1, **priors, **settings)


@SOLVERS.of("topics_kos")
def topics_quick(data: Any, threads: int) -> Any:
    model = _topics(data, threads, max_iter=12)
    return lambda: model.fit(data.train).components_


@SOLVERS.of("topics_kos_best")
def topics_default(data: Any, threads: int) -> Any:
    model = _topics(data, threads)
    return lambda: model.fit(data.train).components_


@SOLVERS.of("topics_kos_new")
def topics_new(data: Any, threads: int) -> Any:
    model = _topics(data, threads).fit(data.train)
    return lambda: (model.components_, model.transform(data.seen))


@SOLVERS.of("topics_kos_50", "topics_kos_200", "topics_kos_1000")
def topics_sweeps(data: Any, threads: int) -> Any:
    model = _topics(data, threads, max_iter=20, learn_priors=False)
    return lambda: model.fit(data.train).components_


# --- classifier ---
