"""Terms in the order of their columns."""

import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise._native import decode_terms


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms as concatenated UTF-8 with offsets; strings are made on access.

    A million bigrams take 15 MB this way, and 150 MB as a dict of strings.
    """

    bytes: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, terms: Iterable[str]) -> "Terms":
        """Terms of strings, in their order."""
        encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def strings(self) -> list[Any]:
        """Every term, as a new list."""
        return decode_terms(self.bytes, self.offsets)

    def take(self, kept: NDArray[np.bool_]) -> "Terms":
        """The terms for which ``kept`` is true."""
        lengths = np.diff(self.offsets)
        offsets = np.zeros(int(kept.sum()) + 1, dtype=np.int64)
        np.cumsum(lengths[kept], out=offsets[1:])
        return Terms(self.bytes[np.repeat(kept, lengths)], offsets)

    def at(self, places: NDArray[np.intp]) -> "Terms":
        """The terms at these places, in this order."""
        lengths = np.diff(self.offsets)[places]
        offsets = np.zeros(len(places) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        moved = np.repeat(self.offsets[places] - offsets[:-1], lengths)
        moved += np.arange(len(moved))
        return Terms(self.bytes[moved], offsets)


def with_term(terms: Terms | list[Any], term: str) -> tuple[Terms | list[Any], int]:
    """Terms with one more inserted in order (unchanged if it is among them), and its position."""
    strings = terms.strings() if isinstance(terms, Terms) else list(terms)
    place = bisect.bisect_left(strings, term)
    if place == len(strings) or strings[place] != term:
        strings.insert(place, term)
    return Terms.of(strings) if isinstance(terms, Terms) else strings, place
