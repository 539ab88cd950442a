"""Counted documents: by the native core, or by user code in Python. Both give terms in order, sums and a matrix."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from tallywise import _threads
from tallywise._native import CountedRows
from tallywise._sklearn import align_api_if_sparse
from tallywise.text._documents import python_objects
from tallywise.text._terms import Terms

_NATIVE_VALUES = (np.int64, np.float64, np.int32, np.float32)
_INT32_MAX = np.iinfo(np.int32).max


class NativeCounts:
    """What the native core has counted."""

    def __init__(self, rows: CountedRows, terms: Terms, n_jobs: int | None, least: int = 1) -> None:
        self.terms = terms
        self.least = least  # documents that every term is in
        self._rows = rows
        self._threads = _threads.count(n_jobs)

    def __len__(self) -> int:
        return len(self._rows)

    def take_terms(self, kept: NDArray[np.bool_]) -> Terms:
        """The terms for which ``kept`` is true."""
        return self.terms.take(kept)

    def sums(self, *, documents: bool) -> NDArray[np.int64]:
        """By term: the documents that have it, or its occurrences."""
        return self._rows.sums(len(self.terms), documents)

    def matrix(
        self,
        width: int,
        dtype: DTypeLike,
        *,
        binary: bool,
        target: NDArray[np.int64] | None = None,
        merging: bool = False,
    ) -> Any:
        """CSR matrix with sorted indices. Term j goes to column ``target[j]``, or nowhere where that is negative."""
        if target is not None:
            self._rows.retarget(target)
        indptr = self._rows.indptr(width, merging, self._threads)
        entries = int(indptr[-1])
        index = np.int32 if max(entries, width) <= _INT32_MAX else np.int64
        wanted = np.dtype(dtype)
        value = wanted if wanted.type in _NATIVE_VALUES else np.dtype(np.int64)
        indices: NDArray[Any] = np.empty(entries, dtype=index)
        data: NDArray[Any] = np.empty(entries, dtype=value)
        self._rows.fill(width, merging, indptr, indices, data, binary, self._threads)
        return _csr(data.astype(wanted, copy=False), indices, indptr.astype(index, copy=False), width)


class PythonCounts:
    """What a user's analyzer found, counted in a dict: terms may be any values that can be hashed and sorted."""

    least = 1

    def __init__(self, documents: Iterable[Any], analyze: Callable[[Any], Iterable[Any]]) -> None:
        numbers: dict[Any, int] = {}
        ids: list[int] = []
        indptr = [0]
        for row, document in enumerate(python_objects(documents)):
            try:
                terms = analyze(document)
            except Exception as error:
                error.add_note(f"This is about row {row} of the documents.")
                raise
            ids.extend([numbers.setdefault(term, len(numbers)) for term in terms])
            indptr.append(len(ids))
        self._build(numbers, ids, indptr)

    def _build(self, numbers: dict[Any, int], ids: list[int], indptr: list[int]) -> None:
        self.terms = sorted(numbers)
        column = np.empty(len(numbers), dtype=np.int64)
        column[[numbers[term] for term in self.terms]] = np.arange(len(numbers))
        ones = np.ones(len(ids), dtype=np.int64)
        shape = (len(indptr) - 1, max(1, len(numbers)))
        self._X = sp.csr_array((ones, column[ids], indptr), shape=shape)
        self._X.sum_duplicates()

    def __len__(self) -> int:
        return int(self._X.shape[0])

    def take_terms(self, kept: NDArray[np.bool_]) -> list[Any]:
        """The terms for which ``kept`` is true."""
        return [term for term, keep in zip(self.terms, kept, strict=True) if keep]

    def sums(self, *, documents: bool) -> NDArray[np.int64]:
        """By term: the documents that have it, or its occurrences."""
        weights = None if documents else self._X.data
        return np.bincount(self._X.indices, weights, minlength=len(self.terms)).astype(np.int64)

    def matrix(
        self,
        width: int,
        dtype: DTypeLike,
        *,
        binary: bool,
        target: NDArray[np.int64] | None = None,
        merging: bool = False,
    ) -> Any:
        """As that of NativeCounts."""
        X = self._X.tocoo()
        row, column, data = X.row, X.col, X.data
        if target is not None:
            column = target[column]
            row, column, data = row[column >= 0], column[column >= 0], data[column >= 0]
        result = sp.csr_array((data, (row, column)), shape=(X.shape[0], width))
        result.sum_duplicates()
        data = (np.ones_like(result.data) if binary else result.data).astype(dtype)
        index = np.int32 if max(result.nnz, width) <= _INT32_MAX else np.int64
        return _csr(data, result.indices.astype(index), result.indptr.astype(index), width)


def _csr(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], width: int) -> sp.csr_matrix:
    X = align_api_if_sparse(sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width)))
    X.has_canonical_format = True  # already sorted, so SciPy need not check
    return X
