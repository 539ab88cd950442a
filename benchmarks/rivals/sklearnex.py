"""Models with scikit-learn-intelex."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn-intelex"
SOLVERS = Solvers()


@SOLVERS.of("knn-mnist")
def neighbors(data, threads):
    from daal4py import daalinit
    from sklearnex.neighbors import NearestNeighbors

    daalinit(threads)
    model = NearestNeighbors(n_neighbors=data["k"], algorithm="brute", n_jobs=threads)
    return lambda: model.fit(data["X"]).kneighbors(data["Q"])[1]


@SOLVERS.of("svc-a9a", "svc-mnist")
def svc(data, threads):
    from daal4py import daalinit
    from sklearnex.svm import SVC

    daalinit(threads)
    return lambda: SVC(**data["parameters"]).fit(data["X"], data["y"])


@SOLVERS.of("svr-20k")
def svr(data, threads):
    from daal4py import daalinit
    from sklearnex.svm import SVR

    daalinit(threads)
    return lambda: SVR(**data["parameters"]).fit(data["X"], data["y"])


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
