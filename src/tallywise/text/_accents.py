"""What each character becomes when accents are stripped, by the Unicode of the running interpreter."""

import functools
import unicodedata
from collections.abc import Iterator

from tallywise._native import Foldings

_BLOCK = 256
_RANGES = (
    range(0x80, 0x40000, _BLOCK),
    range(0xE0000, 0xE1000, _BLOCK),
)  # no character beyond it decomposes or combines


def _characters_that_change() -> Iterator[str]:
    """Characters that decompose or combine; whole blocks without any are passed over."""
    for first in (first for blocks in _RANGES for first in blocks):
        block = "".join(map(chr, range(first, first + _BLOCK)))
        if unicodedata.normalize("NFKD", block) != block or any(map(unicodedata.combining, block)):
            yield from (c for c in block if unicodedata.normalize("NFKD", c) != c or unicodedata.combining(c))


@functools.cache
def foldings(kind: str) -> Foldings:
    """The table of ``strip_accents='unicode'`` or ``'ascii'``.

    Both decompose (NFKD); the one then drops what combines, the other what is not ASCII. Reordering the marks of a
    character, the rest of NFKD, changes nothing, because all of them are dropped.
    """
    ascii_only = kind == "ascii"
    origins: list[int] = []
    ends: list[int] = []
    replacements: list[int] = []
    for c in _characters_that_change():
        parts = unicodedata.normalize("NFKD", c)
        replacements += [ord(p) for p in parts if (p.isascii() if ascii_only else not unicodedata.combining(p))]
        origins.append(ord(c))
        ends.append(len(replacements))
    return Foldings(origins, ends, replacements, ascii_only)
