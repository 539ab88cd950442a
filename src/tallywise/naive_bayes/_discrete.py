"""Shared by the naive Bayes models for counts and categories."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from tallywise import _native
from tallywise._arrays import Matrix
from tallywise._sklearn import Interval, StrOptions
from tallywise.naive_bayes._leave_one_out import ALPHAS
from tallywise.naive_bayes._scoring import NOT_COUNTED, NaiveBayes
from tallywise.naive_bayes._sufficient_statistics import Floats


class DiscreteNB(NaiveBayes):
    """Shared by the models for counts: additive smoothing, and a prior by documents, by tokens, or given."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "force_alpha": ["boolean"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "prior": [StrOptions({"documents", "tokens"}), "array-like"],
        "prior_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    alpha_: float | Floats

    def __init__(
        self,
        *,
        alpha: float | str | ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike | None = None,
        prior: str | ArrayLike = "documents",
        prior_smoothing: float = 0.0,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.prior = prior
        self.prior_smoothing = prior_smoothing

    def _smoothing(self) -> Floats:
        if isinstance(self.alpha, str):
            return np.array([self.alpha_])
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64))
        if np.ndim(self.alpha) > 0 and alpha.shape != (self.n_features_in_,):
            msg = (
                "When alpha is an array, it should contains `n_features`. "
                f"Got {len(alpha)} elements instead of {self.n_features_in_}."
            )
            raise ValueError(msg)
        if not (np.isfinite(alpha).all() and (alpha >= 0).all()):
            msg = "All values in alpha must be greater than 0."
            raise ValueError(msg)
        if alpha.min(initial=np.inf) < 1e-10 and not self.force_alpha:
            msg = (
                "alpha too small will result in numeric errors, setting alpha = 1.0e-10. "
                "Use `force_alpha=True` to keep alpha unchanged."
            )
            warnings.warn(msg, stacklevel=4)
            alpha = np.maximum(alpha, 1e-10)
        self.alpha_ = float(alpha[0]) if np.ndim(self.alpha) == 0 else alpha
        return alpha

    def _check_settings(self) -> None:
        if isinstance(self.alpha, str):
            msg = (
                "alpha='loo' needs all rows at once, in fit. Set alpha to a number (such as alpha_) to learn more rows."
            )
            raise ValueError(msg)

    def _choose_alpha(self, X: Matrix, codes: NDArray[np.int64]) -> None:
        if isinstance(self.alpha, str):
            self.class_log_prior_ = self._log_prior()  # the scores include it
            self.alpha_ = self._leave_one_out(X, codes, np.array(ALPHAS)).best_alpha

    def _declared(self, found: NDArray[Any], classes: ArrayLike) -> NDArray[Any]:
        known = super()._declared(found, classes)
        fixed = self.class_prior is not None or not isinstance(self.prior, str)
        if fixed and hasattr(self, "classes_") and not np.array_equal(known, self.classes_):
            msg = (
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}. With a "
                "prior for each of them, classes cannot change."
            )
            raise ValueError(msg)
        return known

    def _given_prior(self) -> Floats | None:
        given = self.class_prior if self.class_prior is not None else self.prior
        counted = isinstance(given, str) and self.fit_prior
        if self.prior_smoothing > 0 and not counted:
            raise ValueError(NOT_COUNTED.format(self.prior_smoothing))
        if isinstance(given, str):
            return None if self.fit_prior else np.full(len(self.classes_), 1 / len(self.classes_))
        prior = np.asarray(given, dtype=np.float64)
        if prior.shape != self.classes_.shape:
            msg = "Number of priors must match number of classes."
            raise ValueError(msg)
        if not (np.isfinite(prior).all() and (prior >= 0).all()):
            msg = "Priors must be non-negative."
            raise ValueError(msg)
        return prior

    def _log_prior(self) -> Floats:
        prior = self._given_prior()
        with np.errstate(divide="ignore", invalid="ignore"):
            if prior is not None:
                return np.log(prior)
            # Texts without a single token say nothing of shares of tokens: those of the rows stand in.
            known = self.prior_smoothing > 0 or bool(self._sums.totals[2].any())
            count: Floats = self._sums.totals[2 if self.prior == "tokens" and known else 0] + self.prior_smoothing
            return np.asarray(np.log(count) - np.log(count.sum()))

    def _prior_smoothed(self) -> float:
        return float(self.prior_smoothing)

    def _prior_kind(self) -> _native.PriorKind:
        if self._given_prior() is not None:
            return _native.PriorKind.fixed
        return _native.PriorKind.tokens if self.prior == "tokens" else _native.PriorKind.documents

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags
