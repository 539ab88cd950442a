"""What a text model learns from: texts in a list, or texts that were read elsewhere and coded."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tallywise._native import strip_markup
from tallywise.evaluation import duplicate_groups

WITH_MARKUP = 0.01  # share of texts with HTML in them from which on it is no part of any text
LOOKED_AT = 2000  # texts that are looked at for it
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,9}(?:[\s/][^<>]*)?>")


class Corpus(Protocol):
    """Texts in order, and what is known of them as a whole."""

    documents: Any  # what vectorizers count: a list of str, or a `CodedCorpus`
    characters: int
    markup: bool  # whether tags of HTML are no part of the texts

    def __len__(self) -> int:
        """How many texts."""

    def groups(self) -> NDArray[np.intp]:
        """Numbers of the texts, the same for repeats."""


class TextList:
    """Texts in memory."""

    def __init__(self, texts: list[str]) -> None:
        self.documents = texts
        self.characters = sum(map(len, texts))
        self.markup = have_markup(texts)

    def __len__(self) -> int:
        return len(self.documents)

    def groups(self) -> NDArray[np.intp]:
        """Texts that are equal up to case and white space have one number."""
        return duplicate_groups(self.documents)


def has_markup(text: str) -> bool:
    """Whether a text has tags of HTML. Entities alone may be meant as they are."""
    return "<" in text and _TAG.search(text) is not None and strip_markup(text) != text


def have_markup(texts: Sequence[str]) -> bool:
    """Whether texts have tags of HTML in them, by an even choice of them."""
    chosen = texts[:: max(1, len(texts) // LOOKED_AT)]
    return sum(map(has_markup, chosen)) > WITH_MARKUP * len(chosen)
