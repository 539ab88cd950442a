"""What a text is made of: views of it, each with terms of its own, and the counts of many texts in them."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.text import CountVectorizer, HashingVectorizer

WORDS_AND_MARKS = r"(?u)\w+|[^\w\s]"


@dataclass
class View:
    """One way to cut texts into terms: words with punctuation marks, or characters."""

    name: str  # words, characters, pairs
    vectorizer: CountVectorizer | HashingVectorizer

    @property
    def hashed(self) -> bool:
        """Whether columns are hashes of terms."""
        return isinstance(self.vectorizer, HashingVectorizer)

    def fit(self, texts: Sequence[str]) -> Any:
        """Learn the terms of texts and count them (CSR)."""
        return self.vectorizer.fit_transform(texts)

    def count(self, texts: Sequence[str]) -> Any:
        """Counts of texts (CSR)."""
        return self.vectorizer.transform(texts)

    def terms(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The terms in the order of their columns, as UTF-8, and where each begins; empty where they are hashes."""
        if self.hashed:
            return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
        terms: Any = self.vectorizer._native_terms()
        return terms.bytes, terms.offsets

    def pairs(self, counts: Any) -> "tuple[View, Any]":
        """Single words and pairs of words alone, and their columns of the counts."""
        text, offsets = self.terms()
        spaces = np.concatenate([[0], np.cumsum(text == ord(" "))])
        kept = np.diff(spaces[offsets]) < 2
        vectorizer: Any = copy.copy(self.vectorizer)
        vectorizer.set_params(ngram_range=(1, 2))
        vectorizer.__dict__.pop("_native_index", None)
        vectorizer._set_terms(vectorizer._native_terms().take(kept))
        return View("pairs", vectorizer), counts[:, np.flatnonzero(kept)]

    @property
    def options(self) -> dict[str, Any]:
        """What the model file says of the analysis."""
        v = self.vectorizer
        words = v.analyzer == "word"
        return {
            "name": self.name,
            "units": v.analyzer,
            "lower": True,
            "least": 1,
            "marks": words,
            "ngram_range": list(v.ngram_range),
            "deobfuscate": bool(v.deobfuscate),
            "stop_words": sorted(v.get_stop_words() or []) if words else [],
            "n_features": v.n_features if self.hashed else None,
        }


def count_all(views: list[View], texts: Sequence[str], *, pairs: bool) -> tuple[list[View], list[Any]]:
    """Learn the terms of every view, and count the texts in each.

    With `pairs`, runs of at most two words are a view of their own, for the models that take terms for independent:
    longer ones help a linear machine and mislead these.
    """
    counts = [view.fit(texts) for view in views]
    if pairs and views[0].name == "words" and not views[0].hashed:
        view, columns = views[0].pairs(counts[0])
        return [*views, view], [*counts, columns]
    return views, counts


def make_views(
    analyzer: str,
    ngram_range: tuple[int, int] | None,
    min_df: float,
    n_features: int | None,
    *,
    deobfuscate: bool,
    stop_words: Any,
    n_jobs: int | None,
) -> list[View]:
    """The views of an analysis: words and characters for ``auto``, else the one that it names."""
    if analyzer not in ("auto", "word", "char", "char_wb"):
        msg = f"analyzer must be 'auto', 'word', 'char' or 'char_wb'. Got {analyzer!r}."
        raise ValueError(msg)

    def view(units: str, lengths: tuple[int, int], least_df: float) -> View:
        words = units == "word"
        shared: dict[str, Any] = {"analyzer": units, "ngram_range": lengths, "deobfuscate": deobfuscate}
        shared |= {"token_pattern": WORDS_AND_MARKS, "stop_words": stop_words} if words else {}
        name = "words" if words else "characters"
        if n_features is not None:
            hashing = HashingVectorizer(n_features=n_features, norm=None, alternate_sign=False, **shared)
            return View(name, hashing)
        counter = CountVectorizer(min_df=least_df, grow=True, dtype=np.float64, n_jobs=n_jobs, **shared)
        return View(name, counter)

    if analyzer in ("char", "char_wb"):
        return [view(analyzer, ngram_range or (1, 5), min_df)]
    found = [view("word", ngram_range or (1, 3 if n_features is None else 2), min_df)]
    if analyzer == "auto":
        # Runs of characters in one text only are most of them, and say least.
        found.append(view("char_wb", (1, 5), max(min_df, 2) if isinstance(min_df, int) else min_df))
    return found
