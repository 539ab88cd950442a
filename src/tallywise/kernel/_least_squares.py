"""Least squares with kernels: the closed form, and the iteration that leads to it."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tallywise import _arrays, _native, _threads
from tallywise.kernel._algebra import Kernel, Precomputed, as_kernel

Vector = NDArray[np.float64]

_MEMORY_FOR_K = 2_000_000_000  # bytes up to which solver='auto' forms the matrix


class _KernelRegressor(RegressorMixin, BaseEstimator):
    """Prediction f(x) = sum_i beta_i k(x_i, x), with the kernel given in scikit-learn's ways."""

    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    dual_coef_: Vector
    X_fit_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        tags.input_tags.sparse = True
        return tags

    def _resolved(self, X: Any) -> Kernel:
        kernel = as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            parameters=self.kernel_params,
            pairwise=not isinstance(self.kernel, Kernel),
        )
        return kernel.resolve(X)

    def _validated(self, X: Any, y: Any, *, multi_output: bool) -> tuple[Any, Vector]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", multi_output=multi_output,
            y_numeric=True,
        )  # fmt: skip
        self._kernel = self._resolved(X)
        if isinstance(self._kernel, Precomputed) and X.shape[0] != X.shape[1]:
            msg = f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            raise ValueError(msg)
        return X, np.asarray(y, dtype=np.float64)

    def _times(self, X: Any, left: Any, coefficients: Vector) -> Vector:
        """Sums over the points `left` of coefficient (points, outputs) times kernel, never forming the matrix."""
        if isinstance(self._kernel, Precomputed):
            return np.asarray(X @ coefficients)
        if self._kernel.steps() is None:
            return np.asarray(self._kernel(X, left) @ coefficients)
        starts = np.array([0, left.shape[0]], dtype=np.int64)
        rows = np.ascontiguousarray(coefficients.T, dtype=np.float64)
        design = _arrays.rows(left)
        right = design if X is left else _arrays.rows(X)
        return np.asarray(_native.kernel_sums(self._kernel.native(), design, right, rows, starts, _threads.count()))

    def predict(self, X: Any) -> Vector:
        """Predicted targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for ``kernel='precomputed'`` their kernel values with the training points.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        beta = self.dual_coef_
        values = self._times(X, self.X_fit_, beta if beta.ndim == 2 else beta[:, None])
        return values if beta.ndim == 2 else values[:, 0]


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
        'cholesky' forms K and gives leave-one-out residuals too; 'cg' runs conjugate gradients on products with K whose
        entries are made as they are needed, for n beyond memory. 'auto' takes 'cholesky' while K fits 2 GB.
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
        y_i minus the prediction of a fit without sample i, in closed form: beta_i / (K + alpha I)^{-1}_ii. Only with
        'cholesky'.
    n_iter_ : int
        Iterations of 'cg'; 1 for 'cholesky'.

    References
    ----------
    Saunders, Gammerman & Vovk (1998), Ridge regression learning algorithm in dual variables.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernel import KernelRidge
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

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
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

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KernelRidge":
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
            root = np.sqrt(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
        direct = self.solver == "cholesky" or (self.solver == "auto" and 8 * n * n <= _MEMORY_FOR_K)
        self.n_iter_ = 1
        beta = self._cholesky(X, Y, alpha, root) if direct else self._conjugate_gradient(X, Y, alpha, root)
        self.dual_coef_ = beta if y.ndim == 2 else beta[:, 0]
        if direct:
            self.leave_one_out_residuals_ = self._residuals if y.ndim == 2 else self._residuals[:, 0]
            del self._residuals
        elif hasattr(self, "leave_one_out_residuals_"):
            del self.leave_one_out_residuals_
        self.X_fit_ = X
        return self

    def _cholesky(self, X: Any, Y: Vector, alpha: Vector, root: Vector) -> Vector:
        """With S = diag(sqrt s): (S K S + alpha I) gamma = S y, beta = S gamma."""
        K = np.array(self._kernel(X), dtype=np.float64)
        K *= root[:, None]
        K *= root
        beta, self._residuals = np.empty_like(Y), np.empty_like(Y)
        diagonal = np.arange(len(K))
        own = K[diagonal, diagonal].copy()
        for a in np.unique(alpha):
            which = np.flatnonzero(alpha == a)
            K[diagonal, diagonal] = own + a
            inverse = self._inverse(K)
            gamma = inverse @ (root[:, None] * Y[:, which])
            beta[:, which] = root[:, None] * gamma
            with np.errstate(divide="ignore", invalid="ignore"):
                loo = gamma / (np.diag(inverse) * root)[:, None]
            self._residuals[:, which] = loo
        # A sample without weight never took part: its residual is that of the fit.
        idle = root == 0
        if idle.any():
            plain = Y - np.array(self._kernel(X), dtype=np.float64) @ beta
            self._residuals[idle] = plain[idle]
        return beta

    @staticmethod
    def _inverse(A: Vector) -> Vector:
        """Inverse of a positive definite matrix; a singular one (alpha = 0) gets its pseudo-inverse."""
        try:
            L = scipy.linalg.cholesky(A, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            warnings.warn(
                "Singular matrix in solving dual problem. Using least-squares solution instead.", stacklevel=4
            )
            return np.asarray(np.linalg.pinv(A, hermitian=True))
        inverse, info = scipy.linalg.lapack.dpotri(L, lower=1)
        assert info == 0
        upper = np.triu_indices(len(A), 1)
        inverse[upper] = inverse.T[upper]
        return np.asarray(inverse)

    def _conjugate_gradient(self, X: Any, Y: Vector, alpha: Vector, root: Vector) -> Vector:
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


class KernelLeastMeanSquares(_KernelRegressor):
    r"""Least mean squares with kernels: beta := beta + a (y - K beta), from beta = 0.

    Gradient descent on sum_i (y_i - <w, phi(x_i)>)^2 / 2, written in the coefficients of w = sum_i beta_i phi(x_i). The
    fitted values after t steps are (I - (I - a K)^t) y: large eigenvalues are fitted first. They converge for
    0 < a < 2 / lambda_max(K), to the projection of y on the range of K.

    Parameters
    ----------
    kernel : str, callable or Kernel, default='rbf'
        A function takes two points.
    gamma, degree, coef0, kernel_params
        Parameters of the kernel.
    step : float or 'safe', default='safe'
        a. 'safe' is 1 / (largest absolute row sum of K), which no eigenvalue exceeds.
    max_iter : int, default=1000
        Number of steps at most.
    tol : float, default=1e-6
        Stop when a step lowers the residual's norm by less than this, relative to y.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,)
        beta.
    trajectory_ : ndarray of shape (n_iter_ + 1,)
        Sum of squared residuals before each step, and after the last.
    step_ : float
        a.
    n_iter_ : int
        Steps taken.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernel import KernelLeastMeanSquares
    >>> X, y = np.array([[0.0], [1], [2]]), np.array([0.0, 1, 0])
    >>> fitted = KernelLeastMeanSquares(gamma=1.0, max_iter=500, tol=1e-12).fit(X, y)
    >>> bool(np.allclose(fitted.dual_coef_, fitted.limit(), atol=1e-4))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [str, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale", "auto"}), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "step": [Interval(Real, 0, None, closed="neither"), StrOptions({"safe"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        step: Any = "safe",
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.step = step
        self.max_iter = max_iter
        self.tol = tol

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> "KernelLeastMeanSquares":
        """Run the iteration.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; the matrix of kernel values for ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Targets.
        """
        X, y = self._validated(X, y, multi_output=False)
        K = self._kernel(X) if 8 * len(y) ** 2 <= _MEMORY_FOR_K else None
        times = (lambda v: K @ v) if K is not None else (lambda v: self._times(X, X, v[:, None])[:, 0])
        if self.step == "safe":
            # Row sums of |K|: exact from K, and by |k(x, z)| <= sqrt(k(x, x) k(z, z)) without it.
            if K is not None:
                largest = float(np.abs(K).sum(axis=1).max())
            else:
                root = np.sqrt(np.maximum(self._kernel.diagonal(X), 0))
                largest = float(root.max() * root.sum())
            self.step_ = 1.0 / largest if largest > 0 else 1.0
        else:
            self.step_ = float(self.step)
        beta = np.zeros_like(y)
        residual = y.copy()
        losses = [float(residual @ residual)]
        scale = np.sqrt(losses[0])
        for _ in range(self.max_iter):
            beta += self.step_ * residual
            residual = y - times(beta)
            losses.append(float(residual @ residual))
            if not losses[-1] <= 1e6 * losses[0] + 1e-300:
                msg = (
                    f"The iteration diverges with step={self.step_:g}: it must be below 2 over the largest eigenvalue "
                    "of K, and no eigenvalue may be negative. Use step='safe'."
                )
                raise ValueError(msg)
            if abs(np.sqrt(losses[-2]) - np.sqrt(losses[-1])) <= self.tol * scale:
                break
        self.dual_coef_ = beta
        self.trajectory_ = np.array(losses)
        self.n_iter_ = len(losses) - 1
        self.X_fit_ = X
        self._y = y
        return self

    def limit(self) -> Vector:
        """Coefficients that the iteration converges to for every safe step: K^+ y, plus a drift outside K's range.

        A y that K cannot reach keeps adding to beta without changing any fitted value; the limit leaves that part out.
        """
        check_is_fitted(self)
        K = np.asarray(self._kernel(self.X_fit_), dtype=np.float64)
        return np.asarray(np.linalg.pinv(K, hermitian=True) @ self._y)
