"""Which analyses run natively, and their native form."""

import re
from typing import Any

from tallywise._native import Analyzer

# One or more \w, the last of them repeated, with or without word boundaries: a longest run of word characters.
_RUN_OF_WORD_CHARACTERS = re.compile(
    r"(?:\(\?u\))?(?:\\b)?(?P<plain>(?:\\w)*)\\w(?:\+|\{(?P<least>\d{1,4}),\})(?:\\b)?"
)


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


def native_analyzer(vectorizer: Any) -> Analyzer | None:
    """The native form of a vectorizer's analysis; None where a part of it is the user's own Python code.

    A user's ``preprocessor`` (or ``strip_accents`` function) alone does not forbid it: its result is then cut up
    natively, as it is.
    """
    min_n, max_n = vectorizer.ngram_range
    if not (isinstance(min_n, int) and isinstance(max_n, int)) or not 1 <= min_n <= max_n < 2**31:
        return None
    least: int | None = 1
    stop_words: frozenset[Any] = frozenset()
    if vectorizer.analyzer == "word":
        least = None if vectorizer.tokenizer is not None else least_length(vectorizer.token_pattern)
        stop_words = vectorizer.get_stop_words() or frozenset()
    elif vectorizer.analyzer not in ("char", "char_wb"):
        return None
    if least is None:
        return None
    encoded = sorted(word.encode("utf-8", "surrogatepass") for word in stop_words if isinstance(word, str))
    lower = bool(vectorizer.lowercase) and not prepared_in_python(vectorizer)
    return Analyzer(vectorizer.analyzer, lower, least, min_n, max_n, encoded)


def prepared_in_python(vectorizer: Any) -> bool:
    """Whether documents pass through a Python function before they are cut up."""
    return vectorizer.preprocessor is not None or vectorizer.strip_accents is not None
