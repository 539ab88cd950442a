"""Least squares without a penalty: solution, standard errors, p-values."""

import time
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from scipy.sparse.linalg import LinearOperator, lsqr
from scipy.stats import t as student
from sklearn.utils.validation import check_is_fitted

from tallywise._certificate import Certificate
from tallywise._sklearn import Interval, fit_context
from tallywise.linear.least_squares._base import (
    Array,
    LeastSquares,
    LeastSquaresFit,
    SquaresDesign,
    rounding,
    squares_path,
    squares_under,
)
from tallywise.linear.least_squares._factors import SMALL_GRAM, Factors, GramFactor, Problem, factorise


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
        problem = Problem(data, self.fit_intercept)
        factors = factorise(problem, whole=self.positive)
        fits = unpenalised(problem, self.positive, self.tol, factors)
        self._spectrum = None if sp.issparse(data.X) else _spectrum_of(factors)
        self._keep(fits, data.one_target)
        self._remember_errors(problem, factors, fits)
        return self

    @property
    def rank_(self) -> int:
        """Rank of X about its mean."""
        return self._known("rank_")[0]

    @property
    def singular_(self) -> Array:
        """Singular values of X about its mean, made when they are read."""
        singular = self._known("singular_")[1]
        return singular.singular if isinstance(singular, GramFactor) else singular

    def _known(self, name: str) -> tuple[int, Array | GramFactor]:
        found: tuple[int, Array | GramFactor] | None = vars(self).get("_spectrum")
        if found is None:
            msg = f"LinearRegression has {name!r} after a fit to dense X."
            raise AttributeError(msg)
        return found

    def _remember_errors(
        self, problem: Problem, factors: Factors | GramFactor | None, fits: list[LeastSquaresFit]
    ) -> None:
        """Store what a summary needs of the data."""
        data, (n, p) = problem.data, problem.data.X.shape
        self._errors = None
        freedom = n - p - self.fit_intercept
        if self.positive or factors is None or freedom <= 0 or p > 2 * SMALL_GRAM or factors.rank < p:
            return
        s = np.ones(n) if data.s is None else data.s
        self._errors = _Errors(
            factors,
            problem.mean if self.fit_intercept else None,
            data.weight,
            np.array([2 * fit.certificate.primal for fit in fits]),
            np.asarray(s @ (data.y - problem.y_mean) ** 2),
            freedom,
        )

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
        if self._errors is None:
            msg = (
                "Standard errors need more samples than features, features that do not depend on each other, "
                f"at most {2 * SMALL_GRAM} of them ({SMALL_GRAM} if sparse) and positive=False."
            )
            raise ValueError(msg)
        w = np.atleast_2d(self.coef_)[target].astype(np.float64)
        if self.fit_intercept:
            w = np.append(w, np.atleast_1d(self.intercept_)[target])
        errors = self._errors
        variance = errors.residual_squares[target] / errors.freedom
        total = errors.total_squares[target]
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        return LeastSquaresSummary(
            names=[*names, "intercept"] if self.fit_intercept else names,
            coef=w,
            std_err=np.sqrt(variance * np.diag(errors.unit_covariance())),
            r_squared=float(1 - errors.residual_squares[target] / total) if total > 0 else float("nan"),
            residual_variance=float(variance),
            degrees_of_freedom=errors.freedom,
        )


def _spectrum_of(factors: Factors | GramFactor | None) -> tuple[int, Array | GramFactor]:
    """Rank and singular values, or what they are made of where that is small."""
    assert factors is not None
    small = isinstance(factors, GramFactor) and len(factors.L) <= 2 * SMALL_GRAM
    return factors.rank, factors if small and isinstance(factors, GramFactor) else factors.singular


@dataclass(frozen=True)
class _Errors:
    """What standard errors are made of, when a summary asks for them."""

    factors: Factors | GramFactor
    mean: Array | None  # None without an intercept
    weight: float
    residual_squares: Array
    total_squares: Array
    freedom: int

    def unit_covariance(self) -> Array:
        """Of weights and intercept, for a residual variance of 1."""
        slopes = self.factors.covariance()
        if self.mean is None:
            return slopes
        cross = -slopes @ self.mean
        corner = 1 / self.weight + self.mean @ slopes @ self.mean
        return np.block([[slopes, cross[:, None]], [cross[None], np.array([[corner]])]])


def unpenalised(
    problem: Problem, positive: bool, tol: float, factors: Factors | GramFactor | None = None
) -> list[LeastSquaresFit]:
    """Least squares of smallest norm, or with weights that are not negative."""
    factors = factors if factors is not None else factorise(problem, whole=positive)
    solve = _non_negative if positive else _smallest_norm
    data = problem.data
    began = time.perf_counter()
    found = solve(problem, tol, factors)
    seconds = time.perf_counter() - began
    fits = []
    for k, (w, primal, dual, iterations) in enumerate(found):
        b = float(problem.y_mean[k] - problem.mean @ w) if problem.fit_intercept else 0.0
        floor = rounding(data.y[:, k], data.s)
        proof = Certificate(float(primal), float(min(dual, primal)), iterations, seconds, floor)
        fits.append(LeastSquaresFit(w, b, proof))
    return fits


Found = list[tuple[Array, float, float, int]]  # w, primal, dual, iterations


def _smallest_norm(problem: Problem, tol: float, factors: Factors | GramFactor | None) -> Found:
    if sp.issparse(problem.data.X):
        assert not isinstance(factors, GramFactor)
        return [_lsqr(problem, tol, factors, k) for k in range(problem.data.y.shape[1])]
    X, y = problem.X, problem.y
    if isinstance(factors, GramFactor):
        W, r, wide = np.zeros((X.shape[1], y.shape[1])), y, X.shape[1] > X.shape[0]
        for _ in range(2):  # once, and a correction: the Gram matrix squares the condition number
            W = W + (X.T @ factors.solve(r) if wide else factors.solve(X.T @ r))
            r = y - X @ W
        return [_certified(-r[:, k], W[:, k], X.T, factors.least, 1) for k in range(y.shape[1])]
    assert factors is not None
    assert factors.projected is not None
    rank = factors.rank
    singular = factors.singular[:rank]
    W = factors.V[:, :rank] @ (factors.projected[:rank] / singular[:, None])
    least = singular[-1] ** 2 if rank else np.inf
    return [_certified(X @ W[:, k] - y[:, k], W[:, k], X.T, least, 1) for k in range(y.shape[1])]


def _certified(r: Array, w: Array, transposed: Any, least: float, iterations: int) -> tuple[Array, float, float, int]:
    """Objective and its bound |gradient|^2 / 2 mu below, from the residual r and mu = `least`."""
    primal = 0.5 * float(r @ r)
    gradient = transposed @ r
    return w, primal, primal - 0.5 * float(gradient @ gradient) / least, iterations


def _lsqr(problem: Problem, tol: float, factors: Factors | None, k: int) -> tuple[Array, float, float, int]:
    """Paige and Saunders' LSQR on sqrt(s) (X - mean), with the mean taken off after each product."""
    X, mean, root = problem.data.X, problem.mean, problem.root
    operator = LinearOperator(
        X.shape,
        matvec=lambda v: root * (X @ v - mean @ v),
        rmatvec=lambda u: X.T @ (root * u) - mean * (root @ u),
        dtype=np.float64,
    )
    y = problem.data.y[:, k] - problem.y_mean[k]
    w, _, iterations, *_ = lsqr(operator, root * y, atol=tol, btol=tol, iter_lim=10 * max(X.shape))
    r = operator.matvec(w) - root * y
    if factors is None or factors.rank < X.shape[1]:  # a small eigenvalue might have been taken for 0
        return w, 0.5 * float(r @ r), 0.0, int(iterations)
    for _ in range(2):
        w = w - factors.V @ ((factors.V.T @ operator.rmatvec(r)) / factors.singular**2)
        r = operator.matvec(w) - root * y
    return _certified(r, w, operator.H, factors.singular[-1] ** 2, int(iterations))


def _non_negative(problem: Problem, tol: float, factors: Factors | GramFactor | None) -> Found:
    data = problem.data
    if sp.issparse(data.X):
        asked = squares_under("non_negative", tol=tol, max_iter=10000, fit_intercept=problem.fit_intercept)
        design = SquaresDesign.of(data, problem.fit_intercept)
        found = []
        for k in range(data.y.shape[1]):
            (fit,) = squares_path(design, data.y[:, k], data.s, asked, [[0, 0]])
            found.append((fit.w, fit.certificate.primal, fit.certificate.dual, fit.certificate.iterations))
        return found
    assert isinstance(factors, Factors)
    X, y = problem.X, problem.y
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
