"""Every problem, solved with scikit-learn."""

from benchmarks.problems.text import TEXT
from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


def _vectorizer(name, threads):
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

    kinds = {"count": CountVectorizer, "tfidf": TfidfVectorizer, "hashing": HashingVectorizer}
    kind, options = TEXT[name]
    return kinds[kind](**options)


def _fit_text(name):
    def solver(texts, threads):
        vectorizer = _vectorizer(name, threads)
        return lambda: (vectorizer.fit_transform(texts), vectorizer)

    SOLVERS[name] = solver


for _name in set(TEXT) - {"text-count-8x"}:  # that one is compared with ours on a single portion
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
