"""Fitting: sweeps, likelihood checks, Ctrl-C, the fitted attributes."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, gen_batches

from tallywise import _threads
from tallywise._arrays import Matrix
from tallywise.topics._convergence import LAST, LOOK, Unseen
from tallywise.topics._inference_algorithms import ROUND, CollapsedFit, seed_topics
from tallywise.topics._progress import Bar

_SWEEPS = {"collapsed": 100, "gibbs": 1000, "batch": 10, "online": 10}


class FittingMixin:
    """The fitting part of the estimator, which documents parameters and attributes."""

    _state: CollapsedFit | None
    bound_: float

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    random_state_: Any
    alpha_: NDArray[np.float64]
    beta_: NDArray[np.float64]
    n_iter_: int
    n_batch_iter_: int
    interrupted_: bool
    components_: Any
    theta_: NDArray[Any]

    def _begin(self, X: Matrix) -> None:
        method, K, words = self._method(), self.n_components, X.shape[1]
        if self.learn_priors and method in ("online", "batch"):
            msg = f"The 'learn_priors' parameter must be False or None for method={method!r}. Got True."
            raise ValueError(msg)
        self.random_state_ = check_random_state(self.random_state)
        self.alpha_ = self._prior("doc_topic_prior", K)
        self.beta_ = self._prior("topic_word_prior", words)
        self.n_iter_, self.n_batch_iter_ = 0, 1
        self.history_: list[tuple[int, float]] = []
        self.interrupted_ = False
        self._state = None
        self._show_priors()
        dtype = X.dtype if X.dtype == np.float32 else np.float64
        if method in ("collapsed", "gibbs"):
            self.components_ = np.tile(self.beta_, (K, 1)).astype(dtype)
        else:
            self.components_ = self.random_state_.gamma(100.0, 0.01, (K, words)).astype(dtype, copy=False)

    def _learn_counts(self, X: Matrix) -> None:
        """Learn by sweeps over collapsed counts, until words left out of X are predicted no better where that is asked.

        These words join the documents at the end, for a few sweeps more.
        """
        if self.max_iter is not None or self._method() != "collapsed" or not Unseen.suffices(X):
            self._state = self._best_start(X)
            self._learn(X, self._sweeps())
            return
        unseen = Unseen(X, np.random.default_rng(int(self.random_state_.randint(np.iinfo(np.int32).max))))
        self._state = self._best_start(unseen.seen)
        ended = self._learn(X, self._sweeps() - LAST, unseen)
        self._state = self._resumed(X)
        if ended:
            self._take(self._state)
        else:
            self._learn(X, self.n_iter_ + LAST)

    def _resumed(self, X: Matrix) -> CollapsedFit:
        """Counts over X that start from the topics and documents of the fit."""
        state = self._new_counts(X, int(self.random_state_.randint(np.iinfo(np.int32).max)))
        lengths = np.asarray(X.sum(axis=1), dtype=np.float32).reshape(-1, 1)
        share = self.theta_.astype(np.float32) * (lengths + np.float32(self.alpha_.sum()))
        state.start(np.ascontiguousarray(share), np.ascontiguousarray(self.phi_.T, dtype=np.float32))
        state.done, state.perplexity, state.history = self.n_iter_, self.bound_, self.history_
        return state

    def _learn(self, X: Matrix, sweeps: int, unseen: Unseen | None = None) -> bool:
        """Learn until `sweeps` in all are done, or no further change; returns whether the user ended it before."""
        self.interrupted_ = ended = False
        bar = Bar(f"{self.n_components} topics", sweeps)
        try:
            if self._state is not None:
                every = 1 if self.verbose else self.evaluate_every if self.evaluate_every > 0 else ROUND
                threads = _threads.count(self.n_jobs)

                def tell(state: CollapsedFit) -> bool:
                    nonlocal ended
                    if state.done == sweeps or state.done % every == 0 or state.done % ROUND == 0:
                        ended = self._told(state.done, state.perplexity, sweeps, bar)
                    return ended or (unseen is not None and unseen.stopped(state, threads))

                self._state.run(sweeps, every, tell, ROUND if unseen is None else LOOK)
            else:
                self._learn_variational(X, sweeps, bar)
        except KeyboardInterrupt:
            self.interrupted_ = True
        finally:
            bar.close()
        if self._state is not None:
            self._take(self._state)
        else:
            gamma = self._variational().gamma(X)
            self.theta_ = self._normal(gamma)
            self.bound_ = self.perplexity(X)
        if self.interrupted_:
            text = f"The fit was interrupted after {self.n_iter_} of {sweeps} sweeps. fit_more goes on from there."
            warnings.warn(text, stacklevel=3)
        return ended or self.interrupted_

    def _learn_variational(self, X: Matrix, sweeps: int, bar: Bar) -> None:
        online = self._method() == "online"
        while self.n_iter_ < sweeps:
            for rows in gen_batches(X.shape[0], self.batch_size if online else X.shape[0]):
                self._variational_step(X[rows], X.shape[0], online=online)
            self.n_iter_ += 1
            look = self.callback is not None or (self.evaluate_every > 0 and self.n_iter_ % self.evaluate_every == 0)
            perplexity = self.perplexity(X) if look else np.nan
            if look:
                self.history_.append((self.n_iter_, perplexity))
            if self._told(self.n_iter_, perplexity, sweeps, bar):
                break

    def _variational_step(self, X: Matrix, total: float, *, online: bool) -> None:
        step = self._variational()
        start = self.random_state_.gamma(100.0, 0.01, (X.shape[0], self.n_components))
        statistics = step.statistics(X, step.gamma(X, start))
        if online:
            rho = (self.learning_offset + self.n_batch_iter_) ** -self.learning_decay
            fresh = (1 - rho) * self.components_ + rho * (self.beta_ + total / X.shape[0] * statistics)
        else:
            fresh = self.beta_ + statistics
        self.components_ = np.ascontiguousarray(fresh, dtype=self.components_.dtype)
        self.n_batch_iter_ += 1

    def _told(self, done: int, perplexity: float, sweeps: int, bar: Bar) -> bool:
        """Report progress; returns whether the fit should stop."""
        bar.show(done, perplexity)
        look = self.evaluate_every > 0 and done % self.evaluate_every == 0
        if self.verbose:
            print(f"iteration: {done} of max_iter: {sweeps}" + (f", perplexity: {perplexity:.4f}" if look else ""))
        if self.callback is not None and self.callback(done, perplexity):
            return True
        history = self._state.history if self._state is not None else self.history_
        before = [p for sweep, p in history if sweep <= done - self.evaluate_every]
        return look and bool(before) and abs(before[-1] - perplexity) < self.perp_tol

    def _best_start(self, X: Matrix) -> CollapsedFit:
        """The start whose first sweeps lead to the lowest perplexity."""
        best: CollapsedFit | None = None
        for _ in range(self.n_init):
            seed = int(self.random_state_.randint(np.iinfo(np.int32).max))
            state = self._new_counts(X, seed)
            topics = seed_topics(X, self.n_components, np.random.default_rng(seed), _threads.count(self.n_jobs))
            state.start(None, topics)
            if self.n_init > 1:
                state.run(min(ROUND, self._sweeps()), ROUND, lambda _: False)
            if best is None or state.perplexity < best.perplexity:
                best = state
        assert best is not None
        return best

    def _new_counts(self, X: Matrix, seed: int) -> CollapsedFit:
        learn = self.learn_priors is not False
        threads = _threads.count(self.n_jobs)
        priors = (self.alpha_, self.beta_)
        return CollapsedFit(self._method(), X, priors, learn_priors=learn, seed=seed, threads=threads)

    def _take(self, state: CollapsedFit) -> None:
        self.alpha_, self.beta_ = state.alpha, state.beta
        self._show_priors()
        self.components_ = np.empty_like(self.components_)
        np.add(state.word_topic().T, self.beta_, out=self.components_, casting="same_kind")
        self.theta_ = self._normal(state.document_topic() + self.alpha_)
        self.n_iter_, self.history_, self.bound_ = state.done, list(state.history), state.perplexity

    def _sweeps(self) -> int:
        return _SWEEPS[self._method()] if self.max_iter is None else int(self.max_iter)
