"""Sparse linear models with skglm. The first call, which compiles, is not timed."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "skglm"
SOLVERS = Solvers()


def _warm(fit):
    fit()
    return fit


@SOLVERS.of("lasso-news", "lasso-cubic")
def lasso(data, threads):
    from skglm import Lasso

    model = Lasso(alpha=data.alpha, tol=1e-5)
    return _warm(lambda: (model.fit(data.columns, data.y).coef_, model.intercept_))


@SOLVERS.of("enet-news", "enet-spambase")
def elastic_net(data, threads):
    from skglm import ElasticNet

    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=1e-5)
    return _warm(lambda: (model.fit(data.columns, data.y).coef_, model.intercept_))


@SOLVERS.of("logistic-comp-l1")
def logistic(data, threads):
    from skglm import SparseLogisticRegression

    columns, y = data.X.tocsc(), 2.0 * data.y - 1
    model = SparseLogisticRegression(alpha=1 / (len(y) * data.C), tol=1e-6, fit_intercept=data.fit_intercept)
    return _warm(lambda: (model.fit(columns, y).coef_, model.intercept_))


@SOLVERS.of("l1-path-news")
def l1_path(data, threads):
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    def run(Cs):
        solver = ProxNewton(tol=1e-5, fit_intercept=True, warm_start=True)
        datafit = Logistic()
        datafit.initialize_sparse(data.columns.data, data.columns.indptr, data.columns.indices, data.y)
        w, scores, found = np.zeros(data.X.shape[1] + 1), np.zeros(len(data.y)), []
        for C in Cs:
            w, *_ = solver.solve(data.columns, data.y, datafit, L1(1 / (len(data.y) * C)), w, scores)
            scores = data.X @ w[:-1] + w[-1]
            found.append((w[:-1].copy(), w[-1]))
        return found

    run(data.Cs[:3])
    return lambda: run(data.Cs)
