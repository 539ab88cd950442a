"""User input to validated arrays: designs for X, codes for y. All conversion is here."""

import copy
import warnings
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import validation

from tallywise._native import Design, label_codes

NOTHING = "no_validation"  # scikit-learn's word for an argument that was not given

# A 2-d array or a sparse matrix. SciPy declares no types, so checkers know the array's side alone.
Matrix: TypeAlias = NDArray[Any] | sp.csr_matrix | sp.csc_matrix
Seed: TypeAlias = int | np.random.RandomState | None

_VALUES = (np.float64, np.float32, np.int64)


def rows(X: Any, *, any_order: bool = False, repeats: bool = False) -> Design:
    """Design whose lines are the rows of X (a 2-d array or a sparse matrix).

    With ``any_order``, rows whose indices are not sorted are accepted; repeated indices in a row are still
    added up on a copy, unless ``repeats`` says that the caller adds them up.
    """
    return _sparse(X.tocsr(), any_order, repeats) if sp.issparse(X) else Design.dense(np.ascontiguousarray(_values(X)))


def columns(X: Any) -> Design:
    """Design whose lines are the columns of X."""
    return _sparse(X.tocsc()) if sp.issparse(X) else Design.dense(np.ascontiguousarray(_values(X).T))


def _sparse(X: sp.csr_matrix, any_order: bool = False, repeats: bool = False) -> Design:
    """Native view of a compressed matrix; unsorted indices are sorted and repeated ones added up, on a copy.

    SciPy's own `has_sorted_indices` is a cached flag that callers can leave wrong, so the native pass decides.
    """
    index = np.result_type(X.indices.dtype, X.indptr.dtype)
    if index not in (np.dtype(np.int32), np.dtype(np.int64)):
        index = np.dtype(np.int64)
    width = X.shape[1] if X.format == "csr" else X.shape[0]
    try:
        design = Design.sparse(
            np.ascontiguousarray(_values(X.data)),
            np.ascontiguousarray(X.indices, dtype=index),
            np.ascontiguousarray(X.indptr, dtype=index),
            width,
        )
    except ValueError:
        check_structure(X)  # says what is wrong as elsewhere
        raise
    if design.sorted or (any_order and (repeats or design.distinct)):
        return design
    canonical = X.copy()
    canonical.has_sorted_indices = False
    canonical.has_canonical_format = False
    canonical.sum_duplicates()
    return _sparse(canonical)


def _values(array: NDArray[Any]) -> NDArray[Any]:
    """Entries of a type that is compiled, in this machine's order of bytes."""
    native = array.dtype.type in _VALUES and array.dtype.isnative
    return array if native else array.astype(array.dtype.type if array.dtype.type in _VALUES else np.float64)


def validate_data(
    estimator: Any,
    X: Matrix = NOTHING,
    y: ArrayLike = NOTHING,
    *,
    reset: bool = True,
    to_design: bool = False,
    **options: Any,
) -> Any:
    """scikit-learn's `validate_data`, of a sparse X with indices of its own whose structure is sound.

    An array or CSR matrix that needs no conversion and no message does without scikit-learn's look, which takes 80 to
    170 us whatever its size: as long as the prediction of a thousand short texts. With ``to_design`` the caller makes a
    design of X next, which looks at the structure itself.
    """
    if options.get("copy") is not False:  # what changes X in place needs the caller's own
        X = _with_own_indices(X)
    in_order = _in_order(estimator, X, y, reset, options)
    if not (in_order and to_design):
        check_structure(X)
    if not in_order:
        return validation.validate_data(estimator, X, y, reset=reset, **options)
    if reset:
        estimator.n_features_in_ = X.shape[1]
    return X if isinstance(y, str) else (X, y)


# What `_in_order` understands of the options of `validate_data`.
_READ = {"accept_sparse", "accept_large_sparse", "dtype", "ensure_all_finite", "order", "y_numeric"}


def _in_order(estimator: Any, X: sp.csr_matrix, y: ArrayLike, reset: bool, options: dict[str, Any]) -> bool:
    """Whether scikit-learn would return X and y as they are, and keep no more of them than the number of columns."""
    given = options.get
    if type(X) is np.ndarray:
        values, fits = X, given("order") is None or (given("order") == "C" and X.flags.c_contiguous)
    elif type(X) in (sp.csr_matrix, sp.csr_array):
        values, accepted = X.data, given("accept_sparse", False)
        fits = accepted == "csr" or (isinstance(accepted, list) and "csr" in accepted)
        fits = fits and (given("accept_large_sparse", True) or X.indices.dtype == X.indptr.dtype == np.int32)
    else:
        return False
    if not fits or X.ndim != 2 or min(X.shape) == 0 or not options.keys() <= _READ:
        return False
    dtype = given("dtype", "numeric")
    if isinstance(dtype, list):
        fits = values.dtype in dtype
    elif dtype not in (None, "numeric"):
        fits = values.dtype == dtype
    known = vars(estimator)
    fits = fits and "feature_names_in_" not in known and (reset or known.get("n_features_in_") == X.shape[1])
    return fits and _finite(values, given("ensure_all_finite", True)) and _labels_in_order(y, X.shape[0])


def _labels_in_order(y: ArrayLike, n: int) -> bool:
    if isinstance(y, str):
        return y == NOTHING
    if type(y) is not np.ndarray or y.shape != (n,) or not y.flags.c_contiguous:
        return False
    return y.dtype.kind == "U" or _finite(y, True)


def _finite(values: NDArray[Any], required: Any) -> bool:
    """Whether these are real numbers, all finite if required. False also where a sum of them is not."""
    if values.dtype.kind in "iub" or (values.dtype.kind == "f" and required is False):
        return True
    if values.dtype.kind != "f" or required is not True:
        return False
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()))


def check_array(X: Matrix, *args: Any, **options: Any) -> Any:
    """scikit-learn's `check_array`, of a sparse X with indices of its own whose structure is sound."""
    X = _with_own_indices(X)
    check_structure(X)
    return validation.check_array(X, *args, **options)


def _with_own_indices(X: Any) -> Any:
    """A sparse X with copies of its indices; entries are shared.

    Another thread may change the caller's indices while the interpreter's lock is free: SciPy and the native core would
    read and write where they point. Changed entries give other numbers and no other addresses. The copy takes 4 bytes
    per entry, beside the 12 of X, while X is in use; and for 2.0 million entries 0.3 ms of CPU time, where
    `MultinomialNB.fit`, the quickest, takes 14 ms.
    """
    if not sp.issparse(X) or X.format not in ("csr", "csc", "bsr", "coo"):  # others are converted, and checked then
        return X
    own = copy.copy(X)
    for name in ("coords",) if X.format == "coo" else ("indices", "indptr"):
        held = getattr(X, name)
        setattr(own, name, tuple(np.array(part) for part in held) if isinstance(held, tuple) else np.array(held))
    return own


def check_structure(X: Any) -> None:
    """Refuse a sparse matrix whose indices point outside of it.

    SciPy takes them as they are, and its conversions and products would read and write where they point.
    """
    if not sp.issparse(X):
        return
    if X.format in ("csr", "csc", "bsr"):
        _check_compressed(X)
    elif X.format == "coo":
        for axis, coordinates in enumerate(X.coords):
            _check_range(coordinates, X.shape[axis], "coordinate")
    elif X.format == "lil":
        _check_compressed(X.tocsr())
    elif X.format == "dok":
        check_structure(X.tocoo())


def _check_compressed(X: sp.csr_matrix) -> None:
    block = X.blocksize if X.format == "bsr" else (1, 1)
    sizes = (X.shape[0] // block[0], X.shape[1] // block[1])
    lines, width = sizes if X.format != "csc" else sizes[::-1]
    begin, indices = X.indptr, X.indices
    stored = min(len(indices), len(X.data))
    if len(begin) != lines + 1 or begin[0] != 0 or (np.diff(begin) < 0).any() or begin[-1] > stored:
        msg = (
            f"A sparse matrix in {X.format} format is damaged: its 'indptr' must have {lines + 1} entries that start "
            f"at 0, do not fall, and end within the {stored} stored entries. Make it anew."
        )
        raise ValueError(msg)
    _check_range(indices[: begin[-1]], width, "index")


def _check_range(indices: NDArray[Any], width: int, what: str) -> None:
    # As unsigned numbers, negative ones are large: one pass finds both ends.
    unsigned = indices.view(f"u{indices.dtype.itemsize}") if indices.dtype.kind == "i" else indices
    if len(indices) and unsigned.max() >= width:
        bad = indices[np.argmax(unsigned >= width)]
        msg = f"A sparse matrix of width {width} holds {what} {bad}: it is damaged. Make it anew."
        raise ValueError(msg)


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sorted distinct labels, and the position of each row's label among them.

    Strings go through a hash table, whole numbers close to each other through a table: sorting all n would be 10x
    slower.
    """
    if y.dtype.kind == "U" and y.size and y.dtype.itemsize:
        first, places = label_codes(np.ascontiguousarray(y).view(np.uint32).reshape(len(y), -1))
        order = np.argsort(y[first])
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return y[first[order]], rank[places]
    if y.dtype.kind in "OU":
        labels = y.tolist()
        distinct = sorted(set(labels))
        place = {label: k for k, label in enumerate(distinct)}
        classes = np.empty(len(distinct), dtype=y.dtype)
        classes[:] = distinct
        return classes, np.fromiter(map(place.__getitem__, labels), dtype=np.int64, count=len(y))
    low, high = (y.min(), y.max()) if y.dtype.kind in "iu" and len(y) else (0, 0)
    if 0 < int(high) - int(low) < 4 * len(y):
        least = np.asarray(low).astype(np.int64)  # unsigned ones beyond it wrap round, and back again
        offsets = y.astype(np.int64) - least
        seen = np.zeros(int(high) - int(low) + 1, dtype=bool)
        seen[offsets] = True
        return (np.flatnonzero(seen) + least).astype(y.dtype), (np.cumsum(seen) - 1)[offsets]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int64, copy=False)


def warn_if_ordered(splitter: Any, y: NDArray[Any]) -> None:
    """Warn where folds that are not shuffled, scikit-learn's default for numbers, meet rows ordered by the target.

    Each fold then has targets that no training part has. It shows in the share of the target's variance that lies
    between folds: (k - 1) / (n - 1) by chance. The warning comes from halfway between that and all of it on.
    """
    from sklearn.model_selection import KFold  # takes long to import

    if type(splitter) is not KFold or splitter.shuffle or y.ndim != 1 or len(y) < 2 * splitter.n_splits:
        return
    numbers = (y if y.dtype.kind in "iufb" else encode_labels(y)[1]).astype(np.float64)
    with np.errstate(all="ignore"):
        numbers = numbers / (np.abs(numbers).max() or 1.0)
        total = float(np.var(numbers)) * len(numbers)
        parts = np.array_split(numbers, splitter.n_splits)
        between = sum(len(part) * float(part.mean() - numbers.mean()) ** 2 for part in parts)
    chance = (splitter.n_splits - 1) / (len(numbers) - 1)
    if total > 0 and between > total * (1 + chance) / 2:
        warnings.warn(
            f"The rows are ordered by the target: {100 * between / total:.0f} % of its variance lies between the "
            f"{splitter.n_splits} folds, which are not shuffled, so that each fold is predicted from other targets. "
            f"Shuffle the rows, or set cv=KFold({splitter.n_splits}, shuffle=True, random_state=0).",
            UserWarning,
            stacklevel=3,
        )
