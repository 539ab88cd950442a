"""Every problem, solved with scikit-learn."""

from typing import Any

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


@SOLVERS.of("lasso-news", "enet-news", "enet-spambase")
def _elastic_net(data, threads):
    from sklearn.linear_model import ElasticNet

    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=1e-5, max_iter=10000)
    return lambda: (model.fit(data.columns, data.y).coef_, model.intercept_)


@SOLVERS.of("ridge-news")
def _ridge(data, threads):
    from sklearn.linear_model import Ridge

    # The fastest at this objective, of sparse_cg, lsqr and sag.
    model = Ridge(alpha=data.alpha, solver="sag", tol=1e-3)
    return lambda: (model.fit(data.X, data.y).coef_, model.intercept_)


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
