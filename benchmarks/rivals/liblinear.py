"""LIBLINEAR through its own Python interface; the copy of X into its lists is not timed."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "liblinear-official"
SOLVERS = Solvers()


def _weights(model, features, bias):
    w = np.ctypeslib.as_array(model.w, shape=(features + bias,)).copy()
    w = w if model.label[0] == 1 else -w
    return w[:features], w[features] if bias else 0.0


@SOLVERS.of("logistic-comp", "logistic-comp-l1", "logistic-a9a", "logistic-pairs", "logistic-pairs-l1")
def logistic(data, threads):
    from liblinear.liblinearutil import parameter, problem, train

    question = problem(np.where(data.y == 1, 1.0, -1.0), data.X)
    kind, eps = (6, 1e-6) if data.l1_ratio == 1 else (0, 1e-5)
    bias = " -B 1 -R" if data.fit_intercept else ""
    options = parameter(f"-s {kind} -c {data.C} -e {eps}{bias} -q")
    return lambda: _weights(train(question, options), data.X.shape[1], int(data.fit_intercept))


@SOLVERS.of("l1-path-news")
def l1_path(data, threads):
    from liblinear.liblinearutil import parameter, problem, train

    question = problem(data.y, data.X)

    def run():
        models = [train(question, parameter(f"-s 6 -c {C} -e 1e-4 -B 1 -R -q")) for C in data.Cs]
        return [_weights(model, data.X.shape[1], 1) for model in models]

    return run


def _train(kind, tol):
    def solver(data, threads):
        from liblinear.liblinearutil import parameter, problem, train

        X, y = data
        X = X.tocsr()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        given = problem(y.astype(float), X, bias=1)
        asked = parameter(f"-s {kind} -c 1 -B 1 -e {tol} -q")

        def fit():
            model = train(given, asked)
            p = model.get_nr_feature()
            w = np.array(model.w[: p + 1]) * (1 if model.get_labels()[0] == 1 else -1)
            return w[None, :p], w[p:]

        return fit

    return solver


for _data in ("a9a", "w8a"):
    SOLVERS[f"linear-svc-{_data}"] = _train(2, 1e-4)
    SOLVERS[f"linear-svc-hinge-{_data}"] = _train(3, 1e-3)
