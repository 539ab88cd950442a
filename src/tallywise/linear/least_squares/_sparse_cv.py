"""Lasso and elastic net with the penalty chosen by cross-validation: all folds and the whole grid in one call."""

from dataclasses import astuple
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_scalar, column_or_1d
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from tallywise import _arrays, _native, _penalty
from tallywise._sklearn import Interval, StrOptions, fit_context, raise_for_params, routing_enabled
from tallywise.linear.least_squares import _paths as paths
from tallywise.linear.least_squares._base import (
    Array,
    Data,
    LeastSquares,
    SquaresDesign,
    penalty_of,
    refuse_overflow,
    squares_under,
)
from tallywise.linear.least_squares._sparse import ElasticNet, Lasso

_SHARED = ("fit_intercept", "max_iter", "copy_X", "tol", "positive", "random_state", "selection")


class ElasticNetCV(LeastSquares):
    r"""Elastic net with alpha (and ``l1_ratio``) chosen by cross-validation.

    Each fold is fitted along the decreasing grid of alphas, each solution started from the last, with the samples held
    out at weight zero: no part of X is copied, and folds share threads.

    Parameters
    ----------
    l1_ratio : float or list of floats, default=0.5
        Share of the L1 penalty, or several to choose from.
    eps : float, default=1e-3
        Last alpha over first.
    alphas : int or array, default=100
        Length of the grid, or the grid itself.
    fit_intercept, precompute, max_iter, tol, copy_X, positive, random_state, selection
        As in :class:`ElasticNet`.
    cv : int, splitter or iterable, default=None
        Folds; five by default.
    verbose
        Accepted for compatibility; see ``callback``.
    n_jobs : int, default=None
        Threads, in scikit-learn's sense.
    one_standard_error : bool, default=False
        Whether to keep, instead of the alpha of smallest error, the largest whose error is within a standard error of
        that: the simplest model that is as good.
    callback : callable, default=None
        Called as ``callback(done, total)`` after each point of the grid and fold.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
        What was chosen.
    alpha_1se_ : float
        The choice of the one-standard-error rule (at ``l1_ratio_``).
    alphas_ : array of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        Decreasing grid.
    mse_path_ : array of shape (n_alphas, n_folds) or (n_l1_ratio, n_alphas, n_folds)
        Mean squared errors on the held-out samples.
    coef_, intercept_, certificate_, dual_gap_, n_iter_, prior_
        Of the final fit to all data, as in :class:`ElasticNet`.

    References
    ----------
    Friedman, Hastie, Tibshirani: "Regularization paths for generalized linear models via coordinate descent", JSS 33,
    2010.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import ElasticNetCV
    >>> X = np.arange(60.0).reshape(20, 3) % 7
    >>> model = ElasticNetCV(cv=4).fit(X, X[:, 0])
    >>> model.mse_path_.shape, int(model.coef_.argmax())
    ((100, 4), 0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "copy_X": ["boolean"],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
        "one_standard_error": ["boolean"],
        "callback": [callable, None],
    }
    path = staticmethod(paths.enet_path)

    l1_ratio_: float
    alpha_1se_: float
    alpha_: float
    alphas_: NDArray[Any]
    mse_path_: NDArray[Any]

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        one_standard_error: bool = False,
        callback: paths.Callback | None = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.one_standard_error = one_standard_error
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """What the splitter is sent."""
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> "ElasticNetCV":
        """Choose the penalty and fit with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Weights, in the fits and in the errors.
        **params
            For the splitter, with metadata routing.

        Returns
        -------
        ElasticNetCV
            The fitted estimator.
        """
        raise_for_params(params, self, "fit")
        data = self._read_columns(X, y, sample_weight)
        if data.y.shape[1] > 1:
            name = type(self).__name__
            msg = f"For multi-task outputs, use MultiTask{name} of scikit-learn: {name} takes one target at a time."
            raise ValueError(msg)
        if not data.one_target:
            column_or_1d(y, warn=True)
        refuse_overflow(data.y)
        del self._dtype
        given = params
        if routing_enabled():
            given = process_routing(self, "fit", sample_weight=sample_weight, **params).splitter.split
        ratios = [float(ratio) for ratio in np.atleast_1d(self.l1_ratio)]
        grids = np.array([self._grid(data, ratio) for ratio in ratios])
        splitter = check_cv(self.cv)
        _arrays.warn_if_ordered(splitter, data.y[:, 0])
        folds = list(splitter.split(data.X, data.y[:, 0], **given))
        errors = self._errors(data, ratios, grids, folds)
        self._choose(ratios, grids, errors)
        final = self._final()
        final.fit(data.X, data.y[:, 0], sample_weight=data.s)
        for name in ("coef_", "intercept_", "certificate_", "dual_gap_", "n_iter_", "prior_"):
            setattr(self, name, getattr(final, name))
        return self

    def _grid(self, data: Data, ratio: float) -> Array:
        if not isinstance(self.alphas, Integral):
            for k, alpha in enumerate(self.alphas):
                check_scalar(alpha, f"alphas[{k}]", Real, min_val=0.0, include_boundaries="left")
            grid = np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]
            if grid.size == 0 or not np.isfinite(grid).all():
                msg = f"The 'alphas' parameter of {type(self).__name__} must hold finite values."
                raise ValueError(msg)
            return grid
        return paths.alpha_grid(
            data.X,
            data.y[:, 0],
            l1_ratio=ratio,
            fit_intercept=self.fit_intercept,
            eps=self.eps,
            n_alphas=int(self.alphas),
            s=data.s,
            positive=self.positive,
        )

    def _errors(self, data: Data, ratios: list[float], grids: Array, folds: list[Any]) -> Array:
        """Mean squared errors, of shape (ratios, alphas, folds)."""
        n = data.X.shape[0]
        s = np.ones(n) if data.s is None else data.s
        train = np.array([np.bincount(inside, minlength=n) * s for inside, _ in folds])
        test = np.array([np.bincount(outside, minlength=n) * s for _, outside in folds])
        if not (train.sum(axis=1) > 0).all() or not (test.sum(axis=1) > 0).all():
            msg = "A fold has no samples of positive weight to train on, or none to test on."
            raise ValueError(msg)
        strength = _penalty.from_mean_strength
        strengths = np.array(
            [
                [[astuple(strength(alpha, ratio, weight)) for alpha in grid] for weight in train.sum(axis=1)]
                for ratio, grid in zip(ratios, grids, strict=True)
            ]
        )
        problem = squares_under(
            penalty_of(self.positive),
            tol=self.tol,
            max_iter=self.max_iter,
            fit_intercept=self.fit_intercept,
            n_jobs=self.n_jobs,
        )
        done, total = 0, len(ratios) * len(folds) * grids.shape[1]

        def step() -> None:
            nonlocal done
            done += 1
            assert self.callback is not None
            self.callback(done, total)

        design = SquaresDesign.of(data, self.fit_intercept)
        losses = _native.sparse_cross_validation(
            design.X,
            problem,
            np.ascontiguousarray(data.y[:, 0]),
            np.tile(train, (len(ratios), 1)),
            np.tile(test, (len(ratios), 1)),
            strengths.reshape(len(ratios) * len(folds), -1),
            None if self.callback is None else step,
            design.by_rows,
        )
        errors = 2 * losses.reshape(len(ratios), len(folds), -1) / test.sum(axis=1)[:, None]
        return np.asarray(errors.transpose(0, 2, 1))

    def _choose(self, ratios: list[float], grids: Array, errors: Array) -> None:
        means = errors.mean(axis=2)
        best_ratio, best = np.unravel_index(int(np.argmin(means)), means.shape)
        folds = errors.shape[2]
        reach = errors[best_ratio, best].std(ddof=1) / np.sqrt(folds) if folds > 1 else 0.0
        within = means[best_ratio] <= means[best_ratio, best] + reach
        self.l1_ratio_ = ratios[best_ratio]
        self.alpha_1se_ = float(grids[best_ratio, int(np.argmax(within))])
        self.alpha_ = self.alpha_1se_ if self.one_standard_error else float(grids[best_ratio, best])
        several = np.ndim(self.l1_ratio) > 0 and len(ratios) > 1
        same_grid = not isinstance(self.alphas, Integral) or not several
        self.alphas_ = grids[0] if same_grid else grids
        self.mse_path_ = errors if several else errors[0]

    def _final(self) -> ElasticNet:
        return ElasticNet(alpha=self.alpha_, l1_ratio=self.l1_ratio_, **{name: getattr(self, name) for name in _SHARED})


class LassoCV(ElasticNetCV):
    """Lasso with alpha chosen by cross-validation.

    Parameters, attributes and method are those of :class:`ElasticNetCV` with ``l1_ratio=1``.

    Parameters
    ----------
    eps, alphas, fit_intercept, precompute, max_iter, tol, copy_X, cv, verbose, n_jobs, positive
        As in :class:`ElasticNetCV`.
    random_state, selection, one_standard_error, callback
        As in :class:`ElasticNetCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.linear import LassoCV
    >>> X = np.arange(60.0).reshape(20, 3) % 7
    >>> model = LassoCV(cv=4, one_standard_error=True).fit(X, X[:, 0])
    >>> bool(model.alpha_ == model.alpha_1se_)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: allowed for name, allowed in ElasticNetCV._parameter_constraints.items() if name != "l1_ratio"
    }
    path = staticmethod(paths.lasso_path)

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        one_standard_error: bool = False,
        callback: paths.Callback | None = None,
    ) -> None:
        super().__init__(
            l1_ratio=1.0,
            eps=eps,
            alphas=alphas,
            fit_intercept=fit_intercept,
            precompute=precompute,
            max_iter=max_iter,
            tol=tol,
            cv=cv,
            copy_X=copy_X,
            verbose=verbose,
            n_jobs=n_jobs,
            positive=positive,
            random_state=random_state,
            selection=selection,
            one_standard_error=one_standard_error,
            callback=callback,
        )

    def _final(self) -> ElasticNet:
        return Lasso(alpha=self.alpha_, **{name: getattr(self, name) for name in _SHARED})
