"""A kernel on texts."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise._arrays import Matrix
from tallywise.kernels._algebra import Kernel


class Spectrum(Kernel):
    """k(s, t) = sum over strings g of n characters of count(g in s) count(g in t).

    Parameters
    ----------
    n : int or (int, int)
        Length of the substrings, or the least and the greatest length.
    weighted : bool
        Count occurrences (default) or only note presence.

    References
    ----------
    Leslie, Eskin & Noble (2002), The spectrum kernel: a string kernel for SVM protein classification.

    Examples
    --------
    >>> from tallywise.kernels import Spectrum
    >>> Spectrum(2)(["abab", "ab"])
    array([[5., 2.],
           [2., 1.]])
    """

    def __init__(self, n: int | tuple[int, int] = 3, *, weighted: bool = True) -> None:
        lengths = (n, n) if isinstance(n, int) else tuple(n)
        if len(lengths) != 2 or not all(isinstance(k, Integral) for k in lengths) or not 1 <= lengths[0] <= lengths[1]:
            msg = f"The 'n' parameter of Spectrum must be a length, or two with 1 <= first <= second. Got {n!r}."
            raise ValueError(msg)
        self.n = n
        self.weighted = weighted

    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        low, high = (self.n, self.n) if isinstance(self.n, int) else self.n
        return CountVectorizer(
            analyzer=lambda text: [text[i : i + k] for k in range(low, high + 1) for i in range(len(text) - k + 1)],
            binary=not self.weighted,
            dtype=np.float64,
        )

    def features(self, X: Matrix) -> Matrix:
        """Counts of the substrings that occur in X, in alphabetical order."""
        texts = _texts(X)
        try:
            return self._vectorizer().fit_transform(texts)
        except ValueError:  # no text is as long as n
            return np.zeros((len(texts), 0))

    def matrix(self, X: Matrix, Y: Matrix | None = None) -> NDArray[np.float64]:
        """Inner products of counts; substrings that X lacks add nothing."""
        texts = _texts(X)
        others = texts if Y is None else _texts(Y)
        vectorizer = self._vectorizer()
        try:
            left = vectorizer.fit_transform(texts)
        except ValueError:
            return np.zeros((len(texts), len(others)))
        right = left if Y is None else vectorizer.transform(others)
        return np.ascontiguousarray((left @ right.T).toarray())


def _texts(X: Matrix) -> list[str]:
    texts = list(np.asarray(X, dtype=object).ravel())
    strange = next((text for text in texts if not isinstance(text, str)), None)
    if strange is not None:
        msg = f"The spectrum kernel compares texts. Got {type(strange).__name__}."
        raise ValueError(msg)
    return texts
