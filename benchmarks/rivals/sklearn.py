"""Every problem, solved with scikit-learn."""

from typing import Any

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


# --- kernel ---


# --- neighbors ---

_SEARCHES = {
    "knn-mnist": {"algorithm": "brute"},
    "knn-newsgroups": {"metric": "cosine", "algorithm": "brute"},
    "knn-table": {"algorithm": "kd_tree"},
    "knn-manhattan": {"p": 1, "algorithm": "brute"},
    "knn-cubic": {"p": 3, "algorithm": "brute"},
}


def _search(options):
    def solver(data, threads):
        from sklearn.neighbors import NearestNeighbors

        model = NearestNeighbors(n_neighbors=data["k"], n_jobs=threads, **options)
        return lambda: model.fit(data["X"]).kneighbors(data["Q"])[1]

    return solver


for _name, _options in _SEARCHES.items():
    SOLVERS[_name] = _search(_options)


# --- topics ---


@SOLVERS.of("topics_kos")
def topics(data: Any, threads: int) -> Any:
    from sklearn.decomposition import LatentDirichletAllocation

    from benchmarks.problems.topics import ALPHA, BETA

    settings = {"doc_topic_prior": ALPHA, "topic_word_prior": BETA, "max_iter": 20, "n_jobs": threads}
    model = LatentDirichletAllocation(data.K, random_state=1, **settings)
    return lambda: model.fit(data.train).components_


# --- classifier ---


def _text_pipeline(data: Any) -> Any:
    """A pipeline with given weights."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = LogisticRegression()
    model.classes_, model.coef_, model.intercept_ = data["classes"], data["W"].T, data["b"]
    model.n_features_in_ = len(data["W"])
    return make_pipeline(data["vectorizer"], model)


@SOLVERS.of("classify_batch")
def _classify_batch(data: Any, threads: int) -> Any:
    model = _text_pipeline(data)
    return lambda: model.predict_proba(data["new"])


@SOLVERS.of("classify_one")
def _classify_one(data: Any, threads: int) -> Any:
    model = _text_pipeline(data)
    return lambda: np.vstack([model.predict_proba([text]) for text in data["new"]])
