"""Counts weighted by how rare their terms are: `TfidfTransformer`, `TfidfVectorizer`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.feature_extraction import text as sklearn_text
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _threads
from tallywise._arrays import Matrix, validate_data
from tallywise._base import BaseEstimator
from tallywise._native import weigh_rows
from tallywise._sklearn import align_api_if_sparse, fit_context
from tallywise.text._count_vectorizer import CountVectorizer


def _weigh(
    X: sp.csr_matrix, idf: NDArray[Any] | None, norm: str | None, *, sublinear: bool, n_jobs: int | None = None
) -> sp.csr_matrix:
    """Weights on a CSR matrix of floats, in place."""
    if sublinear:
        if X.nnz and X.data.min() < 0:
            msg = "sublinear_tf=True takes logarithms: the entries of X must not be negative. Got counts below 0."
            raise ValueError(msg)
        there = X.data > 0  # a 0 that is stored stays 0
        np.log(X.data, X.data, where=there)
        np.add(X.data, 1.0, X.data, where=there)
    if idf is not None and np.isinf(idf).any() and np.isinf(idf[X.indices]).any():
        term = int(X.indices[np.isinf(idf[X.indices])][0])
        msg = (
            f"Column {term} was in no document of fit, so that without smoothing its idf is infinite. Leave the column "
            "out, or set smooth_idf=True."
        )
        raise ValueError(msg)
    if idf is not None and (idf.dtype != X.dtype or idf.shape != (X.shape[1],)):
        X.data *= idf[X.indices]
        idf = None
    indices, indptr = (np.ascontiguousarray(part) for part in (X.indices, X.indptr.astype(X.indices.dtype, copy=False)))
    weigh_rows(indptr, indices, X.data, idf, norm or "none", _threads.count(n_jobs))
    return align_api_if_sparse(X)


# The keyword is for scikit-learn's __init_subclass__, which has no types.
class TfidfTransformer(sklearn_text.TfidfTransformer, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Counts to tf-idf weights.

    ``w_ij = tf_ij * idf_j`` with ``idf_j = 1 + log((1 + n) / (1 + df_j))``, and then each row divided by its norm.
    Parameters, attributes and results are those of :class:`sklearn.feature_extraction.text.TfidfTransformer`, except
    that ``df_j`` counts documents that have the term, and no zeros or repeats that a sparse matrix may store.

    Parameters
    ----------
    norm : {'l1', 'l2'} or None, default='l2'
        Norm of every row of the result.
    use_idf : bool, default=True
        Weigh by ``idf``; else ``idf_j = 1``.
    smooth_idf : bool, default=True
        Add one document that has every term; else ``idf_j = 1 + log(n / df_j)``.
    sublinear_tf : bool, default=False
        Use ``1 + log(tf)``.

    Attributes
    ----------
    idf_ : array of shape (n_features,)
        The weights of the terms.

    References
    ----------
    G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval, 1988.

    Examples
    --------
    >>> from tallywise.text import TfidfTransformer
    >>> TfidfTransformer().fit_transform([[1, 1], [1, 0]]).toarray().round(3)
    array([[0.58 , 0.815],
           [1.   , 0.   ]])
    """

    def fit(self, X: Matrix, y: ArrayLike | None = None) -> "TfidfTransformer":
        """Learn the weights of the terms.

        Parameters
        ----------
        X : CSR matrix of shape (n_samples, n_features)
            Counts.
        y : None
            Ignored.

        Returns
        -------
        TfidfTransformer
            The fitted transformer.
        """
        _arrays.check_structure(X)
        super().fit(_occurrences(X), y)
        return self

    def transform(self, X: Matrix, copy: bool = True) -> sp.csr_matrix:
        """Weigh counts.

        Parameters
        ----------
        X : CSR matrix of shape (n_samples, n_features)
            Counts.
        copy : bool, default=True
            Whether to leave X unchanged.

        Returns
        -------
        X : CSR matrix of shape (n_samples, n_features)
            Weights.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], copy=copy, reset=False)
        X = X if hasattr(X, "indptr") else _csr_of(X)
        X.sum_duplicates()  # what is stored twice is one count
        return _weigh(X, getattr(self, "idf_", None), self.norm, sublinear=self.sublinear_tf)


def _csr_of(X: NDArray[Any]) -> sp.csr_matrix:

    return sp.csr_array(X, dtype=X.dtype)


def _occurrences(X: Any) -> Any:
    """X with one entry for each term that a document has: scikit-learn counts entries, whatever they hold."""
    if not sp.issparse(X):
        return X
    found = X.tocsr()
    if found.has_canonical_format and np.count_nonzero(found.data) == found.nnz:
        return found
    found = found.copy() if found is X else found
    found.sum_duplicates()
    found.eliminate_zeros()
    return found


class TfidfVectorizer(CountVectorizer, sklearn_text.TfidfVectorizer):
    """Documents to a sparse matrix of tf-idf weights: `CountVectorizer` and then `TfidfTransformer`.

    Parameters, attributes and results are those of :class:`sklearn.feature_extraction.text.TfidfVectorizer`.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, analyzer, stop_words, \
token_pattern, ngram_range, max_df, min_df, max_features, vocabulary, binary, unknown, deobfuscate, grow, n_jobs :
        As for `CountVectorizer`.
    dtype : dtype, default=np.float64
        Of the matrix.
    norm, use_idf, smooth_idf, sublinear_tf :
        As for `TfidfTransformer`.

    Attributes
    ----------
    vocabulary_ : dict
        Terms to columns; built on first access.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.
    idf_ : array of shape (n_features,)
        The weights of the terms, if ``use_idf``.

    References
    ----------
    G. Salton, C. Buckley, Term-weighting approaches in automatic text retrieval, 1988.

    Examples
    --------
    >>> from tallywise.text import TfidfVectorizer
    >>> TfidfVectorizer().fit_transform(["send money", "send love"]).toarray().round(2)
    array([[0.  , 0.81, 0.58],
           [0.81, 0.  , 0.58]])
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **CountVectorizer._parameter_constraints,
        **{name: sklearn_text.TfidfVectorizer._parameter_constraints[name] for name in ("norm", "use_idf")},
        **{name: sklearn_text.TfidfVectorizer._parameter_constraints[name] for name in ("smooth_idf", "sublinear_tf")},
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
        analyzer: str | Callable[..., Iterable[str]] = "word",
        stop_words: str | Iterable[str] | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: DTypeLike = np.float64,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        unknown: str | None = None,
        deobfuscate: bool = False,
        grow: bool = False,
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
            analyzer=analyzer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            max_df=max_df,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
            unknown=unknown,
            deobfuscate=deobfuscate,
            grow=grow,
            n_jobs=n_jobs,
        )
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf

    def fit(self, raw_documents: Iterable[Any], y: ArrayLike | None = None) -> "TfidfVectorizer":
        """Learn the vocabulary and the weights of its terms.

        Parameters
        ----------
        raw_documents : iterable
            As for ``fit_transform``.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The vectorizer.
        """
        self._learn(raw_documents)
        return self

    def fit_transform(self, raw_documents: Iterable[Any], y: ArrayLike | None = None) -> sp.csr_matrix:
        """Learn the vocabulary and the weights of its terms, and return the weighted document-term matrix.

        Parameters
        ----------
        raw_documents : iterable
            As for `CountVectorizer.fit_transform`.
        y : None
            Ignored.

        Returns
        -------
        X : CSR matrix of shape (n_samples, n_features)
            Weights; the indices of each row are sorted.
        """
        return self._weighted(self._learn(raw_documents))

    def _learn(self, raw_documents: Iterable[Any]) -> sp.csr_matrix:
        self._check_params()
        X = super().fit_transform(raw_documents)
        self._tfidf = self._transformer().fit(X)
        return X

    def _transformer(self) -> TfidfTransformer:
        return TfidfTransformer(
            norm=self.norm, use_idf=self.use_idf, smooth_idf=self.smooth_idf, sublinear_tf=self.sublinear_tf
        )

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, raw_documents: Iterable[Any], y: ArrayLike | None = None) -> "TfidfVectorizer":
        """Add the new terms of these documents (see `CountVectorizer.partial_fit`) and compute all weights again.

        A term that waited for ``min_df`` documents counts from the call on that gave it a column.

        Parameters
        ----------
        raw_documents : iterable
            As for ``fit_transform``.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The vectorizer.
        """
        documents = list(raw_documents) if not hasattr(raw_documents, "__len__") else raw_documents
        self._grow(documents)
        X = CountVectorizer.transform(self, documents)
        seen: NDArray[np.float64] = self.__dict__.get("_document_frequency", np.zeros(0))
        total = np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)
        total[: len(seen)] += seen
        self._document_frequency = total
        self._n_documents: int = self.__dict__.get("_n_documents", 0) + X.shape[0]
        self._tfidf = self._transformer()
        if self.use_idf:
            smooth = float(self.smooth_idf)
            with np.errstate(divide="ignore"):
                self._tfidf.idf_ = 1 + np.log((self._n_documents + smooth) / (total + smooth))
        return self

    def transform(self, raw_documents: Iterable[Any]) -> sp.csr_matrix:
        """Weights of the vocabulary's terms in documents.

        Parameters
        ----------
        raw_documents : iterable
            As for ``fit_transform``.

        Returns
        -------
        X : CSR matrix of shape (n_samples, n_features)
            Weights; the indices of each row are sorted.
        """
        check_is_fitted(self, msg="The TF-IDF vectorizer is not fitted")
        return self._weighted(CountVectorizer.transform(self, raw_documents))

    def _weighted(self, X: Matrix) -> sp.csr_matrix:
        if X.dtype not in (np.float64, np.float32):
            X = X.astype(np.float64)
        idf = getattr(self._tfidf, "idf_", None)
        # The transformer's own settings count, as in scikit-learn: they are those of the fit.
        how = self._tfidf
        return _weigh(X, idf, how.norm, sublinear=how.sublinear_tf, n_jobs=self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return "_tfidf" in self.__dict__
