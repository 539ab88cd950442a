"""Every problem, solved with scikit-learn."""

from typing import Any

import numpy as np

from benchmarks.rivals._drop_in import drop_in, weights_of

PACKAGE = "scikit-learn"

# Ours alone: there eight portions of text are compared with one; a9a and w8a are compared with LIBLINEAR's own package,
# hinges with more of its sweeps as well (below).
_LEFT_OUT = {"text-count-8x"} | {f"linear-svc-{loss}{name}" for loss in ("", "hinge-") for name in ("a9a", "w8a")}


def _options(problem: str, threads: int) -> dict[str, Any]:
    return {"n_jobs": threads} if problem.startswith(("knn-", "perceptron-")) else {}


SOLVERS = drop_in(
    [f"sklearn.{module}" for module in ("feature_extraction.text", "naive_bayes", "linear_model", "svm", "neighbors")],
    _options,
)
for _problem in _LEFT_OUT:
    del SOLVERS[_problem]

# --- linear ---


@SOLVERS.of("lasso-news", "lasso-cubic", "enet-news", "enet-spambase")
def _elastic_net(data, threads):
    from sklearn.linear_model import ElasticNet

    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=1e-5, max_iter=10000)
    return lambda: weights_of(model.fit(data.columns, data.y))


@SOLVERS.of("linear-svc-hinge-a9a", "linear-svc-hinge-w8a")
def _hinge(data, threads):
    from sklearn.svm import LinearSVC

    X, y = data[0].tocsr(), data[1]
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    # LIBLINEAR's own package ends after 300 sweeps, 5e-4 from the optimum of w8a; 3,000 of them come within 1e-5.
    model = LinearSVC(loss="hinge", tol=1e-5, max_iter=3000)
    return lambda: weights_of(model.fit(X, y))


@SOLVERS.of("ridge-news")
def _ridge(data, threads):
    from sklearn.linear_model import Ridge

    # The fastest at this objective, of sparse_cg, lsqr and sag.
    model = Ridge(alpha=data.alpha, solver="sag", tol=1e-3)
    return lambda: weights_of(model.fit(data.X, data.y))


@SOLVERS.of("logistic-news", "logistic-comp", "logistic-mnist", "logistic-pairs", "logistic-intents")
def logistic(data, threads):
    from sklearn.linear_model import LogisticRegression

    # The fastest of its solvers to come within 1e-6 of the optimum, at the loosest tolerance that gets there.
    solver = (
        {"solver": "lbfgs", "tol": 1e-5, "max_iter": 10000}
        if data.X.dtype == "float32"
        else {"solver": "newton-cg", "tol": 1e-5}
    )
    model = LogisticRegression(C=data.C, l1_ratio=data.l1_ratio, fit_intercept=data.fit_intercept, **solver)
    return lambda: weights_of(model.fit(data.X, data.y))


# --- neighbors ---


@SOLVERS.of("knn-cv")
def judged_neighbours(data, threads):
    from sklearn.model_selection import cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    def call():
        models = [KNeighborsClassifier(k, algorithm="brute", n_jobs=threads) for k in data["ks"]]
        return [(cross_val_predict(model, data["X"], data["y"], cv=5) != data["y"]).mean() for model in models]

    return call


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
