"""The perceptron, with margin and mistake bound."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import Tags, check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from tallywise import _arrays, _native, _threads
from tallywise._arrays import Matrix, Seed, validate_data
from tallywise._base import BaseEstimator
from tallywise._sklearn import (
    Interval,
    LinearClassifierMixin,
    SparseCoefMixin,
    StrOptions,
    check_partial_fit_first_call,
    check_sample_weight,
    fit_context,
)
from tallywise.linear._units import scores_of_classes

SPARSE_INTERCEPT_STEP = 0.01  # scikit-learn's: on sparse rows the intercept moves at every step, a weight at few


class Perceptron(LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """Rosenblatt's perceptron, one class against the rest.

    For rows in turn, y = +1 for the class and -1 for the rest::

        if y (w'x + b) <= 0:   w += eta0 y x,   b += eta0 y

    On data that a hyperplane separates with margin gamma, rows within R of the origin, it makes at most
    ``(R / gamma)^2`` mistakes; it stops at the first pass without one.

    Parameters
    ----------
    penalty : {'l2', 'l1', 'elasticnet'}, default=None
        Penalty, applied between the steps.
    alpha : float, default=0.0001
        Strength of the penalty.
    l1_ratio : float, default=0.15
        Share of L1 in 'elasticnet'.
    fit_intercept : bool, default=True
        Whether to fit b.
    max_iter : int, default=1000
        Most passes over the data.
    tol : float or None, default=1e-3
        Stop after `n_iter_no_change` passes whose loss is not below the best by ``tol * n_samples``.
    shuffle : bool, default=True
        Whether each pass has a new order. It depends on the values of the rows and not on their position, so that the
        result does not depend on the order of the data. False keeps the order given.
    verbose : int, default=0
        Accepted for scikit-learn.
    eta0 : float, default=1
        Length of a step.
    n_jobs : int, default=None
        Threads; None means all cores (or ``TALLYWISE_NUM_THREADS``). The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders.
    early_stopping : bool, default=False
        Whether to stop on accuracy over samples set aside, instead of on the loss.
    validation_fraction : float, default=0.1
        Share of samples to set aside.
    n_iter_no_change : int, default=5
        Passes without improvement before stopping.
    class_weight : dict or 'balanced', default=None
        Factor on the steps towards samples of a class.
    warm_start : bool, default=False
        Whether to start from the weights of the last fit.
    averaged : bool, default=False
        Whether to keep the average of the weights over all samples met, each counted with the weight of its class,
        which generalises better than the last ones. Then there is no `partial_fit`.
    check_separable : bool, default=False
        Whether to find out before the start if a hyperplane separates the classes, and with which margin.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    mistakes_ : int or ndarray of shape (n_classes,)
        Steps taken.
    margin_ : float or ndarray of shape (n_classes,)
        Margin ``min y (w'x + b) / |(w, b)|`` of the best separator known: the largest there is with
        `check_separable`, else that of `coef_`; 0 where none is known.
    mistake_bound_ : float or ndarray of shape (n_classes,)
        ``(R / margin_)^2`` with R the length of the longest row (x, 1). inf where no separator is known.
    separable_ : bool or ndarray of shape (n_classes,)
        With `check_separable`: whether a hyperplane separates the class from the rest.
    n_iter_ : int
        Passes over the data, the largest over the classes.
    t_ : float
        Samples met, and one.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns, where X has them.

    Notes
    -----
    A `sample_weight` is how often a sample is presented, the same as repeating it; scikit-learn makes it a longer step.
    The bound is for steps of one length: no penalty, no class weights, dense X (on sparse X the intercept's step is
    0.01, as in scikit-learn).

    References
    ----------
    Rosenblatt (1958), The perceptron. Novikoff (1962), On convergence proofs on perceptrons. Freund & Schapire (1999),
    Large margin classification using the perceptron algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import Perceptron
    >>> X = np.array([[1.0, 3.0], [3.0, 3.0], [4.0, 4.0], [2.0, 1.0], [5.0, 2.0]])
    >>> model = Perceptron(check_separable=True).fit(X, [1, 1, 1, -1, -1])
    >>> model.separable_
    True
    >>> model.predict(X).tolist()
    [1, 1, 1, -1, -1]
    >>> model.mistakes_ <= model.mistake_bound_
    True
    """

    coef_: NDArray[Any]
    intercept_: Any
    n_iter_: int
    _clean: NDArray[np.bool_]
    mistakes_: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "shuffle": ["boolean"],
        "verbose": ["verbose"],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "averaged": ["boolean"],
        "check_separable": ["boolean"],
    }

    classes_: NDArray[Any]
    t_: float
    separable_: bool | NDArray[Any]
    margin_: float | NDArray[Any]
    mistake_bound_: float | NDArray[Any]

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Seed = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: dict[Any, float] | str | None = None,
        warm_start: bool = False,
        averaged: bool = False,
        check_separable: bool = False,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.averaged = averaged
        self.check_separable = check_separable

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Make passes over the data until one is without mistakes or the loss no longer falls.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        coef_init : array-like of the shape of `coef_`, default=None
            Weights to start from.
        intercept_init : array-like of the shape of `intercept_`, default=None
            Intercepts to start from.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample is presented.

        Returns
        -------
        Perceptron
            Self.
        """
        if self.averaged and self.penalty is not None:
            msg = "averaged=True goes with penalty=None: an average of shrunken weights is another model."
            raise ValueError(msg)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        check_classification_targets(y)
        last = (self.coef_, self.intercept_) if self.warm_start and hasattr(self, "coef_") else (None, None)
        self.classes_, codes = _arrays.encode_labels(y)
        self._check_classes(self.classes_)
        coef_init = last[0] if coef_init is None else coef_init
        intercept_init = last[1] if intercept_init is None else intercept_init
        start = self._start(X.shape[1], coef_init, intercept_init)
        s = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)
        if self.check_separable:
            self._find_separators(X, codes, s)
        self._learn(X, y, codes, s, start, self.max_iter, np.inf if self.tol is None else self.tol)
        self._judge(X, codes, s)
        if self.tol is not None and self.n_iter_ == self.max_iter and not self._clean.all():
            msg = f"After {self.max_iter} passes there still are mistakes. Increase max_iter, or tol to stop sooner."
            warnings.warn(msg, ConvergenceWarning, stacklevel=2)
        return self

    @available_if(lambda model: not model.averaged)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """One pass over these samples, from the weights so far.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each sample is presented.

        Returns
        -------
        Perceptron
            Self.
        """
        if self.early_stopping or self.class_weight == "balanced":
            msg = "partial_fit goes without early_stopping and class_weight='balanced', which see all data."
            raise ValueError(msg)
        first = not hasattr(self, "classes_")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=first)
        if first and classes is not None:
            self._check_classes(np.unique(classes))
        check_partial_fit_first_call(self, classes)
        seen, codes = _arrays.encode_labels(y)
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in seen.tolist() if label not in place]
        if unknown:
            msg = f"y holds labels that are not in classes: {unknown}. Known: {self.classes_.tolist()}."
            raise ValueError(msg)
        codes = np.array([place[label] for label in seen.tolist()], dtype=np.int64)[codes]
        s = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)
        start = self._start(X.shape[1], getattr(self, "coef_", None), getattr(self, "intercept_", None), resume=True)
        self._learn(X, y, codes, s, start, 1, np.inf)
        self._judge(X, codes, s)
        return self

    @staticmethod
    def _check_classes(classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            msg = f"The number of classes has to be greater than one; got {len(classes)} class"
            raise ValueError(msg)

    def _start(self, p: int, coef: Any, intercept: Any, resume: bool = False) -> list[_native.PerceptronState]:
        """States to start from, one per problem; `resume` goes on counting steps and mistakes."""
        count = 1 if len(self.classes_) == 2 else len(self.classes_)
        weights, offsets = np.zeros((count, p)), np.zeros(count)
        if coef is not None:
            coef = np.asarray(coef.toarray() if sp.issparse(coef) else coef, dtype=np.float64)
            if coef.size != count * p:
                msg = f"coef_init must have shape ({count}, {p}). Got {coef.shape}."
                raise ValueError(msg)
            weights = coef.reshape(count, p)
        if intercept is not None:
            intercept = np.asarray(intercept, dtype=np.float64).ravel()
            if intercept.size != count:
                msg = f"intercept_init must have shape ({count},). Got {intercept.shape}."
                raise ValueError(msg)
            offsets = intercept
        t = getattr(self, "t_", 1.0) if resume else 1.0
        mistakes = np.broadcast_to(getattr(self, "mistakes_", 0) if resume else 0, count)
        return [
            _native.PerceptronState(np.ascontiguousarray(w), b, t, met)
            for w, b, met in zip(weights, offsets.tolist(), mistakes.tolist(), strict=True)
        ]

    def _learn(
        self,
        X: Matrix,
        y: NDArray[Any],
        codes: NDArray[np.int64],
        s: NDArray[np.float64],
        start: list[_native.PerceptronState],
        passes: int,
        tol: float,
    ) -> None:
        if self.penalty is not None and s.sum() > 1e9:
            msg = (
                f"Under a penalty every presentation is a step of its own: {s.sum():.1e} a pass are too many. Scale "
                "sample_weight down."
            )
            raise ValueError(msg)
        l1 = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]
        alpha = 0.0 if self.penalty is None else self.alpha
        step = (SPARSE_INTERCEPT_STEP if sp.issparse(X) else 1.0) if self.fit_intercept else 0.0
        options = _native.PerceptronOptions(
            l1=alpha * l1,
            l2=alpha * (1 - l1),
            eta=self.eta0,
            tol=-np.inf if tol == np.inf else tol,
            intercept_decay=step,
            max_iter=passes,
            patience=self.n_iter_no_change,
            shuffle=self.shuffle,
            averaged=self.averaged,
            early_stopping=self.early_stopping,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            threads=_threads.count(self.n_jobs),
        )
        weight = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        factor = weight[None] if len(weight) == 2 else np.stack([np.ones_like(weight), weight], axis=1)
        found = _native.perceptron(
            _arrays.rows(X, any_order=True),
            codes,
            s,
            np.ascontiguousarray(factor, dtype=np.float64),
            self._held_back(y),
            options,
            start,
        )
        coef, intercept = np.stack([state.w for state in found]), np.array([state.b for state in found])
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            msg = "The weights overflowed: scale X, or make eta0 smaller."
            raise ValueError(msg)
        self.coef_ = coef.astype(X.dtype, copy=False)
        self.intercept_ = intercept.astype(X.dtype)
        self.t_ = max(state.t for state in found)
        self.n_iter_ = max(state.epochs for state in found)
        self.mistakes_ = found[0].mistakes if len(found) == 1 else np.array([state.mistakes for state in found])
        self._clean = np.array([state.clean for state in found])

    def _held_back(self, y: NDArray[Any]) -> NDArray[np.uint8]:
        held = np.zeros(len(y), dtype=np.uint8)
        if self.early_stopping:
            split = StratifiedShuffleSplit(test_size=self.validation_fraction, random_state=self.random_state)
            held[next(split.split(np.zeros((len(y), 1)), y))[1]] = 1
        return held

    def _signs(self, codes: NDArray[np.int64]) -> list[NDArray[np.float64]]:
        problems = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(codes == k, 1.0, -1.0) for k in problems]

    def _find_separators(self, X: Matrix, codes: NDArray[np.int64], s: NDArray[np.float64]) -> None:
        """The largest margins of rows (x, 1) of positive weight."""
        kept = s > 0
        entry = 1.0 if self.fit_intercept else 0.0
        options = _native.MarginOptions(
            "hinge", 0.0, entry, False, 1e-9, 10 * int(kept.sum()) + 1000, 0, _threads.count(self.n_jobs)
        )
        design = _arrays.rows(X[kept], any_order=True)
        found = [_native.hard_margin(design, signs, options) for signs in self._signs(codes[kept])]
        separable = np.array([fit[0] for fit in found])
        self._largest = np.array([1 / np.hypot(np.linalg.norm(fit[1]), fit[2]) if fit[0] else 0.0 for fit in found])
        self.separable_ = bool(separable[0]) if len(found) == 1 else separable
        if not separable.all():
            names = [self.classes_[1]] if len(found) == 1 else self.classes_[~separable].tolist()
            msg = f"No hyperplane separates {names} from the rest: every pass will have mistakes."
            warnings.warn(msg, ConvergenceWarning, stacklevel=3)

    def _judge(self, X: Any, codes: NDArray[np.int64], s: NDArray[np.float64]) -> None:
        """Margins and bounds on mistakes, over rows (x, 1)."""
        entry = 1.0 if self.fit_intercept else 0.0
        kept = s > 0
        kept_X = X if kept.all() else X[kept]
        signs = np.stack(self._signs(codes[kept]), axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scores = kept_X @ self.coef_.T + self.intercept_
            length = np.hypot(np.linalg.norm(self.coef_, axis=1), self.intercept_)
            margins = (signs * scores).min(axis=0, initial=np.inf) / length
        margins = np.where(np.isfinite(margins) & (margins > 0), margins, 0.0)  # beyond floating point: none is known
        if self.check_separable and hasattr(self, "_largest"):
            margins = np.maximum(margins, self._largest)
        if sp.issparse(X):  # not power(2), which sorts X first
            with np.errstate(over="ignore"):
                squares = sp.csr_array((kept_X.data**2, kept_X.indices, kept_X.indptr), shape=kept_X.shape).sum(axis=1)
        else:
            squares = np.einsum("ij,ij->i", kept_X, kept_X)
        reach = float(np.max(np.asarray(squares, dtype=np.float64), initial=0.0)) + entry
        with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
            bounds = reach / margins.astype(np.float64) ** 2
        bounds[np.isnan(bounds)] = np.inf
        one = len(margins) == 1
        self.margin_ = float(margins[0]) if one else margins
        self.mistake_bound_ = float(bounds[0]) if one else bounds

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
