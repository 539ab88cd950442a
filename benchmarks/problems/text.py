"""Text to counts on 20 Newsgroups: the training part (22 MB) unless a title says otherwise."""

from typing import Any

from benchmarks import datasets
from benchmarks.problems import Problem, digest

# What each problem fits: the kind of vectorizer and its options. The rivals read this.
TEXT: dict[str, tuple[str, dict[str, Any]]] = {
    "text-count": ("count", {}),
    "text-count-1-thread": ("count", {}),
    "text-bigrams": ("count", {"ngram_range": (1, 2)}),
    "text-triples": ("count", {"ngram_range": (1, 3), "min_df": 2}),
    "text-char-wb": ("count", {"analyzer": "char_wb", "ngram_range": (3, 5)}),
    "text-tfidf": ("tfidf", {}),
    "text-hashing": ("hashing", {}),
    "text-count-8x": ("count", {}),
}


def texts() -> list[str]:
    return datasets.newsgroups()[0]


def both_parts() -> list[str]:
    """Training and test posts, 33 MB of them."""
    chosen, size = [], 0
    for text in [*datasets.newsgroups()[0], *datasets.newsgroups("test")[0]]:
        size += len(text)
        if size > 33e6:
            break
        chosen.append(text)
    return chosen


def eight_times() -> list[str]:
    return [f"{text} {k}" for k in range(8) for text in datasets.newsgroups()[0]]


def check(_: Any, result: Any) -> dict[str, Any]:
    """Structure, values and vocabulary as fingerprints; weights rounded, because orders of summation differ."""
    X, vectorizer = result
    X = X.copy()
    X.has_sorted_indices = False
    X.sort_indices()
    name = "matrix"
    if X.dtype.kind == "f":
        X.data = X.data.round(9)
        name = "matrix to 9 decimals"
    figures = {name: digest(X)}
    if hasattr(vectorizer, "vocabulary_"):
        figures["vocabulary"] = digest(vectorizer.get_feature_names_out())
    return figures


def problem(name: str, title: str, goal: float | None, load: Any = texts, **more: Any) -> Problem:
    return Problem(name, title, load, check, {"sklearn": goal} if goal else {}, **more)


PROBLEMS = [
    problem("text-count", "CountVectorizer, words, 22 MB", 20),
    problem("text-count-1-thread", "CountVectorizer, words, 22 MB, one thread", 12, threads=1),
    problem("text-bigrams", "CountVectorizer, words and bigrams", 15),
    problem("text-triples", "CountVectorizer, 1 to 3 words in at least two texts, 33 MB", 40, both_parts, repeats=2),
    problem("text-char-wb", "CountVectorizer, char_wb 3 to 5", 15, repeats=2),
    problem("text-tfidf", "TfidfVectorizer", 15),
    problem("text-hashing", "HashingVectorizer", 12),
    problem("text-transform", "CountVectorizer.transform", 20),
    problem(
        "text-count-8x", "CountVectorizer, words, 8 x 22 MB (time must be at most 9 x that of one)", None, eight_times
    ),
]
