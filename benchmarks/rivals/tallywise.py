"""Every problem, solved with tallywise."""

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


def _bayes(name: str, **options):
    import tallywise.naive_bayes as nb

    classes = {
        "multinomial": nb.MultinomialNB,
        "bernoulli": nb.BernoulliNB,
        "complement": nb.ComplementNB,
        "gaussian": nb.GaussianNB,
        "categorical": nb.CategoricalNB,
    }
    return classes[name](**options)


def _bayes_fit(name: str):
    def solver(data, threads):
        def call():
            model = _bayes(name).fit(data["X"], data["y"])
            _ = model.var_ if name == "gaussian" else model.feature_log_prob_
            return model

        return call

    return solver


def _bayes_predict(name: str):
    def solver(data, threads):
        model = _bayes(name).fit(data["X"], data["y"])
        return lambda: model.predict(data["test"])

    return solver


for _name in ("multinomial", "bernoulli", "complement", "gaussian", "categorical"):
    SOLVERS[f"nb_fit_{_name}"] = _bayes_fit(_name)
    SOLVERS[f"nb_predict_{_name}"] = _bayes_predict(_name)


@SOLVERS.of("nb_partial_fit")
def _bayes_one_by_one(data, threads):
    classes = sorted(set(data["y"].tolist()))

    def call():
        model = _bayes("multinomial")
        for x, y in data["rows"]:
            model.partial_fit(x, y, classes=classes)
        return model

    return call


@SOLVERS.of("nb_text")
def _bayes_text(data, threads):
    from tallywise.text import CountVectorizer

    return lambda: _bayes("multinomial").fit(CountVectorizer().fit_transform(data["texts"]), data["y"])


@SOLVERS.of("nb_leave_one_out")
def _bayes_leave_one_out(data, threads):
    return lambda: _bayes("multinomial").leave_one_out(data["X"], data["y"], alphas=[0.01, 0.1, 0.5, 1.0]).log_loss


# --- linear ---


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
