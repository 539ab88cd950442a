"""Texts that were read before, as numbers of their runs between white space: small enough to travel and to be kept.

What is counted from them is what would be counted from the texts. See `cpp/core/text/coded_texts.hpp`.
"""

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise._native import CodedTexts, RunReader, Texts

Parts = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]
_MOST_BYTES = 5  # of a whole number below 2^32, seven bits in each
_LARGEST = 1 << 33  # bytes that a stretch may say that it unpacks to


class CodedCorpus:
    """Texts by their runs, in parts that are unpacked a few at a time whenever they are counted.

    Parameters
    ----------
    load : callable
        Gives the packed part of a number.
    rows : list of int
        Texts of each part.
    """

    def __init__(self, load: Callable[[int], bytes], rows: Sequence[int]) -> None:
        self._load, self._rows = load, list(rows)

    def __len__(self) -> int:
        return sum(self._rows)

    def batches(self, size: int) -> Iterator[list[CodedTexts]]:
        """The parts in order, so many at a time."""
        for begin in range(0, len(self._rows), size):
            yield [CodedTexts(*unpacked(self._load(k))) for k in range(begin, min(begin + size, len(self._rows)))]

    def __iter__(self) -> Iterator[str]:
        """Texts of the same runs, with one space between them."""
        for k in range(len(self._rows)):
            text, offsets, ids, ends = unpacked(self._load(k))
            encoded = text.tobytes()
            runs = [
                encoded[a:b].decode("utf-8", "surrogatepass")
                for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
            ]
            begin = 0
            for end in ends.tolist():
                yield " ".join([runs[run] for run in ids[begin:end].tolist()])
                begin = end


def coded(pieces: Iterable[list[str]], analyzer: Any) -> bytes:
    """Texts in pieces as one packed part; they are lowercased and rid of markup as the analyzer says."""
    reader = RunReader(analyzer)
    for texts in pieces:
        reader.feed(Texts.from_list(texts, True))
    return packed(reader.finish())


def packed(parts: Parts) -> bytes:
    """A part in few bytes: whole numbers of seven bits a byte, compressed."""
    text, offsets, ids, ends = parts
    stretches = [_numbers(np.diff(ends, prepend=0)), _numbers(ids), _numbers(np.diff(offsets)), text.tobytes()]
    small = [zlib.compress(stretch, 6) for stretch in stretches]
    sizes = [n for stretch, little in zip(stretches, small, strict=True) for n in (len(stretch), len(little))]
    return struct.pack("<8Q", *sizes) + b"".join(small)


def unpacked(data: bytes) -> Parts:
    """What was packed; ValueError for bytes that were not."""
    try:
        sizes = struct.unpack_from("<8Q", data)
        at, stretches = 64, []
        for size, little in zip(sizes[::2], sizes[1::2], strict=True):
            stretch = zlib.decompressobj().decompress(data[at : at + little], min(size, _LARGEST) + 1)
            if len(stretch) != size:
                msg = "a stretch is cut off"
                raise ValueError(msg)
            stretches.append(stretch)
            at += little
        lengths, ids, widths = (_whole(stretch) for stretch in stretches[:3])
    except (struct.error, zlib.error, ValueError) as error:
        msg = f"These are no packed texts ({error})."
        raise ValueError(msg) from None
    text = np.frombuffer(stretches[3], dtype=np.uint8)
    offsets = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
    return text, offsets.astype(np.int64), ids, np.cumsum(lengths, dtype=np.int64)


def _numbers(values: NDArray[Any]) -> bytes:
    values = values.astype(np.uint64)
    lengths = np.ones(len(values), dtype=np.int64)
    for k in range(1, _MOST_BYTES):
        lengths += values >= np.uint64(1 << (7 * k))
    ends = np.cumsum(lengths)
    out = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for k in range(_MOST_BYTES):
        has = lengths > k
        more = (lengths[has] > k + 1).astype(np.uint8) << 7
        out[(ends - lengths)[has] + k] = ((values[has] >> np.uint64(7 * k)) & np.uint64(127)).astype(np.uint8) | more
    return out.tobytes()


def _whole(data: bytes) -> NDArray[np.uint32]:
    read = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(read < 128) + 1
    lengths = np.diff(ends, prepend=0)
    if (len(ends) and (ends[-1] != len(read) or lengths.max() > _MOST_BYTES)) or (len(read) and not len(ends)):
        msg = "a number has no end"
        raise ValueError(msg)
    values = np.zeros(len(ends), dtype=np.uint32)
    for k in range(_MOST_BYTES):
        has = lengths > k
        values[has] |= (read[(ends - lengths)[has] + k] & np.uint8(127)).astype(np.uint32) << np.uint32(7 * k)
    return values
