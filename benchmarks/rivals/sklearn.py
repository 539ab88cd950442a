"""Every problem, solved with scikit-learn."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


@SOLVERS.of("lasso-news", "enet-news", "enet-spambase")
def _elastic_net(data, threads):
    from sklearn.linear_model import ElasticNet

    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=1e-5, max_iter=10000)
    return lambda: (model.fit(data.columns, data.y).coef_, model.intercept_)


@SOLVERS.of("ridge-news")
def _ridge(data, threads):
    from sklearn.linear_model import Ridge

    # The fastest at this objective, of sparse_cg, lsqr and sag.
    model = Ridge(alpha=data.alpha, solver="sag", tol=1e-3)
    return lambda: (model.fit(data.X, data.y).coef_, model.intercept_)


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
