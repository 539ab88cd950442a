"""Sparse models with celer."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "celer"
SOLVERS = Solvers()


@SOLVERS.of("logistic-comp-l1")
def logistic(data, threads):
    from celer import LogisticRegression

    X = data.X.tocsc()
    model = LogisticRegression(C=data.C, tol=1e-4, fit_intercept=False)

    def call():
        return model.fit(X, data.y).coef_, np.zeros(1)

    return call
