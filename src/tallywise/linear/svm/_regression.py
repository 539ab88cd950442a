"""Linear support vector regression."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _native
from tallywise._arrays import Matrix, Seed
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, LinearModel, StrOptions, fit_context
from tallywise.linear import _margin_fit
from tallywise.linear._units import scores_of


class LinearSVR(RegressorMixin, LinearModel, BaseEstimator):
    """Linear support vector regression.

    Minimises::

        1/2 |w|^2 + C sum_i s_i l(y_i - w'x_i - b)
        l(r) = max(0, |r| - epsilon)     (epsilon_insensitive)
               max(0, |r| - epsilon)^2   (squared_epsilon_insensitive)
               r^2 / 2 for |r| <= epsilon, epsilon |r| - epsilon^2 / 2 beyond   (huber)

    The fit stops at a relative duality gap of `tol`, which bounds its distance from the optimum and is kept in
    `certificate_`.

    Parameters
    ----------
    epsilon : float, default=0.0
        Residuals up to this size cost nothing; for 'huber', where the loss turns from a square to a line, above 0.
    tol : float, default=1e-4
        Relative duality gap at which to stop.
    C : float, default=1.0
        Weight of the losses.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive', 'huber'}, default='epsilon_insensitive'
        Loss. 'huber' is least squares whose gradient is at most epsilon per row, and so robust to outliers.
    fit_intercept : bool, default=True
        Whether to fit b.
    intercept_scaling : float, default=1.0
        Value of the column that stands for the intercept where that is penalised: ``1/2 (b / intercept_scaling)^2``.
    dual : 'auto' or bool, default='auto'
        Accepted for scikit-learn, which refuses some combinations; the method is chosen from the data.
    verbose : int, default=0
        Accepted for scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Order in which coordinate descent visits the samples; None is one fixed order.
    max_iter : int, default=1000
        Most passes over the data.
    intercept : {'auto', 'penalised', 'free'}, default='auto'
        Whether b is part of the penalty, as scikit-learn has it, or free of it. 'auto' is 'penalised'.
    n_jobs : int, default=None
        Threads; None means all cores (or ``TALLYWISE_NUM_THREADS``). The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept.
    certificate_ : Certificate
        Primal and dual value, gap, iterations, seconds.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns, where X has them.

    References
    ----------
    Ho & Lin (2012), Large-scale linear support vector regression. Huber (1964), Robust estimation of a location
    parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import LinearSVR
    >>> X = np.arange(6.0)[:, None]
    >>> model = LinearSVR(C=100, intercept="free").fit(X, 2 * X[:, 0] + 1)
    >>> model.predict([[10.0]]).round(3).tolist()
    [21.0]

    One wild number, with a square that turns into a line:

    >>> y = 2 * X[:, 0] + 1
    >>> y[5] = 1000.0
    >>> model = LinearSVR(loss="huber", epsilon=0.1, C=1000, intercept="free").fit(X, y)
    >>> model.predict([[10.0]]).round(1).tolist()
    [21.3]
    """

    coef_: NDArray[Any]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions(_margin_fit.losses(binary=False))],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "intercept": [StrOptions({"auto", "penalised", "free"})],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: Seed = None,
        max_iter: int = 1000,
        intercept: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.intercept = intercept
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit weights and intercept.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features. float64 and float32 are taken as they are, other types as float64.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.

        Returns
        -------
        LinearSVR
            Self.
        """
        X, y = _margin_fit.design_of(self, X, y, y_numeric=True)
        _margin_fit.refuse_unsupported("l2", self.loss, self.dual)
        if _native.loss_traits(self.loss)["positive"] and self.epsilon == 0:
            msg = f"The 'epsilon' parameter of LinearSVR must be above 0 with loss={self.loss!r}. Got {self.epsilon}."
            raise ValueError(msg)
        s = self.C * _margin_fit.weights_of(X, sample_weight)
        options = _margin_fit.options_of(self, self.loss, self.epsilon)
        design, y = _arrays.rows(X, any_order=True), np.ascontiguousarray(y, dtype=np.float64)
        _margin_fit.keep(self, X.dtype, lambda: _native.margin_target(design, y, s, options))
        self.coef_ = self.coef_.ravel()
        return self

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Predicted numbers w'x + b.

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
        X = _arrays.validate_data(self, X, accept_sparse=["csr", "csc", "coo"], reset=False)
        return scores_of(X, self.coef_.T, self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
