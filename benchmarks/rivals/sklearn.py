"""Every problem, solved with scikit-learn."""

from typing import Any

import numpy as np

from benchmarks.problems.text import TEXT
from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


def _vectorizer(name, threads):
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

    kinds = {"count": CountVectorizer, "tfidf": TfidfVectorizer, "hashing": HashingVectorizer}
    kind, options = TEXT[name]
    return kinds[kind](**options)


def _fit_text(name):
    def solver(texts, threads):
        vectorizer = _vectorizer(name, threads)
        return lambda: (vectorizer.fit_transform(texts), vectorizer)

    SOLVERS[name] = solver


for _name in set(TEXT) - {"text-count-8x"}:  # that one is compared with ours on a single portion
    _fit_text(_name)


@SOLVERS.of("text-transform")
def _(texts, threads):
    vectorizer = _vectorizer("text-count", threads).fit(texts)
    return lambda: (vectorizer.transform(texts), vectorizer)


# --- naive bayes ---


def _bayes(name: str, **options):
    import sklearn.naive_bayes as nb

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
    from sklearn.feature_extraction.text import CountVectorizer

    return lambda: _bayes("multinomial").fit(CountVectorizer().fit_transform(data["texts"]), data["y"])


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


@SOLVERS.of("logistic-news", "logistic-comp", "logistic-mnist")
def logistic(data, threads):
    from sklearn.linear_model import LogisticRegression

    # The fastest of its solvers to come within 1e-6 of the optimum, at the loosest tolerance that gets there.
    solver = (
        {"solver": "lbfgs", "tol": 1e-5, "max_iter": 10000}
        if data.X.dtype == "float32"
        else {"solver": "newton-cg", "tol": 1e-5}
    )
    model = LogisticRegression(C=data.C, l1_ratio=data.l1_ratio, fit_intercept=data.fit_intercept, **solver)

    def call():
        model.fit(data.X, data.y)
        return model.coef_, model.intercept_

    return call


# --- margins ---


def _linear_svc(loss):
    def solver(data, threads):
        from sklearn.svm import LinearSVC

        def fit():
            model = LinearSVC(loss=loss).fit(*data)
            return model.coef_, model.intercept_

        return fit

    return solver


SOLVERS["linear-svc-newsgroups"] = _linear_svc("squared_hinge")
SOLVERS["linear-svc-hinge-newsgroups"] = _linear_svc("hinge")


@SOLVERS.of("linear-svr-newsgroups")
def linear_svr(data, threads):
    from sklearn.svm import LinearSVR

    def fit():
        model = LinearSVR(epsilon=0.1).fit(*data)
        return model.coef_, float(model.intercept_[0])

    return fit


@SOLVERS.of("perceptron-newsgroups")
def perceptron(data, threads):
    from sklearn.linear_model import Perceptron

    def fit():
        model = Perceptron(max_iter=20, tol=None, n_jobs=threads).fit(*data)
        return model.coef_, model.intercept_

    return fit


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
