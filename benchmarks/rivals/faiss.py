"""Nearest neighbours with FAISS: the flat index, which is exact."""

from benchmarks.rivals import Solvers

PACKAGE = "faiss-cpu"
SOLVERS = Solvers()


@SOLVERS.of("knn-mnist", "knn-axes-16", "knn-axes-54", "knn-noise-16", "knn-noise-54")
def neighbors(data, threads):
    import faiss

    faiss.omp_set_num_threads(threads)

    def call():
        index = faiss.IndexFlatL2(data["X"].shape[1])
        index.add(data["X"])
        return index.search(data["Q"], data["k"])[1]

    return call
