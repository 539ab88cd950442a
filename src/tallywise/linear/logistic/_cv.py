"""Logistic regression with C and l1_ratio chosen by cross-validation."""

import inspect
import time
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from tallywise import _arrays
from tallywise._arrays import Matrix, Seed
from tallywise._penalty import Penalty, Prior, from_inverse_strength
from tallywise._sklearn import Hidden, Interval, StrOptions, fit_context, raise_for_params, routing_enabled
from tallywise.linear.logistic._estimator import LogisticRegression
from tallywise.linear.logistic._fit import LogisticFit, LogisticProblem, fit
from tallywise.linear.logistic._grid import Grid, Judge


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression whose penalty is chosen by cross-validation.

    Each fold fits the whole grid once, from the strongest penalty to the weakest, each fit started from the last; folds
    share the threads.

    Parameters
    ----------
    Cs : int or list of floats, default=10
        Values of C to try; a number asks for that many between 1e-4 and 1e4.
    l1_ratios : array-like of floats, default=None
        Values of l1_ratio to try.
    fit_intercept : bool, default=True
        Whether to fit b.
    cv : int, splitter or iterable, default=None
        Folds; stratified, five by default.
    dual : bool, default=False
        Accepted for scikit-learn.
    penalty : {'l1', 'l2', 'elasticnet'}, default='deprecated'
        As scikit-learn has it until 1.10; use `l1_ratios` instead.
    scoring : str or callable, default=None
        What to maximise; accuracy by default.
    solver : str, default='lbfgs'
        Accepted for scikit-learn.
    tol : float, default=1e-4
        Relative duality gap at which each fit stops.
    max_iter : int, default=100
        Most (outer) iterations of each fit.
    class_weight : dict or 'balanced', default=None
        Weights of classes.
    n_jobs : int, default=None
        Threads, shared by the folds. The result does not depend on it.
    verbose : int, default=0
        Accepted for scikit-learn.
    refit : bool, default=True
        Whether to fit all data with the chosen penalty; otherwise the folds' best fits are averaged.
    intercept_scaling : float, default=1.0
        As in `LogisticRegression`.
    random_state : int, RandomState instance or None, default=None
        Accepted for scikit-learn.
    use_legacy_attributes : bool, default=True
        The shapes that scikit-learn gives `C_`, `l1_ratio_`, `coefs_paths_`, `scores_` and `n_iter_` until 1.10, or
        the simpler ones after.
    selection : {'best', 'one_standard_error'}, default='best'
        Take the best mean score, or the strongest penalty whose mean score is within one standard error of it.
    callback : callable, default=None
        Called as ``callback(done, total)`` after each fit of the grid.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    coef_, intercept_ : ndarray
        As in `LogisticRegression`.
    certificate_ : Certificate or None
        Of the last fit, on all data; None without `refit`.
    prior_ : Prior
        The chosen penalty as a prior.
    Cs_, l1_ratios_ : ndarray
        The grid.
    C_, l1_ratio_ : ndarray or float
        The choice.
    scores_, coefs_paths_, n_iter_ : dict or ndarray
        What each fold gave at each point of the grid.

    References
    ----------
    Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees, 3.4.3, for the rule of one standard
    error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallywise.linear import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(
    ...     Cs=4, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False, selection="one_standard_error"
    ... ).fit(X, y)
    >>> model.scores_.shape
    (5, 1, 4)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: constraint
            for name, constraint in LogisticRegression._parameter_constraints.items()
            if name not in ("C", "warm_start", "l1_ratio", "baseline", "on_separation")
        },
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None, Hidden(StrOptions({"warn"}))],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None, Hidden(StrOptions({"warn"}))],
        "refit": ["boolean"],
        "penalty": [StrOptions({"l1", "l2", "elasticnet"}), Hidden(StrOptions({"deprecated"}))],
        "use_legacy_attributes": ["boolean", Hidden(StrOptions({"warn"}))],
        "selection": [StrOptions({"best", "one_standard_error"})],
        "callback": [callable, None],
    }

    baseline = None
    warm_start = False

    # Weights of `score` are the scorer's: who routes them here without asking the scorer is told so.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    Cs_: NDArray[Any]
    covariance_: NDArray[Any] | None
    prior_: Prior
    l1_ratios_: NDArray[Any]
    coefs_paths_: Any
    scores_: Any
    n_iter_: NDArray[Any]

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = "warn",
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "deprecated",
        scoring: Any = "warn",
        solver: str = "lbfgs",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Seed = None,
        use_legacy_attributes: bool | str = "warn",
        selection: str = "best",
        callback: Any = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.selection = selection
        self.callback = callback

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Choose the penalty by cross-validation and fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.
        **params : dict
            For the splitter and the scorer.

        Returns
        -------
        LogisticRegressionCV
            Self.
        """
        raise_for_params(params, self, "fit")
        context = self._init_callback_context()
        data = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        context.call_on_fit_task_begin(estimator=self, **data)
        ratios, legacy = self._ratios(), self._legacy()
        task = self._task(X, y, sample_weight)
        X = task.X
        self.Cs_ = self._grid()
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        else:
            score = dict(params) if sample_weight is None else {**params, "sample_weight": sample_weight}
            routed = Bunch(splitter=Bunch(split={}), scorer=Bunch(score=score))
        splitter = check_cv(self.cv, y, classifier=True)
        _arrays.warn_if_ordered(splitter, np.asarray(y))
        folds = list(splitter.split(X, y, **routed.splitter.split))
        given = [0.0 if ratio is None else ratio for ratio in ratios]
        judge = self._judge(X, np.asarray(y), routed.scorer.score)
        grid = Grid.fit(task, folds, given, self.Cs_, judge, self.callback)
        self._choose(task, grid, given)
        self._publish(grid, ratios, legacy)
        context.call_on_fit_task_end(estimator=self, **data, reconstruction_attributes={})
        return self

    def _ratios(self) -> list[Any]:
        """Values of l1_ratio, also by the deprecated parameters; [None] for scikit-learn's shapes without them."""
        given = self.l1_ratios
        if isinstance(given, str):
            msg = "The default value for l1_ratios will change to (0.0,) in scikit-learn 1.10. Set l1_ratios=(0,)."
            warnings.warn(msg, FutureWarning, stacklevel=4)
            given = None
        elif given is None and self.penalty == "deprecated":
            msg = "'l1_ratios=None' was deprecated in version 1.8 of scikit-learn. Use values in [0, 1] instead."
            warnings.warn(msg, FutureWarning, stacklevel=4)
        if self.penalty != "deprecated":
            msg = "'penalty' was deprecated in version 1.8 of scikit-learn. Use 'l1_ratios' and 'Cs' instead."
            warnings.warn(msg, FutureWarning, stacklevel=4)
        if self.penalty == "elasticnet" or given is not None:
            bad = given is None or len(given) == 0
            if bad or any(not isinstance(r, Real) or not 0 <= float(r) <= 1 for r in given):
                msg = f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={given!r})"
                raise ValueError(msg)
        if self.penalty in ("l1", "l2"):
            return [1.0 if self.penalty == "l1" else 0.0] if given is not None else [None]
        return [None] if given is None else list(given)

    def _legacy(self) -> bool:
        if self.scoring == "warn":
            msg = (
                "The default value of the parameter 'scoring' will change from None, which is accuracy, to "
                "'neg_log_loss' in scikit-learn 1.11. Set scoring."
            )
            warnings.warn(msg, FutureWarning, stacklevel=4)
        if self.use_legacy_attributes == "warn":
            msg = (
                "The default value of use_legacy_attributes will change from True to False in scikit-learn 1.10, and "
                f"the fitted attributes of {type(self).__name__} with it. Set use_legacy_attributes."
            )
            warnings.warn(msg, FutureWarning, stacklevel=4)
            return True
        return bool(self.use_legacy_attributes)

    def _grid(self) -> NDArray[np.float64]:
        if isinstance(self.Cs, Integral):
            return np.logspace(-4, 4, self.Cs)
        grid = np.asarray(self.Cs, dtype=np.float64)
        if grid.ndim != 1 or len(grid) == 0 or not np.all(grid > 0):
            msg = f"The 'Cs' parameter of {type(self).__name__} must be positive numbers. Got {self.Cs!r}."
            raise ValueError(msg)
        return grid

    def _judge(self, X: Matrix, y: NDArray[Any], params: dict[str, Any]) -> Judge:
        """How a fit of a fold is scored on what the fold holds out."""
        scorer = _with_labels(self._get_scorer(), self.classes_)
        weights = {k: np.asarray(v) for k, v in params.items() if k == "sample_weight" and v is not None}
        others = {k: v for k, v in params.items() if k != "sample_weight" and v is not None}

        def judge(found: LogisticFit, test: Any) -> float:
            if weights and not np.any(weights["sample_weight"][test]):
                msg = (
                    "A fold holds out rows of weight 0 alone, which cannot be scored. Leave rows of weight 0 out of X, "
                    "or choose folds ('cv') that each hold out some of positive weight."
                )
                raise ValueError(msg)
            model = LogisticRegression(fit_intercept=self.fit_intercept)
            model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
            model.coef_, model.intercept_ = found.coef, found.intercept
            return float(scorer(model, X[test], y[test], **others, **{k: v[test] for k, v in weights.items()}))

        return judge

    def _choose(self, task: LogisticProblem, grid: Grid, ratios: list[float]) -> None:
        """Set the chosen penalty, the weights and what is known of them."""
        began = time.perf_counter()
        p = task.X.shape[1]
        self.certificate_: Any = None
        self.covariance_ = None
        if not self.refit:
            flat = grid.scores.reshape(len(grid.scores), -1).argmax(axis=1)
            best = [np.unravel_index(at, grid.scores.shape[1:]) for at in flat]
            w = np.mean([grid.coefs[f, r, c] for f, (r, c) in enumerate(best)], axis=0)
            self._chosen = float(np.mean([self.Cs_[c] for _, c in best])), float(np.mean([ratios[r] for r, _ in best]))
            self.coef_ = w[:, :p]
            self.intercept_ = w[:, -1] if self.fit_intercept else np.zeros(task.lanes)
            self.prior_ = from_inverse_strength(*self._chosen).prior
            return
        r, c = grid.select(self.Cs_, self.selection)
        self._chosen = float(self.Cs_[c]), float(ratios[r])
        penalty: Penalty = from_inverse_strength(*self._chosen)
        mean = grid.coefs[:, r, c].mean(axis=0)
        found = fit(task, penalty, (mean[:, :p], mean[:, -1] if self.fit_intercept else np.zeros(task.lanes)))
        self._keep(found, penalty, task, time.perf_counter() - began)

    def _publish(self, grid: Grid, ratios: list[Any], legacy: bool) -> None:
        """The grid in scikit-learn's shapes."""
        C, ratio = self._chosen
        coefs: Any = grid.coefs
        scores: Any = grid.scores
        iterations = grid.iterations
        self.l1_ratios_ = np.asarray(ratios)
        if not legacy:
            self.C_: Any = C
            self.l1_ratio_: Any = ratio
            self.coefs_paths_, self.scores_, self.n_iter_ = coefs, scores, iterations
            return
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        by_ratio = ratios != [None]
        # (fold, ratio, C, class, dof) to a dict over classes of (fold, C[, ratio], dof)
        coefs, scores, iterations = (
            np.moveaxis(coefs, (3, 1), (0, 3)),
            np.swapaxes(scores, 1, 2),
            iterations.swapaxes(1, 2),
        )
        if not by_ratio:
            coefs, scores, iterations = coefs[:, :, :, 0], scores[..., 0], iterations[..., 0]
        self.coefs_paths_ = dict(zip(labels, coefs, strict=True))
        self.scores_ = {label: scores.copy() for label in labels}
        self.n_iter_ = iterations[None, ...]
        self.C_ = np.full(len(labels), C)
        self.l1_ratio_ = np.full(len(labels), ratio if by_ratio else None)

    def score(self, X: Matrix, y: ArrayLike, *, sample_weight: ArrayLike | None = None, **score_params: Any) -> float:
        """Score by `scoring`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        **score_params : dict
            For the scorer.

        Returns
        -------
        float
            Score.
        """
        raise_for_params(score_params, self, "score")
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if routing_enabled():
            score_params = process_routing(self, "score", **score_params).scorer.score
        return float(self._get_scorer()(self, X, y, **score_params))

    def get_metadata_routing(self) -> Any:
        """Where `fit` and `score` send their parameters.

        Returns
        -------
        MetadataRouter
            To the splitter and the scorer.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(
                scorer=self._get_scorer(),
                method_mapping=MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score"),
            )
        )

    def _get_scorer(self) -> Any:
        return get_scorer("accuracy" if self.scoring in (None, "warn") else self.scoring)


def _with_labels(scorer: Any, classes: NDArray[Any]) -> Any:
    """The scorer told of all classes, where it can be, because a fold may miss some."""
    score = getattr(scorer, "_score_func", None)
    known = inspect.signature(score).parameters if score is not None else {}
    if "labels" not in known:
        return scorer
    options = {"labels": classes, **getattr(scorer, "_kwargs", {})}
    if len(classes) == 2 and "pos_label" in known:
        options["pos_label"] = classes[-1]
    return make_scorer(score, greater_is_better=scorer._sign == 1, response_method=scorer._response_method, **options)
