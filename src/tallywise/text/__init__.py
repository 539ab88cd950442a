"""Text to counts: vectorizers with scikit-learn's interface over a native, parallel core."""

from tallywise.text.binner import Binner
from tallywise.text.count import CountVectorizer
from tallywise.text.hashing import HashingVectorizer
from tallywise.text.tfidf import TfidfTransformer, TfidfVectorizer

__all__ = ["Binner", "CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"]
