"""Ordered levels with statsmodels."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "statsmodels"
SOLVERS = Solvers()


@SOLVERS.of("ordinal-wine")
def ordinal(data, threads):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    X, y = data

    def fit():
        found = OrderedModel(y, X, distr="logit").fit(method="newton", disp=0, maxiter=100)
        w, cuts = found.params[: X.shape[1]], found.params[X.shape[1] :]
        return w, np.cumsum(np.concatenate([cuts[:1], np.exp(cuts[1:])]))

    return fit
