"""A text cut into pieces by what stands in it: shared by the report and the workbench."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

Span = tuple[int, int, float]  # characters from, to, and what they add to the score


def pieces(text: str, spans: Sequence[Span]) -> list[tuple[str, float]]:
    """The text in pieces, each with what the spans over it add up to.

    Examples
    --------
    >>> from tallywise._highlight import pieces
    >>> pieces("win a prize", [(0, 3, 1.0), (6, 11, 2.0)])
    [('win', 1.0), (' a ', 0.0), ('prize', 2.0)]
    """
    weight = np.zeros(len(text) + 1)
    for begin, end, value in spans:
        if begin < len(text) and end > begin:
            weight[begin : min(end, len(text))] += value
    edges = [0, *(np.flatnonzero(np.diff(weight[: len(text)])) + 1).tolist(), len(text)]
    return [(text[a:b], float(weight[a])) for a, b in pairwise(edges) if b > a]
