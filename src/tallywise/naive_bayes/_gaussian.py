"""Naive Bayes for numbers: the Gaussian event model."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tallywise import _native
from tallywise._sklearn import Interval
from tallywise.naive_bayes._scoring import NOT_COUNTED, LinearRule, NaiveBayes
from tallywise.naive_bayes._sufficient_statistics import Floats


class GaussianNB(NaiveBayes):
    r"""Naive Bayes for numbers that are normally distributed within each class.

    .. math::
        P(x \mid c) = \prod_j \mathcal N(x_j; \mu_{jc}, \sigma^2_{jc}), \qquad
        \mu_{jc} = \frac1{N_c} \sum_{i: y_i = c} x_{ij}, \quad
        \sigma^2_{jc} = \frac1{N_c} \sum_{i: y_i = c} (x_{ij} - \mu_{jc})^2 + \epsilon

    The model keeps the sums of x and of x^2 in pairs of doubles (106 bits), so that the difference that is the variance
    keeps its digits, and rows can be forgotten: to the bit when the sums fit into 106 bits, which those of integers and
    of single precision do, and to about 30 digits otherwise.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Given prior probabilities; by default each class's share of the rows.
    var_smoothing : float, default=1e-9
        The part of the largest variance of any feature (over all rows learned, with their weights) that is added to
        all variances: epsilon.
    prior_smoothing : float, default=0.0
        Added to the number of rows of each class before the shares are taken: (n_c + l) / (n + K l) for K classes. With
        `priors` it must be 0.
    shared_variance : bool, default=False
        One variance a feature for all classes, that of the distances from each row's own class mean. The classifier is
        linear then; see `to_linear`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_, class_prior_ : ndarray of shape (n_classes,)
        Weight of the rows learned, and the prior.
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means and variances, the latter with epsilon.
    epsilon_ : float
        What was added to the variances.
    n_features_in_ : int
        Columns known.

    References
    ----------
    T. M. Mitchell (2017). Generative and discriminative classifiers: naive Bayes and logistic regression. Machine
    Learning, chapter 3.

    Examples
    --------
    >>> from tallywise.naive_bayes import GaussianNB
    >>> X, y = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]], [1, 1, 1, 2, 2, 2]
    >>> model = GaussianNB().fit(X, y)
    >>> model.predict([[-0.8, -1]])
    array([1])
    >>> model.theta_
    array([[-2. , -1.33333333],
           [ 2. ,  1.33333333]])
    """

    _event = "gaussian"
    _smoothing_name = "var_smoothing"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
        "prior_smoothing": [Interval(Real, 0, None, closed="left")],
        "shared_variance": ["boolean"],
    }

    class_prior_: NDArray[Any] | Floats

    def __init__(
        self,
        *,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        prior_smoothing: float = 0.0,
        shared_variance: bool = False,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.prior_smoothing = prior_smoothing
        self.shared_variance = shared_variance

    def _options(self) -> _native.EventOptions:
        options = super()._options()
        options.shared = bool(self.shared_variance)
        return options

    def _finalise(self) -> None:
        super()._finalise()
        self.class_prior_ = np.exp(self.class_log_prior_) if self.priors is None else self._given()

    def _smoothing(self) -> Floats:
        return np.array([float(self.var_smoothing)])

    def _given(self) -> Floats:
        if self.prior_smoothing > 0:
            raise ValueError(NOT_COUNTED.format(self.prior_smoothing))
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != self.classes_.shape:
            msg = "Number of priors must match number of classes."
            raise ValueError(msg)
        if not np.isclose(priors.sum(), 1.0):
            msg = "The sum of the priors should be 1."
            raise ValueError(msg)
        if (priors < 0).any():
            msg = "Priors must be non-negative."
            raise ValueError(msg)
        return priors

    def _log_prior(self) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.priors is not None:
                return np.log(self._given())
            count = self.class_count_ + self.prior_smoothing
            return np.asarray(np.log(count / count.sum()))

    def _prior_smoothed(self) -> float:
        return float(self.prior_smoothing)

    def _prior_kind(self) -> _native.PriorKind:
        return _native.PriorKind.documents if self.priors is None else _native.PriorKind.fixed

    def _weights(self) -> tuple[Floats, Floats]:
        theta, b = super()._weights()
        if "spread" not in self._cache:
            self._cache["spread"] = bool(np.isfinite(theta).all())
        if not self._cache["spread"]:
            msg = (
                "A feature does not vary within a class, and a variance of 0 gives no density. "
                "Use var_smoothing > 0, or leave out features that are constant everywhere."
            )
            raise ValueError(msg)
        return theta, b

    @property
    def theta_(self) -> Floats:
        """Means, (n_classes, n_features)."""
        return super()._weights()[0][:, : len(self.classes_)].T

    @property
    def var_(self) -> Floats:
        """Variances, (n_classes, n_features)."""
        theta = super()._weights()[0]
        K, half = len(self.classes_), theta.shape[1] // 2
        with np.errstate(divide="ignore"):
            # A class never seen has weight 0, and no variance but epsilon.
            return np.where(theta[:, half : half + K] == 0, self.epsilon_, -0.5 / theta[:, half : half + K]).T

    @property
    def epsilon_(self) -> float:
        """What was added to all variances."""
        if "epsilon" not in self._cache:
            self._cache["epsilon"] = _native.variance_floor(self._sums.native(), float(self._alpha[0]))
        epsilon: float = self._cache["epsilon"]
        return epsilon

    def to_linear(self) -> LinearRule:
        """Return the model as weights and constants of a linear classifier, which needs `shared_variance=True`.

        Returns
        -------
        w : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        b : ndarray of shape (n_classes,) or (1,)
            The softmax of ``X @ w.T + b`` gives the probabilities; for two classes the logistic function of its one
            column gives that of the second.
        """
        if not self.shared_variance:
            msg = "GaussianNB is linear only with shared_variance=True: own variances make it quadratic."
            raise ValueError(msg)
        self._weights()
        w = self.theta_ / self.var_
        b = self.class_log_prior_ - 0.5 * (self.theta_ * w).sum(axis=1)
        if len(self.classes_) != 2:
            return LinearRule(w, b)
        # Differences of squares as products, so that means far from 0 do not cancel digits.
        difference, middle = self.theta_[1] - self.theta_[0], (self.theta_[1] + self.theta_[0]) / 2
        rule = difference / self.var_[0]
        prior = self.class_log_prior_[1] - self.class_log_prior_[0]
        return LinearRule(rule[None, :], np.array([prior - (rule * middle).sum()]))
