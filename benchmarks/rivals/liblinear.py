"""LIBLINEAR by its own Python interface, with the faster of its solvers for each loss."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "liblinear-official"
SOLVERS = Solvers()


def _train(kind, tol):
    def solver(data, threads):
        from liblinear.liblinearutil import parameter, problem, train

        X, y = data
        X = X.tocsr()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        given = problem(y.astype(float), X, bias=1)
        asked = parameter(f"-s {kind} -c 1 -B 1 -e {tol} -q")

        def fit():
            model = train(given, asked)
            p = model.get_nr_feature()
            w = np.array(model.w[: p + 1]) * (1 if model.get_labels()[0] == 1 else -1)
            return w[None, :p], w[p:]

        return fit

    return solver


for _data in ("a9a", "w8a"):
    SOLVERS[f"svc-{_data}"] = _train(2, 1e-4)
    SOLVERS[f"svc-hinge-{_data}"] = _train(3, 1e-3)
