"""Every problem, solved with tallywise."""

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


# --- kernel ---


@SOLVERS.of("svc-a9a", "svc-mnist", "svc-text-linear", "svc-text-gaussian")
def svc(data, threads):
    from tallywise.kernel import SVC

    return lambda: SVC(**data["parameters"]).fit(data["X"], data["y"])


@SOLVERS.of("svr-20k")
def svr(data, threads):
    from tallywise.kernel import SVR

    return lambda: SVR(**data["parameters"]).fit(data["X"], data["y"])


@SOLVERS.of("svc-predict-mnist")
def svc_predict(data, threads):
    from tallywise.kernel import SVC

    fitted = SVC(**data["parameters"]).fit(data["X"], data["y"])
    return lambda: fitted.predict(data["test"])


@SOLVERS.of("svr-predict")
def svr_predict(data, threads):
    from tallywise.kernel import SVR

    fitted = SVR(**data["parameters"]).fit(data["X"], data["y"])
    return lambda: fitted.predict(data["test"])


# --- neighbors ---


# --- topics ---


# --- classifier ---
