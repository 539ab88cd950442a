"""Shared by the regressors with kernels: how the kernel is given, and prediction."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _native, _threads
from tallywise._arrays import Matrix, validate_data
from tallywise._base import BaseEstimator
from tallywise.kernels._algebra import Kernel, defined
from tallywise.kernels._named import Precomputed, as_kernel

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        tags.input_tags.sparse = True
        return tags

    def _resolved(self, X: Matrix) -> Kernel:
        kernel = as_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            parameters=self.kernel_params,
            pairwise=not isinstance(self.kernel, Kernel),
        )
        return kernel.resolve(X)

    def _validated(self, X: Matrix, y: ArrayLike, *, multi_output: bool) -> tuple[Any, Vector]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", multi_output=multi_output,
            y_numeric=True,
        )  # fmt: skip
        self._kernel = self._resolved(X)
        if isinstance(self._kernel, Precomputed) and X.shape[0] != X.shape[1]:
            msg = f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            raise ValueError(msg)
        return X, np.asarray(y, dtype=np.float64)

    def _times(self, X: Matrix, left: Any, coefficients: Vector) -> Vector:
        """Sums over the points `left` of coefficient (points, outputs) times kernel, never forming the matrix."""
        if isinstance(self._kernel, Precomputed):
            return np.asarray(X @ coefficients)
        if isinstance(self.kernel, str) and self.kernel == "linear":  # (X'beta)'x, without kernel values
            return np.asarray(X @ (left.T @ coefficients))
        if self._kernel.steps() is None:
            return np.asarray(self._kernel(X, left) @ coefficients)
        starts = np.array([0, left.shape[0]], dtype=np.int64)
        rows = np.ascontiguousarray(coefficients.T, dtype=np.float64)
        design = _arrays.rows(left)
        right = design if X is left else _arrays.rows(X)
        return np.asarray(_native.kernel_sums(self._kernel.native(), design, right, rows, starts, _threads.count()))

    def predict(self, X: Matrix) -> Vector:
        """Predicted targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; for ``kernel='precomputed'`` their kernel values with the training points.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        beta = self.dual_coef_
        values = defined(self._times(X, self.X_fit_, beta if beta.ndim == 2 else beta[:, None]))
        return values if beta.ndim == 2 else values[:, 0]
