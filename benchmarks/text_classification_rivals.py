"""Pipelines that the default text model is compared with, each with the settings that its search tries."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

NAMES = ("MultinomialNB", "ComplementNB", "LinearSVC", "LogisticRegression", "NBSVM", "fastText")
FOLDS = 3


class NBSVM(ClassifierMixin, BaseEstimator):
    """LinearSVC on presence times log-count ratios, a class against the rest, interpolated: Wang & Manning (2012)."""

    def __init__(self, C: float = 1.0, share: float = 0.25) -> None:
        self.C, self.share = C, share  # share: of the machine's own weights; 1 where classes are of unequal size

    def fit(self, X: Any, y: Any) -> "NBSVM":
        """Learn from counts."""
        X, self.classes_ = X.sign(), np.unique(y)
        weights, biases = [], []
        for label in self.classes_[1:] if len(self.classes_) == 2 else self.classes_:
            p, q = (1 + np.asarray(X[rows].sum(axis=0)).ravel() for rows in (y == label, y != label))
            r = np.log(p / p.sum()) - np.log(q / q.sum())
            machine = LinearSVC(C=self.C).fit(X.multiply(r).tocsr(), y == label)
            w = machine.coef_[0]
            weights.append(r * (self.share * w + (1 - self.share) * np.abs(w).mean()))
            biases.append(machine.intercept_[0])
        self.W_, self.b_ = np.transpose(weights), np.array(biases)
        return self

    def predict(self, X: Any) -> Any:
        """Classes of rows."""
        z = X.sign() @ self.W_ + self.b_
        return self.classes_[(z[:, 0] > 0).astype(int) if z.shape[1] == 1 else z.argmax(axis=1)]


class FastText(ClassifierMixin, BaseEstimator):
    """fastText with pairs of words, on two threads; texts are lowered and cut at every punctuation mark."""

    def __init__(self, epoch: int = 5) -> None:
        self.epoch = epoch

    def fit(self, texts: Any, y: Any) -> "FastText":
        """Learn from texts."""
        import fasttext

        self.classes_, codes = np.unique(y, return_inverse=True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "texts.txt"
            lines = (f"__label__{code} {text}\n" for code, text in zip(codes, _lines(texts), strict=True))
            path.write_text("".join(lines))
            self.model_ = fasttext.train_supervised(
                str(path), epoch=self.epoch, lr=0.5, wordNgrams=2, thread=2, verbose=0
            )
        return self

    def predict_proba(self, texts: Any) -> Any:
        """Probabilities of all classes."""
        P = np.zeros((len(texts), len(self.classes_)))
        for i, line in enumerate(_lines(texts)):  # the package's own predict wants an older NumPy
            for p, label in self.model_.f.predict(line + "\n", -1, 0.0, "strict"):
                P[i, int(label.removeprefix("__label__"))] = p
        return P / np.maximum(P.sum(axis=1), 1e-300)[:, None]

    def predict(self, texts: Any) -> Any:
        """The likeliest classes."""
        return self.classes_[self.predict_proba(texts).argmax(axis=1)]


def _lines(texts: Any) -> Iterator[str]:
    cut = CountVectorizer(token_pattern=r"(?u)\w+|[^\w\s]").build_analyzer()
    return (" ".join(cut(text)) for text in texts)


def searches() -> Iterator[tuple[str, GridSearchCV]]:
    """Each rival under its name, to be fitted to texts; those that are not installed are left out."""
    pairs = {"ngram_range": (1, 2)}
    alphas, Cs = [0.01, 0.1, 1], [0.1, 1, 10]
    # Newton's method: the default one does not converge in 100 iterations where it would matter, and takes 4 times
    # as long on 20 newsgroups.
    logistic = LogisticRegression(solver="newton-cg")
    steps: dict[str, tuple[list[Any], dict[str, list[float]]]] = {
        "MultinomialNB": ([CountVectorizer(), MultinomialNB()], {"alpha": alphas}),
        "ComplementNB": ([CountVectorizer(), ComplementNB()], {"alpha": alphas}),
        "LinearSVC": ([TfidfVectorizer(sublinear_tf=True, **pairs), LinearSVC()], {"C": Cs}),
        "LogisticRegression": ([TfidfVectorizer(sublinear_tf=True, **pairs), logistic], {"C": [1, 10, 100]}),
        "NBSVM": ([CountVectorizer(binary=True, **pairs), NBSVM()], {"C": [0.01, 0.1, 1], "share": [0.25, 1]}),
        "fastText": ([FastText()], {"epoch": [5, 25]}),
    }
    for name in NAMES:
        if name == "fastText":
            try:
                import fasttext  # noqa: F401
            except ImportError:
                continue
        parts, grid = steps[name]
        pipeline = make_pipeline(*parts)
        last = pipeline.steps[-1][0]
        yield name, GridSearchCV(pipeline, {f"{last}__{key}": values for key, values in grid.items()}, cv=FOLDS)
