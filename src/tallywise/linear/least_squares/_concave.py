"""Sparse least squares that does not shrink large weights."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tallywise import _penalty
from tallywise._sklearn import Interval, fit_context
from tallywise.linear.least_squares import _paths as paths
from tallywise.linear.least_squares._base import LeastSquares, SquaresDesign, squares_path, squares_under


class MinimaxConcaveRegression(LeastSquares):
    r"""Least squares with the minimax concave penalty: sparse, and without the lasso's shrinkage of large weights.

    Looks for a minimum, with :math:`S = \sum_i s_i`, of

    .. math:: \frac{1}{2S} \sum_i s_i (y_i - x_i'w - b)^2 + \sum_j p(w_j), \qquad
              p(w) = \alpha |w| - \frac{w^2}{2 \gamma}
              \text{ up to } |w| = \gamma \alpha, \text{ flat beyond.}

    Weights below :math:`\gamma \alpha` are drawn to zero as by the lasso; larger ones are not penalised further, so
    that a feature with a strong effect keeps its least-squares weight. The problem is not convex: what is found is a
    stationary point, the one that the path from zero weights leads to, proven by `stationarity_` and not by a duality
    gap.

    Parameters
    ----------
    alpha : float, default=1.0
        Slope of the penalty at zero.
    gamma : float, default=3.0
        Where the penalty becomes flat, in units of alpha; ``inf`` is the lasso. The objective is convex in each weight
        where gamma is above one over the variance of the feature: features should be of one scale, not far from 1.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    max_iter : int, default=1000
        Most rounds over the coordinates, for each step of the path.
    tol : float, default=1e-6
        Stationarity to reach.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    stationarity_ : float or ndarray of shape (n_targets,)
        How far the largest gradient is from what the penalty balances, over alpha: 0 at a stationary point.
    certificate_ : Certificate or list
        The objective reached, times S, and a bound below all objectives. As the penalty is not convex the gap between
        the two does not close.
    n_iter_ : int or list
        Rounds over the coordinates, at the last step of the path.

    References
    ----------
    Zhang: "Nearly unbiased variable selection under minimax concave penalty", Annals of Statistics 38, 2010. Breheny,
    Huang: "Coordinate descent algorithms for nonconvex penalized regression", Annals of Applied Statistics 5, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import Lasso, MinimaxConcaveRegression
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + np.random.default_rng(1).standard_normal(100)
    >>> model = MinimaxConcaveRegression(alpha=0.4).fit(X, y)
    >>> np.flatnonzero(model.coef_), model.coef_[:2].round(1)
    (array([0, 1]), array([ 2.9, -2.2]))
    >>> Lasso(alpha=0.4).fit(X, y).coef_[:2].round(1)
    array([ 2.5, -1.8])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="right")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    stationarity_: float | NDArray[Any]
    n_iter_: int | list[int]

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        gamma: float = 3.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples; sparse columns (CSC) are used without a copy.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Weights s, of which only the ratios matter.

        Returns
        -------
        MinimaxConcaveRegression
            The fitted estimator.
        """
        data = self._read_columns(X, y, sample_weight)
        problem = squares_under(
            "minimax_concave", tol=self.tol, max_iter=self.max_iter, fit_intercept=self.fit_intercept
        )
        design = SquaresDesign.of(data, self.fit_intercept, by_columns=True)
        fits = []
        for target in data.y.T:
            top = paths.alpha_grid(data.X, target, fit_intercept=self.fit_intercept, n_alphas=1, s=data.s)[0]
            if not np.isfinite(top / self.alpha) or np.abs(target).max() > 1e150:
                name = type(self).__name__
                msg = f"The fit of {name} overflowed: the input holds values too large for it. Scale X and y."
                raise ValueError(msg)
            # Steps of a fifth: the next fit starts close to the minimum of the last.
            first = max(float(top), self.alpha)
            steps = 1 + int(np.ceil((np.log(first) - np.log(self.alpha)) / np.log(1.25)))
            grid = np.geomspace(first, self.alpha, steps + 1)[1:]
            strengths = [_penalty.from_concave_strength(alpha, self.gamma, data.weight) for alpha in grid]
            fits.append(squares_path(design, target, data.s, problem, strengths)[-1])
        self._keep(fits, data.one_target)
        left = np.array([fit.distance for fit in fits]) / (data.weight * self.alpha)
        rounds = [fit.certificate.iterations for fit in fits]
        self.stationarity_ = float(left[0]) if data.one_target else left
        self.n_iter_ = max(rounds[0], 1) if data.one_target else rounds
        if not left.max() <= self.tol:
            msg = (
                f"The stationarity is {left.max():.1e} after {max(rounds)} iterations, above tol={self.tol:g}. "
                "Increase max_iter, scale the features or increase gamma."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=2)
        return self
