"""`CountVectorizer`: documents to counts of their terms."""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.feature_extraction import text as sklearn_text

from tallywise import _threads
from tallywise._base import BaseEstimator
from tallywise._native import LookupCounter, VocabularyCounter, vocabulary_spans
from tallywise._sklearn import fit_context
from tallywise.text._analysis import NativeAnalysis
from tallywise.text._counted import NativeCounts, PythonCounts
from tallywise.text._documents import refuse_string
from tallywise.text._terms import Terms, with_term
from tallywise.text._vocabulary import LazyVocabulary

Counts = NativeCounts | PythonCounts

_NONE_LEFT = "After pruning, no terms remain. Try a lower min_df or a higher max_df."


class CountVectorizer(LazyVocabulary, NativeAnalysis, sklearn_text.CountVectorizer, BaseEstimator):
    r"""Documents to a sparse matrix of term counts.

    ``X[i, j]`` is how often term ``j`` occurs in document ``i``. Parameters, attributes and results are those of
    :class:`sklearn.feature_extraction.text.CountVectorizer`; the rows of ``fit_transform`` have sorted indices, too.
    Counting runs natively on several threads and does not copy strings. A ``tokenizer``, a callable ``analyzer`` or a
    ``token_pattern`` other than runs of ``\w`` runs in Python and is slower.

    Parameters
    ----------
    input : {'filename', 'file', 'content'}, default='content'
        What the documents are: names of files, open files, or the texts themselves as str or bytes.
    encoding : str, default='utf-8'
        Of bytes and files.
    decode_error : {'strict', 'ignore', 'replace'}, default='strict'
        What to do with bytes that are not of that encoding.
    strip_accents : {'ascii', 'unicode'} or callable, default=None
        Decompose characters (NFKD) and drop what is not ASCII, or what combines.
    lowercase : bool, default=True
        Lowercase the text as ``str.lower`` does.
    preprocessor : callable, default=None
        Replaces lowercasing and accent stripping.
    tokenizer : callable, default=None
        Replaces ``token_pattern``.
    stop_words : {'english'} or list, default=None
        Words to leave out.
    token_pattern : str, default=r"(?u)\b\w\w+\b"
        What a word is.
    ngram_range : tuple (min_n, max_n), default=(1, 1)
        How many words, or characters, make a term.
    analyzer : {'word', 'char', 'char_wb'} or callable, default='word'
        Terms of words, of characters, or of the characters of one word with a space before and after it.
    max_df, min_df : float in [0, 1] or int, default=1.0 and 1
        Leave out terms in more, or in fewer, documents than this part or number.
    max_features : int, default=None
        Keep this many terms, the most frequent.
    vocabulary : mapping or iterable, default=None
        The terms to count, and no others.
    binary : bool, default=False
        Record presence (0 or 1) instead of counts.
    dtype : dtype, default=np.int64
        Of the matrix.
    unknown : str, default=None
        Name of an extra term that counts all terms outside the vocabulary: those pruned when fitting, and new ones.
    deobfuscate : bool, default=False
        Read look-alikes as the letters they imitate: ``m0rtgage``, ``v1agra``, full-width letters, Cyrillic and Greek
        letters in Latin words, marks without width.
    grow : bool, default=False
        Let ``partial_fit`` add terms; existing columns keep their position.
    n_jobs : int, default=None
        Threads; None for all cores that the process may use. Results do not depend on it.

    Attributes
    ----------
    vocabulary_ : dict
        Terms to columns; built on first access.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    References
    ----------
    S. Dumais et al., Inductive learning algorithms and representations for text categorization, CIKM 1998.

    Examples
    --------
    >>> from tallywise.text import CountVectorizer
    >>> vectorizer = CountVectorizer(unknown="<UNK>", min_df=2)
    >>> vectorizer.fit_transform(["send money", "send love"]).toarray()
    array([[1, 1],
           [1, 1]])
    >>> vectorizer.get_feature_names_out()
    array(['<UNK>', 'send'], dtype=object)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **sklearn_text.CountVectorizer._parameter_constraints,
        "unknown": [str, None],
        "deobfuscate": ["boolean"],
        "grow": ["boolean"],
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
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Mapping[str, int] | Iterable[str] | None = None,
        binary: bool = False,
        dtype: DTypeLike = np.int64,
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
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            max_df=max_df,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
        )
        self.unknown = unknown
        self.deobfuscate = deobfuscate
        self.grow = grow
        self.n_jobs = n_jobs

    # --- learning ---

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, raw_documents: Iterable[Any], y: ArrayLike | None = None) -> sp.csr_matrix:
        """Learn the vocabulary and return the document-term matrix.

        Parameters
        ----------
        raw_documents : iterable
            Texts: str, bytes, files or names of files (see ``input``); a list, an array, a column of a data frame, or
            anything else that can be iterated over.
        y : None
            Ignored.

        Returns
        -------
        X : CSR matrix of shape (n_samples, n_features)
            Counts; the indices of each row are sorted.
        """
        self._begin(raw_documents)
        if self.fixed_vocabulary_:
            return self._counts_of_vocabulary(raw_documents)
        counts = self._count(raw_documents, prune=self.unknown is None)
        kept = self._kept_terms(counts)
        if kept is None and self.unknown is None:
            self._set_terms(counts.terms)
            return counts.matrix(len(counts.terms), self.dtype, binary=self.binary)
        kept = np.ones(len(counts.terms), dtype=bool) if kept is None else kept
        if not kept.any() and self.unknown is None:
            raise ValueError(_NONE_LEFT)
        target = np.where(kept, np.cumsum(kept) - 1, -1)
        terms = counts.take_terms(kept)
        if self.unknown is not None:
            fewer = len(terms)
            terms, place = with_term(terms, self.unknown)
            target = np.where(kept, target + ((target >= place) & (len(terms) > fewer)), place)
        self._set_terms(terms)
        return counts.matrix(
            len(terms), self.dtype, binary=self.binary, target=target, merging=self.unknown is not None
        )

    def _begin(self, raw_documents: Iterable[Any]) -> None:
        """Check what is common to every fit."""
        refuse_string(raw_documents)
        self._validate_ngram_range()
        self._warn_for_unused_params()
        self._validate_vocabulary()
        if self.fixed_vocabulary_:
            if self.unknown is not None:
                self.vocabulary_.setdefault(self.unknown, len(self.vocabulary_))
            if self.lowercase and any(any(map(str.isupper, term)) for term in self.vocabulary):
                warnings.warn(
                    "Upper case characters found in vocabulary while 'lowercase' is True. "
                    "These entries will not be matched with any documents",
                    stacklevel=4,
                )

    def _count(self, raw_documents: Iterable[Any], *, prune: bool = False) -> Counts:
        """Count documents; with `prune`, terms of fewer than min_df of them may be left out already."""
        analyzer = self._native_analyzer(raw_documents)
        if analyzer is None:
            counts: Counts = PythonCounts(raw_documents, self.build_analyzer())
            any_term = len(counts.terms) > 0
        else:
            counter = VocabularyCounter(analyzer)
            self._feed(counter, raw_documents, analyzer)
            least = max(1, math.ceil(self._documents(self.min_df, len(counter)))) if prune else 1
            blob, offsets, rows, any_term = counter.finish(_threads.count(self.n_jobs), least)
            counts = NativeCounts(rows, Terms(blob, offsets), self.n_jobs, least)
        if not any_term:
            msg = "empty vocabulary; perhaps the documents only contain stop words"
            raise ValueError(msg)
        return counts

    @staticmethod
    def _documents(df: Any, n: int) -> Any:
        """A limit on documents as their number: a share of `n` unless it is a whole number."""
        return df if isinstance(df, int | np.integer) else df * n

    def _kept_terms(self, counts: Counts) -> NDArray[np.bool_] | None:
        """Which terms min_df, max_df and max_features leave; None for all of them."""
        n = len(counts)
        most, least = (self._documents(df, n) for df in (self.max_df, self.min_df))
        if most < least:
            msg = "max_df corresponds to < documents than min_df"
            raise ValueError(msg)
        if len(counts.terms) == 0:
            raise ValueError(_NONE_LEFT)
        limit = self.max_features
        if most >= n and least <= counts.least and (limit is None or limit >= len(counts.terms)):
            return None
        documents = counts.sums(documents=True)
        kept = (documents <= most) & (documents >= least)
        if limit is not None and kept.sum() > limit:
            occurrences = documents if self.binary else counts.sums(documents=False)
            # The same call on the same values in the same order as scikit-learn's, so that ties are broken alike.
            if np.issubdtype(self.dtype, np.floating):
                occurrences = occurrences.astype(self.dtype)
            best = (-occurrences[kept]).argsort()[:limit]
            kept[np.delete(np.flatnonzero(kept), best)] = False
        return np.asarray(kept)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, raw_documents: Iterable[Any], y: ArrayLike | None = None) -> "CountVectorizer":
        """Add the new terms of these documents as new columns at the end, sorted.

        With ``min_df`` above 1 a term gets its column once that many documents, over all calls, have it.

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
        self._grow(raw_documents)
        return self

    def _grow(self, raw_documents: Iterable[Any]) -> None:
        plain = isinstance(self.min_df, int | np.integer) and self.max_df == 1.0 and self.max_features is None
        if not self.grow or self.vocabulary is not None or not plain:
            msg = (
                f"partial_fit needs {type(self).__name__}(grow=True), with no vocabulary, max_df or max_features, "
                "and min_df a whole number: options that depend on all documents exclude a growing vocabulary."
            )
            raise ValueError(msg)
        if not self.__sklearn_is_fitted__():
            self._begin(raw_documents)
            self.vocabulary_ = {} if self.unknown is None else {self.unknown: 0}
            self._waiting: dict[Any, int] = {}
        refuse_string(raw_documents)
        counts = self._count(raw_documents)
        vocabulary, documents = self.vocabulary_, counts.sums(documents=True).tolist()
        terms = counts.terms.strings() if isinstance(counts.terms, Terms) else counts.terms
        waiting = self.__dict__.setdefault("_waiting", {})
        for term, n in zip(terms, documents, strict=True):
            if term not in vocabulary:
                n += waiting.pop(term, 0)
                if n >= self.min_df:
                    vocabulary[term] = len(vocabulary)
                else:
                    waiting[term] = n

    # --- using ---

    def transform(self, raw_documents: Iterable[Any]) -> sp.csr_matrix:
        """Counts of the vocabulary's terms in documents.

        Parameters
        ----------
        raw_documents : iterable
            As for ``fit_transform``.

        Returns
        -------
        X : CSR matrix of shape (n_samples, n_features)
            Counts; the indices of each row are sorted.
        """
        refuse_string(raw_documents)
        self._check_vocabulary()
        return self._counts_of_vocabulary(raw_documents)

    def _counts_of_vocabulary(self, raw_documents: Iterable[Any]) -> sp.csr_matrix:
        analyzer, terms = self._native_analyzer(raw_documents), self._native_terms()
        if analyzer is None or terms is None:
            return self._counts_in_python(raw_documents)
        counter = LookupCounter(analyzer, self._index(terms), self._unknown_column())
        self._feed(counter, raw_documents, analyzer)
        return NativeCounts(counter.finish(), terms, self.n_jobs).matrix(len(terms), self.dtype, binary=self.binary)

    def _counts_in_python(self, raw_documents: Iterable[Any]) -> sp.csr_matrix:
        analyze, vocabulary, unknown = self.build_analyzer(), self.vocabulary_, self._unknown_column()
        counts = PythonCounts(raw_documents, analyze)
        target = np.array([vocabulary.get(term, unknown) for term in counts.terms], dtype=np.int64)
        return counts.matrix(len(vocabulary), self.dtype, binary=self.binary, target=target, merging=True)

    def _unknown_column(self) -> int:
        return -1 if self.unknown is None else self.vocabulary_.get(self.unknown, -1)

    def token_spans(self, text: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Positions of the vocabulary's terms in one document.

        Parameters
        ----------
        text : str or bytes
            The document.

        Returns
        -------
        columns, begins, ends : arrays
            For each occurrence of a term its column, its first character and the one after its last.
        """
        self._check_vocabulary()
        analyzer, texts = self._one_text(text)
        terms = self._native_terms()
        assert terms is not None
        columns, begins, ends = vocabulary_spans(analyzer, texts, self._index(terms))
        return columns, begins, ends
