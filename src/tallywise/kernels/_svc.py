"""The support vector classifier."""

import itertools
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tallywise import _arrays
from tallywise._arrays import Matrix, Seed
from tallywise._sklearn import StrOptions, fit_context, ovr_decision_function
from tallywise.kernels import _calibration
from tallywise.kernels._support_vectors import QuadraticProgram, Solved, SupportVectorMachine, Vector

_FOLDS = 5  # parts held out in turn for calibration


def _offers_probability(self: Any) -> bool:
    if self.probability in (False, "deprecated"):
        msg = "predict_proba is not available when probability=False"
        raise AttributeError(msg)
    return True


class SVC(ClassifierMixin, SupportVectorMachine):
    r"""Support vector classification with kernels, one machine for each pair of classes.

    Each machine minimises

    .. math:: \tfrac12 |w|^2 + \sum_i C_i \max(0, 1 - y_i (\langle w, \phi(x_i)\rangle + b)),

    with C_i = C x class weight x sample weight. The dual, max sum(a) - 1/2 sum a_i a_j y_i y_j k(x_i, x_j) over
    0 <= a_i <= C_i and sum a_i y_i = 0, is solved by decomposition; both values are in `certificate_`.

    Drop-in for `sklearn.svm.SVC`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses. ``inf`` asks for a hard margin: data that cannot be separated are refused with a
        `NotSeparableError` and its reason.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'}, callable or Kernel, default='rbf'
        A name, a function of two matrices of points, or an expression over `tallywise.kernels`.
    degree, gamma, coef0
        Parameters of the named kernels. ``gamma='scale'`` is 1 / (features x variance of X), ``'auto'`` 1 / features.
        Sample weights count in that variance, as repeated rows would.
    shrinking : bool, default=True
        Leave out variables that sit at a bound while the others are settled.
    probability : bool, default=False
        Offer `predict_proba`, calibrated on the scores of points held out: five machines, each without a fifth of the
        rows, led on from the fitted one; together they cost about one more fit. Repeated rows are held out together.
        Two classes share one half where the verdict changes; with `class_weight`, probabilities are those of data so
        weighted.
    tol : float, default=1e-3
        The fit ends when the optimality conditions are violated by at most ``tol`` (what scikit-learn checks) and the
        relative duality gap is at most ``tol``.
    cache_size : float, default=200
        Megabytes for kernel values.
    class_weight : dict or 'balanced', default=None
        Factors on C by class.
    verbose : bool, default=False
        Say on standard error, once a second, how far the fit is.
    max_iter : int, default=-1
        Limit on two-variable steps, -1 for none.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of `decision_function` for more than two classes.
    break_ties : bool, default=False
        With 'ovr' and more than two classes, let scores instead of class order decide between equal votes.
    random_state : ignored
        Present for compatibility: nothing is random.
    progress : callable, default=None
        Called as ``progress(steps, violation, active)`` between blocks of steps of a two-class fit.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_, n_iter_, shape_fit_,
    fit_status_
        As in scikit-learn.
    certificate_ : Certificate
        Objective and lower bound, summed over the machines, in double precision.
    margin_ : ndarray of shape (n_machines,)
        Geometric margin 1 / |w| of each machine.

    References
    ----------
    Cortes & Vapnik (1995), Support-vector networks; Chang & Lin (2011), LIBSVM.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernels import SVC
    >>> X = np.array([[-1.0, -1], [-2, -1], [1, 1], [2, 1]])
    >>> machine = SVC(kernel="linear").fit(X, [1, 1, 2, 2])
    >>> machine.predict([[-0.8, -1]])
    array([1])
    >>> machine.certificate_.relative_gap <= 1e-3
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SupportVectorMachine._parameter_constraints,
        "probability": ["boolean", StrOptions({"deprecated"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
    }

    classes_: NDArray[Any]
    class_weight_: NDArray[Any]
    n_iter_: NDArray[Any]
    margin_: float | NDArray[Any]

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Seed = None,
        progress: Callable[[int, float, int], None] | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.progress = progress

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "SVC":
        """Fit a machine to each pair of classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) of kernel values
            Points, or kernel values for ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors on C by sample. Samples of weight zero or less take no part.

        Returns
        -------
        SVC
            This estimator.
        """
        began = time.perf_counter()
        X, y, weights = self._prepare(X, y, sample_weight)
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        self.classes_, codes = _arrays.encode_labels(labels)
        if len(self.classes_) < 2:
            msg = f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            raise ValueError(msg)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
        members = [np.flatnonzero((codes == k) & (weights > 0)) for k in range(len(self.classes_))]
        if sum(len(rows) > 0 for rows in members) < 2:
            msg = "Invalid input - all samples with positive weights belong to the same class."
            raise ValueError(msg)
        C = self.C * weights * self.class_weight_[codes]
        pairs = list(itertools.combinations(range(len(self.classes_)), 2))
        tasks = [_task(members[i], members[j], C, flip=len(pairs) == 1) for i, j in pairs]
        folds = _FOLDS if self.probability is True else 0
        if np.isinf(self.C):
            solved = self._solve_without_bounds(X, tasks, [self._refuse(pair) for pair in pairs], folds)
        else:
            solved = self._solve(X, tasks, folds=folds)
        self._store(X, codes, pairs, tasks, solved)
        self._conclude(X, solved, began)
        self._check_finite()
        if folds:
            importance = weights * self.class_weight_[codes]
            self._slopes = [
                _calibration.fit_slopes(answer.held_out, task.linear < 0, importance[task.row])
                for task, answer in zip(tasks, solved, strict=True)
            ]
        elif hasattr(self, "_slopes"):
            del self._slopes
        return self

    def _refuse(self, pair: tuple[int, int]) -> Callable[[float, float], str]:
        def why(apart: float, size: float) -> str:
            i, j = (self.classes_[c] for c in pair)
            return (
                f"Classes {i!r} and {j!r} cannot be separated with this kernel: convex combinations of the two lie "
                f"{apart:.2g} apart, points are up to {size:.2g} from the origin. Use a finite C."
            )

        return why

    def _store(
        self,
        X: Matrix,
        codes: NDArray[np.int64],
        pairs: list[tuple[int, int]],
        tasks: list[QuadraticProgram],
        solved: list[Solved],
    ) -> None:
        """Lay out coefficients as scikit-learn does: vectors by class, K - 1 rows, row j - 1 for pair (i, j)."""
        K = len(self.classes_)
        full = np.zeros((K - 1, len(codes)))
        for (i, j), task, answer in zip(pairs, tasks, solved, strict=True):
            own = codes[task.row] == i
            full[j - 1, task.row[own]] = answer.beta[own]
            full[i, task.row[~own]] = answer.beta[~own]
        used = np.flatnonzero(full.any(axis=0))
        support = used[np.argsort(codes[used], kind="stable")]
        self.support_ = support.astype(np.int32)
        self.n_support_ = np.bincount(codes[support], minlength=K).astype(np.int32)
        self.support_vectors_ = self._rows_of(X, support)
        coefficients = np.ascontiguousarray(full[:, support])
        self.dual_coef_ = sp.csr_matrix(coefficients) if self._sparse else coefficients
        self.intercept_ = np.array([answer.intercept for answer in solved])
        self.n_iter_ = np.array([answer.steps for answer in solved], dtype=np.int32)
        with np.errstate(divide="ignore"):
            self.margin_ = np.array([1 / np.sqrt(max(float(one.beta @ one.f), 0.0)) for one in solved])

    def _pair_scores(self, X: Matrix) -> Vector:
        """Score of each machine for each row: (n, pairs), positive for the first class (the second when only two)."""
        X = self._validate_for_predict(X)
        K = len(self.classes_)
        if self._is_linear() and not self._stored:
            scores = X @ _transposed(self._get_coef())
            return np.asarray(scores.toarray() if sp.issparse(scores) else scores) + self.intercept_
        coefficients = self.dual_coef_.toarray() if sp.issparse(self.dual_coef_) else self.dual_coef_
        if K == 2:
            starts = np.array([0, len(self.support_)], dtype=np.int64)
            return self._sums(X, coefficients, starts)[:, 0, :] + self.intercept_
        starts = np.concatenate([[0], np.cumsum(self.n_support_)]).astype(np.int64)
        sums = self._sums(X, coefficients, starts)
        pairs = list(itertools.combinations(range(K), 2))
        scores = np.stack([sums[:, i, j - 1] + sums[:, j, i] for i, j in pairs], axis=1)
        return np.asarray(scores + self.intercept_)

    def _get_coef(self) -> Any:
        if len(self.classes_) == 2:
            return super()._get_coef()
        starts = np.concatenate([[0], np.cumsum(self.n_support_)])
        rows = []
        for i, j in itertools.combinations(range(len(self.classes_)), 2):
            first, second = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            rows.append(
                self.dual_coef_[[j - 1], first] @ self.support_vectors_[first]
                + self.dual_coef_[[i], second] @ self.support_vectors_[second]
            )
        return sp.vstack(rows, format="csr") if self._sparse else np.vstack(rows)

    def decision_function(self, X: Matrix) -> Vector:
        """Scores of the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray
            For two classes of shape (n_samples,), positive for ``classes_[1]``. Otherwise (n_samples, n_classes) for
            'ovr' or (n_samples, n_pairs) for 'ovo'.
        """
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return scores.ravel()
        if self.decision_function_shape == "ovr":
            return np.asarray(ovr_decision_function(scores < 0, -scores, len(self.classes_)))
        return scores

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Class with the most votes for each sample; the first of equals, unless `break_ties`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            msg = "break_ties must be False when decision_function_shape is 'ovo'"
            raise ValueError(msg)
        return np.asarray(self.classes_[self._winners(self._pair_scores(X))])

    def _winners(self, scores: Vector) -> NDArray[np.intp]:
        K = len(self.classes_)
        if K == 2:
            return (scores[:, 0] >= 0).astype(np.intp)
        if self.break_ties:
            return np.asarray(ovr_decision_function(scores < 0, -scores, K).argmax(axis=1))
        votes = np.zeros((len(scores), K), dtype=np.int64)
        for k, (i, j) in enumerate(itertools.combinations(range(K), 2)):
            votes[:, i] += scores[:, k] > 0
            votes[:, j] += scores[:, k] <= 0
        return np.asarray(votes.argmax(axis=1))

    @available_if(_offers_probability)
    def predict_proba(self, X: Matrix) -> Vector:
        """Probabilities of the classes; the most probable class is always the one `predict` gives.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        """
        check_is_fitted(self)
        if not hasattr(self, "_slopes"):
            msg = "predict_proba is not available when fitted with probability=False"
            raise NotFittedError(msg)
        scores = self._pair_scores(X)
        pairs = np.stack(
            [_calibration.pair_probability(z, slopes) for z, slopes in zip(scores.T, self._slopes, strict=True)], axis=1
        )
        K = len(self.classes_)
        p = np.hstack([1 - pairs, pairs]) if K == 2 else _calibration.couple(pairs, K)
        return _calibration.agree_with(self._winners(scores), p)

    @available_if(_offers_probability)
    def predict_log_proba(self, X: Matrix) -> Vector:
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        """
        return np.asarray(np.log(self.predict_proba(X)))


def _task(first: NDArray[Any], second: NDArray[Any], C: Vector, *, flip: bool) -> QuadraticProgram:
    """Machine with the first class positive, or the second where there are only two."""
    rows = np.sort(np.concatenate([first, second])).astype(np.int64)
    y = np.where(np.isin(rows, second if flip else first), 1.0, -1.0)
    bound = C[rows]
    return QuadraticProgram(rows, -y, np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0))


def _transposed(coef: Any) -> Any:
    return coef.T.tocsc() if sp.issparse(coef) else coef.T
