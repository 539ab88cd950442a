"""The vocabulary of a fitted vectorizer, in three forms: compact terms, the user's dict, a native index."""

from typing import Any

from tallywise._native import Vocabulary
from tallywise.text._terms import Terms


class LazyVocabulary:
    """Holds terms as bytes; makes the dict and the index on first use.

    A vectorizer without either pickles as plain arrays.
    """

    analyzer: Any
    ngram_range: tuple[int, int]

    @property
    def vocabulary_(self) -> dict[Any, int]:
        """A mapping of terms to columns, built on first access."""
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
        self.__dict__.pop("_waiting", None)
        if isinstance(terms, Terms):
            self.__dict__.pop("_vocabulary", None)
            self._terms = terms
        else:
            self.vocabulary_ = {term: j for j, term in enumerate(terms)}

    def _native_terms(self) -> Terms | None:
        """Terms by column; None where they are not all strings, or their columns are not 0, 1, 2 ...

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

    def __getstate__(self) -> dict[str, Any]:
        kept: Any = super().__getstate__()
        state = dict(kept)
        state.pop("_native_index", None)
        return state
