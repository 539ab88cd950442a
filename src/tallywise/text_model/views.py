"""What a text is made of: views of it, each with terms of its own, and the counts of many texts in them."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.models.text_schema import Tokenisation
from tallywise.text import CountVectorizer, HashingVectorizer
from tallywise.text_model.corpora import Corpus
from tallywise.text_model.merging import with_columns

WORDS_AND_MARKS = r"(?u)\w+|[^\w\s]"
# In all texts together, above which only words and frequent pairs of them are counted: runs of characters and of three
# words take 140 bytes a character, 7.3 GB of memory for 53 million.
MOST_CHARACTERS = 40_000_000
PAIRS_IN = 200_000  # pairs must then be in one of so many texts, and in two at least
MOST_WEIGHTS = 1 << 25  # terms times columns of scores of such a model: 50 MB of file, 256 MB while it is fitted
MOST_TERMS = 1 << 22
# Terms times columns of scores of any model: 2 GB per matrix of weights.
MOST_DENSE_WEIGHTS = 1 << 28


def too_wide(widths: Sequence[int], columns: int, *, hurry: bool = False) -> bool:
    """Whether weights of all terms for so many columns of scores take too much memory, or in a hurry too much time."""
    return bool(columns * sum(widths) > (MOST_WEIGHTS if hurry else MOST_DENSE_WEIGHTS))


@dataclass
class View:
    """One way to cut texts into terms: words with punctuation marks, or characters."""

    name: str  # words, characters, pairs
    vectorizer: CountVectorizer | HashingVectorizer
    least: int = 1  # texts that a run of several words must be in; others are left out
    most: int = MOST_TERMS  # terms where `least` is above 1: the least frequent are left out, runs of words first
    least_of_words: int = 1  # texts that a single word must be in, once fitted

    @property
    def many(self) -> bool:
        """Whether texts are so many that terms are left out."""
        return self.least > 1

    @property
    def hashed(self) -> bool:
        """Whether columns are hashes of terms."""
        return isinstance(self.vectorizer, HashingVectorizer)

    def describe(self) -> str:
        """Which terms of many texts are counted, for people."""
        words = "words" if self.least_of_words == 1 else f"words in at least {self.least_of_words} texts"
        return f"{words} and pairs of words in at least {self.least} texts"

    def fit(self, texts: Any) -> Any:
        """Learn the terms of texts and count them (CSR)."""
        if not self.many:
            return self.vectorizer.fit_transform(texts)
        vectorizer: Any = self.vectorizer
        vectorizer._begin(texts)
        counts = vectorizer._count(texts)
        documents = counts.sums(documents=True)
        words = _spaces(counts.terms.bytes, counts.terms.offsets) == 0
        allowed = vectorizer._kept_terms(counts)
        if allowed is not None:
            documents *= allowed
        self.least_of_words = least_for(documents[words], 1, self.most // 2)
        kept = words & (documents >= self.least_of_words)
        self.least = least_for(documents[~words], self.least, self.most - int(kept.sum()))
        kept |= ~words & (documents >= self.least)
        # Frequent terms first, to within a factor of four, and in the order of terms otherwise: the weights that most
        # entries ask for lie together, and neighbours in a file still begin alike.
        columns = np.flatnonzero(kept)
        columns = columns[np.argsort(-(np.frexp(documents[columns])[1] // 2), kind="stable")]
        target = np.full(len(kept), -1, dtype=np.int64)
        target[columns] = np.arange(len(columns))
        vectorizer._set_terms(counts.terms.at(columns))
        return counts.matrix(len(columns), vectorizer.dtype, binary=False, target=target)

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
        kept = _spaces(*self.terms()) < 2
        vectorizer: Any = copy.copy(self.vectorizer)
        vectorizer.set_params(ngram_range=(1, 2))
        vectorizer.__dict__.pop("_native_index", None)
        vectorizer._set_terms(vectorizer._native_terms().take(kept))
        return View("pairs", vectorizer), with_columns(counts, kept)

    def single_words(self) -> NDArray[np.bool_]:
        """Which columns are those of single words."""
        return np.asarray(_spaces(*self.terms()) == 0)

    @property
    def tokenisation(self) -> Tokenisation:
        """How the model file says that texts are cut."""
        v = self.vectorizer
        words = v.analyzer == "word"
        return Tokenisation(
            v.analyzer,
            (v.ngram_range[0], v.ngram_range[1]),
            marks=words,
            deobfuscate=bool(v.deobfuscate),
            strip_markup=v._strip_markup,
            stop_words=tuple(sorted(v.get_stop_words() or [])) if words else (),
            n_features=v.n_features if isinstance(v, HashingVectorizer) else None,
            name=self.name,
        )


def least_for(documents: NDArray[np.int64], least: int, most: int) -> int:
    """The smallest number of texts, `least` or more, that at most `most` of the terms are in so many of."""
    if np.count_nonzero(documents >= least) <= most:
        return least
    ranked = np.sort(documents)[::-1]
    return max(least, int(ranked[max(most, 0)]) + 1)


def _spaces(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """How many spaces each term has: one less than words, for runs of words."""
    if len(offsets) < 2:
        return np.empty(0, dtype=np.int32)
    return np.asarray(np.add.reduceat((text == ord(" ")).view(np.uint8), offsets[:-1], dtype=np.int32))


def make_views(
    analyzer: str,
    ngram_range: tuple[int, int] | None,
    min_df: float,
    n_features: int | None,
    *,
    deobfuscate: bool,
    stop_words: Any,
    n_jobs: int | None,
    corpus: Corpus | None = None,
    columns: int = 1,
    few: bool = False,
) -> list[View]:
    """The views of an analysis: words and characters for ``auto``, else the one that it names.

    Where the texts of a `corpus` are many, or `few` terms are asked for, words and pairs of words alone, without the
    pairs that are in few of them: single words and frequent pairs then say enough, and the rest takes more memory than
    a model is worth. Nor are there more terms then than weights for so many `columns` of scores have room for. Where
    the corpus has markup, tags are white space but for the addresses in them, entities the characters they stand for.
    """
    if analyzer not in ("auto", "word", "char", "char_wb"):
        msg = f"analyzer must be 'auto', 'word', 'char' or 'char_wb'. Got {analyzer!r}."
        raise ValueError(msg)

    markup = corpus is not None and corpus.markup
    rows, characters = (0, 0) if corpus is None else (len(corpus), corpus.characters)

    def view(units: str, lengths: tuple[int, int], least_df: float) -> View:
        words = units == "word"
        shared: dict[str, Any] = {"analyzer": units, "ngram_range": lengths, "deobfuscate": deobfuscate}
        shared |= {"token_pattern": WORDS_AND_MARKS, "stop_words": stop_words} if words else {}
        name = "words" if words else "characters"
        if n_features is not None:
            hashing = HashingVectorizer(n_features=n_features, norm=None, alternate_sign=False, **shared)
            hashing._strip_markup = markup
            return View(name, hashing)
        counter = CountVectorizer(min_df=least_df, grow=True, dtype=np.float32, n_jobs=n_jobs, **shared)
        counter._strip_markup = markup
        return View(name, counter)

    if analyzer in ("char", "char_wb"):
        return [view(analyzer, ngram_range or (1, 5), min_df)]
    few = few or characters > MOST_CHARACTERS
    if analyzer == "auto" and ngram_range is None and n_features is None and few:
        words = view("word", (1, 2), min_df)
        most = min(MOST_TERMS, MOST_WEIGHTS // columns)
        return [replace(words, least=max(2, rows // PAIRS_IN), most=most)]
    found = [view("word", ngram_range or (1, 3 if n_features is None else 2), min_df)]
    if analyzer == "auto":
        # Runs of characters in one text only are most of them, and say least.
        found.append(view("char_wb", (1, 5), max(min_df, 2) if isinstance(min_df, int) else min_df))
    return found
