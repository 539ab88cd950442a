"""Every problem, solved with tallywise."""

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


@SOLVERS.of("lasso-news", "enet-news", "enet-spambase")
def _elastic_net(data, threads):
    from tallywise.linear import ElasticNet

    tol = 1e-4 if data.l1_ratio == 1 else 1e-6
    model = ElasticNet(alpha=data.alpha, l1_ratio=data.l1_ratio, tol=tol, max_iter=10000)
    return lambda: (model.fit(data.columns, data.y).coef_, model.intercept_)


@SOLVERS.of("ridge-news")
def _ridge(data, threads):
    from tallywise.linear import Ridge

    model = Ridge(alpha=data.alpha, tol=1e-6)
    return lambda: (model.fit(data.X, data.y).coef_, model.intercept_)


@SOLVERS.of("l1-path-news")
def _l1_path(data, threads):
    import numpy as np

    from tallywise import _native
    from tallywise._arrays import columns

    def run():
        question = _native.SparseProblem("logistic", "elastic_net", 1e-4, 1000, True, threads)
        strengths = np.column_stack([1 / data.Cs, np.zeros(len(data.Cs))])
        path = _native.sparse_path(columns(data.columns), question, data.y, None, strengths)
        return [(w, b) for w, b, *_ in path]

    return run


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
