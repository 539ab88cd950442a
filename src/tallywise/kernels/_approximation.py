"""Finite feature maps that approximate a kernel, with error bounds."""

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tallywise._arrays import Matrix, Seed, validate_data
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, fit_context
from tallywise.kernels._algebra import Kernel, defined
from tallywise.kernels._named import Precomputed, as_kernel, resolve_gamma


class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Features from a few landmarks z: phi(x) = k(z, z)^{-1/2} k(z, x), so that <phi(x), phi(y)> comes near k(x, y).

    What is left of the kernel is again a kernel, with k(x, x) - |phi(x)|^2 on its diagonal. Hence, by Cauchy and
    Schwarz, no entry among the training points is off by more than `error_bound_`, and the matrix by no more than
    `trace_error_` in any unitarily invariant norm that the trace dominates.

    Drop-in for `sklearn.kernel_approximation.Nystroem`.

    Parameters
    ----------
    kernel : str, callable or Kernel, default='rbf'
        A function takes two points, as in scikit-learn. With 'precomputed', X is the matrix of kernel values: of the
        training points among themselves in `fit`, with the training points as columns in `transform`.
    gamma, coef0, degree : float, default=None
        Parameters of the named kernels (1 / features, 1 and 3 when None); not for a function or 'precomputed'.
    kernel_params : dict, default=None
        Further arguments of a function.
    n_components : int, default=100
        Number of landmarks, drawn from the training points.
    random_state : int, RandomState or None
        Draws the landmarks.
    n_jobs : int, default=None
        Present for compatibility.

    Attributes
    ----------
    components_, component_indices_, normalization_
        Landmarks, their rows, and k(z, z)^{-1/2}.
    error_bound_ : float or None
        Largest error of an entry between training points. None for a plain function, which would have to be called for
        each pair of training point and landmark; ``Function(f, pairwise=True)`` asks for that.
    trace_error_ : float or None
        Sum of the errors on the diagonal: bounds the spectral norm of the error.

    References
    ----------
    Williams & Seeger (2001), Using the Nyström method to speed up kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernels import Nystroem
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> bool(Nystroem(gamma=1.0, n_components=10, random_state=0).fit(X).error_bound_ < 1e-6)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [str, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "degree": [Interval(Real, 0, None, closed="left"), None],
        "kernel_params": [dict, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    components_: Any
    normalization_: NDArray[Any]
    component_indices_: NDArray[Any] | None

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_matrix
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _is_matrix(self) -> bool:
        """Whether kernel values are given instead of points."""
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    @property
    def _is_function(self) -> bool:
        """Whether the kernel is a plain function of two points."""
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike | None = None) -> "Nystroem":
        """Draw landmarks.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, or with 'precomputed' kernel values of shape (n_samples, n_samples).
        y : ignored
            Present for compatibility.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        n = X.shape[0]
        self._check_kernel(X)
        if self.n_components > n:
            msg = f"n_components > n_samples. This is not possible. n_components was set to n_samples, {n}."
            warnings.warn(msg, UserWarning, stacklevel=3)
        chosen = check_random_state(self.random_state).permutation(n)[: min(self.n_components, n)]
        self.components_ = X[chosen]
        self.component_indices_ = chosen
        if not (self._is_matrix or self._is_function):
            self._kernel: Kernel = as_kernel(
                self.kernel,
                gamma=self.gamma,
                degree=3 if self.degree is None else self.degree,
                coef0=1.0 if self.coef0 is None else self.coef0,
            ).resolve(X)
        U, S, V = np.linalg.svd(np.asarray(self._values(self.components_, None), dtype=np.float64))
        S = np.maximum(S, 1e-12)
        self.normalization_ = (U / np.sqrt(S)) @ V
        self._n_features_out = len(chosen)
        self._training_points: Any = X
        self._errors: tuple[float | None, float | None] | None = (None, None) if self._is_function else None
        return self

    @property
    def error_bound_(self) -> float | None:
        """Largest error of an entry between training points, measured when first read."""
        return self._measured_errors()[0]

    @property
    def trace_error_(self) -> float | None:
        """Sum of the errors on the diagonal, measured when first read."""
        return self._measured_errors()[1]

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_errors"):
            self._measured_errors()  # so that no training point goes into a file
        return dict(super().__getstate__())

    def _measured_errors(self) -> tuple[float | None, float | None]:
        if not hasattr(self, "_errors"):
            msg = f"{type(self).__name__} has no measured errors before it is fitted"
            raise AttributeError(msg)
        if self._errors is None:
            X = self._training_points
            n = X.shape[0]
            rest = np.concatenate([self._missed(X, i, min(i + 2000, n)) for i in range(0, n, 2000)])
            self._errors = float(rest.max()), float(rest.sum())
        self._training_points = None
        return self._errors

    def _check_kernel(self, X: Matrix) -> None:
        given = (self.gamma, self.coef0, self.degree)
        if (self._is_matrix or self._is_function) and any(value is not None for value in given):
            msg = "Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel"
            raise ValueError(msg)
        if self._is_matrix and X.shape[0] != X.shape[1]:
            msg = f"With kernel='precomputed', fit takes a square matrix of kernel values. Got shape {X.shape}."
            raise ValueError(msg)

    def _values(self, X: Any, landmarks: Any) -> NDArray[Any]:
        """Kernel values of points with the landmarks; with None, of the landmarks among themselves."""
        if self._is_matrix:
            values = X[:, self.component_indices_]
            return np.asarray(values.toarray() if sp.issparse(values) else values)
        if self._is_function:  # two halves are equal: scikit-learn's function calls it for one of them
            return np.asarray(pairwise_kernels(X, landmarks, metric=self.kernel, **(self.kernel_params or {})))
        return np.asarray(self._kernel(X, landmarks))

    def _missed(self, X: Matrix, begin: int, end: int) -> NDArray[np.float64]:
        """k(x, x) - |phi(x)|^2 of the rows from begin to end."""
        part = X[begin:end]
        features = np.asarray(self._features(part), dtype=np.float64)
        own = X.diagonal()[begin:end] if self._is_matrix else self._kernel.diagonal(part)
        return np.asarray(np.maximum(own - np.einsum("ij,ij->i", features, features), 0.0))

    def _features(self, X: Matrix) -> NDArray[Any]:
        return defined(np.asarray(self._values(X, self.components_) @ self.normalization_.T))

    def transform(self, X: Matrix) -> NDArray[Any]:
        """Features of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, or with 'precomputed' their kernel values with the training points.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        return self._features(X).astype(X.dtype, copy=False)


class RandomFourierFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Random features for the Gaussian kernel: cosines and sines along normal directions.

    phi(x) = sqrt(2 / D) (cos w_1'x, sin w_1'x, ..., cos w_{D/2}'x, sin w_{D/2}'x) with w ~ N(0, 2 gamma I): the mean of
    <phi(x), phi(z)> is exp(-gamma |x - z|^2). It is an average of D / 2 independent terms in [-1, 1], so Hoeffding's
    inequality gives `error_bound`.

    Parameters
    ----------
    gamma : float or 'scale', default=1.0
        Of the Gaussian kernel.
    n_components : int, default=100
        D, even; an odd number is rounded up.
    random_state : int, RandomState or None
        Draws the directions.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, D / 2)
        Directions.
    error_bound_ : float
        With probability 0.99, no entry among the training points is off by more.

    References
    ----------
    Rahimi & Recht (2007), Random features for large-scale kernel machines; Sutherland & Schneider (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernels import RandomFourierFeatures
    >>> phi = RandomFourierFeatures(gamma=0.5, n_components=4000, random_state=0).fit_transform(np.eye(2))
    >>> bool(abs(phi[0] @ phi[1] - np.exp(-1)) < 0.05)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="left"), str],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    random_weights_: NDArray[Any]
    error_bound_: float

    def __init__(self, *, gamma: float | str = 1.0, n_components: int = 100, random_state: Seed = None) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike | None = None) -> "RandomFourierFeatures":
        """Draw the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; only their number, width and, for 'scale', variance matter.
        y : ignored
            Present for compatibility.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if isinstance(self.gamma, str) and self.gamma not in ("scale", "auto"):
            msg = f"The 'gamma' parameter of RandomFourierFeatures must be a number or 'scale'. Got {self.gamma!r}."
            raise ValueError(msg)
        half = (self.n_components + 1) // 2
        rng = check_random_state(self.random_state)
        scale = math.sqrt(2 * resolve_gamma(self.gamma, X))
        self.random_weights_ = (scale * rng.normal(size=(X.shape[1], half))).astype(X.dtype, copy=False)
        self._n_features_out = 2 * half
        self.error_bound_ = self.error_bound(X.shape[0])
        return self

    def error_bound(self, n: int, confidence: float = 0.99) -> float:
        """Error that no entry of the kernel matrix of n points exceeds, with this probability."""
        check_is_fitted(self)
        pairs = max(n * (n - 1) / 2, 1.0)
        return math.sqrt(4 * math.log(2 * pairs / (1 - confidence)) / self._n_features_out)

    def transform(self, X: Matrix) -> NDArray[Any]:
        """Features of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, or with 'precomputed' their kernel values with the training points.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            angles = X @ self.random_weights_
        angles = angles.toarray() if sp.issparse(angles) else np.asarray(angles)
        if not np.isfinite(angles).all():
            msg = "Angles of these samples are beyond floating point: divide X by a constant or lower gamma."
            raise ValueError(msg)
        out = np.empty((angles.shape[0], 2 * angles.shape[1]), dtype=angles.dtype)
        np.cos(angles, out=out[:, 0::2])
        np.sin(angles, out=out[:, 1::2])
        out *= math.sqrt(1 / angles.shape[1])
        return out.astype(X.dtype, copy=False)
