"""`CountVectorizer`: documents to counts of their terms."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.feature_extraction import text as sklearn_text

from tallywise import _threads
from tallywise._native import Analyzer, LookupCounter, Texts, Vocabulary, VocabularyCounter
from tallywise.text._analysis import native_analyzer, prepared_in_python
from tallywise.text._counts import NativeCounts, PythonCounts
from tallywise.text._documents import as_text, portions, refuse_string
from tallywise.text._terms import Terms


class CountVectorizer(sklearn_text.CountVectorizer):  # type: ignore[misc]
    """Documents to a sparse matrix of term counts.

    Parameters, attributes and results are those of :class:`sklearn.feature_extraction.text.CountVectorizer`.
    """

    # --- documents in ---

    def _reader(self) -> Callable[[int, Any], str]:
        """read(row, document): what reaches the native analysis."""
        prepare = self.build_preprocessor() if prepared_in_python(self) else None

        def read(row: int, document: Any) -> str:
            if self.input == "content" and not isinstance(document, bytes):
                text = document if self.preprocessor is not None else as_text(row, document)
            else:
                try:
                    text = self.decode(document)
                except Exception as error:
                    error.add_note(f"This is about row {row} of the documents.")
                    raise
            return as_text(row, text if prepare is None else prepare(text))

        return read

    def _portions(self, raw_documents: Iterable[Any]) -> Iterable[Texts]:
        as_they_are = self.input == "content" and not prepared_in_python(self)
        return portions(raw_documents, self._reader(), as_they_are=as_they_are, lower=bool(self.lowercase))

    def _native_analyzer(self) -> Analyzer | None:
        if self.analyzer == "word" and self.stop_words is not None:
            self.build_analyzer()  # warns where stop words are not what the tokenizer gives
        return native_analyzer(self)

    # --- counting ---

    def _count(self, raw_documents: Iterable[Any]) -> NativeCounts | PythonCounts:
        analyzer = self._native_analyzer()
        if analyzer is None:
            return PythonCounts(raw_documents, self.build_analyzer())
        counter = VocabularyCounter(analyzer)
        for texts in self._portions(raw_documents):
            counter.feed(texts, _threads.count())
        blob, offsets, rows = counter.finish(_threads.count())
        return NativeCounts(rows, Terms(blob, offsets), None)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit_transform(self, raw_documents: Iterable[Any], y: Any = None) -> Any:
        """Learn the vocabulary and return the document-term matrix.

        Parameters
        ----------
        raw_documents : iterable
            Texts: str, bytes, files or names of files (see ``input``).
        y : None
            Ignored.

        Returns
        -------
        X : CSR matrix of shape (n_samples, n_features)
            Counts; the indices of each row are sorted.
        """
        refuse_string(raw_documents)
        self._validate_ngram_range()
        self._warn_for_unused_params()
        self._validate_vocabulary()
        if self.fixed_vocabulary_:
            self._warn_of_upper_case()
            return self._counts_of_vocabulary(raw_documents)
        counts = self._count(raw_documents)
        if len(counts.terms) == 0:
            msg = "empty vocabulary; perhaps the documents only contain stop words"
            raise ValueError(msg)
        kept = self._kept_terms(counts)
        if kept is None:
            self._set_terms(counts.terms)
            return counts.matrix(len(counts.terms), self.dtype, binary=self.binary)
        if not kept.any():
            msg = "After pruning, no terms remain. Try a lower min_df or a higher max_df."
            raise ValueError(msg)
        target = np.where(kept, np.cumsum(kept) - 1, -1)
        self._set_terms(counts.take_terms(kept))
        return counts.matrix(int(kept.sum()), self.dtype, binary=self.binary, target=target)

    def _kept_terms(self, counts: NativeCounts | PythonCounts) -> NDArray[np.bool_] | None:
        """Which terms min_df, max_df and max_features leave; None for all of them."""
        n = len(counts)
        most, least = (df if isinstance(df, int | np.integer) else df * n for df in (self.max_df, self.min_df))
        if most < least:
            msg = "max_df corresponds to < documents than min_df"
            raise ValueError(msg)
        limit = self.max_features
        if most >= n and least <= 1 and (limit is None or limit >= len(counts.terms)):
            return None
        documents = counts.sums(documents=True)
        kept = (documents <= most) & (documents >= least)
        if limit is not None and kept.sum() > limit:
            occurrences = documents if self.binary else counts.sums(documents=False)
            # The same call on the same values in the same order as scikit-learn's, so that ties fall alike.
            if np.issubdtype(self.dtype, np.floating):
                occurrences = occurrences.astype(self.dtype)
            best = (-occurrences[kept]).argsort()[:limit]
            kept[np.delete(np.flatnonzero(kept), best)] = False
        return np.asarray(kept)

    def transform(self, raw_documents: Iterable[Any]) -> Any:
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

    def _counts_of_vocabulary(self, raw_documents: Iterable[Any]) -> Any:
        analyzer, terms = self._native_analyzer(), self._native_terms()
        if analyzer is None or terms is None:
            return self._counts_in_python(raw_documents)
        counter = LookupCounter(analyzer, self._index(terms), -1)
        for texts in self._portions(raw_documents):
            counter.feed(texts, _threads.count())
        return NativeCounts(counter.finish(), terms, None).matrix(len(terms), self.dtype, binary=self.binary)

    def _counts_in_python(self, raw_documents: Iterable[Any]) -> Any:
        analyze, vocabulary = self.build_analyzer(), self.vocabulary_
        counts = PythonCounts(raw_documents, lambda document: [t for t in analyze(document) if t in vocabulary])
        target = np.array([vocabulary[term] for term in counts.terms], dtype=np.int64)
        return counts.matrix(len(vocabulary), self.dtype, binary=self.binary, target=target)

    # --- the vocabulary ---

    @property
    def vocabulary_(self) -> dict[Any, int]:
        """A mapping of terms to columns, made when first asked for."""
        if "_vocabulary" not in self.__dict__:
            if "_terms" not in self.__dict__:
                msg = f"{type(self).__name__} has no vocabulary_ before it is fitted."
                raise AttributeError(msg)
            terms = self._terms.strings()
            self._vocabulary = dict(zip(terms, range(len(terms)), strict=True))
        return self._vocabulary

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: dict[Any, int]) -> None:
        self.__dict__.pop("_terms", None)
        self._vocabulary = vocabulary

    def __sklearn_is_fitted__(self) -> bool:
        return "_terms" in self.__dict__ or "_vocabulary" in self.__dict__

    def _set_terms(self, terms: Terms | list[Any]) -> None:
        if isinstance(terms, Terms):
            self.__dict__.pop("_vocabulary", None)
            self._terms = terms
        else:
            self.vocabulary_ = {term: j for j, term in enumerate(terms)}

    def _native_terms(self) -> Terms | None:
        """Terms by column; None where they are not all strings.

        The dict that ``vocabulary_`` handed out is the user's to change, so its size is looked at again.
        """
        terms: Terms | None = self.__dict__.get("_terms")
        vocabulary: dict[Any, int] | None = self.__dict__.get("_vocabulary")
        if terms is not None and (vocabulary is None or len(vocabulary) == len(terms)):
            return terms
        assert vocabulary is not None
        by_column = sorted(vocabulary, key=vocabulary.__getitem__)
        if not all(isinstance(term, str) and vocabulary[term] == j for j, term in enumerate(by_column)):
            return None
        self._terms = Terms.of(by_column)
        return self._terms

    def _index(self, terms: Terms) -> Vocabulary:
        """The native form of the vocabulary; kept from call to call, dropped when pickled."""
        words, max_n = self.analyzer == "word", self.ngram_range[1] if self.analyzer == "word" else 1
        index: Vocabulary
        made_of, index = self.__dict__.get("_native_index", (None, None))
        if made_of is None or made_of[0] is not terms or made_of[1:] != (words, max_n):
            index = Vocabulary(terms.bytes, terms.offsets, words, max_n)
            self._native_index = ((terms, words, max_n), index)
        return index

    def _warn_of_upper_case(self) -> None:
        if self.lowercase and any(any(map(str.isupper, term)) for term in self.vocabulary):
            warnings.warn(
                "Upper case characters found in vocabulary while 'lowercase' is True. "
                "These entries will not be matched with any documents",
                stacklevel=3,
            )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_native_index", None)
        return state
