"""Ordered levels with mord."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "mord"
SOLVERS = Solvers()


@SOLVERS.of("ordinal-wine")
def ordinal(data, threads):
    from mord import LogisticAT

    X, y = data
    codes = np.unique(y, return_inverse=True)[1]

    def fit():
        model = LogisticAT(alpha=0.0, max_iter=10_000).fit(X, codes)
        return model.coef_, model.theta_

    return fit
