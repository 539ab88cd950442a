"""Every problem, solved with scikit-learn."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


@SOLVERS.of("logistic-news", "logistic-comp", "logistic-mnist")
def logistic(data, threads):
    from sklearn.linear_model import LogisticRegression

    # The fastest of its solvers to come within 1e-6 of the optimum, at the loosest tolerance that gets there.
    solver = (
        {"solver": "lbfgs", "tol": 1e-5, "max_iter": 10000}
        if data.X.dtype == "float32"
        else {"solver": "newton-cg", "tol": 1e-5}
    )
    model = LogisticRegression(C=data.C, l1_ratio=data.l1_ratio, fit_intercept=data.fit_intercept, **solver)

    def call():
        model.fit(data.X, data.y)
        return model.coef_, model.intercept_

    return call


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
