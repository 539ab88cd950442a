"""Every problem, solved with scikit-learn."""

from typing import Any

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


@SOLVERS.of("topics_kos")
def topics(data: Any, threads: int) -> Any:
    from sklearn.decomposition import LatentDirichletAllocation

    from benchmarks.problems.topics import ALPHA, BETA

    settings = {"doc_topic_prior": ALPHA, "topic_word_prior": BETA, "max_iter": 20, "n_jobs": threads}
    model = LatentDirichletAllocation(data.K, random_state=1, **settings)
    return lambda: model.fit(data.train).components_


# --- classifier ---
