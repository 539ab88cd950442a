"""Every problem, solved with tallywise."""

from typing import Any

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


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


# --- topics ---


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
