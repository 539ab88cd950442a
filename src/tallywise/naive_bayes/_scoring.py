"""Prediction of all naive Bayes models: weights derived from the sums on demand, and scores."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tallywise import _native, _threads
from tallywise._arrays import Matrix
from tallywise.errors import NoPossibleClassError
from tallywise.naive_bayes._input import places
from tallywise.naive_bayes._learn_and_forget import SumLearner
from tallywise.naive_bayes._leave_one_out import ALPHAS, LeaveOneOutScores
from tallywise.naive_bayes._sufficient_statistics import Floats

_CACHE = 1 << 20  # bytes: a table of weights that stays in a core's cache is read as fast in double precision
NOT_COUNTED = (
    "prior_smoothing is added to the documents or tokens of each class. With given or equal priors it must be 0. "
    "Got {}."
)


class LinearRule(NamedTuple):
    """A classifier as scores ``X @ w.T + b``; with two classes one row, positive for the second class."""

    w: Floats
    b: Floats


class NaiveBayes(SumLearner):
    """Base of the naive Bayes models: ``z_c(x) = log prior_c + b_c + sum_j g(x_j, theta_jc)``."""

    _smoothing_name: ClassVar[str] = "alpha"

    class_log_prior_: Floats
    _alpha: Floats

    # --- what a model overrides ---

    def _smoothing(self) -> Floats:
        """One alpha, or one per cell."""
        raise NotImplementedError

    def _log_prior(self) -> Floats:
        raise NotImplementedError

    def _prior_kind(self) -> _native.PriorKind:
        raise NotImplementedError

    def _prior_smoothed(self) -> float:
        """What is added to the count of each class before its share becomes the prior."""
        return 0.0

    def _finalise(self) -> None:
        self._alpha = self._smoothing()
        self.class_log_prior_ = self._log_prior()

    # --- prediction ---

    def _weights(self) -> tuple[Floats, Floats]:
        """Theta (one row per cell, classes padded to a multiple of four) and b, from the sums as they are."""
        if "weights" not in self._cache:
            sums = self._sums.native()
            self._cache["weights"] = _native.estimate(self._options(), sums, self._alpha, _threads.count())
        weights: tuple[Floats, Floats] = self._cache["weights"]
        return weights

    def _narrowed(self, design: _native.Design) -> tuple[NDArray[np.float32], float] | None:
        """Weights in single precision, where labels of these rows gain more by them than they cost."""
        theta, b = self._weights()
        if "narrowed" not in self._cache:
            in_cache = theta.nbytes < _CACHE
            if in_cache or not self._traits.reads_sparse or design.entries < len(theta):
                return None
            self._cache["narrowed"] = _native.narrow(theta, b, len(self.classes_), _threads.count())
        narrowed: tuple[NDArray[np.float32], float] = self._cache["narrowed"]
        return narrowed

    def _scoring_prior(self) -> Floats:
        return self.class_log_prior_

    def _scores(self, X: Matrix, output: _native.Output) -> Floats:
        design = self._known(X)
        theta, b = self._weights()
        prior = self._scoring_prior()
        values, impossible = _native.scores(self._options(), design, theta, b, prior, output, _threads.count())
        self._refuse(impossible)
        return np.asarray(values)

    def _refuse(self, impossible: NDArray[np.int64]) -> None:
        if len(impossible):
            raise NoPossibleClassError(impossible.tolist())

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Return the most probable class of each row of X; of equal ones the first in `classes_`."""
        design = self._known(X)
        theta, b = self._weights()
        prior = self._scoring_prior()
        narrowed = self._narrowed(design)
        codes, impossible = _native.labels(self._options(), design, theta, b, prior, narrowed, _threads.count())
        self._refuse(impossible)
        return self.classes_[codes]

    def predict_proba(self, X: Matrix) -> Floats:
        """Return P(c | x) for each row x of X and class c, in the order of `classes_`."""
        return self._scores(X, _native.Output.probability)

    def predict_log_proba(self, X: Matrix) -> Floats:
        """Return log P(c | x) for each row x of X and class c."""
        return self._scores(X, _native.Output.log_probability)

    def predict_joint_log_proba(self, X: Matrix) -> Floats:
        """Return log P(c) + log P(x | c) for each row x of X and class c, up to terms that are the same for all c."""
        return self._scores(X, _native.Output.joint)

    def leave_one_out(self, X: Any, y: Any, alphas: Any = None) -> LeaveOneOutScores:
        """Leave-one-out scores: each row by the model of all other rows, for every smoothing in `alphas`.

        The rows are counted once; then each row's own share is subtracted. The result equals refitting for each row, at
        about the cost of one fit, and one prediction per smoothing. What this model has learned is neither used nor
        changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        alphas : array-like of float, default=None
            Smoothings to try; by default nine from 0.001 to 10.

        Returns
        -------
        LeaveOneOutScores
        """
        grid = np.asarray(ALPHAS if alphas is None else alphas, dtype=np.float64).ravel()
        if not (len(grid) and np.isfinite(grid).all() and (grid >= 0).all()):
            msg = f"alphas must be numbers in [0, inf). Got {alphas!r}."
            raise ValueError(msg)
        model: Self = clone(self).set_params(**{self._smoothing_name: 1.0})
        model.fit(X, y)
        X, y = model._validated(X, y, reset=False)
        return model._leave_one_out(X, places(y, model.classes_), grid)

    def _leave_one_out(self, X: Matrix, codes: NDArray[np.int64], alphas: Floats) -> LeaveOneOutScores:
        options, design, threads = self._options(), self._design(X, exact=True), _threads.count()
        sums = self._sums.native()
        prior = _native.Prior(self._prior_kind(), self._prior_smoothed(), self._scoring_prior())
        labels = np.empty((len(alphas), len(codes)), dtype=np.int64)
        log_probability = np.empty(labels.shape)
        for k, alpha in enumerate(alphas):
            labels[k], log_probability[k] = _native.leave_one_out(
                options, design, codes, sums, np.array([alpha]), prior, threads
            )
        scored = self._sums.totals[0][codes] > 1
        losses = -log_probability[:, scored].mean(axis=1) if scored.any() else np.full(len(alphas), np.inf)
        return LeaveOneOutScores(alphas, self.classes_[labels], log_probability, (labels == codes).mean(axis=1), losses)
