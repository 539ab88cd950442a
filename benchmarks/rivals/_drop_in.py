"""Problems that any library with scikit-learn's classes solves in the same words: scikit-learn's, Intel's, ours."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.problems.text import TEXT
from benchmarks.rivals import Solver, Solvers

Make = Callable[..., Any]  # (name of a class, settings) -> estimator
Wording = Callable[[str, Make, Any], Callable[[], Any]]  # (problem, make, data) -> the call that is timed

_WORDINGS: dict[str, Wording] = {}

_VECTORIZERS = {"count": "CountVectorizer", "tfidf": "TfidfVectorizer", "hashing": "HashingVectorizer"}
_BAYES = ("Multinomial", "Bernoulli", "Complement", "Gaussian", "Categorical")
FEW_COLUMNS = ("svc-few-two", "svc-few-land", "svc-few-letters")
_SEARCHES: dict[str, dict[str, Any]] = {
    "knn-mnist": {"algorithm": "brute"},
    "knn-newsgroups": {"metric": "cosine", "algorithm": "brute"},
    "knn-table": {"algorithm": "kd_tree"},
    **{f"knn-{kind}-{columns}": {} for kind in ("axes", "noise") for columns in (16, 54)},
    "knn-manhattan": {"p": 1, "algorithm": "brute"},
    "knn-cubic": {"p": 3, "algorithm": "brute"},
}


def drop_in(
    modules: Iterable[str], options: Callable[[str, int], dict[str, Any]], problems: Iterable[str] = _WORDINGS
) -> Solvers:
    """Solvers of these problems with classes of these modules; `options(problem, threads)` are the library's own."""

    def solver_of(problem: str) -> Solver:
        def solver(data: Any, threads: int) -> Callable[[], Any]:
            def make(name: str, **settings: Any) -> Any:
                homes = (importlib.import_module(module) for module in modules)
                home = next(home for home in homes if hasattr(home, name))
                return getattr(home, name)(**settings, **options(problem, threads))

            return _WORDINGS[problem](problem, make, data)

        return solver

    return Solvers({problem: solver_of(problem) for problem in problems})


def weights_of(model: Any) -> tuple[Any, Any]:
    """What the checks of linear models read."""
    return model.coef_, model.intercept_


def _solves(*problems: str) -> Callable[[Wording], Wording]:
    def register(wording: Wording) -> Wording:
        _WORDINGS.update(dict.fromkeys(problems, wording))
        return wording

    return register


# --- text ---


@_solves(*TEXT)
def _fit_transform(problem, make, texts):
    kind, settings = TEXT[problem]
    vectorizer = make(_VECTORIZERS[kind], **settings)
    return lambda: (vectorizer.fit_transform(texts), vectorizer)


@_solves("text-transform")
def _transform(problem, make, texts):
    vectorizer = make("CountVectorizer").fit(texts)
    return lambda: (vectorizer.transform(texts), vectorizer)


# --- naive bayes ---


def _bayes(problem, make):
    return make(f"{problem.rsplit('_')[-1].capitalize()}NB")


@_solves(*(f"nb_fit_{name.lower()}" for name in _BAYES), "nb_fit_table_gaussian")
def _learn(problem, make, data):
    def call():
        model = _bayes(problem, make).fit(data["X"], data["y"])
        _ = model.var_ if hasattr(model, "var_") else model.feature_log_prob_
        return model

    return call


@_solves(*(f"nb_predict_{name.lower()}" for name in _BAYES))
def _label(problem, make, data):
    model = _bayes(problem, make).fit(data["X"], data["y"])
    return lambda: model.predict(data["test"])


@_solves("nb_partial_fit")
def _learn_one_by_one(problem, make, data):
    classes = sorted(set(data["y"].tolist()))

    def call():
        model = make("MultinomialNB")
        for x, y in data["rows"]:
            model.partial_fit(x, y, classes=classes)
        return model

    return call


@_solves("nb_text")
def _learn_texts(problem, make, data):
    return lambda: make("MultinomialNB").fit(make("CountVectorizer").fit_transform(data["texts"]), data["y"])


# --- linear ---


@_solves(
    "linear-svc-intents",
    *(f"linear-svc-{loss}{name}" for name in ("newsgroups", "a9a", "w8a") for loss in ("", "hinge-")),
)
def _separate(problem, make, data):
    model = make("LinearSVC", loss="hinge" if "hinge" in problem else "squared_hinge")
    return lambda: weights_of(model.fit(*data))


@_solves("linear-svr-newsgroups")
def _fit_tube(problem, make, data):
    model = make("LinearSVR", epsilon=0.1)

    def call():
        model.fit(*data)
        return model.coef_, float(model.intercept_[0])

    return call


@_solves("perceptron-newsgroups")
def _correct(problem, make, data):
    model = make("Perceptron", max_iter=20, tol=None)
    return lambda: weights_of(model.fit(*data))


# --- kernel ---


def _machine(problem, make, data):
    return make("SVC" if problem.startswith("svc") else "SVR", **data["parameters"])


@_solves("svc-a9a", "svc-mnist", *FEW_COLUMNS, "svc-text-linear", "svc-text-gaussian", "svr-20k")
def _fit_machine(problem, make, data):
    model = _machine(problem, make, data)
    return lambda: model.fit(data["X"], data["y"])


@_solves("svc-predict-mnist", "svr-predict")
def _use_machine(problem, make, data):
    model = _machine(problem, make, data).fit(data["X"], data["y"])
    return lambda: model.predict(data["test"])


# --- neighbors ---


@_solves(*_SEARCHES)
def _search(problem, make, data):
    model = make("NearestNeighbors", n_neighbors=data["k"], **_SEARCHES[problem])
    return lambda: model.fit(data["X"]).kneighbors(data["Q"])[1]
