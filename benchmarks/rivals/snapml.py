"""Linear models with snapml."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "snapml"
SOLVERS = Solvers()


@SOLVERS.of("logistic-comp", "logistic-a9a")
def logistic(data, threads):
    from snapml import LogisticRegression

    model = LogisticRegression(
        regularizer=1 / data.C, fit_intercept=True, n_jobs=threads, tol=1e-6, max_iter=1000, dual=True
    )

    def call():
        model.fit(data.X, data.y)
        return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)

    return call
