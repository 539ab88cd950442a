"""Every problem, solved with tallywise."""

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


@SOLVERS.of("logistic-news", "logistic-comp", "logistic-comp-l1", "logistic-mnist")
def logistic(data, threads):
    from tallywise.linear import LogisticRegression

    # A gap bounds the distance from the optimum, which is several times nearer.
    model = LogisticRegression(
        C=data.C, l1_ratio=data.l1_ratio, fit_intercept=data.fit_intercept, n_jobs=threads, tol=1e-5, max_iter=1000
    )

    def call():
        model.fit(data.X, data.y)
        return model.coef_, model.intercept_

    return call


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
