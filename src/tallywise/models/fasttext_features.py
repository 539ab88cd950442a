"""Texts to rows of a fastText model: words, n-grams of words and parts of words (subwords), by fastText's hashes."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.models.fasttext_file import FastTextFile

Ints = NDArray[np.int64]

END = b"</s>"  # stands behind every text
LABEL_PREFIX = "__label__"
_TOKEN = re.compile(r"[^ \n\r\t\v\f\0]+")
_BASIS, _PRIME = np.uint32(2166136261), np.uint32(16777619)  # of the hash FNV-1a


class InputRows(NamedTuple):
    """Rows of the input matrix that texts consist of: which, of which text, and from which of its tokens to which."""

    rows: Ints
    text: Ints
    first: Ints
    last: Ints


class TextRows:
    """Finds the rows of the input matrix that texts consist of."""

    def __init__(self, file: FastTextFile) -> None:
        self.file = file
        self._id: dict[bytes, int] = {}
        for k, word in enumerate([*file.words, *file.labels]):
            self._id.setdefault(word, k)

    def unknown_share(self, text: str) -> float:
        """The share of a text's words that are not among the words of the model."""
        tokens = self.line(text)[0][:-1]
        return sum(token not in self._id for token in tokens) / max(len(tokens), 1)

    def line(self, text: str) -> tuple[list[bytes], list[tuple[int, int]]]:
        """The tokens of a text, with the mark of its end behind them, and where they stand."""
        tokens, spans = [], []
        for match in _TOKEN.finditer(text):
            token = match.group().encode("utf-8", "surrogatepass")
            if token == END:  # ends a text wherever it stands
                break
            tokens.append(token)
            spans.append(match.span())
        return [*tokens, END], spans

    def features(self, lines: Sequence[Sequence[bytes]]) -> InputRows:
        """The rows of texts that were cut into tokens."""
        file = self.file
        number: dict[bytes, int] = {}
        codes = np.array([number.setdefault(token, len(number)) for line in lines for token in line], dtype=np.int64)
        lengths = np.array([len(line) for line in lines], dtype=np.int64)
        text = np.repeat(np.arange(len(lines)), lengths)
        place = np.arange(len(codes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        tokens = list(number)
        known = np.array([self._id.get(token, -1) for token in tokens], dtype=np.int64)
        label = np.array([token.startswith(LABEL_PREFIX.encode()) for token in tokens], dtype=bool)
        is_word = np.where(known >= 0, known < len(file.words), ~label)[codes]
        codes, text, place = codes[is_word], text[is_word], place[is_word]
        own = known[codes] >= 0
        parts = [InputRows(known[codes[own]], text[own], place[own], place[own])]
        if file.maxn > 0:
            flat, starts = self._subwords(tokens)
            lengths = np.diff(starts)[codes]
            shift = starts[codes] - (np.cumsum(lengths) - lengths)
            rows = flat[np.repeat(shift, lengths) + np.arange(lengths.sum())]
            where = np.repeat(place, lengths)
            parts.append(InputRows(rows, np.repeat(text, lengths), where, where))
        if file.word_ngrams > 1:
            hashes = np.array([_hash(token) for token in tokens], dtype=np.uint32).view(np.int32).astype(np.int64)
            h = hashes.view(np.uint64)[codes]
            H = h
            for n in range(1, min(file.word_ngrams, len(h))):
                H = H[:-1] * np.uint64(116049371) + h[n:]
                rows, kept = self._row((H % np.uint64(file.bucket)).astype(np.int64))
                kept &= text[:-n] == text[n:]
                parts.append(InputRows(rows[kept], text[:-n][kept], place[:-n][kept], place[n:][kept]))
        return InputRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _row(self, buckets: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Rows of buckets, and which buckets have one."""
        words, pruned = len(self.file.words), self.file.pruned
        if pruned is None:
            return words + buckets, np.ones(len(buckets), dtype=bool)
        if not len(pruned):
            return buckets, np.zeros(len(buckets), dtype=bool)
        at = np.maximum(np.searchsorted(pruned[:, 0], buckets, side="right") - 1, 0)
        return words + pruned[at, 1], pruned[at, 0] == buckets

    def _subwords(self, tokens: Sequence[bytes]) -> tuple[Ints, Ints]:
        """Rows of the parts of each token, one token after the other, and where each begins.

        All tokens at once: hashes of n characters from every character on are those of n - 1, and one character more.
        """
        file = self.file
        marked = [b"" if token == END else b"<" + token + b">" for token in tokens]
        lengths = np.array([len(token) for token in marked], dtype=np.int64)
        data = np.frombuffer(b"".join(marked), dtype=np.int8)
        starts = np.flatnonzero((data.view(np.uint8) & 0xC0) != 0x80)  # of characters
        size = np.diff(np.append(starts, len(data)))
        token = np.repeat(np.arange(len(tokens)), lengths)[starts]
        first = np.diff(token, prepend=-1) != 0
        last = np.diff(token, append=-1) != 0
        signed = data.astype(np.int32).view(np.uint32)
        h = np.full(len(starts), _BASIS, dtype=np.uint32)
        found, owner = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for n in range(1, file.maxn + 1):
            rest = len(starts) - n + 1
            if rest <= 0:
                break
            h, begin, width = h[:rest], starts[n - 1 :], size[n - 1 :]
            for k in range(int(width.max())):
                at = np.flatnonzero(width > k)
                h[at] = (h[at] ^ signed[begin[at] + k]) * _PRIME
            inside = token[:rest] == token[n - 1 :]
            if n < file.minn:
                continue
            if n == 1:
                inside = inside & ~first & ~last
            rows, kept = self._row((h[inside] % np.uint32(file.bucket)).astype(np.int64))
            found.append(rows[kept])
            owner.append(token[:rest][inside][kept])
        owners = np.concatenate(owner)
        order = np.argsort(owners, kind="stable")
        counts = np.bincount(owners, minlength=len(tokens))
        return np.concatenate(found)[order], np.concatenate([[0], np.cumsum(counts)])


def _hash(token: bytes) -> int:
    """FNV-1a of 32 bits; bytes from 128 on count as negative numbers."""
    h = 2166136261
    for byte in token:
        h = ((h ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return h
