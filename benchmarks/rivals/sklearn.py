"""Every problem, solved with scikit-learn."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


def _linear_svc(loss):
    def solver(data, threads):
        from sklearn.svm import LinearSVC

        def fit():
            model = LinearSVC(loss=loss).fit(*data)
            return model.coef_, model.intercept_

        return fit

    return solver


SOLVERS["svc-newsgroups"] = _linear_svc("squared_hinge")
SOLVERS["svc-hinge-newsgroups"] = _linear_svc("hinge")


@SOLVERS.of("svr-newsgroups")
def linear_svr(data, threads):
    from sklearn.svm import LinearSVR

    def fit():
        model = LinearSVR(epsilon=0.1).fit(*data)
        return model.coef_, float(model.intercept_[0])

    return fit


@SOLVERS.of("perceptron-newsgroups")
def perceptron(data, threads):
    from sklearn.linear_model import Perceptron

    def fit():
        model = Perceptron(max_iter=20, tol=None, n_jobs=threads).fit(*data)
        return model.coef_, model.intercept_

    return fit


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
