"""Text to counts: vectorizers with scikit-learn's interface over a native, parallel core."""

from tallywise.text._binner import Binner
from tallywise.text._count_vectorizer import CountVectorizer
from tallywise.text._hashing import HashingVectorizer
from tallywise.text._tfidf import TfidfTransformer, TfidfVectorizer

__all__ = ["Binner", "CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"]
