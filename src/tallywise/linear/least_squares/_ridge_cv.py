"""Ridge regression with the penalty chosen by leave-one-out errors in closed form, or by any other split."""

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils import check_scalar

from tallywise import _arrays, _penalty
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, StrOptions, fit_context
from tallywise.linear.least_squares._base import Array, Data, LeastSquares
from tallywise.linear.least_squares._ridge import Products, Ridge, closed_form, method_for


class RidgeCV(LeastSquares):
    r"""Ridge regression with alpha chosen by cross-validation.

    With ``cv=None`` the error of each sample under the model of all others comes in closed form,
    :math:`e_i = (y_i - z_i) / (1 - H_{ii})` with H the hat matrix, from one factorisation for the whole grid.

    Parameters
    ----------
    alphas : array, default=(0.1, 1.0, 10.0)
        Strengths to choose from.
    fit_intercept : bool, default=True
        Whether to fit b.
    scoring : str or callable, default=None
        What to maximise; minus the mean squared error by default.
    cv : int, splitter or iterable, default=None
        Folds; leave-one-out by default.
    gcv_mode : {"auto", "svd", "eigen"}, default="auto"
        Accepted for compatibility: the smaller side of X is factorised.
    store_cv_results : bool, default=False
        Whether to keep each sample's leave-one-out squared error (or prediction, with ``scoring``).
    alpha_per_target : bool, default=False
        Whether each target gets an alpha of its own; leave-one-out only.

    Attributes
    ----------
    alpha_ : float or array of shape (n_targets,)
        What was chosen.
    best_score_ : float or array of shape (n_targets,)
        Its score.
    cv_results_ : array of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        With ``store_cv_results``.
    coef_, intercept_, certificate_, prior_
        Of the final fit to all data, as in :class:`Ridge`.

    References
    ----------
    Golub, Heath, Wahba: "Generalized cross-validation as a method for choosing a good ridge parameter", Technometrics
    21, 1979.

    Examples
    --------
    >>> from tallywise.linear import RidgeCV
    >>> model = RidgeCV(alphas=[0.01, 1.0, 100.0]).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.1, 1.9, 3.0])
    >>> float(model.alpha_)
    0.01
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "gcv_mode": [StrOptions({"auto", "svd", "eigen"}), None],
        "store_cv_results": ["boolean"],
        "alpha_per_target": ["boolean"],
    }

    alpha_: float | NDArray[Any]
    prior_: _penalty.Prior | list[_penalty.Prior]
    best_score_: float | NDArray[Any]
    cv_results_: NDArray[Any]

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> "RidgeCV":
        """Choose the penalty and fit with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Weights s.
        **params
            Passed to the search, with ``cv``.

        Returns
        -------
        RidgeCV
            The fitted estimator.
        """
        alphas = self._checked_alphas()
        data = self._read(X, y, sample_weight, "csr")
        if self.gcv_mode == "svd" and self.cv is None and sp.issparse(data.X):
            msg = (
                "The 'svd' mode is not supported for sparse X: its smaller Gram matrix is factorised. Use the default, "
                "or gcv_mode='eigen'; scikit-learn will raise an error."
            )
            warnings.warn(msg, FutureWarning, stacklevel=2)
        dtype = self._dtype
        del self._dtype
        target = data.y[:, 0] if data.one_target else data.y
        if self.cv is None:
            products = Products(data, self.fit_intercept)
            self._leave_one_out(data, alphas, products)
            if method_for(data.X) == "cholesky":  # the products are there
                penalties = [_penalty.from_ridge_strength(float(alpha)) for alpha in np.atleast_1d(self.alpha_)]
                l2 = np.broadcast_to([penalty.l2 for penalty in penalties], data.y.shape[1]).tolist()
                self._dtype = dtype
                self._keep(
                    closed_form(data, l2, self.fit_intercept, "cholesky", 1e-10, products),
                    data.one_target,
                )
                priors = [penalty.prior for penalty in penalties] * (data.y.shape[1] // len(penalties))
                self.prior_ = priors[0] if data.one_target else priors
                return self
        else:
            self._search(data, target, alphas, params)
        final = Ridge(alpha=self.alpha_, fit_intercept=self.fit_intercept, tol=1e-10)
        final.fit(data.X, target, sample_weight=data.s)
        for name in ("coef_", "intercept_", "certificate_", "prior_"):
            setattr(self, name, getattr(final, name))
        return self

    def _checked_alphas(self) -> Array:
        """The grid; an entry that is no number, or too small, is named by its place."""
        several = np.ndim(self.alphas) > 0
        bounds = {"min_val": 0.0, "include_boundaries": "neither" if self.cv is None else "left"}
        for k, alpha in enumerate(self.alphas if several else [self.alphas]):
            check_scalar(alpha, f"alphas[{k}]" if several and len(self.alphas) > 1 else "alphas", Real, **bounds)
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        if not np.isfinite(alphas).all() or alphas.size == 0:
            msg = f"The 'alphas' parameter of RidgeCV must hold finite values. Got {self.alphas!r}."
            raise ValueError(msg)
        return alphas

    def _search(self, data: Data, target: Array, alphas: Array, params: dict[str, Any]) -> None:
        if self.store_cv_results or self.alpha_per_target:
            which = "store_cv_results" if self.store_cv_results else "alpha_per_target"
            msg = f"cv!=None and {which}=True are incompatible"
            raise ValueError(msg)
        splitter = check_cv(self.cv)  # once: splits may be a generator
        if target.ndim == 1:
            _arrays.warn_if_ordered(splitter, target)
        search = GridSearchCV(
            Ridge(fit_intercept=self.fit_intercept, tol=1e-10),
            {"alpha": alphas},
            cv=splitter,
            scoring=self.scoring,
            refit=False,
        )
        weights = {} if data.s is None else {"sample_weight": data.s}
        search.fit(data.X, target, **weights, **params)
        self.alpha_ = float(search.best_params_["alpha"])
        self.best_score_ = float(search.best_score_)

    def _leave_one_out(self, data: Data, alphas: Array, products: Products) -> None:
        errors = leave_one_out_errors(data, alphas, products, self.fit_intercept)  # alphas, samples, targets
        root = np.ones(data.X.shape[0]) if data.s is None else np.sqrt(data.s)
        scorer = None if self.scoring is None else check_scoring(_Given(), scoring=self.scoring, allow_none=True)
        if scorer is None:
            scores = -np.mean(errors**2, axis=1)  # alphas, targets
            kept = errors**2
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                kept = data.y - np.where(root[:, None] > 0, errors / root[:, None], 0.0)
            scores = np.array([self._scored(scorer, predicted, data) for predicted in kept])
        if not self.alpha_per_target:
            scores = scores.mean(axis=1, keepdims=True)
        best = np.argmax(scores, axis=0)
        per_target = self.alpha_per_target and not data.one_target
        self.alpha_ = alphas[best] if per_target else alphas[best[0]]
        self.best_score_ = scores.max(axis=0) if per_target else scores.max(axis=0)[0]
        if self.store_cv_results:
            stacked = kept.transpose(1, 2, 0)
            self.cv_results_ = stacked[:, 0] if data.one_target else stacked

    def _scored(self, scorer: Any, predicted: Array, data: Data) -> Array:
        """Scores per target; one for all of them where they share an alpha."""
        weights = {} if data.s is None else {"sample_weight": data.s}
        if self.alpha_per_target or data.one_target:
            targets = range(data.y.shape[1])
            return np.array([scorer(_Given(), predicted[:, k], data.y[:, k], **weights) for k in targets])
        return np.array([scorer(_Given(), predicted, data.y, **weights)])


class _Given(BaseEstimator):
    """Predictions passed as samples, for a scorer."""

    _estimator_type = "regressor"

    def fit(self, X: Any, y: Any) -> "_Given":
        """Nothing to do."""
        return self

    def predict(self, X: Any) -> Any:
        """The predictions."""
        return X


def leave_one_out_errors(data: Data, alphas: Array, products: Products, fit_intercept: bool) -> Array:
    """sqrt(s_i) times the error of sample i under the model of all others, of shape (alphas, samples, targets).

    With H the hat matrix and z = H y: (y_i - z_i) / (1 - H_ii). For n > p, H = U diag(1 / (lambda + a)) U' with U = X V
    and V, lambda the eigenvectors and eigenvalues of X'X. For n <= p, I - H = a (XX' + a I)^-1. The intercept is a
    direction of its own, sqrt(s), whose residual is zero.
    """
    l2 = [_penalty.from_ridge_strength(float(alpha)).l2 for alpha in alphas]
    n, p = data.X.shape
    root = np.ones(n) if data.s is None else np.sqrt(data.s)
    mean = root / np.sqrt(root @ root) if fit_intercept else np.zeros(n)
    gram, y = products.gram, products.y
    if n > p:
        values, V = la.eigh(gram, check_finite=False)
        values = np.maximum(values, 0.0)
        # Eigenvalues are off by rounding of the largest: where that is as large as a penalty, singular values.
        if values[-1] * np.finfo(float).eps > 1e-9 * (values[0] + min(l2)):
            U, values = products.left_basis()
            return _errors_by_columns(U, values, values, y, mean, l2)
        return _errors_by_columns(products.forward(V), values, np.ones(p), y, mean, l2)
    if fit_intercept:  # separates it from other eigenvectors of value 0
        gram = gram + 2 * max(np.trace(gram), 1.0) * np.outer(mean, mean)
    if len(l2) <= 8:  # an inverse for each penalty costs an eighth of the eigenvectors
        errors = [_errors_by_inverse(gram, y, mean, strength) for strength in l2]
        if all(error is not None for error in errors):
            return np.array(errors)
    values, Q = la.eigh(gram, check_finite=False)
    projected, own = Q.T @ y, int(np.argmax(np.abs(Q.T @ mean)))
    found = []
    for strength in l2:
        shrink = strength / (np.maximum(values, 0.0) + strength)
        if fit_intercept:
            shrink[own] = 0.0
        found.append((Q @ (shrink[:, None] * projected)) / (Q**2 @ shrink)[:, None])
    return np.array(found)


def _errors_by_columns(U: Array, values: Array, over: Array, y: Array, mean: Array, l2: list[float]) -> Array:
    """With H = U diag(over / (values + a)) U'."""
    projected, squares = U.T @ y, U**2
    found = []
    for strength in l2:
        shrink = over / (values + strength)
        residual = y - U @ (shrink[:, None] * projected)
        found.append(residual / (1 - mean**2 - squares @ shrink)[:, None])
    return np.array(found)


def _errors_by_inverse(gram: Array, y: Array, mean: Array, l2: float) -> Array | None:
    matrix = gram.copy()
    matrix[np.diag_indices_from(matrix)] += l2
    factor, failed = la.lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    if failed:
        return None
    residual = la.cho_solve((factor, True), y, check_finite=False)
    own = la.cho_solve((factor, True), mean, check_finite=False)
    inverse, failed = la.lapack.dpotri(factor, lower=1)
    diagonal = np.diag(inverse) - mean * own  # less what the intercept's direction has of it
    return None if failed else np.asarray(residual / diagonal[:, None])
