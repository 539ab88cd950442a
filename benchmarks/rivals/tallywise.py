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
