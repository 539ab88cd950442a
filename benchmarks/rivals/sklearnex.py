"""Support vector machines of Intel's scikit-learn-intelex."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn-intelex"
SOLVERS = Solvers()


@SOLVERS.of("svc-a9a", "svc-mnist")
def svc(data, threads):
    from sklearnex.svm import SVC

    return lambda: SVC(**data["parameters"]).fit(data["X"], data["y"])


@SOLVERS.of("svr-20k")
def svr(data, threads):
    from sklearnex.svm import SVR

    return lambda: SVR(**data["parameters"]).fit(data["X"], data["y"])
