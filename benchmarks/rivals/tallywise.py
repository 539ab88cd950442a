"""Every problem, solved with tallywise."""

from typing import Any

import numpy as np

from benchmarks.rivals._drop_in import drop_in, weights_of

PACKAGE = "tallywise"

# Gaps at which the objective is not above that of the rival at its default, or is within 1e-6 of the optimum.
_TOL = {
    "linear-svc-newsgroups": 1e-6,
    "linear-svc-intents": 1e-5,
    "linear-svc-hinge-newsgroups": 1e-5,
    "linear-svc-a9a": 1e-6,
    "linear-svc-hinge-a9a": 1e-6,
    "linear-svc-w8a": 1e-6,
    "linear-svc-hinge-w8a": 1e-6,
    "linear-svr-newsgroups": 2e-4,
}


def _options(problem: str, threads: int) -> dict[str, Any]:
    if problem.startswith(("nb_", "svc-", "svr-")):
        return {}
    return {"n_jobs": threads} | ({"tol": _TOL[problem]} if problem in _TOL else {})


SOLVERS = drop_in(["tallywise"], _options)

# --- naive bayes ---


@SOLVERS.of("nb_leave_one_out")
def _bayes_leave_one_out(data, threads):
    from tallywise.naive_bayes import MultinomialNB

    return lambda: MultinomialNB().leave_one_out(data["X"], data["y"], alphas=[0.01, 0.1, 0.5, 1.0]).log_loss


# --- linear ---


@SOLVERS.of("lasso-news", "lasso-cubic", "enet-news", "enet-spambase")
def _elastic_net(data, threads):
    from tallywise.linear import ElasticNet

    tol = 1e-4 if data.l1_ratio == 1 else 1e-6
    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=tol, max_iter=10000)
    return lambda: weights_of(model.fit(data.columns, data.y))


@SOLVERS.of("ridge-news")
def _ridge(data, threads):
    from tallywise.linear import Ridge

    model = Ridge(alpha=data.alpha, tol=1e-6)
    return lambda: weights_of(model.fit(data.X, data.y))


@SOLVERS.of("l1-path-news")
def _l1_path(data, threads):
    import numpy as np

    from tallywise import _native
    from tallywise._arrays import columns

    def run():
        question = _native.SparseProblem("logistic", "elastic_net", 1e-4, 1000, True, threads)
        strengths = np.column_stack([1 / data.Cs, np.zeros(len(data.Cs))])
        path = _native.sparse_path(columns(data.columns), question, data.y, None, strengths)
        return [(w, b) for w, b, *_ in path]

    return run


@SOLVERS.of(
    *("logistic-news", "logistic-comp", "logistic-comp-l1", "logistic-mnist", "logistic-a9a"),
    *("logistic-pairs", "logistic-pairs-l1", "logistic-intents"),
)
def logistic(data, threads):
    from tallywise.linear import LogisticRegression

    # The loosest gap at which the objective is within 1e-6 of the optimum, as for the rivals.
    tol = 1e-2 if data.l1_ratio else 1e-5
    model = LogisticRegression(
        C=data.C, l1_ratio=data.l1_ratio, fit_intercept=data.fit_intercept, n_jobs=threads, tol=tol, max_iter=1000
    )
    return lambda: weights_of(model.fit(data.X, data.y))


# --- margins ---


@SOLVERS.of("ordinal-wine", "ordinal-clothing")
def ordinal(data, threads):
    from tallywise.linear import OrdinalRegression

    l2 = 0.0 if data[0].shape[1] < 100 else 1.0

    def fit():
        model = OrdinalRegression(l2=l2, n_jobs=threads).fit(*data)
        return model.coef_, model.thresholds_

    return fit


@SOLVERS.of("ordinal-clothing-binary")
def binary(data, threads):
    from tallywise.linear import LogisticRegression

    X, y = data
    return lambda: LogisticRegression(n_jobs=threads).fit(X, y == 5)


# --- neighbors ---


@SOLVERS.of("knn-cv")
def judged_neighbours(data: Any, threads: int) -> Any:
    from tallywise.neighbors import KNeighborsClassifierCV

    model = KNeighborsClassifierCV(n_neighbors=data["ks"], weights="uniform", cv=5, n_jobs=threads)
    return lambda: model.fit(data["X"], data["y"]).curve_["loss"]


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


@SOLVERS.of("topics_kos_best", "topics_long")
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


def _text_model(data: Any) -> Any:
    """The serve side over given terms and weights."""
    from tallywise.models.compression import ModelWeights, Scales
    from tallywise.models.text_schema import Link, TermWeighting, TextModelFile, Tokenisation, ViewTerms
    from tallywise.models.text_serving import TextModel

    vectorizer = data["vectorizer"]
    terms = [term.encode() for term in vectorizer.get_feature_names_out()]
    offsets = np.cumsum([0, *map(len, terms)], dtype=np.int64)
    words = ViewTerms(Tokenisation("word", (1, 1), least=2), np.frombuffer(b"".join(terms), dtype=np.uint8), offsets)
    return TextModel(
        TextModelFile(
            data["classes"].tolist(),
            [words],
            [TermWeighting(0, "log", "l2")],
            Scales(vectorizer.idf_),
            ModelWeights(data["W"]),
            data["b"],
            Link("sigmoid" if len(data["classes"]) == 2 else "softmax"),
        )
    )


@SOLVERS.of("classify_batch")
def _classify_batch(data: Any, threads: int) -> Any:
    model = _text_model(data)
    return lambda: model.predict_proba(data["new"], threads)


@SOLVERS.of("classify_one")
def _classify_one(data: Any, threads: int) -> Any:
    model = _text_model(data)
    return lambda: np.vstack([model.predict_proba([text]) for text in data["new"]])
