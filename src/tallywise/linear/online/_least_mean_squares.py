"""Least mean squares: linear regression by gradient descent, with its trajectory."""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _native, _threads
from tallywise._arrays import Matrix, Seed, validate_data
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, StrOptions, fit_context
from tallywise.errors import DivergenceError
from tallywise.linear import _margin_fit
from tallywise.linear._units import scores_of


class LeastMeanSquares(RegressorMixin, BaseEstimator):
    """Linear regression by gradient descent, on features of the user's choice.

    Minimises ``J(theta) = 1/2 sum_i s_i (y_i - theta'phi(x_i))^2`` by::

        theta += step sum_i s_i (y_i - theta'phi(x_i)) phi(x_i)     (batch)
        theta += step s_i (y_i - theta'phi(x_i)) phi(x_i)           (stochastic: for one i after the other)

    Parameters
    ----------
    feature_map : callable, transformer or None, default=None
        phi: a function from X to a matrix with as many rows, or an object with ``fit_transform`` and ``transform``
        (scikit-learn's PolynomialFeatures); None is the identity.
    method : {'batch', 'stochastic'}, default='batch'
        Whether a step follows all samples or one; an iteration is a pass over the data for both.
    step : float or 'safe', default='safe'
        Step size. 'safe' is 0.99 / lambda for batch, lambda the largest eigenvalue of ``sum s_i phi_i phi_i'`` (beyond
        2 / lambda it diverges), and ``1 / max_i s_i |phi_i|^2`` for stochastic. A step that makes the loss grow without
        bound raises `DivergenceError` with a step that is safe.
    fit_intercept : bool, default=True
        Whether phi gets one more entry, 1.
    max_iter : int, default=100000
        Most iterations.
    tol : float, default=1e-6
        Stop when an iteration changes the loss by less than this share of it.
    record : int, default=1
        Iterations between two recorded points of the trajectory; twice as many whenever it has grown to 128 MB.
    random_state : int, RandomState instance or None, default=None
        Orders of the stochastic method; None is one fixed sequence.
    n_jobs : int, default=None
        Threads; None means all cores (or ``TALLYWISE_NUM_THREADS``). The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_mapped_features,)
        Weights of phi(x).
    intercept_ : float
        Intercept.
    trajectory_ : ndarray of shape (n_points, n_mapped_features + fit_intercept)
        theta at the recorded iterations, the first and the last included; the intercept last.
    losses_ : ndarray of shape (n_points,)
        J at these points.
    step_ : float
        Step size used.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns, where X has them.

    References
    ----------
    Widrow & Hoff (1960), Adaptive switching circuits.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import LeastMeanSquares
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> y = 1 - 2 * X[:, 0] + X[:, 0] ** 3
    >>> cubic = lambda X: np.hstack([X, X**2, X**3])
    >>> model = LeastMeanSquares(cubic, max_iter=20000, tol=1e-12).fit(X, y)
    >>> bool(np.allclose(model.coef_, [-2, 0, 1], atol=0.01)), round(model.intercept_, 2)
    (True, 1.0)
    >>> bool(np.all(np.diff(model.losses_) <= 0))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "feature_map": "no_validation",
        "method": [StrOptions({"batch", "stochastic"})],
        "step": [Interval(Real, 0, None, closed="neither"), StrOptions({"safe"})],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "record": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    losses_: NDArray[Any]
    step_: Any
    n_iter_: Any
    coef_: NDArray[Any]
    intercept_: Any
    trajectory_: NDArray[Any]

    def __init__(
        self,
        feature_map: Callable[[Any], Any] | Any | None = None,
        *,
        method: str = "batch",
        step: float | str = "safe",
        fit_intercept: bool = True,
        max_iter: int = 100_000,
        tol: float = 1e-6,
        record: int = 1,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.feature_map = feature_map
        self.method = method
        self.step = step
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.record = record
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Run gradient descent from zero weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, before `feature_map`.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.

        Returns
        -------
        LeastMeanSquares
            Self.
        """
        X, y = _margin_fit.design_of(self, X, y, y_numeric=True)
        s = _margin_fit.weights_of(X, sample_weight)
        kept = s > 0
        phi = self._map(X[kept], fitting=True)
        found = self._walk(phi, y[kept], s[kept], 0.0 if self.step == "safe" else float(self.step))
        path, self.losses_, self.step_, self.n_iter_, diverged, settled = found
        if not np.isfinite(self.losses_[0]) or (diverged and self.step == "safe"):
            msg = "The sum of squares overflowed: scale X and y."
            raise ValueError(msg)
        if diverged:
            safe = self._walk(phi, y[kept], s[kept], 0.0, max_iter=1)[2]
            msg = (
                f"The step {self.step_:g} is too large: the loss grew from {self.losses_[0]:.3g} to "
                f"{self.losses_[-1]:.3g} in {self.n_iter_} iterations. A step of {safe:.3g} is safe (step='safe')."
            )
            raise DivergenceError(msg, path, self.losses_)
        self.trajectory_ = path
        self.coef_ = path[-1, : phi.shape[1] - self.fit_intercept].astype(X.dtype)
        self.intercept_ = float(path[-1, -1]) if self.fit_intercept else 0.0
        if not settled:
            msg = (
                f"The loss still falls after {self.max_iter} iterations (now {self.losses_[-1]:.3g}). Increase "
                "max_iter or tol, or scale the features."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=2)
        return self

    def _walk(self, phi: Any, y: ArrayLike, s: Any, step: float, max_iter: int | None = None) -> Any:
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        options = _native.DescentOptions(
            stochastic=self.method == "stochastic",
            step=step,
            tol=float(self.tol),
            max_iter=int(self.max_iter if max_iter is None else max_iter),
            record=int(self.record),
            seed=seed,
            threads=_threads.count(self.n_jobs),
        )
        y = np.ascontiguousarray(y, dtype=np.float64)
        return _native.least_mean_squares(
            _arrays.rows(phi, any_order=True), y, np.ascontiguousarray(s), np.zeros(phi.shape[1]), options
        )

    def _map(self, X: Matrix, fitting: bool) -> Any:
        """phi(X), with a last column of ones for the intercept."""
        phi = X
        chosen: Any = self.feature_map
        if hasattr(chosen, "transform"):
            phi = chosen.fit_transform(X) if fitting else chosen.transform(X)
        elif callable(chosen):
            phi = chosen(X)
        elif chosen is not None:
            msg = (
                "The 'feature_map' parameter of LeastMeanSquares must be a function, a transformer or None. "
                f"Got {self.feature_map!r}."
            )
            raise ValueError(msg)
        if getattr(phi, "ndim", 0) != 2 or phi.shape[0] != X.shape[0]:
            msg = f"The feature map must give a matrix of {X.shape[0]} rows. Got shape {getattr(phi, 'shape', None)}."
            raise ValueError(msg)
        if not self.fit_intercept:
            return phi
        ones = np.ones((phi.shape[0], 1), dtype=phi.dtype)
        return sp.hstack([phi, ones], format="csr") if sp.issparse(phi) else np.hstack([phi, ones])

    def predict(self, X: Matrix) -> NDArray[Any]:
        """``theta'phi(x)`` of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        phi = self._map(X, fitting=False)
        theta = np.append(self.coef_, self.intercept_) if self.fit_intercept else self.coef_
        return scores_of(phi, theta)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
