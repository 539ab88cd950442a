"""Every problem, solved with scikit-learn."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
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
        from sklearn.neighbors import NearestNeighbors

        model = NearestNeighbors(n_neighbors=data["k"], n_jobs=threads, **options)
        return lambda: model.fit(data["X"]).kneighbors(data["Q"])[1]

    return solver


for _name, _options in _SEARCHES.items():
    SOLVERS[_name] = _search(_options)


# --- topics ---


# --- classifier ---
