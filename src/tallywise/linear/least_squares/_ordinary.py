"""Least squares without a penalty: solution, standard errors, p-values."""

import time
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.optimize import nnls
from scipy.sparse.linalg import LinearOperator, lsqr
from scipy.stats import t as student
from sklearn.utils.validation import check_is_fitted

from tallywise._certificate import Certificate
from tallywise._sklearn import Interval, fit_context
from tallywise.linear.least_squares._base import (
    Array,
    Data,
    LeastSquares,
    LeastSquaresFit,
    SquaresDesign,
    centred,
    rounding,
    squares_path,
    squares_under,
)

_SMALL_GRAM = 1000  # columns up to which a sparse fit pays for p x p numbers: its certificate and standard errors


@dataclass(frozen=True)
class Factors:
    """X about its mean, with sqrt(s) on its rows, as U diag(singular) V', as far as least squares needs it."""

    singular: Array
    V: Array  # one column per singular value
    projected: Array | None  # U'y; None where X'X was factorised

    @property
    def rank(self) -> int:
        """Number of singular values that rounding cannot explain."""
        if self.singular.size == 0:
            return 0
        blur = max(self.V.shape) * np.finfo(float).eps
        if self.projected is None:
            blur = np.sqrt(blur)  # of eigenvalues, before their roots were taken
        return int(np.sum(self.singular > self.singular[0] * blur))


@dataclass(frozen=True)
class LeastSquaresSummary:
    """Weights of a regression with their standard errors, t statistics and p-values, the intercept last."""

    names: list[str]
    coef: Array
    std_err: Array
    r_squared: float
    residual_variance: float
    degrees_of_freedom: int
    confidence: float = 0.95

    @property
    def t(self) -> Array:
        """Weight over standard error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.coef / self.std_err)

    @property
    def p_value(self) -> Array:
        """Probability of a t at least as large when the true weight is zero (Student's test, both sides)."""
        return np.asarray(2 * student.sf(np.abs(self.t), self.degrees_of_freedom))

    @property
    def interval(self) -> tuple[Array, Array]:
        """Lower and upper end of the confidence interval of each weight."""
        reach = student.ppf(0.5 + self.confidence / 2, self.degrees_of_freedom) * self.std_err
        return self.coef - reach, self.coef + reach

    def __str__(self) -> str:
        lower, upper = self.interval
        width = max(12, *(len(name) for name in self.names))
        head = f"{100 * self.confidence:g} % interval"
        lines = [f"{'':{width}} {'coef':>10} {'std err':>10} {'t':>8} {'p':>8}  {head:>21}"]
        for j, name in enumerate(self.names):
            lines.append(
                f"{name:{width}} {self.coef[j]:10.4g} {self.std_err[j]:10.4g} {self.t[j]:8.2f} "
                f"{self.p_value[j]:8.3g}  {lower[j]:10.4g} {upper[j]:10.4g}"
            )
        fit = f"R^2 {self.r_squared:.4f}, residual variance {self.residual_variance:.4g}"
        return "\n".join([*lines, f"{fit}, {self.degrees_of_freedom} degrees of freedom"])


class LinearRegression(LeastSquares):
    r"""Least squares without a penalty.

    Minimises :math:`\frac12 \sum_i s_i (y_i - x_i'w - b)^2`. Where several w do (more features than samples, or
    features that depend on each other) the one of smallest norm is given. ``summary()`` has standard errors and
    p-values.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit b.
    copy_X : bool, default=True
        Accepted for compatibility: X is never overwritten.
    tol : float, default=1e-6
        Accuracy of the iterative method, used for sparse X (LSQR's ``atol`` and ``btol``).
    n_jobs : int, default=None
        Accepted for compatibility.
    positive : bool, default=False
        Whether the weights must not be negative.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        Weights w.
    intercept_ : float or array of shape (n_targets,)
        Intercept b.
    rank_ : int
        Rank of X about its mean; for dense X.
    singular_ : array of shape (min(n_samples, n_features),)
        Singular values of X about its mean; for dense X.
    certificate_ : Certificate, or a list of them
        Objective and a lower bound, which is only 0 for sparse X of many (a thousand) or dependent columns.

    Notes
    -----
    With :math:`\mu` the smallest eigenvalue of X'SX that is not 0 and g the gradient, the objective exceeds its minimum
    by at most :math:`|g|^2 / 2\mu`: that is the certificate.

    References
    ----------
    Golub, Van Loan: "Matrix Computations", 4th edition, chapter 5.

    Examples
    --------
    >>> from tallywise.linear import LinearRegression
    >>> model = LinearRegression().fit([[1.0], [2.0], [3.0], [4.0]], [1.1, 1.9, 3.2, 3.8])
    >>> print(model.summary())
                       coef    std err        t        p         95 % interval
    x0                 0.94    0.09055    10.38  0.00915      0.5504       1.33
    intercept          0.15      0.248     0.60    0.607      -0.917      1.217
    R^2 0.9818, residual variance 0.041, 2 degrees of freedom
    """

    _flat_column: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    rank_: int
    singular_: Array

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearRegression":
        """Fit the weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Weights s.

        Returns
        -------
        LinearRegression
            The fitted estimator.
        """
        data = self._read(X, y, sample_weight, "csr")
        factors = factorise(data, self.fit_intercept)
        fits = unpenalised(data, self.fit_intercept, self.positive, self.tol, factors)
        if factors is not None and not sp.issparse(data.X):
            self.rank_ = factors.rank
            self.singular_ = factors.singular
        self._keep(fits, data.one_target)
        self._remember_errors(data, factors, fits)
        return self

    def _remember_errors(self, data: Data, factors: Factors | None, fits: list[LeastSquaresFit]) -> None:
        """Store what a summary needs of the data."""
        n, p = data.X.shape
        self._unit_covariance = None
        freedom = n - p - self.fit_intercept
        if self.positive or factors is None or factors.rank < p or freedom <= 0 or p > 2 * _SMALL_GRAM:
            return
        offset = data.mean(data.X) if self.fit_intercept else np.zeros(p)
        V = factors.V / factors.singular
        slopes = V @ V.T
        if self.fit_intercept:
            cross = -slopes @ offset
            corner = 1 / data.weight + offset @ slopes @ offset
            slopes = np.block([[slopes, cross[:, None]], [cross[None], np.array([[corner]])]])
        self._unit_covariance = slopes
        self._residual_squares = np.array([2 * fit.certificate.primal for fit in fits])
        centre = data.mean(data.y) if self.fit_intercept else 0.0
        s = np.ones(n) if data.s is None else data.s
        self._total_squares = s @ (data.y - centre) ** 2
        self._freedom = freedom

    def summary(self, target: int = 0) -> LeastSquaresSummary:
        """Standard errors, t and p values of the estimates.

        Parameters
        ----------
        target : int, default=0
            Which target, where there are several.

        Returns
        -------
        LeastSquaresSummary
            Arrays, and a table when printed.
        """
        check_is_fitted(self, "coef_")
        if self._unit_covariance is None:
            msg = (
                "Standard errors need more samples than features, features that do not depend on each other, "
                f"at most {2 * _SMALL_GRAM} of them ({_SMALL_GRAM} if sparse) and positive=False."
            )
            raise ValueError(msg)
        w = np.atleast_2d(self.coef_)[target].astype(np.float64)
        if self.fit_intercept:
            w = np.append(w, np.atleast_1d(self.intercept_)[target])
        variance = self._residual_squares[target] / self._freedom
        total = self._total_squares[target]
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        return LeastSquaresSummary(
            names=[*names, "intercept"] if self.fit_intercept else names,
            coef=w,
            std_err=np.sqrt(variance * np.diag(self._unit_covariance)),
            r_squared=float(1 - self._residual_squares[target] / total) if total > 0 else float("nan"),
            residual_variance=float(variance),
            degrees_of_freedom=self._freedom,
        )


def factorise(data: Data, fit_intercept: bool) -> Factors | None:
    """Singular values and right vectors of the centred, weighted X; None where that would cost too much."""
    n, p = data.X.shape
    if sp.issparse(data.X):
        return None if p > _SMALL_GRAM else _factors_of_gram(data, fit_intercept)
    X, y = weighted(data, fit_intercept)
    if n > p:
        # With [X y] = Q R: R's first p columns have the singular values of X, the others are Q'y; no Q is formed.
        R = la.qr(np.hstack([X, y]), mode="r", check_finite=False)[0]
        X, y = R[:p, :p], R[:p, p:]
    U, singular, Vt = la.svd(X, full_matrices=False, check_finite=False)
    return Factors(singular, Vt.T, U.T @ y)


def _factors_of_gram(data: Data, fit_intercept: bool) -> Factors:
    X = data.X.astype(np.float64)
    weighted_X = X if data.s is None else sp.diags_array(data.s) @ X
    gram = (X.T @ weighted_X).toarray()
    if fit_intercept:
        mean = data.mean(X)
        gram -= data.weight * np.outer(mean, mean)
    values, V = la.eigh(gram)
    return Factors(np.sqrt(np.maximum(values[::-1], 0)), V[:, ::-1], None)


def weighted(data: Data, fit_intercept: bool) -> tuple[Array, Array]:
    """Dense X and y about their means, rows times sqrt(s)."""
    # Widened first: centred in float32, a singular value of 0 becomes rounding that looks real in float64.
    X, _ = centred(data._replace(X=data.X.astype(np.float64, copy=False)), fit_intercept)
    y = data.y - data.mean(data.y) if fit_intercept else data.y
    if data.s is None:
        return X, y
    root = np.sqrt(data.s)[:, None]
    return X * root, y * root


def unpenalised(
    data: Data, fit_intercept: bool, positive: bool, tol: float, factors: Factors | None = None
) -> list[LeastSquaresFit]:
    """Least squares of smallest norm, or with weights that are not negative."""
    factors = factors if factors is not None else factorise(data, fit_intercept)
    solve = _non_negative if positive else _smallest_norm
    began = time.perf_counter()
    found = solve(data, fit_intercept, tol, factors)
    seconds = time.perf_counter() - began
    X_mean = data.mean(data.X) if fit_intercept else 0.0
    y_mean = data.mean(data.y) if fit_intercept else np.zeros(data.y.shape[1])
    fits = []
    for k, (w, primal, dual, iterations) in enumerate(found):
        b = float(y_mean[k] - X_mean @ w) if fit_intercept else 0.0
        floor = rounding(data.y[:, k], data.s)
        proof = Certificate(float(primal), float(min(dual, primal)), iterations, seconds, floor)
        fits.append(LeastSquaresFit(w, b, proof))
    return fits


Found = list[tuple[Array, float, float, int]]  # w, primal, dual, iterations


def _smallest_norm(data: Data, fit_intercept: bool, tol: float, factors: Factors | None) -> Found:
    if sp.issparse(data.X):
        return [_lsqr(data, fit_intercept, tol, factors, k) for k in range(data.y.shape[1])]
    assert factors is not None
    assert factors.projected is not None
    X, y = weighted(data, fit_intercept)
    rank = factors.rank
    singular = factors.singular[:rank]
    W = factors.V[:, :rank] @ (factors.projected[:rank] / singular[:, None])
    return [_certified(X @ W[:, k] - y[:, k], W[:, k], X.T, singular, 1) for k in range(y.shape[1])]


def _certified(
    r: Array, w: Array, transposed: Any, singular: Array, iterations: int
) -> tuple[Array, float, float, int]:
    """Objective and its bound |gradient|^2 / 2 mu below, from the residual r."""
    primal = 0.5 * float(r @ r)
    gradient = transposed @ r
    gap = 0.5 * float(gradient @ gradient) / singular[-1] ** 2 if singular.size else 0.0
    return w, primal, primal - gap, iterations


def _lsqr(
    data: Data, fit_intercept: bool, tol: float, factors: Factors | None, k: int
) -> tuple[Array, float, float, int]:
    """Paige and Saunders' LSQR on sqrt(s) (X - mean), with the mean taken off after each product."""
    X = data.X
    root = np.ones(X.shape[0]) if data.s is None else np.sqrt(data.s)
    mean = data.mean(X) if fit_intercept else np.zeros(X.shape[1])
    operator = LinearOperator(
        X.shape,
        matvec=lambda v: root * (X @ v - mean @ v),
        rmatvec=lambda u: X.T @ (root * u) - mean * (root @ u),
        dtype=np.float64,
    )
    y = data.y[:, k] - (data.mean(data.y)[k] if fit_intercept else 0.0)
    w, _, iterations, *_ = lsqr(operator, root * y, atol=tol, btol=tol, iter_lim=10 * max(X.shape))
    r = operator.matvec(w) - root * y
    if factors is None or factors.rank < X.shape[1]:  # a small eigenvalue might have been taken for 0
        return w, 0.5 * float(r @ r), 0.0, int(iterations)
    for _ in range(2):
        w = w - factors.V @ ((factors.V.T @ operator.rmatvec(r)) / factors.singular**2)
        r = operator.matvec(w) - root * y
    return _certified(r, w, operator.H, factors.singular, int(iterations))


def _non_negative(data: Data, fit_intercept: bool, tol: float, factors: Factors | None) -> Found:
    if sp.issparse(data.X):
        problem = squares_under("non_negative", tol=tol, max_iter=10000, fit_intercept=fit_intercept)
        design = SquaresDesign.of(data, fit_intercept)
        found = []
        for k in range(data.y.shape[1]):
            (fit,) = squares_path(design, data.y[:, k], data.s, problem, [[0, 0]])
            found.append((fit.w, fit.certificate.primal, fit.certificate.dual, fit.certificate.iterations))
        return found
    assert factors is not None
    X, y = weighted(data, fit_intercept)
    full = factors.rank == X.shape[1]
    V = factors.V[:, : factors.rank] / factors.singular[: factors.rank]
    # X'c = 1: adding e c to a dual point raises all of its constraints by e.
    c = X @ (V @ V.sum(axis=0)) if full else None
    found = []
    for k in range(y.shape[1]):
        w = nnls(X, y[:, k], maxiter=max(1000, 30 * X.shape[1]))[0]
        r = X @ w - y[:, k]
        a = r if c is None else r + max(0.0, -float((X.T @ r).min(initial=0.0))) * c
        dual = 0.0 if c is None else -float(a @ (y[:, k] + 0.5 * a))
        found.append((w, 0.5 * float(r @ r), dual, 1))
    return found
