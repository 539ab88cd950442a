"""Linear support vector machines: classification with the largest margin."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from tallywise import _arrays, _native
from tallywise._arrays import Matrix, Seed
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, LinearClassifierMixin, SparseCoefMixin, StrOptions, fit_context
from tallywise.linear import _margin_fit
from tallywise.linear._units import scores_of_classes
from tallywise.linear.svm._hard_margin import hard_margins


class LinearSVC(LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """Linear support vector classification.

    For each class against the rest (y = +1 for the class, -1 for the rest; two classes are one such problem)
    minimises::

        1/2 |w|^2 + C sum_i s_i l(y_i (w'x_i + b))
        l(m) = max(0, 1 - m)     (hinge)
               max(0, 1 - m)^2   (squared_hinge)
               max(0, 1 - m)^2 for m >= -1, -4 m below   (modified_huber)

    The fit stops at a relative duality gap of `tol`, which bounds its distance from the optimum and is kept in
    `certificate_`. Long, narrow data are solved by an interior-point method, which does not depend on the scale of
    the columns; wide data by coordinate descent in the dual, all classes in parallel.

    Parameters
    ----------
    penalty : {'l1', 'l2'}, default='l2'
        Norm of the weights: 'l2' is ``1/2 |w|^2``, 'l1' is ``|w|_1``, which leaves many of them at zero.
    loss : {'hinge', 'squared_hinge', 'modified_huber'}, default='squared_hinge'
        Loss. 'hinge' goes with 'l2' only. 'modified_huber' is a squared hinge that is linear for large negative
        margins, and so robust to wrong labels.
    dual : 'auto' or bool, default='auto'
        Accepted for scikit-learn, which refuses some combinations; the method is chosen from the data.
    tol : float, default=1e-4
        Relative duality gap at which to stop.
    C : float, default=1.0
        Weight of the losses. ``inf`` is the hard margin: minimise ``1/2 |w|^2`` with every ``y_i (w'x_i + b) >= 1``,
        or raise `NotSeparableError` with a proof that no hyperplane does.
    multi_class : {'ovr', 'crammer_singer'}, default='ovr'
        One class against the rest, or all classes in one problem.
    fit_intercept : bool, default=True
        Whether to fit b.
    intercept_scaling : float, default=1
        Value of the column that stands for the intercept where that is penalised: ``1/2 (b / intercept_scaling)^2``.
    class_weight : dict or 'balanced', default=None
        Weights of classes. Against the rest, a class's own samples are weighted, the rest are not.
    verbose : int, default=0
        Accepted for scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Order in which coordinate descent visits the samples; None is one fixed order.
    max_iter : int, default=1000
        Most passes over the data.
    intercept : {'auto', 'penalised', 'free'}, default='auto'
        Whether b is part of the penalty, as scikit-learn has it, or free of it. 'auto' is 'penalised' for finite C and
        'free' for the hard margin.
    n_jobs : int, default=None
        Threads; None means all cores (or ``TALLYWISE_NUM_THREADS``). The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    certificate_ : Certificate
        Primal and dual value (sums over the classes), gap, iterations, seconds.
    margin_ : float or ndarray of shape (n_classes,)
        With ``C=inf``: distance from the hyperplane to the nearest points, ``1 / |w|``.
    support_ : ndarray or list of ndarray
        With ``C=inf``: rows of the support vectors, those on the margin that determine the hyperplane.
    n_iter_ : int
        Most iterations over the classes.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns, where X has them.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi & Sundararajan (2008), A dual coordinate descent method for large-scale linear SVM. Zhang
    (2004), Solving large scale linear prediction problems using stochastic gradient descent algorithms, for the
    modified Huber loss.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import LinearSVC
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 2.0], [4.0, 4.0]])
    >>> model = LinearSVC(loss="hinge").fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]]).tolist()
    ['low', 'high']
    >>> model.certificate_.relative_gap < 1e-4
    True

    The hard margin of five points, by hand. Positive are (1, 3), (3, 3) and (4, 4), negative (2, 1) and (5, 2). Along
    the normal (-1, 3) of the segment between the negative points these lie at 1, the positive ones at 8, 6 and 8: the
    hulls are nearest at (3, 3) and at its foot on the segment, the middle (7/2, 3/2). They are v = (-1/2, 3/2) apart,
    |v|^2 = 5/2, so w = 2 v / |v|^2 = (-2/5, 6/5), b = 1 - w'(3, 3) = -7/5, and the margin is |v| / 2 = 0.79.

    >>> X = np.array([[1.0, 3.0], [3.0, 3.0], [4.0, 4.0], [2.0, 1.0], [5.0, 2.0]])
    >>> y = [1, 1, 1, -1, -1]
    >>> model = LinearSVC(C=np.inf).fit(X, y)
    >>> model.coef_.round(9).tolist(), model.intercept_.round(9).tolist()
    ([[-0.4, 1.2]], [-1.4])
    >>> round(model.margin_, 6), model.support_.tolist()
    (0.790569, [1, 3, 4])
    >>> model.functional_margin(X, y).round(9).tolist()
    [1.8, 1.0, 1.8, 1.0, 1.0]
    """

    coef_: NDArray[Any]
    intercept_: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions(_margin_fit.losses(binary=True))],
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "intercept": [StrOptions({"auto", "penalised", "free"})],
        "n_jobs": [None, Integral],
    }

    classes_: NDArray[Any]
    margin_: Any

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int = 0,
        random_state: Seed = None,
        max_iter: int = 1000,
        intercept: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.intercept = intercept
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit weights and intercepts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features. float64 and float32 are taken as they are, other types as float64.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.

        Returns
        -------
        LinearSVC
            Self.
        """
        X, y = _margin_fit.design_of(self, X, y)
        check_classification_targets(y)
        if self.multi_class == "ovr":
            _margin_fit.refuse_unsupported(self.penalty, self.loss, self.dual)
        self.classes_, codes = _arrays.encode_labels(y)
        if len(self.classes_) < 2:
            msg = (
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]!r}"
            )
            raise ValueError(msg)
        s = _margin_fit.weights_of(X, sample_weight)
        if self.C == np.inf:
            return self._fit_hard_margin(X, codes, s)
        class_weight = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=sample_weight)
        if np.any(class_weight < 0):
            msg = f"The 'class_weight' of {type(self).__name__} must not be negative. Got {self.class_weight}."
            raise ValueError(msg)
        _margin_fit.keep(self, X.dtype, self._solver(X, codes, self.C * s, class_weight))
        if self.multi_class == "crammer_singer" and len(self.classes_) == 2:
            self.coef_ = (self.coef_[1] - self.coef_[0])[None]
            if self.fit_intercept:
                self.intercept_ = (self.intercept_[1] - self.intercept_[0])[None]
        return self

    def _solver(
        self, X: Matrix, codes: NDArray[np.int64], s: NDArray[np.float64], class_weight: NDArray[np.float64]
    ) -> Callable[[], _margin_fit.Answer]:
        """The native call that this combination of parameters is."""
        options = _margin_fit.options_of(self, self.loss)
        if self.multi_class == "crammer_singer":
            if _margin_fit.is_free(self):
                msg = "multi_class='crammer_singer' has a penalised intercept only: set intercept='penalised'."
                raise ValueError(msg)
            weights = np.ascontiguousarray(s * class_weight[codes])
            return lambda: _native.margin_crammer_singer(
                _arrays.rows(X, any_order=True), codes, weights, len(self.classes_), options
            )
        # Of two classes both weights count; against the rest, the rest has weight one.
        one = len(class_weight) == 2
        scale = class_weight[None] if one else np.stack([np.ones_like(class_weight), class_weight], axis=1)
        scale = np.ascontiguousarray(scale, dtype=np.float64)
        if self.penalty == "l1":
            return lambda: _margin_fit.sparse_margins(self, X, codes, s, scale)
        return lambda: _native.margin_classes(_arrays.rows(X, any_order=True), codes, s, scale, options)

    def _fit_hard_margin(self, X: Matrix, codes: NDArray[np.int64], s: NDArray[np.float64]) -> Self:
        if self.penalty == "l1" or self.multi_class == "crammer_singer":
            msg = "The hard margin, C=inf, goes with penalty='l2' and multi_class='ovr'."
            raise ValueError(msg)
        kept = np.flatnonzero(s > 0)
        options = _margin_fit.options_of(self, self.loss)
        found = hard_margins(_arrays.rows(X[kept], any_order=True), codes[kept], self.classes_, options)
        _margin_fit.keep(self, X.dtype, lambda: found.answer)
        self.margin_ = 1 / np.linalg.norm(self.coef_, axis=1)
        support = [kept[rows] for rows in found.support]
        self.support_: Any = support
        if len(support) == 1:
            self.margin_, self.support_ = float(self.margin_[0]), support[0]
        return self

    def functional_margin(self, X: Matrix, y: ArrayLike) -> NDArray[Any]:
        """``y (w'x + b)``: above 0 on the right side, at least 1 outside the margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels, all of them known.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Functional margins; divided by the length of a class's weights they are geometric ones, distances to its
            hyperplane. One column per class where there are more than two.
        """
        scores = self.decision_function(X)
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        labels = np.asarray(y).tolist()
        unknown = sorted({str(label) for label in labels if label not in place})
        if unknown:
            msg = f"y holds labels that the model does not know: {unknown}. It knows {self.classes_.tolist()}."
            raise ValueError(msg)
        codes = np.array([place[label] for label in labels], dtype=np.intp)
        if len(codes) != len(scores):
            msg = f"X and y must have one length. Got {len(scores)} rows and {len(codes)} labels."
            raise ValueError(msg)
        signs = 2.0 * codes - 1 if scores.ndim == 1 else 2.0 * (codes[:, None] == np.arange(len(self.classes_))) - 1
        return np.asarray(signs * scores)

    def decision_function(self, X: Matrix) -> NDArray[Any]:
        """Scores w'x + b of each row: of the second class, or of each class where there are more.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores; they are distances to the boundary times the length of w.
        """
        return scores_of_classes(self, X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
