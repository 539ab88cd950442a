"""Every problem, solved with tallywise."""

from typing import Any

import numpy as np

from benchmarks.problems.text import TEXT
from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


def _vectorizer(name, threads):
    from tallywise.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

    kinds = {"count": CountVectorizer, "tfidf": TfidfVectorizer, "hashing": HashingVectorizer}
    kind, options = TEXT[name]
    return kinds[kind](**options, n_jobs=threads)


def _fit_text(name):
    def solver(texts, threads):
        vectorizer = _vectorizer(name, threads)
        return lambda: (vectorizer.fit_transform(texts), vectorizer)

    SOLVERS[name] = solver


for _name in TEXT:
    _fit_text(_name)


@SOLVERS.of("text-transform")
def _(texts, threads):
    vectorizer = _vectorizer("text-count", threads).fit(texts)
    return lambda: (vectorizer.transform(texts), vectorizer)


# --- naive bayes ---


def _bayes(name: str, **options):
    import tallywise.naive_bayes as nb

    classes = {
        "multinomial": nb.MultinomialNB,
        "bernoulli": nb.BernoulliNB,
        "complement": nb.ComplementNB,
        "gaussian": nb.GaussianNB,
        "categorical": nb.CategoricalNB,
    }
    return classes[name](**options)


def _bayes_fit(name: str):
    def solver(data, threads):
        def call():
            model = _bayes(name).fit(data["X"], data["y"])
            _ = model.var_ if name == "gaussian" else model.feature_log_prob_
            return model

        return call

    return solver


def _bayes_predict(name: str):
    def solver(data, threads):
        model = _bayes(name).fit(data["X"], data["y"])
        return lambda: model.predict(data["test"])

    return solver


for _name in ("multinomial", "bernoulli", "complement", "gaussian", "categorical"):
    SOLVERS[f"nb_fit_{_name}"] = _bayes_fit(_name)
    SOLVERS[f"nb_predict_{_name}"] = _bayes_predict(_name)


@SOLVERS.of("nb_partial_fit")
def _bayes_one_by_one(data, threads):
    classes = sorted(set(data["y"].tolist()))

    def call():
        model = _bayes("multinomial")
        for x, y in data["rows"]:
            model.partial_fit(x, y, classes=classes)
        return model

    return call


@SOLVERS.of("nb_text")
def _bayes_text(data, threads):
    from tallywise.text import CountVectorizer

    return lambda: _bayes("multinomial").fit(CountVectorizer().fit_transform(data["texts"]), data["y"])


@SOLVERS.of("nb_leave_one_out")
def _bayes_leave_one_out(data, threads):
    return lambda: _bayes("multinomial").leave_one_out(data["X"], data["y"], alphas=[0.01, 0.1, 0.5, 1.0]).log_loss


# --- linear ---


@SOLVERS.of("lasso-news", "enet-news", "enet-spambase")
def _elastic_net(data, threads):
    from tallywise.linear import ElasticNet

    tol = 1e-4 if data.l1_ratio == 1 else 1e-6
    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=tol, max_iter=10000)
    return lambda: (model.fit(data.columns, data.y).coef_, model.intercept_)


@SOLVERS.of("ridge-news")
def _ridge(data, threads):
    from tallywise.linear import Ridge

    model = Ridge(alpha=data.alpha, tol=1e-6)
    return lambda: (model.fit(data.X, data.y).coef_, model.intercept_)


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


@SOLVERS.of("logistic-news", "logistic-comp", "logistic-comp-l1", "logistic-mnist", "logistic-a9a")
def logistic(data, threads):
    from tallywise.linear import LogisticRegression

    # The loosest gap at which the objective is within 1e-6 of the optimum, as for the rivals.
    tol = 1e-2 if data.l1_ratio else 1e-5
    model = LogisticRegression(
        C=data.C, l1_ratio=data.l1_ratio, fit_intercept=data.fit_intercept, n_jobs=threads, tol=tol, max_iter=1000
    )

    def call():
        model.fit(data.X, data.y)
        return model.coef_, model.intercept_

    return call


# --- margins ---


def _linear_svc(loss, tol):
    def solver(data, threads):
        from tallywise.linear import LinearSVC

        def fit():
            model = LinearSVC(loss=loss, tol=tol, n_jobs=threads).fit(*data)
            return model.coef_, model.intercept_

        return fit

    return solver


for _data, _tols in {"newsgroups": (1e-6, 1e-5), "a9a": (1e-6, 1e-6), "w8a": (1e-6, 1e-6)}.items():
    SOLVERS[f"linear-svc-{_data}"] = _linear_svc("squared_hinge", _tols[0])
    SOLVERS[f"linear-svc-hinge-{_data}"] = _linear_svc("hinge", _tols[1])


@SOLVERS.of("linear-svr-newsgroups")
def linear_svr(data, threads):
    from tallywise.linear import LinearSVR

    def fit():
        model = LinearSVR(epsilon=0.1, tol=2e-4, n_jobs=threads).fit(*data)  # the objective of the rival at its default
        return model.coef_, float(model.intercept_[0])

    return fit


@SOLVERS.of("perceptron-newsgroups")
def perceptron(data, threads):
    from tallywise.linear import Perceptron

    def fit():
        model = Perceptron(max_iter=20, tol=None, n_jobs=threads).fit(*data)
        return model.coef_, model.intercept_

    return fit


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


# --- kernel ---


@SOLVERS.of("svc-a9a", "svc-mnist", "svc-text-linear", "svc-text-gaussian")
def svc(data, threads):
    from tallywise.kernel import SVC

    return lambda: SVC(**data["parameters"]).fit(data["X"], data["y"])


@SOLVERS.of("svr-20k")
def svr(data, threads):
    from tallywise.kernel import SVR

    return lambda: SVR(**data["parameters"]).fit(data["X"], data["y"])


@SOLVERS.of("svc-predict-mnist")
def svc_predict(data, threads):
    from tallywise.kernel import SVC

    fitted = SVC(**data["parameters"]).fit(data["X"], data["y"])
    return lambda: fitted.predict(data["test"])


@SOLVERS.of("svr-predict")
def svr_predict(data, threads):
    from tallywise.kernel import SVR

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
        from tallywise.neighbors import NearestNeighbors

        model = NearestNeighbors(n_neighbors=data["k"], n_jobs=threads, **options)
        return lambda: model.fit(data["X"]).kneighbors(data["Q"])[1]

    return solver


for _name, _options in _SEARCHES.items():
    SOLVERS[_name] = _search(_options)


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


def _text_model(data: Any) -> Any:
    """The serve side over given terms and weights."""
    from tallywise import model_file
    from tallywise.runtime import TextModel

    vectorizer = data["vectorizer"]
    terms = [term.encode() for term in vectorizer.get_feature_names_out()]
    two = len(data["classes"]) == 2
    meta = {
        "kind": "text classifier",
        "classes": data["classes"].tolist(),
        "text": {"units": "word", "lower": True, "least": 2, "ngrams": [1, 1], "deobfuscate": False, "stop_words": []},
        "weighting": {"tf": "log", "norm": "l2"},
        "link": {"kind": "sigmoid" if two else "softmax", "scale": 1.0, "shift": 0.0},
        "rule": {"kind": "most likely"},
    }
    arrays = {
        "terms": np.frombuffer(b"".join(terms), dtype=np.uint8),
        "term_offsets": np.cumsum([0, *map(len, terms)], dtype=np.int64),
        "W": data["W"],
        "b": data["b"],
        "scale": vectorizer.idf_,
        "thresholds": np.empty(0),
        "costs": np.empty((0, 0)),
    }
    return TextModel(model_file.Contents(meta, arrays))


@SOLVERS.of("classify_batch")
def _classify_batch(data: Any, threads: int) -> Any:
    model = _text_model(data)
    return lambda: model.predict_proba(data["new"], threads)


@SOLVERS.of("classify_one")
def _classify_one(data: Any, threads: int) -> Any:
    model = _text_model(data)
    return lambda: np.vstack([model.predict_proba([text]) for text in data["new"]])
