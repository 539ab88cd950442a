"""Sparse linear models with celer."""

from benchmarks.rivals import Solvers

PACKAGE = "celer"
SOLVERS = Solvers()


@SOLVERS.of("lasso-news", "lasso-cubic")
def lasso(data, threads):
    from celer import Lasso

    model = Lasso(alpha=data.alpha, tol=1e-4)
    return lambda: (model.fit(data.columns, data.y).coef_, model.intercept_)


@SOLVERS.of("enet-news", "enet-spambase")
def elastic_net(data, threads):
    from celer import ElasticNet

    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=1e-6)
    return lambda: (model.fit(data.columns, data.y).coef_, model.intercept_)


@SOLVERS.of("logistic-comp-l1")
def logistic(data, threads):
    from celer import LogisticRegression

    columns = data.X.tocsc()
    model = LogisticRegression(C=data.C, tol=1e-4, fit_intercept=data.fit_intercept)
    return lambda: (model.fit(columns, data.y).coef_, model.intercept_)
