"""Nearest neighbours with scikit-learn-intelex."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn-intelex"
SOLVERS = Solvers()


@SOLVERS.of("knn-mnist")
def neighbors(data, threads):
    from daal4py import daalinit
    from sklearnex.neighbors import NearestNeighbors

    daalinit(threads)
    model = NearestNeighbors(n_neighbors=data["k"], algorithm="brute", n_jobs=threads)
    return lambda: model.fit(data["X"]).kneighbors(data["Q"])[1]
