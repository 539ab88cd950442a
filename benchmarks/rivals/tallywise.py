"""Every problem, solved with tallywise."""

from benchmarks.problems.text import TEXT
from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


def _vectorizer(name, threads):
    from tallywise.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

    kinds = {"count": CountVectorizer, "tfidf": TfidfVectorizer, "hashing": HashingVectorizer}
    kind, options = TEXT[name]
    return kinds[kind](**options, n_jobs=threads)


def _fit_text(name):
    def solver(texts, threads):
        vectorizer = _vectorizer(name, threads)
        return lambda: (vectorizer.fit_transform(texts), vectorizer)

    SOLVERS[name] = solver


for _name in TEXT:
    _fit_text(_name)


@SOLVERS.of("text-transform")
def _(texts, threads):
    vectorizer = _vectorizer("text-count", threads).fit(texts)
    return lambda: (vectorizer.transform(texts), vectorizer)


# --- naive bayes ---


# --- linear ---


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
