"""Models with scikit-learn-intelex."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn-intelex"
SOLVERS = Solvers()


@SOLVERS.of("logistic-mnist")
def logistic(data, threads):
    from daal4py import daalinit
    from sklearnex.linear_model import LogisticRegression

    daalinit(threads)
    model = LogisticRegression(C=data.C, solver="lbfgs", tol=1e-5, max_iter=10000)

    def call():
        model.fit(data.X, data.y)
        return model.coef_, model.intercept_

    return call
