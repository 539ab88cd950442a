"""Factorisations of X for least squares without a penalty."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from tallywise.linear.least_squares._base import Array, Data, centred

SMALL_GRAM = 1000  # columns up to which a sparse fit pays for p x p numbers: its certificate and standard errors
# Condition of the Gram matrix up to which Cholesky and one correction lose no digit that a singular value would keep.
_WELL_CONDITIONED = 1e8


@dataclass(frozen=True)
class GramFactor:
    """X about its mean, with sqrt(s) on its rows, of full rank: the smaller of X'X and XX' as L L'.

    Of XX' about means the vector sqrt(s) has eigenvalue 0: there the matrix has the mean of the others added.
    """

    L: Array
    inverse: Array  # of L
    rank: int

    @property
    def least(self) -> float:
        """A lower bound of the smallest eigenvalue: one over the trace of the inverse."""
        return float(1 / np.vdot(self.inverse, self.inverse))

    @property
    def singular(self) -> Array:
        """Singular values of X, the one that the mean takes 0."""
        singular = np.asarray(la.svdvals(self.L, check_finite=False))
        if self.rank < len(singular):
            # One over the rank of the trace was added, in a direction of its own.
            added = np.sqrt(np.vdot(self.L, self.L) / (self.rank + 1))
            singular = np.append(np.delete(singular, np.argmin(np.abs(singular - added))), 0.0)
        return singular

    def solve(self, b: Array) -> Array:
        """(L L')^-1 b."""
        return np.asarray(self.inverse.T @ (self.inverse @ b))

    def covariance(self) -> Array:
        """(X'X)^-1, for no more columns than rows."""
        return np.asarray(self.inverse.T @ self.inverse)


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

    def covariance(self) -> Array:
        """(X'X)^-1, for full rank."""
        V = self.V / self.singular
        return np.asarray(V @ V.T)


class Problem:
    """A least-squares problem about the means of X and y; dense X with sqrt(s) on its rows."""

    def __init__(self, data: Data, fit_intercept: bool) -> None:
        self.data, self.fit_intercept = data, fit_intercept
        n, p = data.X.shape
        self.root = np.ones(n) if data.s is None else np.sqrt(data.s)
        self.y_mean = data.mean(data.y) if fit_intercept else np.zeros(data.y.shape[1])
        self.mean = np.zeros(p)
        if sp.issparse(data.X):
            if fit_intercept:
                self.mean = data.mean(data.X)
            return
        # Widened first: centred in float32, a singular value of 0 becomes rounding that looks real in float64.
        self.X, self.mean = centred(data._replace(X=data.X.astype(np.float64, copy=False)), fit_intercept)
        self.y = data.y - self.y_mean
        if data.s is not None:
            self.X, self.y = self.X * self.root[:, None], self.y * self.root[:, None]


def factorise(problem: Problem, *, whole: bool = False) -> Factors | GramFactor | None:
    """Factors of the centred, weighted X: singular vectors where rank is not full, or asked for as a `whole`.

    None where that would cost too much.
    """
    data = problem.data
    n, p = data.X.shape
    if sp.issparse(data.X):
        return None if p > SMALL_GRAM else _factors_of_gram(data, problem.fit_intercept)
    found = None if whole else _gram_factor(problem)
    if found is not None:
        return found
    X, y = problem.X, problem.y
    if n > p:
        # With [X y] = Q R: R's first p columns have the singular values of X, the others are Q'y; no Q is formed.
        R = la.qr(np.hstack([X, y]), mode="r", check_finite=False)[0]
        X, y = R[:p, :p], R[:p, p:]
    U, singular, Vt = la.svd(X, full_matrices=False, check_finite=False)
    return Factors(singular, Vt.T, U.T @ y)


def _gram_factor(problem: Problem) -> GramFactor | None:
    """The smaller Gram matrix factorised, where it is well conditioned: a tenth of the time of singular values."""
    X, (n, p) = problem.X, problem.X.shape
    size = min(n, p)
    if n == p or size == 0:  # about its mean, a square X has lost a rank
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        gram = X.T @ X if p < n else X @ X.T
        trace = float(np.trace(gram))
    if not 0 < trace < np.inf:
        return None
    rank = size
    if p > n and problem.fit_intercept:
        rank = n - 1
        if rank == 0:
            return None
        gram += np.outer(problem.root, problem.root) * (trace / rank / float(problem.root @ problem.root))
        trace += trace / rank
    L, failed = la.lapack.dpotrf(gram, lower=1, clean=1, overwrite_a=1)
    if failed:
        return None
    inverse, failed = la.lapack.dtrtri(L, lower=1)
    if failed or not trace * np.vdot(inverse, inverse) < _WELL_CONDITIONED:
        return None
    return GramFactor(L, inverse, rank)


def _factors_of_gram(data: Data, fit_intercept: bool) -> Factors:
    X = data.X.astype(np.float64)
    weighted_X = X if data.s is None else sp.diags_array(data.s) @ X
    gram = (X.T @ weighted_X).toarray()
    if fit_intercept:
        mean = data.mean(X)
        gram -= data.weight * np.outer(mean, mean)
    values, V = la.eigh(gram)
    return Factors(np.sqrt(np.maximum(values[::-1], 0)), V[:, ::-1], None)
