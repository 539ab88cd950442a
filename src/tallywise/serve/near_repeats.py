"""What identifies a text: its digest, the digest of its folded form, and keys that near repeats share."""

import hashlib
import re
import zlib

import numpy as np

_BANDS, _ROWS = 4, 2
_MOST_WORDS = 2000  # of a text; more would cost time and tell nothing new
_random = np.random.default_rng(20)
_MULTIPLY = _random.integers(1, 2**63, _BANDS * _ROWS, dtype=np.uint64) | np.uint64(1)
_ADD = _random.integers(0, 2**63, _BANDS * _ROWS, dtype=np.uint64)


def digest(text: str) -> bytes:
    """16 bytes that stand for the text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def folded(text: str) -> bytes:
    """16 bytes that texts share which are equal but for case and white space."""
    return digest(" ".join(text.lower().split()))


def words(text: str) -> set[str]:
    """The words that near repeats are judged by."""
    return set(re.findall(r"\w+", text.lower()[: 20 * _MOST_WORDS])[:_MOST_WORDS])


def keys(text: str) -> list[int]:
    """Four keys (MinHash); two texts with Jaccard similarity J share one with probability 1 - (1 - J^2)^4.

    References
    ----------
    Broder (1997), On the resemblance and containment of documents.

    Examples
    --------
    >>> from tallywise.serve.near_repeats import keys
    >>> keys("win a prize now") == keys("Now win a PRIZE!")
    True
    """
    found = words(text)
    if not found:
        return []
    x = np.fromiter((zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in found), np.uint64, len(found))
    least = ((x[:, None] * _MULTIPLY + _ADD) >> np.uint64(16)).min(axis=0).reshape(_BANDS, _ROWS)
    band = np.arange(1, _BANDS + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (least[:, 0] * np.uint64(0xBF58476D1CE4E5B9) + least[:, 1] + band) >> np.uint64(1)
    return [int(key) for key in mixed]


def alike(one: str, other: str) -> float:
    """Jaccard similarity of the words of two texts."""
    a, b = words(one), words(other)
    return len(a & b) / len(a | b) if a | b else 1.0
