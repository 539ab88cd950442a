"""Views of a text on the serve side: its terms, where they stand, and what each word of it adds to a score."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _native, _stopping
from tallywise.models.compression import Scales
from tallywise.models.text_schema import LONGEST_NGRAM, TermWeighting, ViewTerms

Array = NDArray[np.float64]
Span = tuple[int, int]
_TOGETHER = 1 << 16  # occurrences taken together: some megabytes of pairs of occurrence and word


class ServedView:
    """One analysis and its terms: those of a vocabulary, or hashes."""

    def __init__(self, terms: ViewTerms) -> None:
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

    def spans(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Term, begin and end (characters) of every feature in a text."""
        texts = _native.Texts.from_list([text], self.lower)
        if self._vocabulary is not None:
            found = _native.vocabulary_spans(self._analyzer, texts, self._vocabulary)
        else:
            found = _native.hashed_spans(self._analyzer, texts, self.size)
        terms, begins, ends = (np.asarray(part, dtype=np.int64) for part in found)
        return terms, begins, ends

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


class ServedBlock:
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


def token_pattern(views: Sequence[ServedView]) -> str:
    """What counts as a word for people: what the analyses take for one."""
    if not any(view.words for view in views):
        return r"\S+"
    return r"\w+" if all(view.words and not view.marks for view in views) else r"\w+|[^\w\s]"


def added_by_word(
    views: Sequence[ServedView],
    blocks: Sequence[ServedBlock],
    text: str,
    columns: NDArray[np.int64],
    contributions: Array,
) -> list[tuple[str, float, list[Span]]]:
    """What each word and each n-gram of words adds, and where it stands; the sum is that of all contributions.

    What an n-gram of characters adds is spread over the characters it covers, and these are gathered by word. Takes
    time in proportion to the length of the text.
    """
    sums: dict[str, float] = {}
    places: dict[str, dict[Span, None]] = {}
    named: dict[Span, str] = {}
    by_character = np.zeros(len(text))
    for v, view in enumerate(views):
        _stopping.check()
        found = _occurrences(view, *_by_term(v, blocks, columns, contributions), text)
        if not view.words:
            _spread(by_character, found)
            continue
        for term, added, there in _by_place(found):
            name = view.named(term, text, there)
            sums[name] = sums.get(name, 0.0) + added
            places.setdefault(name, {}).update(dict.fromkeys(there))
            named.update(dict.fromkeys(there, name))
    if any(not view.words for view in views):
        tokens = [match.span() for match in re.finditer(token_pattern(views), text)]
        _stopping.check()
        # White space goes with the token before it, at the beginning of a text with the first.
        edges = [0, *(begin for begin, _ in tokens[1:])]
        shares = np.add.reduceat(by_character, edges).tolist() if tokens else []
        for (begin, end), share in zip(tokens, shares, strict=True):
            name = named.get((begin, end)) or text[begin:end].lower()
            sums[name] = sums.get(name, 0.0) + share
            places.setdefault(name, {})[begin, end] = None
        if not tokens and by_character.any():
            sums[text], places[text] = float(by_character.sum()), {(0, len(text)): None}
    return [(name, sums[name], [*places[name]]) for name in sums]


def added_by_touch(
    views: Sequence[ServedView],
    blocks: Sequence[ServedBlock],
    text: str,
    columns: NDArray[np.int64],
    contributions: Array,
    places: dict[str, list[Span]],
) -> dict[str, float]:
    """What the features that touch each word add; one that touches two words counts for both."""
    words = list(places)
    standing = sorted((begin, end, number) for number, word in enumerate(words) for begin, end in places[word])
    begins, ends, owners = np.array(standing, dtype=np.int64).reshape(-1, 3).T
    total = np.zeros(len(words))
    for v, view in enumerate(views):
        found = _occurrences(view, *_by_term(v, blocks, columns, contributions), text)
        for start in range(0, len(found.terms), _TOGETHER):
            _stopping.check()
            part = slice(start, start + _TOGETHER)
            first = np.searchsorted(ends, found.begins[part], "right")
            count = np.maximum(np.searchsorted(begins, found.ends[part], "left") - first, 0)
            which = np.repeat(np.arange(len(count)), count)
            touched = owners[np.arange(len(which)) - np.repeat(np.cumsum(count) - count - first, count)]
            which, touched = np.divmod(np.unique(which * len(words) + touched), max(len(words), 1))
            total += np.bincount(touched, found.added[part][which], len(words))
    return dict(zip(words, total.tolist(), strict=True))


class _Occurrences(NamedTuple):
    """Terms that have a weight, where each occurrence stands, and what each adds: an equal part of its term's."""

    terms: NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    added: Array
    of_term: Array  # what the term adds as a whole


def _occurrences(view: ServedView, known: NDArray[np.int64], contributions: Array, text: str) -> _Occurrences:
    terms, begins, ends = view.spans(text)
    if not len(known):
        terms, begins, ends = terms[:0], begins[:0], ends[:0]
        return _Occurrences(terms, begins, ends, np.empty(0), np.empty(0))
    place = np.minimum(np.searchsorted(known, terms), len(known) - 1)
    counted = known[place] == terms
    place = place[counted]
    of_term = contributions[place]
    often = np.bincount(place, minlength=len(known))
    return _Occurrences(terms[counted], begins[counted], ends[counted], of_term / often[place], of_term)


def _spread(by_character: Array, found: _Occurrences) -> None:
    """Add what each occurrence adds to the characters that it covers, in equal parts."""
    lengths = found.ends - found.begins
    shares = found.added / np.maximum(lengths, 1)
    short = lengths <= LONGEST_NGRAM
    begins, share, length = found.begins[short], shares[short], lengths[short]
    for k in range(int(length.max(initial=0))):
        there = length > k
        begins, share, length = begins[there], share[there], length[there]
        by_character += np.bincount(begins + k, share, len(by_character))
    # Longer than the longest n-gram by white space that counts as one: few of them cover the same run of it.
    for begin, end, value in zip(found.begins[~short], found.ends[~short], shares[~short], strict=True):
        _stopping.check()
        by_character[begin:end] += value


def _by_place(found: _Occurrences) -> Iterator[tuple[int, float, list[Span]]]:
    """Each term, what it adds, and where it stands; in the order of first occurrences."""
    _, first, inverse = np.unique(found.terms, return_index=True, return_inverse=True)
    order = np.argsort(first[inverse], kind="stable")
    begins, ends = found.begins[order].tolist(), found.ends[order].tolist()
    counts = np.bincount(inverse)[np.argsort(first)]
    stops = np.cumsum(counts).tolist()
    start = 0
    for stop in stops:
        _stopping.check()
        k = int(order[start])
        there = list(zip(begins[start:stop], ends[start:stop], strict=True))
        yield int(found.terms[k]), float(found.of_term[k]), there
        start = stop


def _by_term(
    v: int, blocks: Sequence[ServedBlock], columns: NDArray[np.int64], contributions: Array
) -> tuple[NDArray[np.int64], Array]:
    """Terms of a view in order, and what each adds, in all the blocks that it is in."""
    terms, added = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for block in blocks:
        if block.view == v:
            first, last = np.searchsorted(columns, [block.begin, block.end])
            terms.append(columns[first:last] - block.begin)
            added.append(contributions[first:last])
    known, inverse = np.unique(np.concatenate(terms), return_inverse=True)
    return known, np.bincount(inverse, np.concatenate(added), len(known)).astype(np.float64)
