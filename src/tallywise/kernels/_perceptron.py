"""The perceptron, with kernels."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tallywise import _arrays
from tallywise._arrays import Matrix, validate_data
from tallywise._base import BaseEstimator
from tallywise._sklearn import Interval, StrOptions, fit_context
from tallywise.kernels._algebra import Kernel, defined
from tallywise.kernels._named import Precomputed, as_kernel

Vector = NDArray[np.float64]

_MEMORY_FOR_K = 1_000_000_000


class KernelPerceptron(ClassifierMixin, BaseEstimator):
    r"""Rosenblatt's perceptron in dual form: on a mistake at (x_i, y_i), beta_i := beta_i + y_i.

    Scores are f(x) = sum_i beta_i (k(x_i, x) + 1), the 1 standing for an intercept; more than two classes by one
    against the rest. On data with margin g within radius R it makes at most (R / g)^2 mistakes (Novikoff 1962), so it
    stops; a pass without a mistake proves the data separable.

    Parameters
    ----------
    kernel : str, callable or Kernel, default='rbf'
        A function takes two matrices of points.
    gamma, degree, coef0
        Parameters of the named kernels.
    max_iter : int, default=100
        Passes over the data at most.
    average : bool, default=False
        Use the average of the coefficients over all steps (Freund & Schapire 1999): better where classes overlap.

    Attributes
    ----------
    classes_ : ndarray
        Labels.
    dual_coef_ : ndarray of shape (n_machines, n_samples)
        beta; one machine for two classes.
    mistakes_ : ndarray of shape (n_machines,)
        Mistakes made.
    separable_ : ndarray of bool
        Whether a pass without mistakes was reached: True is a proof, False is none.
    margin_, mistake_bound_ : ndarray of shape (n_machines,)
        Smallest y f(x) / |w| on the training points, and (R / margin)^2; nan where a point is on the wrong side.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernels import KernelPerceptron
    >>> X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    >>> xor = KernelPerceptron(gamma=1.0).fit(X, [0, 1, 1, 0])
    >>> xor.predict(X), bool(xor.separable_[0])
    (array([0, 1, 1, 0]), True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [str, callable],
        "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"scale", "auto"})],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "average": ["boolean"],
    }

    classes_: NDArray[Any]
    dual_coef_: NDArray[Any]
    mistakes_: NDArray[Any]
    separable_: bool | NDArray[Any]
    margin_: float | NDArray[Any]
    mistake_bound_: float | NDArray[Any]
    n_iter_: int

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1,
        max_iter: int = 100,
        average: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.average = average

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Matrix, y: ArrayLike) -> "KernelPerceptron":
        """Pass over the data until nothing is wrong.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; the matrix of kernel values for ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Labels.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        check_classification_targets(y)
        self.classes_, codes = _arrays.encode_labels(column_or_1d(y, warn=True))
        if len(self.classes_) < 2:
            msg = f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            raise ValueError(msg)
        kernel = as_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        self._kernel: Kernel = kernel.resolve(X)
        if isinstance(self._kernel, Precomputed) and X.shape[0] != X.shape[1]:
            msg = f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            raise ValueError(msg)
        rows = _Rows(self._kernel, X)
        targets = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        runs = [self._run(rows, np.where(codes == k, 1.0, -1.0)) for k in targets]
        self.dual_coef_ = np.array([beta for beta, *_ in runs])
        self.mistakes_ = np.array([mistakes for _, mistakes, *_ in runs])
        self.separable_ = np.array([clean for _, _, clean, *_ in runs])
        self.margin_ = np.array([margin for *_, margin, _ in runs])
        radius = float(rows.diagonal().max())
        self.mistake_bound_ = radius / self.margin_**2
        self.n_iter_ = max(passes for *_, passes in runs)
        self._X_fit = X
        return self

    def _run(self, rows: "_Rows", y: Vector) -> tuple[Vector, int, bool, float, int]:
        n = len(y)
        beta, weighted, f = np.zeros(n), np.zeros(n), np.zeros(n)
        mistakes, seen, clean, passes = 0, 0, False, 0
        while passes < self.max_iter and not clean:
            passes += 1
            wrong = 0
            i = 0
            while True:
                # Scores only change at a mistake: look for the next one in one sweep.
                later = np.flatnonzero(y[i:] * f[i:] <= 0)
                if not len(later):
                    break
                i += int(later[0])
                beta[i] += y[i]
                weighted[i] += y[i] * (seen + i + 1)
                f += y[i] * rows[i]
                wrong += 1
                i += 1
            seen += n
            mistakes += wrong
            clean = wrong == 0
        norm = np.sqrt(max(float(beta @ f), 0.0))
        margin = float((y * f).min() / norm) if clean and norm > 0 else np.nan
        if self.average and not clean:
            beta = beta - weighted / (seen + 1)
        return beta, mistakes, clean, margin, passes

    def decision_function(self, X: Matrix) -> Vector:
        """Scores: (n_samples,) for two classes, positive for ``classes_[1]``; else (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        used = np.flatnonzero(self.dual_coef_.any(axis=0))
        K = X[:, used] if isinstance(self._kernel, Precomputed) else self._kernel(X, self._X_fit[used])
        scores = defined(np.asarray((K + 1.0) @ self.dual_coef_[:, used].T))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Class of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best])


class _Rows:
    """Rows of K + 1: the whole matrix where it fits, otherwise made when a mistake asks for them."""

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        self.kernel, self.X = kernel, X
        whole = 8 * X.shape[0] ** 2 <= _MEMORY_FOR_K
        self.K = np.asarray(kernel(X), dtype=np.float64) + 1.0 if whole else None

    def __getitem__(self, i: int) -> Vector:
        if self.K is not None:
            return np.asarray(self.K[i])
        return np.asarray(self.kernel(self.X[i : i + 1], self.X)[0] + 1.0, dtype=np.float64)

    def diagonal(self) -> Vector:
        return np.asarray(np.diag(self.K)) if self.K is not None else self.kernel.diagonal(self.X) + 1.0
