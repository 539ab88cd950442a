"""Text to counts: vectorizers with scikit-learn's interface over a native, parallel core."""

from tallywise.text.count import CountVectorizer

__all__ = ["CountVectorizer"]
