"""Logistic regression for two or more classes, under every penalty, with a certificate of convergence."""

import time
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays, _threads
from tallywise._arrays import Matrix, Seed, validate_data
from tallywise._certificate import Certificate, SeparationWarning
from tallywise._penalty import Penalty, Prior, from_inverse_strength
from tallywise._sklearn import CallbackSupportMixin, Hidden, Interval, StrOptions, check_sample_weight, fit_context
from tallywise.errors import SeparationError
from tallywise.linear.logistic._callbacks import tell_rounds
from tallywise.linear.logistic._fit import LogisticFit, LogisticProblem, fit
from tallywise.linear.logistic._inference import LogisticSummary, Separation
from tallywise.linear.logistic._path import LogisticPath, default_grid
from tallywise.linear.logistic._scores import LogisticScores, dense

# scikit-learn's solvers, and the words in which each says that it has not converged: filters look for them.
_NOT_CONVERGED = {
    "lbfgs": "lbfgs failed to converge after {} iteration(s).",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {} iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge.",
    "saga": "The max_iter was reached which means the coef_ did not converge.",
}
SOLVERS = frozenset(_NOT_CONVERGED)


def _ratio(penalty: Penalty) -> float:
    """Share of L1 in a penalty."""
    return penalty.l1 / (penalty.l1 + penalty.l2) if penalty.l1 > 0 else 0.0


def _solve(task: LogisticProblem, penalty: Penalty, start: tuple[NDArray[Any], NDArray[Any]] | None) -> LogisticFit:
    found = fit(task, penalty, start)
    if task.max_iter > 0 or start is not None:
        return found
    # Nothing was begun: scikit-learn's zeros.
    primal = float(task.weights.sum() * np.log(task.classes))
    return replace(
        found,
        coef=np.zeros_like(found.coef),
        intercept=np.zeros_like(found.intercept),
        primal=primal,
        dual=min(found.dual, primal),
        iterations=0,
    )


class LogisticRegression(CallbackSupportMixin, LogisticScores):
    """Logistic regression, binary and multinomial, under L1, L2, elastic net or no penalty.

    Minimises, over the weights W and the intercepts b, which are not penalised (but see `intercept_scaling`)::

        sum_i s_i log(1 / P(y_i | x_i)) + l1 |W|_1 + l2/2 |W|^2
        P(k | x) = exp(w_k'x + b_k) / sum_m exp(w_m'x + b_m)
        l1 = l1_ratio / C,     l2 = (1 - l1_ratio) / C

    Two classes have one weight vector, ``P(1 | x) = 1 / (1 + exp(-w'x - b))``. The fit stops at a relative duality gap
    of `tol`, which bounds its distance from the optimum and is kept in `certificate_`.

    Parameters
    ----------
    penalty : {'l1', 'l2', 'elasticnet', None}, default='deprecated'
        As scikit-learn has it until 1.10; use `C` and `l1_ratio` instead.
    C : float, default=1.0
        Inverse strength of the penalty; ``inf`` for none.
    l1_ratio : float, default=0.0
        Share of the L1 norm in the penalty: 0 is ridge, 1 is lasso.
    dual : bool, default=False
        Accepted for scikit-learn; primal and dual are always solved together.
    tol : float, default=1e-4
        Relative duality gap at which to stop.
    fit_intercept : bool, default=True
        Whether to fit b.
    intercept_scaling : float, default=1
        Under ``solver='liblinear'`` b is penalised like a weight, that of a column of this value: by
        ``l1 |b / intercept_scaling| + l2/2 (b / intercept_scaling)^2``. A large value frees it.
    class_weight : dict or 'balanced', default=None
        Weights of classes, which multiply those of samples.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn; nothing here is random.
    solver : str, default='lbfgs'
        Accepted for scikit-learn: one of its names. The method is chosen from the data, and every method reaches the
        same optimum; 'liblinear' means another objective, with a penalised intercept.
    max_iter : int, default=100
        Most (outer) iterations.
    verbose : int, default=0
        Accepted for scikit-learn.
    warm_start : bool, default=False
        Whether to start from the weights of the last fit.
    n_jobs : int, default=None
        Threads; None means all cores (or ``TALLYWISE_NUM_THREADS``). The result does not depend on it.
    baseline : label, default=None
        A class whose weights are fixed at zero: K - 1 weight vectors, of each other class against it, which makes
        unpenalised weights unique (`summary`). With a penalty this is another model than the symmetric one, because
        the penalty then sees differences from the baseline.
    on_separation : {'warn', 'raise'}, default='warn'
        What to do when there is no penalty and a hyperplane separates the classes, so that the weights grow without
        bound: a `SeparationWarning` that carries the direction, with the weights reached, or a `SeparationError`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    coef_ : ndarray of shape (1 or n_classes or n_classes - 1, n_features)
        Weights; one row per class, without the baseline's.
    intercept_ : ndarray of shape (1 or n_classes or n_classes - 1,)
        Intercepts.
    certificate_ : Certificate
        Primal and dual value, gap, iterations, seconds.
    prior_ : Prior
        The penalty as the prior whose posterior mode this fit is.
    covariance_ : ndarray or None
        Covariance of the weights (class by class, the intercept after the features), for unpenalised fits of two
        classes or with a `baseline`.
    n_iter_ : ndarray of shape (1,)
        Iterations.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns, where X has them.

    References
    ----------
    Yu, Huang & Lin (2011), Dual coordinate descent methods for logistic regression and maximum entropy models, for the
    primal-dual pair.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import LogisticRegression
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = LogisticRegression(C=10).fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[0.2], [2.8]]).tolist()
    ['low', 'high']
    >>> model.certificate_.relative_gap < 1e-4
    True
    >>> print(model.prior_)
    w ~ Normal(mean 0, variance 10)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [StrOptions({"l1", "l2", "elasticnet"}), None, Hidden(StrOptions({"deprecated"}))],
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "baseline": "no_validation",
        "on_separation": [StrOptions({"warn", "raise"})],
    }

    n_iter_: NDArray[Any]
    prior_: Prior
    covariance_: NDArray[Any] | None
    certificate_: Certificate

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Seed = None,
        solver: str = "lbfgs",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        baseline: Any = None,
        on_separation: str = "warn",
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.baseline = baseline
        self.on_separation = on_separation

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
        LogisticRegression
            Self.
        """
        penalty = self._penalty()
        began = time.perf_counter()
        task = self._task(X, y, sample_weight)
        start = self._start(task) if self.warm_start else None
        context = self._init_callback_context(max_subtasks=max(self.max_iter, 1) + 1)
        data = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        context.call_on_fit_task_begin(estimator=self, **data)
        whole = found = _solve(task, penalty, start)
        if hasattr(self, "_skl_callbacks"):
            found = tell_rounds(self, context, data, whole, lambda k: _solve(replace(task, max_iter=k), penalty, start))
        apart = None
        if penalty.l1 == penalty.l2 == 0:
            apart = Separation.find(task, found, self.tol, self.classes_)
        if apart is not None and self.on_separation == "raise":
            raise SeparationError(apart.message, apart.coef, apart.intercept, apart.complete)
        self._keep(found, penalty, task, time.perf_counter() - began, apart, stopped=found is not whole)
        context.call_on_fit_task_end(estimator=self, **data, reconstruction_attributes={})
        return self

    def _penalty(self) -> Penalty:
        """(l1, l2) from the parameters, old names included."""
        ratio = self.l1_ratio
        if self.penalty == "deprecated":
            if ratio is None:
                msg = "'l1_ratio=None' was deprecated in version 1.8 of scikit-learn. Use 0 <= l1_ratio <= 1 instead."
                warnings.warn(msg, FutureWarning, stacklevel=3)
            return from_inverse_strength(self.C, ratio or 0.0)
        msg = (
            "'penalty' was deprecated in version 1.8 of scikit-learn. Use l1_ratio=0 instead of penalty='l2', "
            "l1_ratio=1 instead of penalty='l1', a float between 0 and 1 instead of penalty='elasticnet', and C=np.inf "
            "instead of penalty=None."
        )
        warnings.warn(msg, FutureWarning, stacklevel=3)
        if self.penalty is None:
            if self.C != 1.0:
                msg = "Setting penalty=None will ignore the C and l1_ratio parameters"
                warnings.warn(msg, UserWarning, stacklevel=3)
            return Penalty(0.0, 0.0)
        if self.penalty == "elasticnet" and ratio is None:
            msg = "l1_ratio must be specified when penalty is elasticnet."
            raise ValueError(msg)
        chosen = {"l1": 1.0, "l2": 0.0, "elasticnet": ratio}[self.penalty]
        assert chosen is not None
        if ratio not in (None, chosen):
            msg = (
                f"Inconsistent values: penalty={self.penalty} with l1_ratio={ratio}. l1_ratio parameter is only used "
                f"when penalty is 'elasticnet'. Got (penalty={self.penalty})"
            )
            warnings.warn(msg, UserWarning, stacklevel=3)
        return from_inverse_strength(self.C, chosen)

    def _task(self, X: Any, y: Any, sample_weight: Any) -> LogisticProblem:
        """Validated data as the native solvers take them; sets `classes_`."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True
        )
        check_classification_targets(y)
        self.classes_, codes = _arrays.encode_labels(y)
        if len(self.classes_) < 2:
            msg = (
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_.tolist()[0]!r}"
            )
            raise ValueError(msg)
        if self.solver == "liblinear" and len(self.classes_) > 2:
            msg = (
                "The 'liblinear' solver does not support multiclass classification (n_classes >= 3): it would be one "
                "model for each class against the rest. Use another solver for one model of all classes, or a "
                "OneVsRestClassifier."
            )
            raise ValueError(msg)
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)
        self._require_two_classes(codes, weights)
        weights = np.ascontiguousarray(weights * self._class_weights(y, sample_weight)[codes], dtype=np.float64)
        self._require_two_classes(codes, weights)
        return LogisticProblem(
            X=X,
            codes=codes,
            weights=weights,
            classes=len(self.classes_),
            baseline=self._baseline_code(),
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            intercept_scaling=self.intercept_scaling if self.solver == "liblinear" and self.fit_intercept else None,
            threads=_threads.count(self.n_jobs),
        )

    def _require_two_classes(self, codes: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        seen = np.flatnonzero(np.bincount(codes, weights) > 0)
        if len(seen) == 0:
            msg = f"All samples have weight zero under class_weight={self.class_weight!r}: there is nothing to fit."
            raise ValueError(msg)
        if len(seen) == 1:
            label = self.classes_.tolist()[seen[0]]
            msg = f"Samples of at least 2 classes need a positive weight. Got one class: {label!r}"
            raise ValueError(msg)

    def _class_weights(self, y: ArrayLike, sample_weight: ArrayLike | None) -> NDArray[np.float64]:
        if isinstance(self.class_weight, dict) and any(w < 0 for w in self.class_weight.values()):
            msg = f"The 'class_weight' of {type(self).__name__} must not be negative. Got {self.class_weight}."
            raise ValueError(msg)
        weight = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=sample_weight)
        return np.asarray(weight, dtype=np.float64)

    def _start(self, task: LogisticProblem) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Weights of the last fit as a start, when they have the shape of this one."""
        coef, intercept = getattr(self, "coef_", None), getattr(self, "intercept_", None)
        if coef is None or intercept is None:
            return None
        coef = dense(coef)
        if coef.shape != (task.lanes, task.X.shape[1]) or len(intercept) != task.lanes:
            return None
        return coef, intercept

    def _keep(
        self,
        found: LogisticFit,
        penalty: Penalty,
        task: LogisticProblem,
        seconds: float,
        apart: Separation | None = None,
        *,
        stopped: bool = False,
    ) -> None:
        dtype = np.float64 if self.solver == "liblinear" else task.X.dtype  # as scikit-learn has it
        self.coef_ = found.coef.astype(dtype, copy=False)
        self.intercept_ = found.intercept.astype(dtype, copy=False)
        self.n_iter_ = np.array([found.iterations], dtype=np.int32)
        self.prior_ = penalty.prior
        self.covariance_ = found.covariance
        self.certificate_ = Certificate(found.primal, found.dual, found.iterations, seconds, task.rounding)
        self._data = (-found.primal, len(task.codes))
        if apart is not None:
            warning = SeparationWarning(apart.message, apart.coef, apart.intercept, apart.complete)
            warnings.warn(warning, stacklevel=4)
        elif not stopped:  # a callback that stopped it knows
            self._warn_unless_converged()

    def _warn_unless_converged(self) -> None:
        gap = self.certificate_.relative_gap
        if gap <= self.tol:
            return
        spent = self.certificate_.iterations >= self.max_iter
        remedy = (
            f"Increase max_iter (now {self.max_iter})."
            if spent
            else "Rounding stops it here: scale the columns of X to one size, or increase tol."
        )
        said = _NOT_CONVERGED[self.solver].format(self.certificate_.iterations)
        msg = f"{said} The relative duality gap is {gap:.1e}, above tol={self.tol:g}. {remedy}"
        warnings.warn(msg, ConvergenceWarning, stacklevel=4)

    def path(
        self, X: Matrix, y: ArrayLike, *, Cs: Any = 100, sample_weight: ArrayLike | None = None, callback: Any = None
    ) -> "LogisticPath":
        """Fits along a grid of C, each started from the last; leaves the estimator as it was.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        Cs : int or array-like of floats, default=100
            Values of C, in the order of fitting (rising is fastest). A number asks for that many: from the C at which
            the first weight leaves zero over three decades, or from 1e-4 to 1e4 where there is no L1 penalty.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        callback : callable, default=None
            Called as ``callback(done, total)`` after each fit.

        Returns
        -------
        LogisticPath
            Weights, intercepts and certificates for each C.
        """
        model = clone(self)
        model._validate_params()
        task = model._task(X, y, sample_weight)
        ratio = _ratio(model._penalty())
        grid = default_grid(task, ratio, int(Cs)) if isinstance(Cs, Integral) else np.asarray(Cs, dtype=np.float64)
        if grid.ndim != 1 or not np.all((grid > 0) & np.isfinite(grid)):
            msg = f"The 'Cs' of a path must be positive finite numbers. Got {Cs!r}."
            raise ValueError(msg)
        return LogisticPath.fit(task, ratio, grid, callback)

    def summary(self) -> LogisticSummary:
        """Standard errors, z statistics and p-values of an unpenalised fit.

        Returns
        -------
        LogisticSummary
            Prints as a table.
        """
        check_is_fitted(self)
        if self.prior_.family != "flat":
            msg = f"Standard errors need a fit without a penalty: set C=inf. Got a fit with prior {self.prior_}."
            raise ValueError(msg)
        if self.covariance_ is None:
            msg = (
                "Weights of more than two classes have standard errors against a baseline only: set baseline to one "
                f"of {self.classes_.tolist()}."
            )
            raise ValueError(msg)
        code = self._baseline_code() or 0
        names = list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))
        coef = np.asarray(dense(self.coef_), dtype=np.float64)
        if self.fit_intercept:
            coef = np.column_stack([coef, self.intercept_])
            names.append("intercept")
        return LogisticSummary(
            classes=np.delete(self.classes_, code).tolist(),
            baseline=self.classes_[code],
            names=names,
            coef=coef,
            std_err=np.sqrt(np.diag(self.covariance_)).reshape(coef.shape),
            log_likelihood=self._data[0],
            n_samples=self._data[1],
        )
