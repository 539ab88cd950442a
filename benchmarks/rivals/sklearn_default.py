"""scikit-learn as it comes: default solver and tolerance, enough iterations to finish."""

from benchmarks.rivals import Solvers
from benchmarks.rivals._drop_in import weights_of

PACKAGE = "scikit-learn"
SOLVERS = Solvers()


@SOLVERS.of("logistic-news")
def logistic(data, threads):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=data.C, max_iter=10000)
    return lambda: weights_of(model.fit(data.X, data.y))
