"""Latent Dirichlet allocation."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import check_is_fitted, check_non_negative

from tallywise import _threads
from tallywise._arrays import Matrix, Seed, validate_data
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, StrOptions, fit_context
from tallywise.topics._fitting import FittingMixin
from tallywise.topics._inference_algorithms import Variational, exp_mean_log
from tallywise.topics._interpretation import ReadingMixin
from tallywise.topics._perplexity import FoldLimits, fold_in
from tallywise.topics._perplexity_mixin import JudgingMixin

Array = NDArray[np.float64]


class LatentDirichletAllocation(
    FittingMixin,
    JudgingMixin,
    ReadingMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    r"""Topics of a collection: every document is a mixture theta of K topics, every topic a distribution phi of words.

    .. math:: \theta_d \sim \mathrm{Dir}(\alpha), \quad \phi_k \sim \mathrm{Dir}(\beta), \quad
              z_{di} \sim \theta_d, \quad w_{di} \sim \phi_{z_{di}}

    Drop-in for scikit-learn's class of this name. The same seed gives the same topics for any number of threads.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics K.
    doc_topic_prior : float or array of shape (K,), default=None
        The prior alpha, > 0; None is 1 / K. Learned priors start here.
    topic_word_prior : float or array of shape (n_features,), default=None
        The prior beta, > 0; None is 1 / K. Learned priors start here.
    method : {"collapsed", "gibbs", "online", "batch"}, default=None
        "collapsed" is collapsed variational inference (CVB0): the fastest way to good topics. "gibbs" is collapsed
        Gibbs sampling (SparseLDA), phi being the mean of the later samples. "batch" and "online" are scikit-learn's two
        variational methods. None is "online" when ``learning_method`` is, and otherwise "collapsed".
    learning_method : {"batch", "online"}, default="batch"
        As in scikit-learn; see ``method``.
    learn_priors : bool, default=None
        Whether alpha (topic by topic) and beta (its size) are learned during the fit. None is True for "collapsed" and
        "gibbs" and False for the other methods, which cannot.
    learning_decay, learning_offset : float
        Step of mini-batch t is (learning_offset + t)^-learning_decay ("online").
    max_iter : int, default=None
        Sweeps; None is 1000 for "gibbs", 10 for the variational methods and, for "collapsed", as many as words left out
        of the documents (one entry in fifty, which come back for the last five sweeps) are predicted better by: until
        it is not sure, by one standard error, that five sweeps lower their perplexity by 0.1 %, and 100 at most.
        Collections too small to leave words out of, below 100,000 entries, get the 100.
    batch_size : int, default=128
        Documents per mini-batch ("online").
    evaluate_every : int, default=-1
        Every how many sweeps to stop if perplexity has changed by less than ``perp_tol``; never if < 1.
    total_samples : float, default=1e6
        Documents in all, for ``partial_fit``.
    perp_tol : float, default=0.1
        See ``evaluate_every``.
    mean_change_tol : float, default=1e-3
        Mean change of a document's counts at which fold-in stops.
    max_doc_update_iter : int, default=100
        Most iterations of fold-in.
    n_jobs : int, default=None
        Threads; see ``TALLYWISE_NUM_THREADS``.
    verbose : int, default=0
        Above 0, print a line at each likelihood check. A progress bar is shown on a terminal after two seconds in any
        case.
    random_state : int, RandomState or None
        The seed.
    n_init : int, default=1
        Starts ("collapsed", "gibbs"): each gets ten sweeps, and the one of the lowest perplexity goes on. With well
        separated topics a single start often leaves two of them in one.
    callback : callable, default=None
        Called as callback(sweeps, perplexity) while learning; returning True ends the fit.

    Attributes
    ----------
    components_ : ndarray of shape (K, n_features)
        Counts of words in topics plus beta; ``phi_`` is the same, normalised.
    theta_ : ndarray of shape (n_samples, K)
        Topics of the documents of the fit.
    alpha_, beta_ : ndarrays of shape (K,) and (n_features,)
        The priors at the end.
    doc_topic_prior_, topic_word_prior_ : float or ndarray
        The same, as a number where they are symmetric.
    bound_ : float
        Perplexity on the documents of the fit: by leaving each word out in turn ("collapsed", "gibbs"), or by the
        variational bound.
    history_ : list of (sweep, perplexity)
    interrupted_ : bool
        Whether Ctrl-C ended the fit; ``fit_more`` goes on from there.
    n_iter_, n_batch_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``transform`` folds documents in with the topics held fixed: expectation-maximisation for the mean of theta given
    alpha and phi ("collapsed", "gibbs"), or the E-step of variational Bayes ("batch", "online").

    "collapsed" keeps 2 min(K, 64) bytes for each non-zero count; for streams and collections beyond memory there is
    ``partial_fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.topics import LatentDirichletAllocation
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 1], [0, 0, 7, 3], [0, 1, 4, 5]])
    >>> lda = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> lda.transform(X).round(1)
    array([[...
    >>> [[word for word, _ in topic] for topic in lda.topics(2, names=["cat", "dog", "tax", "law"])]
    [[...

    References
    ----------
    D. Blei, A. Ng and M. Jordan, "Latent Dirichlet allocation", JMLR 2003. A. Asuncion et al., "On smoothing and
    inference for topic models", UAI 2009. L. Yao et al., KDD 2009. M. Hoffman et al., NIPS 2010.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 0, None, closed="neither")],
        "doc_topic_prior": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
        "topic_word_prior": [None, Interval(Real, 0, None, closed="neither"), "array-like"],
        "method": [None, StrOptions({"collapsed", "gibbs", "online", "batch"})],
        "learning_method": [StrOptions({"batch", "online"})],
        "learn_priors": [None, "boolean"],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 1.0, None, closed="left")],
        "max_iter": [None, Interval(Integral, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 0, None, closed="neither")],
        "evaluate_every": [Interval(Integral, None, None, closed="neither")],
        "total_samples": [Interval(Real, 0, None, closed="neither")],
        "perp_tol": [Interval(Real, 0, None, closed="left")],
        "mean_change_tol": [Interval(Real, 0, None, closed="left")],
        "max_doc_update_iter": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "callback": [None, callable],
    }

    topic_word_prior_: float | Array

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        method: str | None = None,
        learning_method: str = "batch",
        learn_priors: bool | None = None,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        max_iter: int | None = None,
        batch_size: int = 128,
        evaluate_every: int = -1,
        total_samples: float = 1e6,
        perp_tol: float = 1e-1,
        mean_change_tol: float = 1e-3,
        max_doc_update_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Seed = None,
        n_init: int = 1,
        callback: Callable[[int, float], Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.method = method
        self.learning_method = learning_method
        self.learn_priors = learn_priors
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.evaluate_every = evaluate_every
        self.total_samples = total_samples
        self.perp_tol = perp_tol
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.n_init = n_init
        self.callback = callback

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike | None = None) -> Self:
        """Learn topics from counts of words in documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, not negative.
        y : ignored

        Returns
        -------
        self
        """
        X = self._counts(X, "fit", reset=True)
        method = self._method()
        self._begin(X)
        if method in ("collapsed", "gibbs"):
            self._learn_counts(X)
        else:
            self._learn(X, self._sweeps())
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_more(self, X: Matrix, max_iter: int | None = None) -> Self:
        """Go on with a fit for `max_iter` further sweeps (as many as a fit has, by default).

        In the process of the fit the result is that of one longer fit, exactly. A model that was pickled starts from
        its counts of words and documents instead.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The documents of the fit.
        max_iter : int, optional
            Further sweeps.
        """
        check_is_fitted(self)
        X = self._counts(X, "fit_more", reset=False)
        if X.shape[0] != self.theta_.shape[0]:
            msg = f"fit_more needs the {self.theta_.shape[0]} documents of the fit. Got {X.shape[0]}."
            raise ValueError(msg)
        if self._method() in ("collapsed", "gibbs") and getattr(self, "_state", None) is None:
            self._state = self._resumed(X)
        self._learn(X, self.n_iter_ + (self._sweeps() if max_iter is None else max_iter))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Matrix, y: ArrayLike | None = None) -> Self:
        """Update the topics from more documents by online variational Bayes, whatever ``method`` is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts.
        y : ignored
        """
        first = not hasattr(self, "components_")
        X = self._counts(X, "partial_fit", reset=first)
        if first:
            self._begin(X)
        self._state = None
        for rows in gen_batches(X.shape[0], self.batch_size):
            self._variational_step(X[rows], self.total_samples, online=True)
        self.theta_ = self._normal(self._variational().gamma(X))
        return self

    def transform(self, X: Matrix, *, normalize: bool = True) -> Any:
        """Topics of documents, by fold-in with the learned topics held fixed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts. A document without words gets the prior's mean.
        normalize : bool, default=True
            Whether rows sum to 1; otherwise they are counts plus alpha.

        Returns
        -------
        ndarray of shape (n_samples, K)
        """
        check_is_fitted(self)
        X = self._counts(X, "transform", reset=False)
        if self._method() in ("collapsed", "gibbs"):
            gamma: Any = fold_in(X, self.phi_.T, self.alpha_, self._limits())
        else:
            gamma = self._variational().gamma(X)
        with np.errstate(over="ignore"):
            finite = np.isfinite(gamma.sum(axis=1)).all()
        if not finite:
            msg = "The counts of a document are beyond floating point. Scale them."
            raise ValueError(msg)
        return self._normal(gamma) if normalize else gamma.astype(self.components_.dtype, copy=False)

    def fit_transform(self, X: Matrix, y: ArrayLike | None = None, *, normalize: bool = True) -> Any:
        """Fit, then transform the same documents."""
        return self.fit(X, y).transform(X, normalize=normalize)

    @property
    def exp_dirichlet_component_(self) -> Any:
        """exp(E[log phi]) under Dirichlet(components_), K x words."""
        return exp_mean_log(self.components_).astype(self.components_.dtype, copy=False)

    # --- helpers

    def _method(self) -> str:
        if self.method is None:
            return "online" if self.learning_method == "online" else "collapsed"
        return self.method

    def _prior(self, name: str, n: int) -> Array:
        given = getattr(self, name)
        values = np.asarray(1.0 / self.n_components if given is None else given, dtype=np.float64)
        if values.ndim > 1 or (values.ndim == 1 and values.size != n):
            msg = (
                f"The '{name}' parameter of {type(self).__name__} must be a number or {n} of them. Got {values.shape}."
            )
            raise ValueError(msg)
        if not (np.isfinite(values).all() and (values > 0).all()):
            msg = f"The '{name}' parameter of {type(self).__name__} must be finite and > 0. Got {given!r}."
            raise ValueError(msg)
        return np.array(np.broadcast_to(values, n))

    def _show_priors(self) -> None:
        self.doc_topic_prior_ = float(self.alpha_[0]) if np.ptp(self.alpha_) == 0 else self.alpha_
        self.topic_word_prior_ = float(self.beta_[0]) if np.ptp(self.beta_) == 0 else self.beta_

    def _limits(self) -> FoldLimits:
        threads = _threads.count(self.n_jobs)
        return FoldLimits(int(self.max_doc_update_iter), float(self.mean_change_tol), threads)

    def _variational(self, weights: Any = None) -> Variational:
        weights = exp_mean_log(self.components_) if weights is None else weights
        return Variational(weights, self.alpha_, self._limits())

    def _normal(self, gamma: NDArray[np.float64]) -> Any:
        values = np.asarray(gamma, dtype=np.float64)
        return (values / values.sum(axis=1, keepdims=True)).astype(self.components_.dtype, copy=False)

    def _counts(self, X: Matrix, whom: str, *, reset: bool) -> Any:
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32, np.int64])
        check_non_negative(X, f"{type(self).__name__}.{whom}")
        if self._method() == "gibbs" and whom in ("fit", "fit_more") and X.sum() >= 2**32:
            msg = "method='gibbs' keeps a topic for each token and takes fewer than 2^32 of them. Use 'collapsed'."
            raise ValueError(msg)
        return X

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_state": None} if "_state" in state else state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags
