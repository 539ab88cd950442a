"""Regression on ordered levels: one score per row, cut by thresholds."""

import time
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _native, _threads
from tallywise._arrays import Matrix, validate_data
from tallywise._base import BaseEstimator
from tallywise._certificate import Certificate
from tallywise._penalty import Penalty, Prior
from tallywise._sklearn import Interval, StrOptions, check_y, fit_context
from tallywise.linear import _margin_fit
from tallywise.linear._units import Units, scores_of
from tallywise.linear.ordinal._inference import BrantTest, OrdinalSummary, brant


def _cdf(link: str, t: NDArray[Any]) -> NDArray[Any]:
    if link == "logit":
        return np.asarray(special.expit(t))
    if link == "probit":
        return np.asarray(special.ndtr(t))
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(-np.exp(t)))


def _covariance(found: _native.LaneSolution, p: int, thresholds: int, units: Units) -> NDArray[np.float64]:
    """Of weights and thresholds, in the units of the user."""
    m = p + thresholds
    to_user = np.eye(m)
    to_user[:p] /= units.scale
    if units.mean is not None:
        to_user[p:, :p] = units.mean / units.scale
    return np.asarray(to_user @ found.covariance(m) @ to_user.T)


class OrdinalRegression(ClassifierMixin, BaseEstimator):
    """Ordered logit, probit and complementary log-log.

    For levels 0 < 1 < ... < K-1 with thresholds t_0 < ... < t_{K-2}::

        P(y <= k | x) = F(t_k - w'x)
        F(t) = 1 / (1 + exp(-t))   (logit: proportional odds)
               Phi(t)              (probit)
               1 - exp(-exp(t))    (cloglog: grouped proportional hazards)

    minimises ``-sum_i s_i log P(y_i | x_i) + l1 |w|_1 + l2/2 |w|^2``; thresholds are not penalised and stay ordered.
    A larger score w'x means a higher level. The fit stops at a relative duality gap of `tol`, kept in `certificate_`.

    Parameters
    ----------
    link : {'logit', 'probit', 'cloglog'}, default='logit'
        The distribution F.
    l1, l2 : float, default=0.0
        Strength of the penalties. Wide data (text) need one of them above 0.
    levels : array-like, default=None
        The labels from low to high; None takes them sorted. Levels that are not in the data are refused.
    tol : float, default=1e-4
        Relative duality gap at which to stop. Narrow data are solved to rounding.
    max_iter : int, default=100
        Most Newton iterations.
    n_jobs : int, default=None
        Threads; None means all cores (or ``TALLYWISE_NUM_THREADS``). The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Levels from low to high.
    coef_ : ndarray of shape (n_features,)
        Weights.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Cuts between neighbouring levels, in the scale of the scores.
    log_likelihood_ : float
        Weighted log-likelihood at the fit.
    covariance_ : ndarray of shape (n_features + n_classes - 1, n_features + n_classes - 1) or None
        Inverse of the observed information over weights and thresholds, for fits without a penalty.
    prior_ : Prior
        The penalty as the prior whose posterior mode this fit is.
    certificate_ : Certificate
        Primal and dual value, gap, iterations, seconds.
    n_iter_ : int
        Newton iterations.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns, where X has them.

    References
    ----------
    McCullagh (1980), Regression models for ordinal data. Brant (1990), Assessing proportionality in the proportional
    odds model for ordinal logistic regression.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import OrdinalRegression
    >>> X = np.array([[0.0], [1.0], [1.5], [2.0], [2.5], [3.0], [3.5], [5.0]])
    >>> y = ["bad", "bad", "fair", "bad", "fair", "good", "fair", "good"]
    >>> model = OrdinalRegression(levels=["bad", "fair", "good"]).fit(X, y)
    >>> model.predict([[0.0], [2.5], [6.0]]).tolist()
    ['bad', 'fair', 'good']
    >>> bool(model.thresholds_[0] < model.thresholds_[1])
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "link": [StrOptions({"logit", "probit", "cloglog"})],
        "l1": [Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "levels": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    thresholds_: NDArray[Any]
    covariance_: NDArray[Any] | None
    prior_: Prior
    n_iter_: int
    log_likelihood_: float
    certificate_: Certificate
    classes_: NDArray[Any]
    coef_: NDArray[Any]

    def __init__(
        self,
        link: str = "logit",
        *,
        l1: float = 0.0,
        l2: float = 0.0,
        levels: Any = None,
        tol: float = 1e-4,
        max_iter: int = 100,
        n_jobs: int | None = None,
    ) -> None:
        self.link = link
        self.l1 = l1
        self.l2 = l2
        self.levels = levels
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit weights and thresholds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features. float64 and float32 are taken as they are, other types as float64.
        y : array-like of shape (n_samples,)
            Levels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.

        Returns
        -------
        OrdinalRegression
            Self.
        """
        began = time.perf_counter()
        X, codes, s = self._data(X, y, sample_weight)
        penalty = Penalty(float(self.l1), float(self.l2))
        flat = penalty.prior.family == "flat"
        units = Units.of(X, s, True)
        problem = self._problem(self.link, len(self.classes_), units.penalty(penalty))
        columns = problem.by_columns(*X.shape)
        design = _arrays.columns(units.X) if columns else _arrays.rows(units.X, any_order=True)
        found = _native.fit_ordinal(design, codes, s, problem, columns, flat)
        primal, dual, iterations = found.primal, found.dual, found.iterations
        w = found.weights(1)[:, 0] / units.scale
        self.coef_ = w
        self.thresholds_ = found.offsets + units.shift(w)
        self.covariance_ = _covariance(found, len(w), len(self.thresholds_), units) if flat else None
        self.prior_ = penalty.prior
        self.n_iter_ = max(iterations, 1)
        self.log_likelihood_ = -(primal - penalty.l1 * np.abs(w).sum() - 0.5 * penalty.l2 * (w @ w))
        self._n_samples = len(codes)
        rounding = float(4e-16 * s.sum() * np.log(len(self.classes_)))
        self.certificate_ = Certificate(primal, dual, iterations, time.perf_counter() - began, rounding)
        gap = self.certificate_.relative_gap
        if not gap <= max(self.tol, 1e-12):
            if flat:
                remedy = (
                    f"Increase max_iter (now {self.max_iter}); if weights keep growing, the levels can be separated: "
                    "set l2 above 0."
                )
            elif iterations < self.max_iter:
                remedy = "Rounding stops it here: scale the columns of X to one size, or increase tol."
            else:
                remedy = f"Increase max_iter (now {self.max_iter})."
            msg = f"The relative duality gap is {gap:.1e}, above tol={self.tol:g}. {remedy}"
            warnings.warn(msg, ConvergenceWarning, stacklevel=2)
        return self

    def _problem(self, link: str, levels: int, penalty: Penalty) -> _native.OrdinalProblem:
        threads = _threads.count(self.n_jobs)
        return _native.OrdinalProblem(
            link, levels, penalty.l1, penalty.l2, float(self.tol), int(self.max_iter), threads
        )

    def _data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
        """Rows of positive weight, their levels by number, their weights; sets `classes_`."""
        X, y = _margin_fit.design_of(self, X, y)
        check_classification_targets(y)
        s = _margin_fit.weights_of(X, sample_weight)
        if not s.all():
            kept = s > 0
            X, y, s = X[kept], y[kept], s[kept]
        self.classes_, codes = self._codes(y)
        if len(self.classes_) < 2:
            msg = f"Ordered levels need at least 2 classes, but the data contains only one class: {self.classes_[0]!r}"
            raise ValueError(msg)
        return X, codes, s

    def _codes(self, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        seen, codes = _arrays.encode_labels(y)
        if self.levels is None:
            return seen, codes
        levels = np.asarray(self.levels)
        place = {level: k for k, level in enumerate(levels.tolist())}
        if len(place) != len(levels):
            msg = f"The 'levels' parameter of {type(self).__name__} must not repeat a level. Got {levels.tolist()}."
            raise ValueError(msg)
        missing = [label for label in seen.tolist() if label not in place]
        unseen = [level for level in levels.tolist() if level not in set(seen.tolist())]
        if missing or unseen:
            what = f"y has {missing} besides" if missing else f"no sample has {unseen}"
            msg = (
                f"The 'levels' parameter of {type(self).__name__} must list the labels of y from low to high. "
                f"Got {levels.tolist()}, and {what}."
            )
            raise ValueError(msg)
        return levels, np.array([place[label] for label in seen.tolist()], dtype=np.int64)[codes]

    def score_samples(self, X: Matrix) -> NDArray[Any]:
        """Scores ``w'x``, which the thresholds cut into levels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; larger is a higher level.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return scores_of(X, self.coef_)

    def predict_cumulative(self, X: Matrix) -> NDArray[Any]:
        """Probability of each level or a lower one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            ``P(y <= k | x)``, in the order of `classes_`; the last column is 1.
        """
        z = self.score_samples(X)
        below = _cdf(self.link, self.thresholds_ - z[:, None])
        return np.column_stack([below, np.ones(len(z))])

    def predict_proba(self, X: Matrix) -> NDArray[Any]:
        """Probability of each level.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return np.diff(self.predict_cumulative(X), axis=1, prepend=0.0)

    def predict_log_proba(self, X: Matrix) -> NDArray[Any]:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Most probable level of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        probability = self.predict_proba(X)
        return np.asarray(self.classes_[probability.argmax(axis=1)])

    def _names(self) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])]

    def summary(self) -> OrdinalSummary:
        """Standard errors, z statistics and p-values of an unpenalised fit.

        Returns
        -------
        OrdinalSummary
            Prints as a table.
        """
        check_is_fitted(self)
        if self.covariance_ is None:
            msg = (
                f"Standard errors need a fit without a penalty: set l1=0 and l2=0. Got a fit with prior {self.prior_}."
            )
            raise ValueError(msg)
        if not np.isfinite(self.covariance_).all():
            msg = "Standard errors are beyond floating point: multiply the columns of X so that they are near 1."
            raise ValueError(msg)
        cuts = [f"{low} | {high}" for low, high in zip(self.classes_[:-1], self.classes_[1:], strict=True)]
        return OrdinalSummary(
            names=[*self._names(), *cuts],
            estimate=np.concatenate([self.coef_, self.thresholds_]),
            std_err=np.sqrt(np.diag(self.covariance_)),
            log_likelihood=self.log_likelihood_,
            n_samples=self._n_samples,
        )

    def brant_test(self, X: Any, y: Any, sample_weight: Any = None) -> BrantTest:
        """Brant's Wald test of proportional odds, that one weight vector is right for every threshold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The features of the fit.
        y : array-like of shape (n_samples,)
            The levels of the fit, three or more.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit.

        Returns
        -------
        BrantTest
            Statistic, degrees of freedom and p-value, overall and by feature. A small p-value is evidence against the
            assumption. Prints as a table.
        """
        check_is_fitted(self)
        if self.link != "logit":
            msg = f"Brant's test is for link='logit'. Got link={self.link!r}."
            raise ValueError(msg)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        y = check_y(y)
        s = _margin_fit.weights_of(X, sample_weight)
        kept = s > 0
        classes, codes = self._codes(y[kept])
        if len(classes) < 3:
            msg = "Brant's test compares thresholds: it needs at least 3 levels."
            raise ValueError(msg)
        dense = np.ascontiguousarray(X[kept].toarray() if sp.issparse(X) else X[kept])
        return brant(dense, codes, s[kept], self._names(), self._problem("logit", 2, Penalty(0.0, 0.0)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # scikit-learn's bar of accuracy is for three blobs around a triangle, which no order of the classes lines up.
        tags.classifier_tags.poor_score = True
        return tags
