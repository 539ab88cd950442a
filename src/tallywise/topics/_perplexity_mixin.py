"""How well fitted topics explain documents."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tallywise._arrays import Matrix
from tallywise.topics._perplexity import HeldOut, completion, sequential


class JudgingMixin:
    """Likelihoods of documents under fitted topics."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def score(self, X: Matrix, y: ArrayLike | None = None) -> float:
        """A lower bound on log p(X | phi, alpha), summed over all documents.

        The topics are held fixed: scikit-learn adds the divergence of all K topics from their prior, which grows with K
        whatever the documents are.
        """
        check_is_fitted(self)
        X = self._counts(X, "score", reset=False)
        step = self._variational(self.phi_)
        return float(step.bounds(X, step.gamma(X)).sum())

    def perplexity(self, X: Matrix, sub_sampling: bool = False) -> float:
        """exp(-score(X) / tokens): an upper bound on the perplexity per token.

        ``sub_sampling`` is accepted for compatibility with scikit-learn and not needed.
        """
        tokens = float(np.asarray(X.sum() if hasattr(X, "sum") else np.sum(X)).sum())
        score = self.score(X)
        return float(np.exp(-score / tokens)) if tokens else float("nan")

    def held_out(
        self, X: Matrix, estimator: str = "completion", *, particles: int = 20, random_state: int = 0
    ) -> HeldOut:
        """How well the topics predict documents that they were not learned from.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Documents that were not in the fit.
        estimator : {"completion", "left-to-right"}
            "completion" folds in half of each document's tokens and predicts the other half. "left-to-right" predicts
            each token from those before it, with topics resampled by `particles` particles: an estimate of
            log p(X | phi, alpha) itself, at a cost quadratic in the length of documents.
        particles : int
            See ``estimator``.
        random_state : int
            Seed of the halves and of the particles.

        Returns
        -------
        HeldOut
            Perplexity per predicted token with a 95 % interval, and the name of the estimator.
        """
        check_is_fitted(self)
        X = self._counts(X, "held_out", reset=False)
        phi, alpha = np.ascontiguousarray(self.phi_.T), self.alpha_
        if estimator == "completion":
            return completion(X, phi, alpha, self._limits(), seed=random_state)
        if estimator == "left-to-right":
            data = X.data if hasattr(X, "indptr") else X
            if not (data == np.floor(data)).all():
                msg = "The left-to-right estimator needs whole counts. Use 'completion' for weights."
                raise ValueError(msg)
            return sequential(X, phi, alpha, self._limits(), seed=random_state, particles=particles)
        msg = f"The 'estimator' parameter of held_out must be 'completion' or 'left-to-right'. Got {estimator!r}."
        raise ValueError(msg)
