"""Classical machine learning for text: fast, honest, explainable.

Names are loaded when first used, so that ``import tallywise`` and the ``tally`` command cost nothing that they do not
need.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives. The block below says the same to type checkers; a test holds the two together.
_HOMES = {
    "tallywise.classifier": ["TextClassifier"],
    "tallywise.errors": ["ModelFileError", "NotLearnedError", "TallywiseError"],
    "tallywise.naive_bayes": ["BernoulliNB", "ComplementNB", "MultinomialNB"],
    "tallywise.runtime": ["TextModel", "load"],
    "tallywise.text": ["CountVectorizer"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

if TYPE_CHECKING:
    from tallywise.classifier import TextClassifier
    from tallywise.errors import ModelFileError, NotLearnedError, TallywiseError
    from tallywise.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
    from tallywise.runtime import TextModel, load
    from tallywise.text import CountVectorizer

__all__ = [
    "BernoulliNB",
    "ComplementNB",
    "CountVectorizer",
    "ModelFileError",
    "MultinomialNB",
    "NotLearnedError",
    "TallywiseError",
    "TextClassifier",
    "TextModel",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        msg = f"module 'tallywise' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
