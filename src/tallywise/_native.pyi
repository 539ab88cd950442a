from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


level: str = ...

class Design:
    """A validated matrix: a list of lines (rows or columns) of one width."""

    @staticmethod
    def dense(array: Annotated[NDArray, dict(order='C', device='cpu', writable=False)]) -> Design:
        """Lines are the rows of a C-ordered array."""

    @staticmethod
    def sparse(data: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indptr: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], width: int) -> Design:
        """Lines are the compressed axis: rows of CSR, columns of CSC."""

    @property
    def lines(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def sorted(self) -> bool: ...

    @property
    def distinct(self) -> bool: ...

def losses() -> list[str]: ...

def loss_at(name: str, parameter: float, y: float, z: float) -> dict:
    """The functions of a loss at (y, z); the conjugate at its gradient."""

def loss_conjugate(name: str, parameter: float, y: float, a: float) -> float: ...

def loss_traits(name: str) -> dict: ...

def penalties() -> list[str]: ...

def penalty_at(name: str, l1: float, l2: float, w: float, u: float) -> dict:
    """
    The functions of a penalty: value(w), prox(w, step=u), conjugate(u), distance(w, g=u).
    """

class Texts:
    """Documents where they lie."""

    @staticmethod
    def from_list(items: list, lower: bool) -> Texts:
        """Strings that will be lowered (or not)"""

    @property
    def first_other(self) -> int: ...

    def __len__(self) -> int: ...

class Analyzer:
    """How a document is cut into terms."""

    def __init__(self, units: str, lower: bool, least: int, min_n: int, max_n: int, stop_words: Sequence[bytes]) -> None: ...

class CountedRows:
    """Documents counted, by column; filled into a CSR matrix."""

    def __len__(self) -> int: ...

    def sums(self, width: int, documents: bool) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def retarget(self, target: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def indptr(self, width: int, merging: bool, threads: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @overload
    def fill(self, width: int, merging: bool, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], binary: bool, threads: int) -> None: ...

    @overload
    def fill(self, width: int, merging: bool, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], binary: bool, threads: int) -> None: ...

    @overload
    def fill(self, width: int, merging: bool, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], binary: bool, threads: int) -> None: ...

    @overload
    def fill(self, width: int, merging: bool, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], binary: bool, threads: int) -> None: ...

    @overload
    def fill(self, width: int, merging: bool, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], binary: bool, threads: int) -> None: ...

    @overload
    def fill(self, width: int, merging: bool, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], binary: bool, threads: int) -> None: ...

    @overload
    def fill(self, width: int, merging: bool, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], binary: bool, threads: int) -> None: ...

    @overload
    def fill(self, width: int, merging: bool, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], binary: bool, threads: int) -> None: ...

class VocabularyCounter:
    """Counts documents and gathers their vocabulary."""

    def __init__(self, analyzer: Analyzer) -> None: ...

    def feed(self, texts: Texts, threads: int) -> None: ...

    def finish(self, threads: int) -> tuple: ...

class Vocabulary:
    """Terms ready for lookup: n-grams of words, or of characters."""

    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: bool, max_n: int) -> None: ...

class LookupCounter:
    """Counts the terms of a vocabulary."""

    def __init__(self, analyzer: Analyzer, vocabulary: Vocabulary, unknown: int) -> None:
        """`unknown` is the column of other terms, or -1."""

    def feed(self, texts: Texts, threads: int) -> None: ...

    def finish(self) -> CountedRows: ...

def decode_terms(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list: ...

class NeverLearned(ValueError):
    pass

def events() -> list[str]:
    """Names of the event models."""

class Output(enum.Enum):
    joint = 0

    log_probability = 1

    probability = 2

class PriorKind(enum.Enum):
    documents = 0

    tokens = 1

    fixed = 2

class EventOptions:
    """An event model by name, and what is set about it."""

    def __init__(self, name: str) -> None: ...

    @property
    def binarize(self) -> bool: ...

    @binarize.setter
    def binarize(self, arg: bool, /) -> None: ...

    @property
    def threshold(self) -> float: ...

    @threshold.setter
    def threshold(self, arg: float, /) -> None: ...

    @property
    def normalize(self) -> bool: ...

    @normalize.setter
    def normalize(self, arg: bool, /) -> None: ...

    @property
    def shared(self) -> bool: ...

    @shared.setter
    def shared(self, arg: bool, /) -> None: ...

    @property
    def offsets(self) -> list[int]: ...

    @offsets.setter
    def offsets(self, arg: Sequence[int], /) -> None: ...

class Statistics:
    """Sums over rows, as a view of the caller's arrays."""

    def __init__(self, value: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu')], carry: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu')] | None, totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def inspect_batch(options: EventOptions, X: Design, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> tuple[float, bool]:
    """The least entry, and whether all that will be added is integer."""

def learn(options: EventOptions, X: Design, classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, forget: bool, sums: Statistics, threads: int) -> None:
    """Add rows to the sums, or take them out again."""

def estimate(options: EventOptions, sums: Statistics, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple:
    """
    Weights (a row a cell, classes padded to fours) and constants of the scores.
    """

def variance_floor(sums: Statistics, alpha: float) -> float:
    """
    What a Gaussian model adds to all variances: alpha times the largest of any feature.
    """

def labels(options: EventOptions, X: Design, theta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """The best class of each row, and the rows that have none."""

def scores(options: EventOptions, X: Design, theta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], output: Output, threads: int) -> tuple:
    """Scores or probabilities of each row, and the rows that have none."""

def leave_one_out(options: EventOptions, X: Design, classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Statistics, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], prior: PriorKind, log_prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Each row's best class without it (-1: none), and the log probability of its own.
    """

class SolveOptions:
    """When a convex solver stops, and on how many threads it runs."""

    def __init__(self, tol: float, max_iter: int, fit_intercept: bool, threads: int) -> None: ...

def ridge_logistic(X: Design, y: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, l2: float, options: SolveOptions, w0: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, b0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], float, float, int]:
    """
    Minimise sum s l(y, XW + b) + l2/2 |W|^2: (W, b, primal, dual, iterations).
    """

class SparseProblem:
    """What coordinate descent is asked, apart from the data."""

    def __init__(self, loss: str, penalty: str, tol: float, max_iter: int, fit_intercept: bool, threads: int) -> None: ...

def sparse_path(columns: Design, problem: SparseProblem, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, strengths: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], w0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, b0: float = 0.0) -> tuple:
    """
    Solutions (w, b, primal, dual, iterations) for each row (l1, l2) of strengths, each started from the last.
    """

class Weighting:
    """How counts become features."""

    def __init__(self, tf: str, norm: str, scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Link:
    """How scores become probabilities."""

    def __init__(self, kind: str, scale: float, shift: float, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Scorer:
    """Texts to scores and probabilities."""

    def __init__(self, analyzer: Analyzer, vocabulary: Vocabulary, weighting: Weighting, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], link: Link) -> None: ...

    @property
    def classes(self) -> int: ...

    def rows(self, texts: list, probabilities: bool, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Scores, or probabilities, of a list of str."""

    def row(self, text: str) -> tuple:
        """Columns, counts and weighted values of one text."""

    def probabilities_of_counts(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
