"""LIBLINEAR through its own Python interface; the copy of X into its lists is not timed."""

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "liblinear-official"
SOLVERS = Solvers()


@SOLVERS.of("logistic-comp", "logistic-comp-l1")
def logistic(data, threads):
    from liblinear.liblinearutil import problem, train

    bias = 1 if data.fit_intercept else -1
    given = problem(np.where(data.y == 1, 1.0, -1.0), data.X, bias=bias)
    # -R leaves the intercept without a penalty.
    options = "-s 6 -e 1e-6" if data.l1_ratio else "-s 0 -e 2e-5"
    options += f" -c {data.C} -B {bias} -q" + (" -R" if data.fit_intercept else "")

    def call():
        model = train(given, options)
        w, b = model.get_decfun(0)
        sign = 1.0 if model.get_labels()[0] == 1 else -1.0
        return sign * np.array([w]), np.array([sign * b if data.fit_intercept else 0.0])

    return call
