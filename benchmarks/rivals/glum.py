"""Linear models with glum, which works with dense second derivatives: for few features."""

from benchmarks.rivals import Solvers

PACKAGE = "glum"
SOLVERS = Solvers()


@SOLVERS.of("enet-spambase")
def elastic_net(data, threads):
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="normal", alpha=data.alpha, l1_ratio=data.l1_ratio, gradient_tol=1e-6, solver="irls-cd"
    )
    return lambda: (model.fit(data.X, data.y).coef_, model.intercept_)
