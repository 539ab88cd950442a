from collections.abc import Callable, Sequence
import enum
from typing import Annotated, Final, overload

import numpy
from numpy.typing import NDArray


level: str = ...

compiler: str = 'gcc 12.2.0'

def label_codes(labels: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    The first row of each distinct row, in order of appearance, and for each row which of them it equals.
    """

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
    def entries(self) -> int: ...

    @property
    def sorted(self) -> bool: ...

    @property
    def distinct(self) -> bool: ...

def losses() -> list[str]: ...

def loss_at(name: str, parameter: float, y: float, z: float) -> dict:
    """The functions of a loss at (y, z); the conjugate at its gradient."""

def loss_conjugate(name: str, parameter: float, y: float, a: float) -> float: ...

def loss_ascend(name: str, parameter: float, y: float, s: float, q: float, z: float, b: float) -> float:
    """
    argmin_t q/2 (t - b)^2 + z t + s l*(y, -t / s), for losses that ascend.
    """

def loss_traits(name: str) -> dict:
    """
    smoothness, binary; whether it ascends, is plain (for sparse paths), and has a parameter that is positive.
    """

def penalties() -> list[str]: ...

def penalty_at(name: str, l1: float, l2: float, w: float, u: float) -> dict:
    """
    The functions of a penalty: value(w), prox(w, step=u), conjugate(u), distance(w, g=u), pull(g=w).
    """

def penalty_traits(name: str) -> dict:
    """Whether it is convex, and offered for labels."""

class Texts:
    """Documents where they lie."""

    @staticmethod
    def from_list(items: list, lower: bool) -> Texts:
        """Strings that will be lowered (or not)"""

    @staticmethod
    def from_arrow(column: object, lower: bool) -> Texts | None:
        """
        A column with Arrow's C interface; None where it does not hold strings.
        """

    @property
    def first_other(self) -> int: ...

    @property
    def ascii(self) -> bool: ...

    def __len__(self) -> int: ...

class Analyzer:
    """How a document is cut into terms."""

    def __init__(self, units: str, lower: bool, least: int, min_n: int, max_n: int, deobfuscate: bool, stop_words: Sequence[bytes], marks: bool = False, strip_markup: bool = False) -> None: ...

    def set_foldings(self, foldings: Foldings) -> None: ...

class Foldings:
    """What replaces accented characters."""

    def __init__(self, origins: Sequence[int], ends: Sequence[int], replacements: Sequence[int], only_these: bool) -> None: ...

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

class CodedTexts:
    """Texts as numbers of their runs between spaces."""

    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def __len__(self) -> int: ...

class RunReader:
    """Reads texts as numbers of their runs between spaces."""

    def __init__(self, analyzer: Analyzer) -> None: ...

    def feed(self, texts: Texts) -> None: ...

    def finish(self) -> tuple:
        """
        Bytes and offsets of the runs, the runs of all texts by number, and where each text ends.
        """

class VocabularyCounter:
    """Counts documents and gathers their vocabulary."""

    def __init__(self, analyzer: Analyzer) -> None: ...

    def feed(self, texts: Texts, threads: int) -> None: ...

    def feed_coded(self, parts: Sequence[CodedTexts], threads: int) -> None: ...

    def finish(self, threads: int, least: int) -> tuple:
        """
        Terms of at least so many documents, their rows, and whether there was any term at all.
        """

    def __len__(self) -> int: ...

class Vocabulary:
    """Terms ready for lookup: n-grams of words, or of characters."""

    def __init__(self, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], words: bool, max_n: int) -> None: ...

class LookupCounter:
    """Counts the terms of a vocabulary."""

    def __init__(self, analyzer: Analyzer, vocabulary: Vocabulary, unknown: int) -> None:
        """`unknown` is the column of other terms, or -1."""

    def feed(self, texts: Texts, threads: int) -> None: ...

    def finish(self) -> CountedRows: ...

class HashCounter:
    """Counts terms by their hash."""

    def __init__(self, analyzer: Analyzer, columns: int, alternate: bool) -> None: ...

    def feed(self, texts: Texts, threads: int) -> None: ...

    def finish(self) -> CountedRows: ...

def vocabulary_spans(analyzer: Analyzer, texts: Texts, vocabulary: Vocabulary) -> tuple:
    """Column, first character and end of each term of the first text."""

def hashed_spans(analyzer: Analyzer, texts: Texts, columns: int) -> tuple: ...

@overload
def weigh_rows(indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], idf: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, norm: str, threads: int) -> None: ...

@overload
def weigh_rows(indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], idf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, norm: str, threads: int) -> None: ...

@overload
def weigh_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], idf: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, norm: str, threads: int) -> None: ...

@overload
def weigh_rows(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], idf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, norm: str, threads: int) -> None: ...

def deobfuscate(text: str) -> str: ...

def strip_markup(text: str) -> str: ...

def decode_terms(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list: ...

class NeverLearned(ValueError):
    pass

def events() -> list[str]:
    """Names of the event models."""

class EventTraits:
    """What an event model asks of its sums and of X."""

    @property
    def statistics(self) -> int: ...

    @property
    def reads_sparse(self) -> bool: ...

    @property
    def adds_repeats(self) -> bool: ...

def event_traits(name: str) -> EventTraits: ...

class Output(enum.Enum):
    joint = 0

    log_probability = 1

    probability = 2

class PriorKind(enum.Enum):
    documents = 0

    tokens = 1

    fixed = 2

class Prior:
    """Shares of documents or tokens, smoothed, or given logarithms."""

    def __init__(self, kind: PriorKind, smoothing: float, logarithms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

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

    def __init__(self, value: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu', writable=False)], carry: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu', writable=False)] | None, totals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

def zero_sums(statistics: int, classes: int, cells: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C')]:
    """A table of sums of nothing."""

def inspect_batch(options: EventOptions, X: Design, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple[bool, bool, float]:
    """
    Whether anything is negative that must not be, whether all that will be added is integer, and the largest of it.
    """

def learn(options: EventOptions, X: Design, classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, largest: float, forget: bool, sums: Statistics, threads: int) -> None:
    """Add rows to the sums, or take them out again."""

def estimate(options: EventOptions, sums: Statistics, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple:
    """
    Weights (one row per cell, classes padded to fours) and constants of the scores.
    """

def log_probabilities(options: EventOptions, sums: Statistics, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C')]:
    """
    Logarithms of the parameters, one row per class, of the event models for counts.
    """

def variance_floor(sums: Statistics, alpha: float) -> float:
    """
    What a Gaussian model adds to all variances: alpha times the largest of any feature.
    """

def narrow(theta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, threads: int) -> tuple:
    """Weights in single precision, and the size of the largest."""

def labels(options: EventOptions, X: Design, theta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], narrowed: tuple[Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], float] | None, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
    """
    The best class of each row, and the rows that have none; `narrowed` weights make it faster, not different.
    """

def scores(options: EventOptions, X: Design, theta: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], prior: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], output: Output, threads: int) -> tuple:
    """Scores or probabilities of each row, and the rows that have none."""

def leave_one_out(options: EventOptions, X: Design, classes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Statistics, alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], prior: Prior, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Each row's best class without it (-1: none), and the log probability of its own.
    """

class LaneSolution:
    """Weights and offsets (intercepts, thresholds) of a fit, with its gap."""

    def weights(self, lanes: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Features x lanes."""

    @property
    def offsets(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def covariance(self, size: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Of the weights by feature and lane, offsets last, from a fit without a penalty.
        """

    @property
    def primal(self) -> float: ...

    @property
    def dual(self) -> float: ...

    @property
    def iterations(self) -> int: ...

class ClassProblem:
    """What a fit to class labels is asked, apart from the data."""

    def __init__(self, classes: int, baseline: bool, l1: float, l2: float, tol: float, max_iter: int, fit_intercept: bool, threads: int) -> None: ...

    def by_columns(self, n: int, p: int) -> bool:
        """Whether the solver wants the columns of X (n x p) or its rows."""

def class_fit(X: Design, y: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], problem: ClassProblem, columns: bool, covariance: bool, w0: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, b0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> LaneSolution:
    """Minimise sum s l(y, XW + b) + l1 |W|_1 + l2/2 |W|^2."""

class SparseProblem:
    """What a solver is asked, apart from the data."""

    def __init__(self, loss: str, penalty: str, tol: float, max_iter: int, fit_intercept: bool, threads: int) -> None: ...

def products_pay(rows: int, columns: int) -> bool:
    """
    Whether a dense X of this shape is fitted by the products of its columns, and may come by rows.
    """

def sparse_path(columns: Design, problem: SparseProblem, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, strengths: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], w0: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, b0: float = 0.0, callback: Callable[[], None] | None = None, by_rows: bool = False) -> list:
    """
    (w, b, primal, dual, iterations, distance) for each row (l1, l2) of strengths, each started from the last.
    """

def sparse_cross_validation(columns: Design, problem: SparseProblem, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], train: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], test: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], strengths: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], callback: Callable[[], None] | None = None, by_rows: bool = False) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Losses of held-out samples: one row per fold, one column per point of its path (l1, l2, l1, l2, ...).
    """

def ridge(rows: Design, columns: Design, y: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, l2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], problem: SparseProblem) -> list:
    """
    (w, b, primal, dual, iterations, distance) for each row of y, by conjugate gradients.
    """

class MarginOptions:
    """How a linear support vector machine is fitted."""

    def __init__(self, loss: str, epsilon: float, intercept_scale: float, free_intercept: bool, tol: float, max_iter: int, seed: int, threads: int, quick: bool = False) -> None: ...

def margin_classes(X: Design, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], options: MarginOptions, sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, start: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> tuple:
    """
    One class against the rest for each row of scale: (W, b, primal, dual, iterations).
    """

def held_out_margins(X: Design, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], options: MarginOptions, sets: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, blocks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, start: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> tuple:
    """
    The same, cross-validated: scores of each row by machines of the rows outside its fold, as a new text where blocks of columns have length 1; and dual variables to start from.
    """

def ratio_margins(X: Design, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], share: float, options: MarginOptions, start: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> tuple:
    """
    Machines on columns scaled by log-count ratios, one class against the rest: (W, b), a column a machine.
    """

def held_out_ratio_margins(X: Design, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], share: float, fold: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], options: MarginOptions, start: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> tuple:
    """
    The same, cross-validated: scores of each row by machines of the rows outside its fold, and dual variables.
    """

def column_sets(X: Design, presence: bool, threads: int) -> tuple:
    """
    (of, led, ends, indptr): sets of columns that are the same in every row; rows are sorted.
    """

def merge_columns(X: Design, presence: bool, led: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Write the matrix that has one column for each set of `column_sets`."""

def share_out(of: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], share: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], V: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
    """Write the weights of columns from those of their sets."""

def margin_crammer_singer(X: Design, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, options: MarginOptions) -> tuple:
    """All classes in one problem."""

def distinct_rows(X: Design, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int) -> tuple:
    """
    (order, s): one of each set of equal rows, in an order that is not theirs, and weights that add up repeats.
    """

def hard_margin(X: Design, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], options: MarginOptions) -> tuple:
    """(separable, w, b, combination, primal, dual, iterations) of signs y."""

def margin_target(X: Design, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], options: MarginOptions) -> tuple:
    """(W, b, primal, dual, iterations) for one vector of numbers."""

class PerceptronOptions:
    """How a perceptron learns."""

    def __init__(self, l1: float, l2: float, eta: float, tol: float, intercept_decay: float, max_iter: int, patience: int, shuffle: bool, averaged: bool, early_stopping: bool, seed: int, threads: int) -> None: ...

class PerceptronState:
    """What one perceptron has learned, and from how much."""

    def __init__(self, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], b: float, t: float, mistakes: int) -> None: ...

    @property
    def w(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def b(self) -> float: ...

    @property
    def t(self) -> float:
        """Steps so far, and one."""

    @property
    def mistakes(self) -> int: ...

    @property
    def epochs(self) -> int:
        """Passes of the last fit."""

    @property
    def clean(self) -> bool:
        """Whether the last pass had no mistake."""

def perceptron(X: Design, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], held: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], options: PerceptronOptions, start: Sequence[PerceptronState]) -> list[PerceptronState]:
    """
    Perceptrons of one class against the rest, one per state to start from.
    """

class DescentOptions:
    """How the least mean squares rule walks."""

    def __init__(self, stochastic: bool, step: float, tol: float, max_iter: int, record: int, seed: int, threads: int) -> None: ...

def least_mean_squares(X: Design, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], options: DescentOptions) -> tuple:
    """
    Gradient descent on squares: (path, losses, step, iterations, diverged, settled).
    """

def ordinal_links() -> list[str]: ...

def ordinal_cdf(link: str, t: float) -> float: ...

def ordinal_at(link: str, u: float, v: float) -> dict:
    """-log(F(u) - F(v)), its derivatives, and its conjugate at the gradient."""

class OrdinalProblem:
    """What a fit to ordered levels is asked, apart from the data."""

    def __init__(self, link: str, levels: int, l1: float, l2: float, tol: float, max_iter: int, threads: int) -> None: ...

    def by_columns(self, n: int, p: int) -> bool:
        """Whether the solver wants the columns of X (n x p) or its rows."""

def fit_ordinal(X: Design, y: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], problem: OrdinalProblem, columns: bool, covariance: bool) -> LaneSolution:
    """Weights and thresholds of ordered levels."""

def kernel_names() -> list[str]:
    """Entries of the registry of kernels."""

class Kernel:
    """A kernel of the form k(<u,v>, |u|^2, |v|^2), as a postfix expression."""

    @staticmethod
    def of(steps: Sequence[tuple[str, float, float, float]]) -> Kernel:
        """Steps are (name, a, b, c); see cpp/core/kernels/kernels.hpp."""

    def self(self, squares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """k(x, x) from each |x|^2."""

def kernel_matrix(kernel: Kernel, left: Design, right: Design, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Kernel values, left x right, in float64."""

def kernel_matrix_single(kernel: Kernel, left: Design, right: Design, threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
    """Kernel values, left x right, in float32."""

def kernel_sums(kernel: Kernel, left: Design, right: Design, coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    right x (groups, rows): sums over each group of left points of coefficient times kernel.
    """

class Machines:
    """Support vector machines to be solved on one design."""

    def __init__(self) -> None: ...

    @property
    def tol(self) -> float: ...

    @tol.setter
    def tol(self, arg: float, /) -> None: ...

    @property
    def cache_bytes(self) -> int: ...

    @cache_bytes.setter
    def cache_bytes(self, arg: int, /) -> None: ...

    @property
    def shrinking(self) -> bool: ...

    @shrinking.setter
    def shrinking(self, arg: bool, /) -> None: ...

    @property
    def max_steps(self) -> int: ...

    @max_steps.setter
    def max_steps(self, arg: int, /) -> None: ...

    @property
    def folds(self) -> int:
        """Parts to hold out in turn; fewer than two for none."""

    @folds.setter
    def folds(self, arg: int, /) -> None: ...

    def report_to(self, arg: Callable[[int, float, int], None], /) -> None: ...

    def add(self, line: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], linear: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], start: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        One box problem: its variables' lines of the design, linear terms and bounds.
        """

    def solve(self, kernel: Kernel, X: Design, threads: int) -> None: ...

    def beta(self, arg: int, /) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def f(self, arg: int, /) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def held_out(self, arg: int, /) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def fold(self, arg: int, /) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def figures(self, machine: int) -> tuple[float, float, float, float, int, int]:
        """(intercept, primal, dual, violation, steps, ended)"""

class NeighborIndex:
    """A search structure over the rows of a design, for one metric."""

    def search(self, queries: Design, k: int, radius: float, query_groups: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, row_groups: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple:
        """
        (distances, rows, begin) of the k nearest rows of each query, or for k = 0 of those within the radius.
        """

def neighbor_index(X: Design, metric: str, p: float, leaf: int, centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, axes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, threads: int) -> NeighborIndex:
    """
    Index of the rows of X; leaf > 0 asks for a k-d tree, axes for a rotation.
    """

def select_nearest(D: Design, k: int, radius: float, query_groups: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, row_groups: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> tuple:
    """As NeighborIndex.search, by a matrix of distances."""

def vote_curve(distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], by_distance: bool, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, threads: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
    """Class by majority of the first 1, 2, ..., K neighbours."""

def vote_shares(distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], by_distance: bool, codes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], classes: int, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Share of each class in the vote of all K neighbours."""

def mean_curve(distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], by_distance: bool, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """Weighted mean of y over the first 1, 2, ..., K neighbours."""

def metric_names() -> list[str]:
    """Metrics that an index knows."""

class CollapsedTopics:
    """Collapsed variational inference (CVB0)."""

    def __init__(self, X: Design, alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, blocks: int = 0) -> None: ...

    def start(self, share: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, topic: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> None:
        """
        First topics of the entries, in proportion to share (documents x K, or None) times topic (words x K).
        """

    def run(self, sweeps: int, threads: int) -> float:
        """
        Sweep over the corpus; the leave-one-out log predictive probability of the last sweep.
        """

    def set_priors(self, alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def word_topic(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    def document_topic(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

class GibbsTopics:
    """Collapsed Gibbs sampling (SparseLDA)."""

    def __init__(self, X: Design, alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], seed: int, blocks: int = 0, z: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def start(self, share: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, topic: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> None:
        """
        First topics of the entries, in proportion to share (documents x K, or None) times topic (words x K).
        """

    def run(self, sweeps: int, threads: int) -> float:
        """
        Sweep over the corpus; the leave-one-out log predictive probability of the last sweep.
        """

    def set_priors(self, alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], beta: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def word_topic(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    def document_topic(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    def assignments(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class Documents:
    """Counts of words by document."""

    def __init__(self, X: Design) -> None: ...

    def products(self, chosen: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
        """Scalar products of every document with the chosen ones."""

class FoldFloat:
    """Topics to fold documents into."""

    def __init__(self, phi: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], variational: bool, most_iterations: int, tolerance: float) -> None: ...

    def fold_in(self, X: Design, gamma: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> int:
        """
        Moves gamma (documents x K) to its fixed point; the iterations that this took.
        """

    def statistics(self, X: Design, gamma: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
        """Expected counts of words in topics, words x K."""

class FoldDouble:
    """Topics to fold documents into."""

    def __init__(self, phi: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], variational: bool, most_iterations: int, tolerance: float) -> None: ...

    def fold_in(self, X: Design, gamma: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> int:
        """
        Moves gamma (documents x K) to its fixed point; the iterations that this took.
        """

    def statistics(self, X: Design, gamma: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Expected counts of words in topics, words x K."""

def topic_log_likelihoods(X: Design, weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], phi: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """For each document, sum of x_w log sum_k weight_k phi_wk."""

def left_to_right(X: Design, phi: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], particles: int, seed: int, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """Left-to-right log probability of each document."""

def prior_sums(counts: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], alpha: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], expected: bool, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Numerators and, last, the denominator of Minka's fixed point for a Dirichlet prior of counts.
    """

def tree_losses() -> list[str]: ...

class BoostProblem:
    """What boosting is asked, apart from the data."""

    def __init__(self, loss: str, outputs: int, leaves: int, rate: float, l2: float = 1.0, least_rows: float = 5.0, rounds: int = 2000, threads: int = 1) -> None: ...

def boost_trees(train: tuple, held: tuple, sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ordered: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], problem: BoostProblem) -> dict:
    """
    Trees, and scores of the rows held out at the round of their least loss.
    """

class Forest:
    """A sum of trees over columns in bins."""

    def __init__(self, nodes: dict, sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], ordered: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], outputs: int) -> None: ...

    def score(self, X: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C')]:
        """Scores of rows."""

    def paths(self, X: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C')]:
        """What each column changes on the paths of rows."""

class Weighting:
    """How counts become features."""

    def __init__(self, tf: str, norm: str, scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], places: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def weigh_counts(X: Design, weighting: Weighting, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], data: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Write the features of rows of counts: from `starts` on, their columns moved by `first`.
    """

class Link:
    """How scores become probabilities."""

    def __init__(self, kind: str, scale: float, shift: float, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class RowMemory:
    """Remembered rows, by column, and what each says."""

    def __init__(self, kind: str, number: float, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], A: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def scores(self, X: Design, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Scores, without biases, of the rows of a sparse design."""

    def slopes(self, columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
        """
        What each remembered row adds to a score for one unit in common with the text, and what is there anyway.
        """

class View:
    """The terms of one analysis: of a vocabulary, or so many by hash."""

    def __init__(self, analyzer: Analyzer, vocabulary: Vocabulary | None, terms: int = 0) -> None: ...

class Block:
    """The terms of a view as features."""

    def __init__(self, view: int, weighting: Weighting) -> None: ...

class WeightUnits:
    """What one unit of whole weights is, by column and by row."""

    def __init__(self, columns: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], exponents: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class Scorer:
    """Texts to scores and probabilities."""

    def __init__(self, views: Sequence[View], blocks: Sequence[Block], W: object, units: WeightUnits, b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], link: Link, memory: RowMemory | None = None) -> None: ...

    @property
    def classes(self) -> int: ...

    @overload
    def rows(self, texts: list, probabilities: bool, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Scores, or probabilities, of a list of str."""

    @overload
    def rows(self, texts: Texts, probabilities: bool, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @overload
    def unknown_words(self, texts: Texts, threads: int) -> NDArray[numpy.float64] | None: ...

    @overload
    def unknown_words(self, texts: list, threads: int) -> NDArray[numpy.float64] | None:
        """Shares of words in no term; None without a vocabulary of words."""

    @property
    def lowers(self) -> bool: ...

    def row(self, text: str) -> tuple:
        """Columns, counts and weighted values of one text."""

def rounded_rows(W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], centred: bool) -> tuple:
    """
    Rows of weights as whole numbers of 8 bits, and the exponents of 2 that they are multiplied by.
    """

def front_coded(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    A list of terms as what each shares with the one before, and the lengths and bytes of the rest.
    """

def front_decoded(shared: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], rest: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int) -> tuple:
    """Bytes and offsets of such a list, of at most so many bytes."""

class TextBlock:
    """Texts of a file, and the lines that their records end on."""

    def __init__(self) -> None: ...

    def __len__(self) -> int: ...

    @property
    def blank(self) -> int: ...

    def append(self, text: bytes, line: int) -> None:
        """Put in a text, as UTF-8, that was read elsewhere."""

    def texts(self, first: int = 0, most: int = 18446744073709551615) -> list:
        """Some texts as a list of str."""

    def readable(self, lower: bool) -> Texts:
        """The texts for a scorer."""

    def lines(self, style: AnswerStyle, verdicts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], probabilities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], unknown: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> bytes:
        """Verdicts on the texts, a line of UTF-8 each."""

class AnswerStyle:
    """How verdicts are written."""

    def __init__(self, labels: Sequence[bytes], source: bytes | None) -> None: ...

class TextReader:
    """A reader of tables: see cpp/core/reading."""

    @staticmethod
    def csv(delimiter: str, quoted: bool, text: int, longest: int) -> TextReader: ...

    @staticmethod
    def jsonl(text: bytes, longest: int) -> TextReader: ...

    def read(self, data: bytes, position: int, lines: int, last: bool, block: TextBlock) -> tuple:
        """
        (position, lines, odd) behind the records of the data that were read into the block.
        """

class SpamFeatures:
    def encode(self) -> bytes: ...

    @staticmethod
    def decode(arg: bytes, /) -> SpamFeatures: ...

    def view(self, arg: int, /) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class SpamReason:
    @property
    def view(self) -> int: ...

    @property
    def field(self) -> bytes: ...

    @property
    def text(self) -> bytes: ...

    @property
    def adds(self) -> float: ...

def spam_features(raw: bytes, trusted: Sequence[str]) -> SpamFeatures: ...

def spam_header(arg0: bytes, arg1: Sequence[str], /) -> bytes: ...

def spam_checksum(arg: bytes, /) -> int: ...

def spam_identity(arg: bytes, /) -> bytes: ...

class SpamRehearsal:
    def __init__(self) -> None: ...

    @property
    def run(self) -> int: ...

    @run.setter
    def run(self, arg: int, /) -> None: ...

    def due(self, spam: bool) -> bool: ...

class SpamLearner:
    def __init__(self) -> None: ...

    rehearses: Final[bool] = ...
    """(arg: object, /) -> bool"""

    @property
    def learned(self) -> int: ...

    def first(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    def second(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    def state(self) -> bytes: ...

    state_bytes: Final[int] = ...
    """(arg: object, /) -> int"""

    def checksum(self) -> int: ...

    def fill(self, offset: int, piece: bytes) -> None: ...

    def check(self) -> None: ...

    def restore(self, arg: bytes, /) -> None: ...

    def count(self, messages: int, spam: int) -> None: ...

    def score(self, arg: SpamFeatures, /) -> float: ...

    def judge(self, raw: bytes, trusted: Sequence[str]) -> float:
        """The score of a raw message."""

    def scores(self, arg: SpamFeatures, /) -> list[float]: ...

    def learn(self, features: SpamFeatures, spam: bool) -> list[float]: ...

    def rehearse(self, features: SpamFeatures, spam: bool) -> None: ...

    def take_back(self, features: SpamFeatures, spam: bool, errors: Sequence[float]) -> None: ...

    def explain(self, raw: bytes, trusted: Sequence[str], most: int = 18446744073709551615) -> list[SpamReason]: ...

    def replay(self, messages: Sequence[bytes], labels: Sequence[bool], threads: int) -> list[float]: ...

class SpamCounts:
    def __init__(self) -> None: ...

    rehearses: Final[bool] = ...
    """(arg: object, /) -> bool"""

    @property
    def learned(self) -> int: ...

    def first(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

    def second(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

    def state(self) -> bytes: ...

    state_bytes: Final[int] = ...
    """(arg: object, /) -> int"""

    def checksum(self) -> int: ...

    def fill(self, offset: int, piece: bytes) -> None: ...

    def check(self) -> None: ...

    def restore(self, arg: bytes, /) -> None: ...

    def count(self, messages: int, spam: int) -> None: ...

    def score(self, arg: SpamFeatures, /) -> float: ...

    def judge(self, raw: bytes, trusted: Sequence[str]) -> float:
        """The score of a raw message."""

    def scores(self, arg: SpamFeatures, /) -> list[float]: ...

    def learn(self, features: SpamFeatures, spam: bool) -> list[float]: ...

    def rehearse(self, features: SpamFeatures, spam: bool) -> None: ...

    def take_back(self, features: SpamFeatures, spam: bool, errors: Sequence[float]) -> None: ...

    def explain(self, raw: bytes, trusted: Sequence[str], most: int = 18446744073709551615) -> list[SpamReason]: ...

    def replay(self, messages: Sequence[bytes], labels: Sequence[bool], threads: int) -> list[float]: ...
