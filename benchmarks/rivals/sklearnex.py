"""Models with scikit-learn-intelex."""

from typing import Any

from benchmarks.rivals._drop_in import FEW_COLUMNS, drop_in, weights_of

PACKAGE = "scikit-learn-intelex"


def _options(problem: str, threads: int) -> dict[str, Any]:
    from daal4py import daalinit

    daalinit(threads)
    return {"n_jobs": threads} if problem.startswith("knn-") else {}


SOLVERS = drop_in(
    ["sklearnex.neighbors", "sklearnex.svm"],
    _options,
    ["knn-mnist", "svc-a9a", "svc-mnist", "svr-20k", *FEW_COLUMNS],
)


@SOLVERS.of("logistic-mnist")
def logistic(data, threads):
    from daal4py import daalinit
    from sklearnex.linear_model import LogisticRegression

    daalinit(threads)
    model = LogisticRegression(C=data.C, solver="lbfgs", tol=1e-5, max_iter=10000)
    return lambda: weights_of(model.fit(data.X, data.y))
