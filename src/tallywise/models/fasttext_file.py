"""The binary model file of fastText, ``.bin`` and ``.ftz``: little-endian numbers, one part after the other.

::

    magic, version                               int32 each
    dim ws epoch minCount neg wordNgrams         int32 each
    loss model bucket minn maxn lrUpdateRate t   int32 each, t float64
    dictionary                                   size, words, labels int32; tokens, pruned n-grams int64; entries of a
                                                 text up to a zero byte, a count int64, a kind int8; pairs of int32,
                                                 from which bucket to which row, where n-grams are pruned
    input matrix                                 quantised? int8, then the matrix
    output matrix                                quantised? int8, then the matrix

A plain matrix is rows, columns (int64) and float32 numbers. A quantised one cuts each row into parts, and has for each
part the number of the nearest of 256 centroids; norms of rows may be kept apart, quantised the same way.
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tallywise.errors import ModelFileError

MAGIC = 793712314
_VERSIONS = (11, 12)
_SUPERVISED = 3
_LOSSES = {1: "hs", 2: "ns", 3: "softmax", 4: "ova"}
_CENTROIDS = 256
_LONGEST_NGRAM = 64
INFINITE = 10**15  # what fastText takes for more than any count of labels
_ENTRY = 10  # bytes of a dictionary's entry without its text, the zero byte included

Rows = NDArray[np.float32]


def is_fasttext(start: bytes) -> bool:
    """Whether a file that begins like this is a model of fastText."""
    return start[:4] == struct.pack("<i", MAGIC)


@dataclass(frozen=True)
class Plain:
    """A matrix of numbers."""

    values: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def rows(self, which: Any) -> Rows:
        """Some of its rows."""
        return np.asarray(self.values[which])


@dataclass(frozen=True)
class Quantised:
    """A matrix whose rows are made of centroids, times a norm."""

    codes: NDArray[np.uint8]  # a row of the matrix, a part of it
    centroids: list[Rows]  # of each part, one a row
    norm_codes: NDArray[np.uint8] | None
    norms: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.codes), sum(part.shape[1] for part in self.centroids)

    def rows(self, which: Any) -> Rows:
        """Some of its rows."""
        codes = self.codes[which]
        found = np.concatenate([part[codes[:, k]] for k, part in enumerate(self.centroids)], axis=1)
        return found if self.norm_codes is None else found * self.norms[self.norm_codes[which]][:, None]


@dataclass(frozen=True)
class FastTextFile:
    """What a file holds."""

    loss: str
    dim: int
    word_ngrams: int
    bucket: int
    minn: int
    maxn: int
    words: list[bytes]
    labels: list[bytes]
    label_counts: list[int]
    tokens: int
    pruned: NDArray[np.int64] | None  # bucket and row behind the words, by bucket; None: every bucket has its own row
    inputs: Plain | Quantised
    outputs: Plain | Quantised


def read(path: str | os.PathLike[str]) -> FastTextFile:
    """Read a supervised model, or raise `ModelFileError` with the cause."""
    try:
        return _Reader(Path(path).read_bytes()).file()
    except _Invalid as error:
        msg = f"Cannot read {os.fspath(path)!r} as a model of fastText: {error}."
        raise ModelFileError(msg) from None


class _Invalid(ValueError):
    pass


def _refuse(cause: str) -> NoReturn:
    raise _Invalid(cause)


class _Reader:
    """A place in the bytes of a file; no size is believed before it is compared with what is left of them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def left(self) -> int:
        return len(self.data) - self.place

    def numbers(self, form: str) -> tuple[Any, ...]:
        size = struct.calcsize(form)
        if size > self.left():
            _refuse("it ends too early")
        found = struct.unpack_from(form, self.data, self.place)
        self.place += size
        return found

    def array(self, dtype: Any, count: int) -> NDArray[Any]:
        size = count * np.dtype(dtype).itemsize
        if count < 0 or size > self.left():
            _refuse("it ends too early, or says that it is larger than it is")
        found = np.frombuffer(self.data, dtype, count, self.place)
        self.place += size
        return found

    def file(self) -> FastTextFile:
        magic, version = self.numbers("<2i")
        if magic != MAGIC:
            _refuse("it does not begin as one (models of before 2017 do not say what they are)")
        if version not in _VERSIONS:
            _refuse(f"its version is {version}; 11 and 12 are known")
        dim, _, _, _, _, word_ngrams, loss, kind, bucket, minn, maxn, _, _ = self.numbers("<12id")
        if kind != _SUPERVISED:
            _refuse("it holds word vectors, not a classifier (a model trained by 'supervised' is needed)")
        if loss not in _LOSSES:
            _refuse(f"there is no loss number {loss}")
        if version == _VERSIONS[0]:
            maxn = 0  # parts of words were not used by classifiers then, whatever the file says
        if dim < 1 or bucket < 0 or not 0 <= word_ngrams <= _LONGEST_NGRAM or maxn > _LONGEST_NGRAM:
            _refuse(f"its dimension {dim}, buckets {bucket} or n-grams ({word_ngrams}, {maxn}) are out of range")
        hashes = maxn > 0 or word_ngrams > 1
        if hashes and bucket == 0:
            _refuse("it has n-grams, and no buckets for them")
        words, labels, counts, tokens, pruned = self._dictionary(bucket)
        (quantised,) = self.numbers("<b")
        inputs = self._matrix(bool(quantised))
        (quantised_output,) = self.numbers("<b")
        outputs = self._matrix(bool(quantised) and bool(quantised_output))
        behind = bucket if hashes else 0
        if pruned is not None:
            behind = int(pruned[:, 1].max(initial=-1)) + 1
        if inputs.shape[1] != dim or inputs.shape[0] < len(words) + behind:
            _refuse(f"its input matrix of {inputs.shape} does not fit its {len(words)} words and {behind} n-grams")
        if outputs.shape != (len(labels), dim):
            _refuse(f"its output matrix of {outputs.shape} does not fit its {len(labels)} labels")
        return FastTextFile(
            loss=_LOSSES[loss],
            dim=dim,
            word_ngrams=word_ngrams,
            bucket=bucket,
            minn=minn,
            maxn=maxn,
            words=words,
            labels=labels,
            label_counts=counts,
            tokens=tokens,
            pruned=pruned,
            inputs=inputs,
            outputs=outputs,
        )

    def _dictionary(self, bucket: int) -> tuple[list[bytes], list[bytes], list[int], int, NDArray[np.int64] | None]:
        size, words, labels, tokens, pruned = self.numbers("<3i2q")
        if words < 0 or labels < 1 or size != words + labels or size > self.left() // _ENTRY:
            _refuse(f"its dictionary of {size} entries, {words} words and {labels} labels is impossible")
        found: list[bytes] = []
        counts: list[int] = []
        for k in range(size):
            end = self.data.find(b"\0", self.place)
            if end < 0:
                _refuse("an entry of its dictionary does not end")
            found.append(self.data[self.place : end])
            self.place = end + 1
            count, kind = self.numbers("<qb")
            if kind != (k >= words):
                _refuse("its dictionary does not have its words before its labels")
            if k >= words:
                counts.append(count)
        if min(counts) < 0 or sum(counts) >= INFINITE:
            _refuse("its counts of labels are impossible")
        if pruned < 0:
            return found[:words], found[words:], counts, tokens, None
        pairs = self.array("<i4", 2 * pruned if pruned <= self.left() else -1).reshape(-1, 2)
        if len(pairs) and (pairs.min() < 0 or int(pairs[:, 0].max()) >= max(bucket, 1)):
            _refuse("its table of pruned n-grams points out of range")
        by_bucket = pairs[np.argsort(pairs[:, 0], kind="stable")].astype(np.int64)
        return found[:words], found[words:], counts, tokens, by_bucket

    def _matrix(self, quantised: bool) -> Plain | Quantised:
        if not quantised:
            m, n = self.numbers("<2q")
            self._possible(m, n)
            return Plain(self.array("<f4", m * n).reshape(m, n))
        with_norms, m, n, size = self.numbers("<b2qi")
        self._possible(m, n)
        codes = self.array(np.uint8, size)
        centroids = self._centroids()
        if sum(part.shape[1] for part in centroids) != n or len(codes) != m * len(centroids):
            _refuse("the parts of its quantised matrix do not fit its rows")
        codes = codes.reshape(m, len(centroids))
        if not with_norms:
            return Quantised(codes, centroids, None, np.empty(0, dtype=np.float32))
        norm_codes = self.array(np.uint8, m)
        norms = self._centroids()
        if len(norms) != 1 or norms[0].shape[1] != 1:
            _refuse("the norms of its quantised matrix are not single numbers")
        return Quantised(codes, centroids, norm_codes, norms[0][:, 0])

    def _possible(self, m: int, n: int) -> None:
        if not (0 <= m <= self.left() and 0 < n <= self.left()):
            _refuse(f"its matrix of {m} rows and {n} columns is larger than the file")

    def _centroids(self) -> list[Rows]:
        """The centroids of each part of a row; all parts are of one length, but for the last."""
        dim, parts, length, last = self.numbers("<4i")
        if min(dim, parts, length, last) < 1 or (parts - 1) * length + last != dim:
            _refuse("the parts of its quantised matrix are impossible")
        values = self.array("<f4", dim * _CENTROIDS)
        whole = (parts - 1) * length * _CENTROIDS
        found = [*values[:whole].reshape(parts - 1, _CENTROIDS, length)]
        return [*found, values[whole:].reshape(_CENTROIDS, last)]
