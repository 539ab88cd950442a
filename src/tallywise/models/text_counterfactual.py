"""The fewest words of a text whose change flips its verdict, in a bounded search."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tallywise import _stopping

_AT_ONCE = 1 << 22  # characters of changed texts that are held and scored at a time
_MOST_READ = 1 << 26  # characters of changed texts that a search reads: some seconds


def fewest_words(
    words: Sequence[str], k: int, change: Callable[[list[str]], str], called: Callable[[list[str]], NDArray[np.intp]]
) -> tuple[list[str], int] | None:
    """The first few of `words` whose change makes the verdict other than k, none of them superfluous.

    In a text so long that `_MOST_READ` characters are soon reached, the search for words ends there, and some of those
    found may be superfluous.
    """
    taken, becomes, read = _first_words(words, k, change, called)
    shrunk = bool(taken)
    while shrunk:  # without one word, another may be superfluous too
        shrunk = False
        for word in list(taken):
            fewer = [other for other in taken if other != word]
            if not fewer or read > _MOST_READ:
                continue
            _stopping.check()
            changed = change(fewer)
            read += len(changed)
            if (now := int(called([changed])[0])) != k:
                taken, becomes, shrunk = fewer, now, True
    return (taken, becomes) if taken else None


def _first_words(
    words: Sequence[str], k: int, change: Callable[[list[str]], str], called: Callable[[list[str]], NDArray[np.intp]]
) -> tuple[list[str], int, int]:
    """The first few of `words` whose change flips the verdict, the new verdict, and the characters read for it."""
    done = read = 0
    while done < len(words) and read <= _MOST_READ:
        _stopping.check()
        texts = [change(list(words[: done + 1]))]
        together = max(1, min(len(words) - done, _AT_ONCE // max(len(texts[0]), 1)))
        texts += [change(list(words[: done + n])) for n in range(2, together + 1)]
        verdicts = called(texts)
        flipped = np.flatnonzero(verdicts != k)
        read += sum(map(len, texts))
        if len(flipped):
            return list(words[: done + flipped[0] + 1]), int(verdicts[flipped[0]]), read
        done += len(texts)
    return [], k, read


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with pieces cut out."""
    kept, place = [], 0
    for begin, end in sorted(spans):
        kept.append(text[place:begin])
        place = max(place, end)
    return "".join([*kept, text[place:]])
