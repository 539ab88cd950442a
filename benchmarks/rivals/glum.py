"""Generalised linear models with glum."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "glum"
SOLVERS = Solvers()


@SOLVERS.of("enet-spambase", "lasso-cubic")
def elastic_net(data, threads):
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="normal", alpha=data.alpha, l1_ratio=data.l1_ratio, gradient_tol=1e-6, solver="irls-cd"
    )
    return lambda: (model.fit(data.X, data.y).coef_, model.intercept_)


@SOLVERS.of("logistic-a9a")
def logistic(data, threads):
    from glum import GeneralizedLinearRegressor

    X = data.X.tocsc()
    model = GeneralizedLinearRegressor(
        family="binomial",
        alpha=1 / (data.C * len(data.y)),
        l1_ratio=0,
        gradient_tol=1e-5,
        max_iter=1000,
    )

    def call():
        model.fit(X, data.y.astype(float))
        return model.coef_[None, :], np.array([model.intercept_])

    return call
