"""`HashingVectorizer`: documents to counts of their terms, columns by hash."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray
from sklearn.feature_extraction import text as sklearn_text

from tallywise import _threads
from tallywise._base import BaseEstimator
from tallywise._native import HashCounter, hashed_spans, weigh_rows
from tallywise.text._analysis import NativeAnalysis
from tallywise.text._counted import NativeCounts
from tallywise.text._documents import refuse_string
from tallywise.text._terms import Terms


class HashingVectorizer(NativeAnalysis, sklearn_text.HashingVectorizer, BaseEstimator):
    """Documents to a sparse matrix of term counts without a vocabulary.

    A term with hash ``h`` (MurmurHash3, 32 bits, signed) counts in column ``|h| mod n_features``, with the sign of
    ``h`` if ``alternate_sign``. Parameters and results are those of
    :class:`sklearn.feature_extraction.text.HashingVectorizer`. Nothing is learned or stored.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, stop_words, token_pattern, \
ngram_range, analyzer, binary, deobfuscate, n_jobs :
        As for `CountVectorizer`.
    n_features : int, default=2**20
        Columns.
    norm : {'l1', 'l2'} or None, default='l2'
        Norm of every row of the result.
    alternate_sign : bool, default=True
        Let terms that share a column cancel, on average, instead of adding up.
    dtype : dtype, default=np.float64
        Of the matrix.

    References
    ----------
    K. Weinberger et al., Feature hashing for large scale multitask learning, ICML 2009.

    Examples
    --------
    >>> from tallywise.text import HashingVectorizer
    >>> HashingVectorizer(n_features=4, norm=None).transform(["send money, send love"]).toarray()
    array([[ 0., -1., -1.,  2.]])
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **sklearn_text.HashingVectorizer._parameter_constraints,
        "deobfuscate": ["boolean"],
        "n_jobs": [int, None],
    }

    def __init__(
        self,
        *,
        input: str = "content",
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: str | Callable[[str], str] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[[str], str] | None = None,
        tokenizer: Callable[[str], list[str]] | None = None,
        stop_words: str | Iterable[str] | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: str | Callable[..., Iterable[str]] = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: str | None = "l2",
        alternate_sign: bool = True,
        dtype: DTypeLike = np.float64,
        deobfuscate: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            n_features=n_features,
            binary=binary,
            norm=norm,
            alternate_sign=alternate_sign,
            dtype=dtype,
        )
        self.deobfuscate = deobfuscate
        self.n_jobs = n_jobs

    def transform(self, X: Iterable[Any]) -> sp.csr_matrix:
        """Counts of documents' terms.

        Parameters
        ----------
        X : iterable
            Documents, as for `CountVectorizer.fit_transform`.

        Returns
        -------
        X : CSR matrix of shape (n_samples, n_features)
            Counts, normalised; the indices of each row are sorted.
        """
        refuse_string(X)
        self._validate_ngram_range()
        analyzer = self._native_analyzer(X)
        dtype = np.dtype(self.dtype)
        if analyzer is None or dtype.type not in (np.float64, np.float32, np.int64, np.int32):
            return super().transform(X)
        counter = HashCounter(analyzer, self.n_features, self.alternate_sign)
        self._feed(counter, X, analyzer)
        rows = counter.finish()
        if len(rows) == 0:
            msg = "Cannot vectorize empty sequence."
            raise ValueError(msg)
        counts = NativeCounts(rows, _NO_TERMS, self.n_jobs)
        floating = dtype if self.norm is None or dtype.kind == "f" else np.float64
        result = counts.matrix(self.n_features, floating, binary=self.binary)
        if self.norm is not None:
            weigh_rows(result.indptr, result.indices, result.data, None, self.norm, _threads.count(self.n_jobs))
        return result

    def token_spans(self, text: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Positions of terms in one document.

        Parameters
        ----------
        text : str or bytes
            The document.

        Returns
        -------
        columns, begins, ends : arrays
            For each occurrence of a term its column, its first character and the one after its last.
        """
        analyzer, texts = self._one_text(text)
        columns, begins, ends = hashed_spans(analyzer, texts, self.n_features)
        return columns, begins, ends


_NO_TERMS = Terms.of([])
