"""Least squares under L1 and elastic-net penalties."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _penalty
from tallywise._sklearn import Interval, StrOptions, fit_context
from tallywise.linear.least_squares import _paths as paths
from tallywise.linear.least_squares._base import (
    Array,
    Data,
    LeastSquares,
    SquaresDesign,
    penalty_of,
    squares_path,
    squares_under,
    warn_unless_converged,
)
from tallywise.linear.least_squares._factors import Problem
from tallywise.linear.least_squares._ordinary import unpenalised
from tallywise.linear.least_squares._ridge import closed_form, method_for


class ElasticNet(LeastSquares):
    r"""Least squares with L1 and L2 penalties.

    Minimises, with :math:`S = \sum_i s_i`,

    .. math:: \frac{1}{2S} \sum_i s_i (y_i - x_i'w - b)^2 + \alpha \rho |w|_1 + \frac{\alpha (1 - \rho)}{2} |w|^2

    by coordinate descent on working sets, to a proven relative duality gap of ``tol``. Sparse X is neither densified
    nor centred. Several targets are fitted one by one.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 gives the least-squares solution of smallest norm.
    l1_ratio : float, default=0.5
        The share :math:`\rho` of the L1 penalty: 1 is the lasso, 0 is ridge.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    precompute : bool or array, default=False
        Accepted for compatibility: the method chooses by itself what to compute first. A matrix that is not X'X is
        refused.
    max_iter : int, default=1000
        Most rounds over the coordinates.
    copy_X : bool, default=True
        Accepted for compatibility: X is never overwritten.
    tol : float, default=1e-4
        Relative duality gap to reach.
    warm_start : bool, default=False
        Whether to start from the last ``coef_``.
    positive : bool, default=False
        Whether the weights must not be negative.
    random_state, selection
        Accepted for compatibility: the answer does not depend on an order.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        Weights w.
    intercept_ : float or array of shape (n_targets,)
        Intercept b.
    certificate_ : Certificate, or a list of them
        Objective (as a sum over samples), its lower bound, iterations and seconds.
    dual_gap_ : float or array
        The gap on scikit-learn's scale, divided by S.
    n_iter_ : int or list
        Rounds over the coordinates.
    prior_ : Prior
        The penalty as a prior, in units of the noise variance.

    References
    ----------
    Massias, Gramfort, Salmon: "Celer: a fast solver for the lasso with dual extrapolation", ICML 2018.

    Examples
    --------
    >>> from tallywise.linear import ElasticNet
    >>> model = ElasticNet(alpha=0.1, l1_ratio=0.7, tol=1e-8).fit([[0, 1], [1, 0], [2, 1], [3, 5]], [0, 1, 2, 3])
    >>> model.coef_.round(3)
    array([0.878, 0.034])
    >>> model.certificate_.relative_gap < 1e-8
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "precompute": ["boolean", "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }
    path = staticmethod(paths.enet_path)

    prior_: _penalty.Prior
    dual_gap_: float | NDArray[Any]
    n_iter_: int | list[int]

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> "ElasticNet":
        """Fit the weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples; sparse columns (CSC) are used as they lie.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Weights s, of which only the ratios matter.
        check_input : bool, default=True
            Accepted for compatibility: input is always checked.

        Returns
        -------
        ElasticNet
            The fitted estimator.
        """
        if not np.isfinite(self.alpha):
            msg = f"The 'alpha' parameter of {type(self).__name__} must be finite. Got {self.alpha!r}."
            raise ValueError(msg)
        data = self._read_columns(X, y, sample_weight)
        if not isinstance(self.precompute, bool | str):
            self._check_gram(data)
        penalty = _penalty.from_mean_strength(self.alpha, self.l1_ratio, data.weight)
        self.prior_ = penalty.prior
        if self.alpha == 0:
            fits = unpenalised(Problem(data, self.fit_intercept), self.positive, self.tol)
        elif penalty.l1 == 0 and not self.positive and method_for(data.X) == "cholesky":
            fits = closed_form(data, [penalty.l2] * data.y.shape[1], self.fit_intercept, "cholesky", self.tol)
        else:
            start = self._start(data) if self.warm_start else None
            design = SquaresDesign.of(data, self.fit_intercept)
            problem = squares_under(
                penalty_of(self.positive),
                tol=self.tol,
                max_iter=self.max_iter or 1000,
                fit_intercept=self.fit_intercept,
            )
            fits = []
            for k in range(data.y.shape[1]):
                w0 = None if start is None else start[k]
                fits += squares_path(design, data.y[:, k], data.s, problem, [[penalty.l1, penalty.l2]], w0)
        self._keep(fits, data.one_target)
        gaps = np.array([fit.certificate.gap / data.weight for fit in fits])
        rounds = [fit.certificate.iterations for fit in fits]
        self.dual_gap_ = gaps[0] if len(fits) == 1 else gaps
        self.n_iter_ = rounds[0] if len(fits) == 1 else rounds
        remedy = "Increase max_iter, scale the features or increase alpha."
        for fit, enough in zip(fits, self.tol * self._squares(data), strict=True):
            warn_unless_converged(fit.certificate, self.tol, remedy, enough)
        return self

    def _squares(self, data: Data) -> Array:
        """Sum of squares of each centred target: scikit-learn's unit for a gap, in which few need a warning."""
        y = data.y - data.mean(data.y) if self.fit_intercept else data.y
        return np.asarray((y * y if data.s is None else data.s[:, None] * y * y).sum(axis=0))

    def _check_gram(self, data: Data) -> None:
        """A given Gram matrix is not used; one that cannot be of X says that the caller has mistaken something."""
        gram = np.asarray(self.precompute)
        if self.fit_intercept and not np.allclose(data.mean(data.X), 0.0):
            msg = "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix."
            warnings.warn(msg, UserWarning, stacklevel=4)
            return
        p = data.X.shape[1]
        if gram.shape != (p, p):
            msg = f"The Gram matrix given as 'precompute' must be of shape ({p}, {p}). Got {gram.shape}."
            raise ValueError(msg)
        x = data.X[:, [0]].toarray().ravel() if sp.issparse(data.X) else data.X[:, 0]
        s = 1.0 if data.s is None else data.s * (len(data.s) / data.weight)  # scikit-learn scales them to a sum of n
        expected = np.asarray(data.X.T @ (s * x)).ravel()
        scale = max(float(np.abs(expected).max()), 1e-300)
        if not np.allclose(gram[:, 0] / scale, expected / scale, rtol=1e-4, atol=1e-4):
            msg = "Gram matrix passed in via 'precompute' parameter did not pass validation when its first column was "
            raise ValueError(msg + "checked: it is not X'X. Use precompute=False.")

    def _start(self, data: Any) -> Any:
        """Weights of the last fit, where they are of this size."""
        last = np.atleast_2d(getattr(self, "coef_", np.empty((0, 0))))
        return last if last.shape == (data.y.shape[1], data.X.shape[1]) else None

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix."""
        return sp.csr_matrix(self.coef_)


class Lasso(ElasticNet):
    r"""Least squares with an L1 penalty.

    Minimises, with :math:`S = \sum_i s_i`,

    .. math:: \frac{1}{2S} \sum_i s_i (y_i - x_i'w - b)^2 + \alpha |w|_1 .

    Parameters, attributes and method are those of :class:`ElasticNet` with ``l1_ratio=1``.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept, precompute, copy_X, max_iter, tol, warm_start, positive, random_state, selection
        As in :class:`ElasticNet`.

    References
    ----------
    Tibshirani: "Regression shrinkage and selection via the lasso", JRSS B 58, 1996.

    Examples
    --------
    >>> from tallywise.linear import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0, 0], [1, 1], [2, 3]], [0, 1, 2])
    >>> model.coef_.round(2), round(float(model.intercept_), 2)
    (array([0.  , 0.58]), 0.23)
    >>> model.prior_.scale
    3.33...
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: allowed for name, allowed in ElasticNet._parameter_constraints.items() if name != "l1_ratio"
    }
    path = staticmethod(paths.lasso_path)

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
        )
