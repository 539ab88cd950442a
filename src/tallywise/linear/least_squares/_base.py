"""Shared by the least-squares estimators: input, prediction, and the fitted attributes."""

import time
import warnings
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tallywise import _native, _threads
from tallywise._arrays import columns, rows, validate_data
from tallywise._base import BaseEstimator
from tallywise._certificate import Certificate
from tallywise._sklearn import check_sample_weight
from tallywise.linear._units import scores_of

Array = NDArray[np.float64]

_SMALL = 100_000  # entries of an array that stays in a processor's cache


class Data(NamedTuple):
    """A validated problem. y has one column per target, s is None for equal weights."""

    X: Any
    y: Array
    s: Array | None
    one_target: bool

    @property
    def weight(self) -> float:
        """Sum of the sample weights."""
        return float(self.X.shape[0] if self.s is None else self.s.sum())

    def mean(self, a: Any) -> Any:
        """Weighted mean of the rows of a (dense or sparse)."""
        if not sp.issparse(a):
            return np.average(a, axis=0, weights=self.s)
        s = np.ones(a.shape[0]) if self.s is None else self.s
        return np.asarray(a.T @ s).ravel() / self.weight


class LeastSquaresFit(NamedTuple):
    """Weights and intercept of one target, and how far they are from the best (in the gradient: `distance`)."""

    w: Array
    b: float
    certificate: Certificate
    distance: float = 0.0


class LeastSquares(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A linear model z = X w + b of one or several targets."""

    # Whether the weights of a y of shape (n, 1) are of shape (p,), as scikit-learn has it under a penalty.
    _flat_column: ClassVar[bool] = True

    coef_: NDArray[Any]
    intercept_: Any
    certificate_: Certificate | list[Certificate]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: Any) -> NDArray[Any]:
        """Scores X w + b.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
            Predicted targets.
        """
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse=["csr", "csc", "coo"], reset=False)
        return scores_of(X, self.coef_.T, self.intercept_)

    def _read(self, X: Any, y: Any, sample_weight: Any, accept_sparse: str) -> Data:
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=accept_sparse,
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
        )
        self._dtype = X.dtype
        s = None
        if sample_weight is not None:
            s = np.asarray(check_sample_weight(sample_weight, X, dtype=np.float64))
            if (s < 0).any():
                msg = "Negative values in data passed to `sample_weight`: weights must be 0 or more."
                raise ValueError(msg)
            if not s.sum() > 0:
                msg = "All sample weights are zero: there is nothing to fit."
                raise ValueError(msg)
        y = np.asarray(y, dtype=np.float64)
        return Data(X, y.reshape(len(y), -1), s, y.ndim == 1)

    def _read_columns(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """For solvers that go column by column."""
        data = self._read(X, y, sample_weight, "csc")
        return data._replace(X=dense_where_small(data.X))

    def _keep(self, fits: list[LeastSquaresFit], one_target: bool) -> None:
        """Store the fits of all targets the way scikit-learn lays them out."""
        W = np.array([fit.w for fit in fits], dtype=self._dtype)
        b = np.array([fit.b for fit in fits], dtype=self._dtype)
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            msg = f"The fit of {type(self).__name__} overflowed: the input holds values too large for it. Scale X."
            raise ValueError(msg)
        self.coef_ = W[0] if one_target or (self._flat_column and len(W) == 1) else W
        self.intercept_ = b[0] if one_target else b
        if not self.fit_intercept:
            self.intercept_ = 0.0
        certificates = [fit.certificate for fit in fits]
        self.certificate_ = certificates[0] if one_target else certificates
        del self._dtype


def dense_where_small(X: Any) -> Any:
    """A sparse X that is small, or at least half full, as an array: the fit has the same bits however X is stored.

    Solvers stop at a duality gap, so that two forms of X, whose sums round differently, end in other last digits.
    """
    small = sp.issparse(X) and (X.shape[0] * X.shape[1] <= _SMALL or 2 * X.nnz >= X.shape[0] * X.shape[1])
    return X.toarray(order="C") if small else X


class SquaresDesign(NamedTuple):
    """X for paths of least squares; `offset @ w` comes off the intercept."""

    X: _native.Design
    by_rows: bool
    offset: Array

    @classmethod
    def of(cls, data: Data, fit_intercept: bool, *, by_columns: bool = False) -> Self:
        """Dense X with few columns as it lies: its products are about the means. Any other by columns, centred."""
        X = data.X
        if not by_columns and not sp.issparse(X) and _native.products_pay(*X.shape):
            by_rows = not X.flags.f_contiguous
            return cls(rows(X) if by_rows else columns(X), by_rows, np.zeros(X.shape[1]))
        inside, offset = centred(data, fit_intercept, "F")
        return cls(columns(inside), False, offset)


def centred(data: Data, fit_intercept: bool, order: Literal["C", "F"] = "C") -> tuple[Any, Array]:
    """Dense X about its weighted mean, so that large means lose no digits (sparse X as it is), and that mean."""
    zero = np.zeros(data.X.shape[1])
    if sp.issparse(data.X) or not fit_intercept:
        return data.X, zero
    with np.errstate(over="ignore"):
        offset = data.mean(data.X.astype(np.float64, copy=False))
    if not np.isfinite(offset).all():
        msg = "The numbers in X are too large for this fit: the sum of a column overflows. Scale X."
        raise ValueError(msg)
    inside = np.empty(data.X.shape, dtype=data.X.dtype, order=order)
    return np.subtract(data.X, offset, out=inside, casting="same_kind"), offset


def refuse_overflow(y: Array) -> None:
    """Say that targets are too large, where their squares have no finite sum: descent on infinity does not end."""
    with np.errstate(over="ignore"):
        total = float(np.square(y, dtype=np.float64).sum())
    if not np.isfinite(total):
        msg = "The values of y are too large for this fit: their squares overflow. Scale X and y."
        raise ValueError(msg)


def penalty_of(positive: bool) -> str:
    """The registry's name for the two penalties that scikit-learn has."""
    return "non_negative" if positive else "elastic_net"


def squares_under(
    penalty: str, *, tol: float, max_iter: int, fit_intercept: bool, n_jobs: int | None = None
) -> _native.SparseProblem:
    """Least squares under a penalty of the registry."""
    return _native.SparseProblem(
        loss="squared_error",
        penalty=penalty,
        tol=tol,
        max_iter=min(max_iter, 2**31 - 1),
        fit_intercept=fit_intercept,
        threads=_threads.count(n_jobs),
    )


def squares_path(
    design: SquaresDesign,
    y: Array,
    s: Array | None,
    problem: _native.SparseProblem,
    strengths: Any,
    w0: Array | None = None,
    callback: Any = None,
) -> list[LeastSquaresFit]:
    """A fit for each (l1, l2) of strengths, each started from the last."""
    refuse_overflow(y)
    began = time.perf_counter()
    path = _native.sparse_path(
        design.X,
        problem,
        np.ascontiguousarray(y, dtype=np.float64),
        s,
        np.ascontiguousarray(strengths, dtype=np.float64).reshape(-1, 2),
        None if w0 is None else np.ascontiguousarray(w0, dtype=np.float64),
        callback=callback,
        by_rows=design.by_rows,
    )
    seconds, floor = time.perf_counter() - began, rounding(y, s)
    return [
        LeastSquaresFit(
            w, b - float(design.offset @ w), Certificate(primal, dual, iterations, seconds, floor), distance
        )
        for w, b, primal, dual, iterations, distance in path
    ]


def rounding(y: Array, s: Array | None) -> float:
    """What float64 may be off by in sums of squares that begin at those of y."""
    return 2 * float(np.finfo(np.float64).eps) * float(np.sum(y * y) if s is None else s @ (y * y))


def warn_unless_converged(certificate: Certificate, tol: float, remedy: str, enough: float = 0.0) -> None:
    """Warn where the gap reached is above tol (relative) and above ``enough`` (in the objective's units)."""
    if certificate.relative_gap > max(tol, 1e-13) and not certificate.gap <= enough:
        warnings.warn(
            "Objective did not converge. You might want to increase the number of iterations. "
            f"The relative duality gap is {certificate.relative_gap:.1e} after {certificate.iterations} iterations, "
            f"above tol={tol:g}. {remedy}",
            ConvergenceWarning,
            stacklevel=3,
        )
