"""scikit-learn's coordinate descent told to make the products of all columns first, which pays with few of them."""

from benchmarks.rivals import Solvers
from benchmarks.rivals._drop_in import weights_of

PACKAGE = "scikit-learn"
SOLVERS = Solvers()


@SOLVERS.of("lasso-cubic", "enet-spambase")
def elastic_net(data, threads):
    from sklearn.linear_model import ElasticNet

    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=1e-5, max_iter=10000, precompute=True)
    return lambda: weights_of(model.fit(data.columns, data.y))
