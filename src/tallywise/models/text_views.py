"""Views of a text on the serve side: its terms, where they stand, and what each word of it adds to a score."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallywise import _native
from tallywise.models.compression import Scales
from tallywise.models.text_schema import Terms, TermWeighting

Array = NDArray[np.float64]
Span = tuple[int, int]


class View:
    """One analysis and its terms: those of a vocabulary, or hashes."""

    def __init__(self, terms: Terms) -> None:
        how = terms.tokenisation
        self.words, self.marks, self.lower = how.units == "word", how.marks, how.lower
        self._analyzer = _native.Analyzer(
            how.units,
            how.lower,
            how.least,
            *how.ngram_range,
            how.deobfuscate,
            [word.encode("utf-8", "surrogatepass") for word in how.stop_words],
            how.marks,
            bool(how.strip_markup),
        )
        self._text, self._offsets, self.size = terms.text, terms.offsets, terms.size
        self.hashed = how.n_features is not None
        self._vocabulary: _native.Vocabulary | None = None
        if not self.hashed:
            self._vocabulary = _native.Vocabulary(self._text, self._offsets, self.words, how.ngram_range[1])
        self.native = _native.View(self._analyzer, self._vocabulary, self.size)

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        """Term, begin and end (characters) of every feature in a text."""
        texts = _native.Texts.from_list([text], self.lower)
        if self._vocabulary is not None:
            found = _native.vocabulary_spans(self._analyzer, texts, self._vocabulary)
        else:
            found = _native.hashed_spans(self._analyzer, texts, self.size)
        return list(zip(*(part.tolist() for part in found), strict=True))

    def term(self, column: int) -> str:
        """The term of a column, or ``#column`` where columns are hashes."""
        if self.hashed:
            return f"#{column}"
        begin, end = self._offsets[column : column + 2]
        raw = bytes(self._text[begin:end])
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # of a file that no release wrote
            return raw.decode("utf-8", "replace")

    def named(self, column: int, text: str, spans: list[tuple[int, int]]) -> str:
        """The term of a column; where it is a hash, what stands in the text: terms of one hash are one."""
        if not self.hashed:
            return self.term(column)
        found = [text[begin:end].lower() for begin, end in spans]
        if self.words:
            token = r"\w+|[^\w\s]" if self.marks else r"\w\w+"
            found = [" ".join(re.findall(token, term)) for term in found]
        return " / ".join(dict.fromkeys(found))


class Block:
    """The terms of a view as features: how they are weighted, and which rows of W are theirs."""

    def __init__(self, how: TermWeighting, begin: int, end: int, scales: Scales) -> None:
        self.view = how.view
        self.begin, self.end = begin, end
        weighting = _native.Weighting(how.tf, how.norm, *scales.table(slice(begin, end)))
        self.native = _native.Block(self.view, weighting)
        self._length = how.length or 0.0
        self._scales = scales

    def usual(self, rows: slice) -> Array:
        """What one occurrence of a term is worth in a text of usual length; where that is not known, of length 1."""
        return self._scales[rows] / self._length if self._length > 0 else np.ones(rows.stop - rows.start)


def token_pattern(views: Sequence[View]) -> str:
    """What counts as a word for people: what the analyses take for one."""
    if not any(view.words for view in views):
        return r"\S+"
    return r"\w+" if all(view.words and not view.marks for view in views) else r"\w+|[^\w\s]"


def added_by_word(
    views: Sequence[View], blocks: Sequence[Block], text: str, columns: NDArray[np.int64], contributions: Array
) -> list[tuple[str, float, list[Span]]]:
    """What each word and each n-gram of words adds, and where it stands; the sum is that of all contributions.

    What an n-gram of characters adds is spread over the characters it covers, and these are gathered by word.
    """
    sums: dict[str, float] = {}
    places: dict[str, list[Span]] = {}
    named: dict[Span, str] = {}
    by_character = np.zeros(len(text))
    for v, view in enumerate(views):
        of_term = _by_term(v, blocks, columns, contributions)
        spans = [span for span in view.spans(text) if span[0] in of_term]
        if not view.words:
            often = Counter(term for term, _, _ in spans)
            for term, begin, end in spans:
                by_character[begin:end] += of_term[term] / often[term] / (end - begin)
            continue
        standing: dict[int, list[Span]] = {}
        for term, begin, end in spans:
            standing.setdefault(term, []).append((begin, end))
        for term, there in standing.items():
            name = view.named(term, text, there)
            sums[name] = sums.get(name, 0.0) + of_term[term]
            places[name] = list(dict.fromkeys([*places.get(name, []), *there]))
            named.update(dict.fromkeys(there, name))
    if any(not view.words for view in views):
        tokens = [match.span() for match in re.finditer(token_pattern(views), text)]
        # White space goes with the token before it, at the beginning of a text with the first.
        edges = [0, *(begin for begin, _ in tokens[1:]), len(text)]
        for k, (begin, end) in enumerate(tokens):
            name = named.get((begin, end), text[begin:end].lower())
            sums[name] = sums.get(name, 0.0) + float(by_character[edges[k] : edges[k + 1]].sum())
            places[name] = list(dict.fromkeys([*places.get(name, []), (begin, end)]))
        if not tokens and by_character.any():
            sums[text], places[text] = float(by_character.sum()), [(0, len(text))]
    return [(name, sums[name], places[name]) for name in sums]


def added_by_touch(
    views: Sequence[View],
    blocks: Sequence[Block],
    text: str,
    columns: NDArray[np.int64],
    contributions: Array,
    places: dict[str, list[Span]],
) -> dict[str, float]:
    """What the features that touch each word add; one that touches two words counts for both."""
    found = dict.fromkeys(places, 0.0)
    words = list(places)
    owner = np.full(len(text), -1)
    for number, word in enumerate(words):
        for begin, end in places[word]:
            owner[begin:end] = number
    for v, view in enumerate(views):
        of_term = _by_term(v, blocks, columns, contributions)
        spans = [span for span in view.spans(text) if span[0] in of_term]
        often = Counter(term for term, _, _ in spans)
        for term, begin, end in spans:
            for number in {*owner[begin:end].tolist()} - {-1}:
                found[words[number]] += of_term[term] / often[term]
    return found


def _by_term(v: int, blocks: Sequence[Block], columns: NDArray[np.int64], contributions: Array) -> dict[int, float]:
    """What each term of a view adds, in all the blocks that it is in."""
    found: dict[int, float] = {}
    for block in blocks:
        if block.view != v:
            continue
        first, last = np.searchsorted(columns, [block.begin, block.end])
        for column, contribution in zip(columns[first:last].tolist(), contributions[first:last].tolist(), strict=True):
            found[column - block.begin] = found.get(column - block.begin, 0.0) + contribution
    return found
