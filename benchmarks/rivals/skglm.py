"""Sparse models with skglm, compiled before the clock starts."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "skglm"
SOLVERS = Solvers()


@SOLVERS.of("logistic-comp-l1")
def logistic(data, threads):
    from skglm import SparseLogisticRegression

    X = data.X.tocsc()
    model = SparseLogisticRegression(alpha=1 / (data.C * len(data.y)), tol=1e-6, fit_intercept=False)
    few = slice(0, 200)
    model.fit(X[few].tocsc(), np.arange(200) % 2)

    def call():
        return model.fit(X, data.y).coef_, np.zeros(1)

    return call
