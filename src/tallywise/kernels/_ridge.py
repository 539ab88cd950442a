"""Least squares with kernels, in closed form or by conjugate gradients."""

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.exceptions import ConvergenceWarning

from tallywise._arrays import Matrix
from tallywise._sklearn import Interval, StrOptions, check_sample_weight, fit_context
from tallywise.kernels._regressor import _MEMORY_FOR_K, Vector, _KernelRegressor


class KernelRidge(MultiOutputMixin, _KernelRegressor):
    r"""Ridge regression with kernels: dual coefficients (K + alpha I) beta = y.

    Minimises sum_i s_i (y_i - f(x_i))^2 + alpha |f|^2 over f = sum_i beta_i k(x_i, .). Drop-in for
    `sklearn.kernel_ridge.KernelRidge`.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1
        Penalty, one for all targets or one for each.
    kernel : str, callable or Kernel, default='linear'
        A function takes two points, as in scikit-learn.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel.
    solver : {'auto', 'cholesky', 'cg'}, default='auto'
        'cholesky' forms K; 'cg' runs conjugate gradients on products with K whose entries are made as they are needed,
        for n beyond memory. 'auto' takes 'cholesky' while K fits 2 GB, and solves for the weights of the features
        where the kernel is linear and there are fewer features than samples.
    tol : float, default=1e-8
        'cg' ends when the residual is this small, relative to y.
    max_iter : int, default=1000
        Limit on the iterations of 'cg'.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        beta.
    X_fit_ : ndarray or sparse matrix
        Training points.
    leave_one_out_residuals_ : ndarray, shape of y
        y_i minus the prediction of a fit without sample i, in closed form: beta_i / (K + alpha I)^{-1}_ii. Made when
        first read; only with 'cholesky', or while K fits 2 GB.
    n_iter_ : int
        Iterations of 'cg'; 1 for 'cholesky'.

    References
    ----------
    Saunders, Gammerman & Vovk (1998), Ridge regression learning algorithm in dual variables.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernels import KernelRidge
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> fitted = KernelRidge(alpha=1e-3, kernel="rbf", gamma=5.0).fit(X, np.sin(3 * X[:, 0]))
    >>> fitted.predict([[0.5]]).round(2)
    array([1.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "kernel": [str, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale", "auto"}), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "solver": [StrOptions({"auto", "cholesky", "cg"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    n_iter_: int

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        solver: str = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "KernelRidge":
        """Solve for the dual coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; the matrix of kernel values for ``kernel='precomputed'``.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared residuals.
        """
        X, y = self._validated(X, y, multi_output=True)
        n = X.shape[0]
        Y = y if y.ndim == 2 else y[:, None]
        alpha = np.broadcast_to(np.asarray(self.alpha, dtype=np.float64), Y.shape[1:])
        if np.asarray(self.alpha).ndim and len(np.ravel(self.alpha)) not in (1, Y.shape[1]):
            msg = f"Number of targets and number of penalties do not correspond: {len(self.alpha)} != {Y.shape[1]}"
            raise ValueError(msg)
        root = np.ones(n)
        if sample_weight is not None:
            root = np.sqrt(check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
        self.n_iter_ = 1
        self.X_fit_ = X
        direct = self.solver == "cholesky" or (self.solver == "auto" and 8 * n * n <= _MEMORY_FOR_K)
        if self.solver == "auto" and self.kernel == "linear" and X.shape[1] < n and (alpha > 0).all():
            beta = self._line(X, Y, alpha, root)
        else:
            beta = (self._cholesky if direct else self._conjugate_gradient)(X, Y, alpha, root)
        self._left_out_of = (y, alpha, root) if direct else None
        self._residuals: Vector | None = None
        self.dual_coef_ = beta if y.ndim == 2 else beta[:, 0]
        return self

    @property
    def leave_one_out_residuals_(self) -> Vector:
        """y_i minus the prediction of a fit without sample i, made when first read."""
        left_out_of: tuple[Vector, Vector, Vector] | None = getattr(self, "_left_out_of", None)
        if left_out_of is None:
            msg = f"{type(self).__name__} has leave_one_out_residuals_ only after a fit that can form K"
            raise AttributeError(msg)
        if self._residuals is None:
            self._residuals = self._left_out(*left_out_of)
        return self._residuals

    def _line(self, X: Any, Y: Vector, alpha: Vector, root: Vector) -> Vector:
        """With a linear kernel f(x) = w'x: (X'SX + alpha I) w = X'Sy, and beta = S (y - Xw) / alpha."""
        S = (root**2)[:, None]
        weighted = X.multiply(S).tocsr() if sp.issparse(X) else X * S
        G = X.T @ weighted
        G = np.asarray(G.toarray() if sp.issparse(G) else G, dtype=np.float64)
        beta = np.empty_like(Y)
        for a, which, W in self._solutions(G, np.asarray(weighted.T @ Y, dtype=np.float64), alpha):
            beta[:, which] = S * (Y[:, which] - X @ W) / a
        return beta

    def _cholesky(self, X: Matrix, Y: Vector, alpha: Vector, root: Vector) -> Vector:
        """With S = diag(sqrt s): (S K S + alpha I) gamma = S y, beta = S gamma."""
        beta = np.empty_like(Y)
        for _, which, gamma in self._solutions(self._weighted_kernel(X, root), root[:, None] * Y, alpha):
            beta[:, which] = root[:, None] * gamma
        return beta

    def _weighted_kernel(self, X: Matrix, root: Vector) -> Vector:
        K = np.ascontiguousarray(self._kernel(X), dtype=np.float64)
        K = K.copy() if K is X or np.may_share_memory(K, X) else K
        if (root != 1).any():
            K *= root[:, None]
            K *= root
        return K

    @staticmethod
    def _solutions(K: Vector, right: Vector, alpha: Vector) -> Iterator[tuple[float, Any, Vector]]:
        """(alpha, its targets, solution of (K + alpha I) Z = right) for each alpha, in the memory of K."""
        n = len(K)
        own = K.diagonal().copy()
        values = np.unique(alpha)
        for a in values:
            which = np.flatnonzero(alpha == a)
            K.flat[:: n + 1] = own + a
            # LAPACK sees the transpose: it works in what is the upper half here, and the lower half keeps K.
            factor, failed = scipy.linalg.lapack.dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
            if not failed:
                Z = scipy.linalg.lapack.dpotrs(factor, right[:, which], lower=1)[0]
            if failed or a != values[-1]:
                upper = np.triu_indices(n, 1)
                K[upper] = K.T[upper]
            if failed:
                K.flat[:: n + 1] = own + a
                msg = "Singular matrix in solving dual problem. Using least-squares solution instead."
                warnings.warn(msg, stacklevel=5)
                Z = np.linalg.pinv(K, hermitian=True) @ right[:, which]
            yield float(a), which, np.asarray(Z)

    def _left_out(self, y: Vector, alpha: Vector, root: Vector) -> Vector:
        """In closed form: beta_i / (K + alpha I)^{-1}_ii."""
        Y, beta = (v if v.ndim == 2 else v[:, None] for v in (y, self.dual_coef_))
        residuals = np.empty_like(Y)
        for a in np.unique(alpha):
            which = np.flatnonzero(alpha == a)
            K = self._weighted_kernel(self.X_fit_, root)
            K.flat[:: len(K) + 1] += a
            with np.errstate(divide="ignore", invalid="ignore"):
                residuals[:, which] = beta[:, which] / (self._inverse_diagonal(K) * root**2)[:, None]
        # A sample without weight never took part: its residual is that of the fit.
        idle = root == 0
        if idle.any():
            residuals[idle] = (Y - self._times(self.X_fit_, self.X_fit_, beta))[idle]
        return residuals if y.ndim == 2 else residuals[:, 0]

    @staticmethod
    def _inverse_diagonal(A: Vector) -> Vector:
        """Diagonal of the inverse of a positive definite matrix, or of its pseudo-inverse if it is singular."""
        try:
            L = scipy.linalg.cholesky(A, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return np.asarray(np.diag(np.linalg.pinv(A, hermitian=True)))
        inverse, info = scipy.linalg.lapack.dpotri(L, lower=1)
        assert info == 0
        return np.asarray(np.diag(inverse))

    def _conjugate_gradient(self, X: Matrix, Y: Vector, alpha: Vector, root: Vector) -> Vector:
        """All targets at once, so that one pass over the kernel serves them all."""

        def product(P: Vector) -> Vector:
            return np.asarray(root[:, None] * self._times(X, X, root[:, None] * P) + alpha * P)

        gamma = np.zeros_like(Y)
        R = root[:, None] * Y
        P = R.copy()
        rho = (R * R).sum(axis=0)
        goal = (self.tol**2) * rho
        self.n_iter_ = 0
        while self.n_iter_ < self.max_iter and (rho > goal).any():
            Q = product(P)
            curvature = (P * Q).sum(axis=0)
            if (curvature < -1e-12 * rho).any():
                msg = "The kernel is not positive semi-definite on this data; conjugate gradients need one that is."
                raise ValueError(msg)
            step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
            gamma += step * P
            R -= step * Q
            new = (R * R).sum(axis=0)
            P = R + np.divide(new, rho, out=np.zeros_like(rho), where=rho > 0) * P
            rho = new
            self.n_iter_ += 1
        if (rho > goal).any():
            reached = float(np.sqrt((rho / np.maximum(goal, 1e-300)).max()) * self.tol)
            msg = (
                f"Conjugate gradients reached a residual of {reached:.1e} in {self.max_iter} iterations "
                f"(tol={self.tol:g}); raise max_iter or alpha."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=3)
        return np.asarray(root[:, None] * gamma)
