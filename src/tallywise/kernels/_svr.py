"""Support vector regression."""

import time
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from tallywise._arrays import Matrix
from tallywise._sklearn import Interval, fit_context
from tallywise.kernels._support_vectors import QuadraticProgram, SupportVectorMachine, Vector


class SVR(RegressorMixin, SupportVectorMachine):
    r"""Epsilon support vector regression with kernels.

    Minimises

    .. math:: \tfrac12 |w|^2 + \sum_i C_i \max(0, |y_i - \langle w, \phi(x_i)\rangle - b| - \epsilon).

    Drop-in for `sklearn.svm.SVR`; one solver serves this and `SVC`.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, progress
        As in `SVC`.
    C : float, default=1.0
        Weight of the losses. ``inf`` allows none: every residual is at most epsilon, and targets for which no function
        of the kernel can do that are refused with a `NotSeparableError`.
    epsilon : float, default=0.1
        Residuals up to this cost nothing.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, shape_fit_, fit_status_
        As in scikit-learn.
    certificate_ : Certificate
        Objective and lower bound in double precision.

    References
    ----------
    Smola & Schölkopf (2004), A tutorial on support vector regression.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernels import SVR
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> SVR(C=100, epsilon=0.01).fit(X, np.sin(3 * X[:, 0])).predict([[0.5]]).round(1)
    array([1.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    n_iter_: int

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        progress: Callable[[int, float, int], None] | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.progress = progress

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "SVR":
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) of kernel values
            Points, or kernel values for ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C by sample. Samples of weight zero or less take no part.

        Returns
        -------
        SVR
            This estimator.
        """
        began = time.perf_counter()
        X, y, weights = self._prepare(X, y, sample_weight)
        target = column_or_1d(y, warn=True).astype(np.float64)
        rows = np.flatnonzero(weights > 0).astype(np.int64)
        bound, target = self.C * weights[rows], target[rows]
        zero = np.zeros(len(rows))
        task = QuadraticProgram(
            np.concatenate([rows, rows]),
            np.concatenate([self.epsilon - target, -self.epsilon - target]),
            np.concatenate([zero, -bound]),
            np.concatenate([bound, zero]),
        )
        hard = np.isinf(self.C)
        answer = (self._solve_without_bounds(X, [task], [self._refuse]) if hard else self._solve(X, [task]))[0]
        full = np.zeros(len(weights))
        np.add.at(full, task.row, answer.beta)
        self.support_ = np.flatnonzero(full).astype(np.int32)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.support_vectors_ = self._rows_of(X, self.support_)
        coefficients = full[None, self.support_]
        self.dual_coef_ = sp.csr_matrix(coefficients) if self._sparse else coefficients
        self.intercept_ = np.array([answer.intercept])
        self.n_iter_ = answer.steps
        self._conclude(X, [answer], began)
        self._check_finite()
        return self

    def _refuse(self, apart: float, size: float) -> str:
        return (
            f"No function of this kernel comes within epsilon={self.epsilon:g} of every target: convex combinations of "
            f"points from which it must differ lie {apart:.2g} apart, points are up to {size:.2g} from the origin. Use "
            "a finite C."
        )

    def predict(self, X: Matrix) -> Vector:
        """Predicted targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        """
        X = self._validate_for_predict(X)
        coefficients = self.dual_coef_.toarray() if sp.issparse(self.dual_coef_) else self.dual_coef_
        starts = np.array([0, len(self.support_)], dtype=np.int64)
        return np.asarray(self._sums(X, coefficients, starts)[:, 0, 0] + self.intercept_[0])
