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


@SOLVERS.of("svc-a9a", "svc-mnist", "svc-text-linear", "svc-text-gaussian")
def svc(data, threads):
    from sklearn.svm import SVC

    return lambda: SVC(**data["parameters"]).fit(data["X"], data["y"])


@SOLVERS.of("svr-20k")
def svr(data, threads):
    from sklearn.svm import SVR

    return lambda: SVR(**data["parameters"]).fit(data["X"], data["y"])


@SOLVERS.of("svc-predict-mnist")
def svc_predict(data, threads):
    from sklearn.svm import SVC

    fitted = SVC(**data["parameters"]).fit(data["X"], data["y"])
    return lambda: fitted.predict(data["test"])


@SOLVERS.of("svr-predict")
def svr_predict(data, threads):
    from sklearn.svm import SVR

    fitted = SVR(**data["parameters"]).fit(data["X"], data["y"])
    return lambda: fitted.predict(data["test"])


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
