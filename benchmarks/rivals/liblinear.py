"""LIBLINEAR through its own Python interface; the copy of X into its lists is not timed."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "liblinear-official"
SOLVERS = Solvers()


def _weights(model, features, bias):
    w = np.ctypeslib.as_array(model.w, shape=(features + bias,)).copy()
    w = w if model.label[0] == 1 else -w
    return w[:features], w[features] if bias else 0.0


@SOLVERS.of("logistic-comp", "logistic-comp-l1", "logistic-a9a")
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
