"""Least squares with kernels, by gradient descent."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tallywise._arrays import Matrix
from tallywise._sklearn import Interval, StrOptions, fit_context
from tallywise.kernels._regressor import _MEMORY_FOR_K, Vector, _KernelRegressor


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
    >>> from tallywise.kernels import KernelLeastMeanSquares
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

    step_: float
    trajectory_: NDArray[Any]
    n_iter_: int

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike) -> "KernelLeastMeanSquares":
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
