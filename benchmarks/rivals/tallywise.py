"""Every problem, solved with tallywise."""

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


def _linear_svc(loss, tol):
    def solver(data, threads):
        from tallywise.linear import LinearSVC

        def fit():
            model = LinearSVC(loss=loss, tol=tol, n_jobs=threads).fit(*data)
            return model.coef_, model.intercept_

        return fit

    return solver


for _data, _tols in {"newsgroups": (1e-6, 1e-5), "a9a": (1e-6, 1e-6), "w8a": (1e-6, 1e-6)}.items():
    SOLVERS[f"svc-{_data}"] = _linear_svc("squared_hinge", _tols[0])
    SOLVERS[f"svc-hinge-{_data}"] = _linear_svc("hinge", _tols[1])


@SOLVERS.of("svr-newsgroups")
def linear_svr(data, threads):
    from tallywise.linear import LinearSVR

    def fit():
        model = LinearSVR(epsilon=0.1, n_jobs=threads).fit(*data)
        return model.coef_, float(model.intercept_[0])

    return fit


@SOLVERS.of("perceptron-newsgroups")
def perceptron(data, threads):
    from tallywise.linear import Perceptron

    def fit():
        model = Perceptron(max_iter=20, tol=None, n_jobs=threads).fit(*data)
        return model.coef_, model.intercept_

    return fit


@SOLVERS.of("ordinal-wine", "ordinal-clothing")
def ordinal(data, threads):
    from tallywise.linear import OrdinalRegression

    l2 = 0.0 if data[0].shape[1] < 100 else 1.0

    def fit():
        model = OrdinalRegression(l2=l2, n_jobs=threads).fit(*data)
        return model.coef_, model.thresholds_

    return fit


@SOLVERS.of("ordinal-clothing-binary")
def binary(data, threads):
    from tallywise.linear import LogisticRegression

    X, y = data
    return lambda: LogisticRegression(n_jobs=threads).fit(X, y == 5)


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
