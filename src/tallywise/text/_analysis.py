"""Which analyzers run natively, and their native form."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from tallywise import _threads
from tallywise._native import Analyzer, Texts, VocabularyCounter, deobfuscate
from tallywise.text._accents import foldings
from tallywise.text._coded import CodedCorpus
from tallywise.text._documents import as_text, portions

# One or more \w, the last of them repeated, with or without word boundaries: a longest run of word characters.
_RUN_OF_WORD_CHARACTERS = re.compile(
    r"(?:\(\?u\))?(?:\\b)?(?P<plain>(?:\\w)*)\\w(?:\+|\{(?P<least>\d{1,4}),\})(?:\\b)?"
)

# A longest run of word characters, or one character that is neither in a word nor white space.
_WORDS_AND_MARKS = re.compile(r"(?:\(\?u\))?(?:\\w\+\|\[\^\\w\\s\]|\[\^\\w\\s\]\|\\w\+)")


def has_marks(token_pattern: str | None) -> bool:
    r"""Whether a pattern means words of any length and punctuation marks, each mark a token.

    >>> has_marks(r"\w+|[^\w\s]"), has_marks(r"\w+")
    (True, False)
    """
    return _WORDS_AND_MARKS.fullmatch(token_pattern or "") is not None


def least_length(token_pattern: str | None) -> int | None:
    r"""Least number of characters of a word, for patterns that mean a longest run of word characters; else None.

    >>> least_length(r"(?u)\b\w\w+\b")
    2
    >>> least_length(r"\w{3,}")
    3
    >>> least_length(r"[a-z]+") is None
    True
    """
    match = _RUN_OF_WORD_CHARACTERS.fullmatch(token_pattern or "")
    if match is None:
        return None
    plain = len(match["plain"]) // 2
    return plain + (1 if match["least"] is None else int(match["least"])) or None


def _deobfuscated(prepare: Callable[[Any], Any], document: Any) -> Any:
    return prepare(deobfuscate(document) if isinstance(document, str) else document)


class NativeAnalysis:
    """Shared by the vectorizers: documents are tokenized natively unless user code does it."""

    _strip_markup = False  # set by models of texts that have HTML in them; native analyses only

    def _native_analyzer(self: Any, raw_documents: Any = ()) -> Analyzer | None:
        """The native form of the analysis; None where a part of it is the user's own Python code.

        Documents that were read before have no markup and no look-alikes any more.

        A user's ``preprocessor`` (or ``strip_accents`` function) alone does not prevent it: what it returns is
        then tokenized natively.
        """
        min_n, max_n = self.ngram_range
        if not (isinstance(min_n, int) and isinstance(max_n, int)) or not 1 <= min_n <= max_n < 2**31:
            return None
        least: int | None = 1
        marks = False
        stop_words: Iterable[Any] = ()
        if self.analyzer == "word":
            if self.stop_words is not None:
                self.build_analyzer()  # warns where stop words are not what the tokenizer gives
                stop_words = self.get_stop_words()
            marks = self.tokenizer is None and has_marks(self.token_pattern)
            least = 1 if marks else None if self.tokenizer is not None else least_length(self.token_pattern)
        elif self.analyzer not in ("char", "char_wb"):
            return None
        if least is None:
            return None
        encoded = sorted(word.encode("utf-8", "surrogatepass") for word in stop_words if isinstance(word, str))
        natively = not self._prepared_in_python()
        lower, unmask, strip = bool(self.lowercase) and natively, self.deobfuscate and natively, self._strip_markup
        if isinstance(raw_documents, CodedCorpus):
            unmask = strip = False
        return Analyzer(self.analyzer, lower, least, min_n, max_n, unmask, encoded, marks, strip)

    def build_preprocessor(self: Any) -> Callable[[Any], Any]:
        """Return the function that preprocesses a document before tokenization.

        Returns
        -------
        preprocessor : callable
            A function of a document.
        """
        prepare = super().build_preprocessor()  # type: ignore[misc]  # the vectorizer's, which comes after this mixin
        return partial(_deobfuscated, prepare) if self.deobfuscate else prepare

    def _prepared_in_python(self: Any) -> bool:
        """Whether documents pass through a user's function before tokenization."""
        return self.preprocessor is not None or callable(self.strip_accents)

    def _reader(self: Any) -> Callable[[int, Any], str]:
        """read(row, document): what reaches the native analysis."""
        prepare = self.build_preprocessor() if self._prepared_in_python() else None

        def read(row: int, document: Any) -> str:
            if self.input == "content" and not isinstance(document, bytes):
                text = document if self.preprocessor is not None else as_text(row, document)
            else:
                try:
                    text = self.decode(document)
                except Exception as error:
                    error.add_note(f"This is about row {row} of the documents.")
                    raise
            return as_text(row, text if prepare is None else prepare(text))

        return read

    def _texts(self: Any, raw_documents: Iterable[Any], analyzer: Analyzer) -> Iterator[Texts]:
        """Documents in portions, ready for the analyzer."""
        as_they_are = self.input == "content" and not self._prepared_in_python()
        lower = bool(self.lowercase) and not self._prepared_in_python()
        strip = self.preprocessor is None and self.strip_accents in ("ascii", "unicode")
        for texts in portions(raw_documents, self._reader(), as_they_are=as_they_are, lower=lower):
            if strip and (self.deobfuscate or not texts.ascii):
                analyzer.set_foldings(foldings(self.strip_accents))
            yield texts

    def _feed(self: Any, counter: Any, raw_documents: Iterable[Any], analyzer: Analyzer) -> None:
        threads = _threads.count(self.n_jobs)
        if isinstance(raw_documents, CodedCorpus) and self.analyzer == "char":
            msg = "Characters across words cannot be counted from runs between white space: use analyzer='char_wb'."
            raise ValueError(msg)
        if isinstance(raw_documents, CodedCorpus) and isinstance(counter, VocabularyCounter):
            for parts in raw_documents.batches(threads):
                counter.feed_coded(parts, threads)
            return
        for texts in self._texts(raw_documents, analyzer):
            counter.feed(texts, threads)

    def _one_text(self: Any, document: Any) -> tuple[Analyzer, Texts]:
        """A document as native text, and the analyzer, for its spans."""
        analyzer = self._native_analyzer()
        if analyzer is None or self._prepared_in_python():
            msg = (
                "Positions of terms are available with the native analyzers only. "
                "This vectorizer has a tokenizer, analyzer, preprocessor or token_pattern of its own."
            )
            raise ValueError(msg)
        return analyzer, next(self._texts([document], analyzer))
