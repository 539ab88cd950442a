"""Every problem, solved with tallywise."""

from typing import Any

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


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
