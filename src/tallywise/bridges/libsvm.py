"""Model files of LIBSVM, the text format of its ``svm-train`` and ``svm_save_model``."""

import array
import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tallywise.bridges._svm_text_file import Array, Header, invalid, read, reals, shown, whole_labels, write
from tallywise.kernels import SVC, SVR

_KERNELS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid"}
_MOST_VECTORS = (1 << 31) - 1
_MOST_FEATURES = (1 << 31) - 1
_MOST_FEATURES_UNASKED = 1 << 26  # products with sparse rows take memory by the number of columns


def read_libsvm(path: str | os.PathLike[str], n_features: int | None = None) -> Any:
    """Read a model file of LIBSVM as a fitted estimator.

    Decision values and predictions are those of LIBSVM's ``svm_predict``. Files of nu-SVC and nu-SVR give an `SVC` and
    an `SVR`: these machines differ from ours in how they are fitted, not in how they answer. Platt's sigmoids (probA,
    probB) are left out; `SVC` calibrates otherwise.

    Parameters
    ----------
    path : path
        A file written by LIBSVM's ``svm-train`` or ``svm_save_model``.
    n_features : int, default=None
        Columns of the data to predict. The file does not say it; by default the largest index in it.

    Returns
    -------
    SVC or SVR
        ``classes_`` are in the order of the file, which need not be sorted: equal votes go to the first. What the file
        does not say (C, epsilon, nu) has its default value, and ``support_`` numbers the support vectors.

    Raises
    ------
    ModelFileError
        When the file is damaged, hostile, of a precomputed kernel, or of a one-class machine.

    Examples
    --------
    >>> import tempfile, os
    >>> from tallywise import SVC
    >>> from tallywise.bridges import read_libsvm, write_libsvm
    >>> model = SVC(gamma=0.5).fit([[0.0, 1.0], [1.0, 0.0], [3.0, 2.0]], [1, 1, 2])
    >>> path = os.path.join(tempfile.mkdtemp(), "svc.model")
    >>> size = write_libsvm(model, path)
    >>> read_libsvm(path).predict([[0.0, 0.0], [3.0, 2.0]])
    array([1, 2])
    """
    return read(path, "LIBSVM", b"SV", lambda header, lines: _estimator(header, lines, n_features))


def _estimator(header: Header, lines: list[bytes], n_features: int | None) -> Any:
    kind = header.word("svm_type")
    if kind == "one_class":
        invalid("it is a one-class machine, which tallywise does not have")
    if kind not in ("c_svc", "nu_svc", "epsilon_svr", "nu_svr"):
        invalid(f"there is no svm_type {kind!r}")
    parameters = _kernel(header)
    K = header.classes()
    vectors = header.whole("total_sv", 0, _MOST_VECTORS)
    classifies = kind in ("c_svc", "nu_svc")
    if K < 2 or (K > 2 and not classifies):
        invalid(f"it has {K} classes, where {'2 or more' if classifies else '2'} stand in such a file")
    rho = header.reals("rho", K * (K - 1) // 2)
    coefficients, X = _support_vectors(lines, vectors, K - 1, n_features)
    model = (SVC if classifies else SVR)(**parameters)
    if classifies:
        labels, counts = header.wholes("label", K), header.wholes("nr_sv", K)
        if len(np.unique(labels)) < K:
            invalid("it has one label for two classes")
        if (counts < 0).any() or counts.sum() != vectors:
            invalid(f"its nr_sv do not add up to its total_sv, {vectors}")
        model.classes_, model.n_support_ = labels, counts.astype(np.int32)
        model.class_weight_ = np.ones(K)
    else:
        model.n_support_ = np.array([vectors], dtype=np.int32)
    # Of two classes the first has LIBSVM's positive scores, and our negative ones.
    sign = -1.0 if classifies and K == 2 else 1.0
    model.dual_coef_, model.intercept_ = sp.csr_matrix(sign * coefficients), -sign * rho
    model.support_vectors_, model.support_ = X, np.arange(vectors, dtype=np.int32)
    model.n_features_in_, model.shape_fit_ = X.shape[1], X.shape
    model.n_iter_, model.fit_status_ = np.zeros(len(rho), dtype=np.int32), 0
    model._kernel = model._as_kernel()
    model._gamma = getattr(model._kernel, "gamma", 0.0)
    model._sparse, model._foreign, model._stored = True, False, False
    return model


def _kernel(header: Header) -> dict[str, Any]:
    name = header.word("kernel_type")
    if name == "precomputed":
        invalid("its kernel is precomputed: the file has the numbers of the support vectors, not the vectors")
    if name not in _KERNELS:
        invalid(f"there is no kernel_type {name!r}")
    found: dict[str, Any] = {"kernel": _KERNELS[name]}
    if name != "linear":
        found["gamma"] = header.real("gamma")
        if found["gamma"] < 0:
            invalid(f"its gamma is {found['gamma']:g}: a number >= 0 is possible")
    if name in ("polynomial", "sigmoid"):
        found["coef0"] = header.real("coef0")
    if name == "polynomial":
        found["degree"] = header.whole("degree", 0, 1 << 16)
    return found


def _support_vectors(lines: list[bytes], vectors: int, coefficients: int, n_features: int | None) -> tuple[Array, Any]:
    """Coefficients (a row a machine) and support vectors (CSR)."""
    numbers = array.array("d")
    indices, values, starts = array.array("q"), array.array("d"), array.array("q", [0])
    for words in map(bytes.split, lines):
        if not words:
            continue
        if len(words) < coefficients:
            invalid(f"a support vector has {len(words)} coefficients, {coefficients} are needed")
        try:
            numbers.extend(map(float, words[:coefficients]))
            for word in words[coefficients:]:
                index, colon, value = word.partition(b":")
                if not colon:
                    raise ValueError
                indices.append(int(index))
                values.append(float(value))
        except (ValueError, OverflowError):
            invalid("a support vector is not a list of coefficients and of index:value")
        starts.append(len(indices))
    if len(starts) - 1 != vectors:
        invalid(f"it has {len(starts) - 1} support vectors, its header says {vectors}")
    columns = np.frombuffer(indices, dtype=np.int64) - 1 if indices else np.zeros(0, dtype=np.int64)
    return (
        np.ascontiguousarray(reals(numbers, "coefficients").reshape(vectors, coefficients).T),
        _matrix(columns, reals(values, "support vectors"), np.array(starts), n_features),
    )


def _matrix(columns: NDArray[np.int64], values: Array, starts: NDArray[np.int64], n_features: int | None) -> Any:
    width = int(columns.max(initial=0)) + 1
    if len(columns) and columns.min() < 0:
        invalid("an index of a support vector is below 1")
    inside = np.ones(max(len(columns) - 1, 0), dtype=bool)
    inside[starts[(starts > 0) & (starts < len(columns))] - 1] = False  # a vector begins behind this entry
    if (np.diff(columns)[inside] <= 0).any():
        invalid("the indices of a support vector do not rise")
    if n_features is not None and n_features < width:
        msg = f"n_features={n_features} is below the largest index of the file, {width}."
        raise ValueError(msg)
    if width > (_MOST_FEATURES_UNASKED if n_features is None else _MOST_FEATURES):
        invalid(f"its largest index is {width}. If that is meant, say so by n_features={width}")
    shape = (len(starts) - 1, width if n_features is None else n_features)
    return sp.csr_matrix((values, columns.astype(np.int32), starts.astype(np.int32)), shape=shape)


def write_libsvm(model: Any, path: str | os.PathLike[str]) -> int:
    """Write a support vector machine as a file that LIBSVM's ``svm-predict`` and ``svm_load_model`` read.

    Parameters
    ----------
    model : SVC or SVR
        Fitted, with a kernel that LIBSVM has: 'linear', 'poly', 'rbf' or 'sigmoid'; labels are whole numbers.
        Probabilities are not written: LIBSVM calibrates otherwise.
    path : path
        Where to write.

    Returns
    -------
    int
        Bytes written.

    Examples
    --------
    >>> import tempfile, os
    >>> from pathlib import Path
    >>> from tallywise import SVR
    >>> from tallywise.bridges import write_libsvm
    >>> path = os.path.join(tempfile.mkdtemp(), "svr.model")
    >>> size = write_libsvm(SVR(gamma=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 2.0, 4.0]), path)
    >>> Path(path).read_text().splitlines()[0]
    'svm_type epsilon_svr'
    """
    if not isinstance(model, SVC | SVR):
        msg = f"write_libsvm takes SVC or SVR. Got {type(model).__name__}."
        raise TypeError(msg)
    check_is_fitted(model)
    names = {ours: theirs for theirs, ours in _KERNELS.items()}
    if not isinstance(model.kernel, str) or model.kernel not in names:
        msg = f"LIBSVM's files hold the kernels {', '.join(names)}. Got {model.kernel!r}."
        raise ValueError(msg)
    return write(path, _lines(model, names[model.kernel]))


def _lines(model: Any, kernel: str) -> Any:
    classifies = isinstance(model, SVC)
    K = len(model.classes_) if classifies else 2
    yield f"svm_type {'c_svc' if classifies else 'epsilon_svr'}"
    yield f"kernel_type {kernel}"
    if kernel == "polynomial":
        yield f"degree {model.degree}"
    if kernel != "linear":
        yield f"gamma {model._gamma:.17g}"
    if kernel in ("polynomial", "sigmoid"):
        yield f"coef0 {model.coef0:.17g}"
    sign = -1.0 if classifies and K == 2 else 1.0
    yield f"nr_class {K}"
    yield f"total_sv {len(model.support_)}"
    yield "rho " + shown(-sign * model.intercept_)
    if classifies:
        yield "label " + " ".join(map(str, whole_labels(model.classes_, "LIBSVM")))
        yield "nr_sv " + " ".join(map(str, model.n_support_.tolist()))
    yield "SV"
    dense = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    X = sp.csr_matrix(model.support_vectors_)
    X.sort_indices()
    for k, column in enumerate(sign * dense.T):
        entries = slice(X.indptr[k], X.indptr[k + 1])
        pairs = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
        yield " ".join([shown(column), *(f"{j + 1}:{value:.17g}" for j, value in pairs)])
