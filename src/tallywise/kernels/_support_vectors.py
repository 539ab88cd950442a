"""Shared by SVC and SVR: parameters, the call of the solver, decision values, and the certificate."""

import itertools
import sys
import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from tallywise import _arrays, _native, _threads
from tallywise._arrays import Matrix, check_array, validate_data
from tallywise._base import BaseEstimator
from tallywise._certificate import Certificate
from tallywise._sklearn import Interval, StrOptions, num_samples
from tallywise.errors import NotSeparableError
from tallywise.kernels._algebra import Kernel, defined
from tallywise.kernels._check import check_kernel
from tallywise.kernels._cost import Cost, estimate
from tallywise.kernels._named import Precomputed, as_kernel

Vector = NDArray[np.float64]

_MERCER_SAMPLE = 300  # points on which a kernel of unknown validity is checked


class QuadraticProgram(NamedTuple):
    """One box problem: variables at rows of X, with linear terms and bounds (cpp/core/kernels/decomposition.hpp)."""

    row: NDArray[np.int64]
    linear: Vector
    lower: Vector
    upper: Vector


class Solved(NamedTuple):
    """Solution of a program: coefficients, f = K beta at each variable's row, intercept, bounds on the optimum.

    `held_out` has scores of the rows by machines that did not see them, if asked for.
    """

    beta: Vector
    f: Vector
    held_out: Vector
    intercept: float
    primal: float
    dual: float
    violation: float
    steps: int
    ended: int


CONVERGED, OUT_OF_STEPS, STALLED = 0, 1, 2


class SupportVectorMachine(BaseEstimator):
    """Base of SVC and SVR."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "progress": [callable, None],
    }

    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    tol: float
    C: float
    shrinking: bool
    cache_size: float
    verbose: Any
    max_iter: int
    progress: Callable[[int, float, int], None] | None

    shape_fit_: tuple[int, ...]
    certificate_: Certificate
    fit_status_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or isinstance(self.kernel, Precomputed)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _as_kernel(self) -> Kernel:
        return as_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def _prepare(self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Any, Any, Vector]:
        """Validated X (or the matrix of kernel values), y and weights; settles the kernel."""
        kernel = self._as_kernel()
        if sp.issparse(X) and isinstance(kernel, Precomputed):
            msg = "Sparse precomputed kernels are not supported."
            raise TypeError(msg)
        # A kernel that only Python can compute takes any objects, texts for instance.
        foreign = callable(self.kernel) and _is_foreign(kernel, X)
        if foreign:
            check_consistent_length(X, y)
        else:
            X, y = validate_data(
                self, X, y, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", accept_large_sparse=True
            )
        self._sparse = sp.issparse(X) and not foreign
        self.shape_fit_ = tuple(X.shape) if hasattr(X, "shape") else (num_samples(X),)
        self._foreign = foreign
        weights = self._weights(sample_weight, self.shape_fit_[0])
        if foreign:
            self._X_fit = X
            X = kernel(X)
            if not np.isfinite(X).all():
                msg = "The kernel function returned values that are not finite numbers."
                raise ValueError(msg)
            self._kernel: Kernel = kernel
        else:
            if isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
                msg = f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
                raise ValueError(msg)
            kernel = kernel.resolve(X)
            self._kernel = kernel
            self._gamma = getattr(kernel, "gamma", 0.0)
        self._stored = foreign or isinstance(kernel, Precomputed)
        return X, y, weights

    def _weights(self, sample_weight: ArrayLike | None, n: int) -> Vector:
        """Weight of each sample; zero and negative ones take a sample out, as in LIBSVM."""
        if sample_weight is None:
            return np.ones(n)
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (n,):
            msg = f"sample_weight and X have incompatible shapes: {weights.shape!r} vs {self.shape_fit_!r}"
            raise ValueError(msg)
        if not np.isfinite(weights).all():
            msg = "sample_weight must be finite."
            raise ValueError(msg)
        if not (weights > 0).any():
            msg = "Invalid input - all samples have zero or negative weights."
            raise ValueError(msg)
        return weights

    def _solve(
        self, X: Matrix, tasks: list[QuadraticProgram], starts: list[Vector] | None = None, folds: int = 0
    ) -> list[Solved]:
        kernel = Precomputed() if self._stored else self._kernel
        machines = _native.Machines()
        machines.tol = float(self.tol)
        machines.cache_bytes = int(self.cache_size * 1e6)
        machines.shrinking = bool(self.shrinking)
        machines.max_steps = int(self.max_iter)
        machines.folds = folds
        report = self._reporter()
        if report is not None:
            machines.report_to(report)
        nothing = np.zeros(0)
        for k, task in enumerate(tasks):
            machines.add(*task, starts[k] if starts else nothing)
        machines.solve(kernel.native(), _arrays.rows(X), _threads.count())
        return [
            Solved(machines.beta(k), machines.f(k), machines.held_out(k), *machines.figures(k))
            for k in range(len(tasks))
        ]

    def _solve_without_bounds(
        self, X: Matrix, tasks: list[QuadraticProgram], refusals: list[Callable[[float, float], str]], folds: int = 0
    ) -> list[Solved]:
        """Machines that allow no loss: bounds rise tenfold until they no longer bind.

        With S half the sum of the coefficients' sizes, positive and negative coefficients over S make two convex
        combinations of images, |w| / S apart. No margin (of SVC; no slack in the tube, of SVR) can exceed half of that:
        where it vanishes, there is no such machine.
        """
        solved: list[Solved | None] = [None] * len(tasks)
        sizes = [float(np.sqrt(max(np.max(self._self_products(X, task.row)), 1e-300))) for task in tasks]
        bounds = [1.0 / size**2 for size in sizes]
        starts: list[Vector] = [np.zeros(len(task.row)) for task in tasks]
        while missing := [k for k, answer in enumerate(solved) if answer is None]:
            bounded = [_bounded(tasks[k], bounds[k]) for k in missing]
            answers = self._solve(X, bounded, [starts[k] for k in missing])
            for k, answer in zip(missing, answers, strict=True):
                S = np.abs(answer.beta).sum() / 2
                apart = np.sqrt(max(float(answer.beta @ answer.f), 0.0)) / S if S > 0 else np.inf
                if (np.abs(answer.beta) < bounds[k]).all():
                    solved[k] = answer
                    continue
                if apart <= 1e-6 * sizes[k]:
                    raise NotSeparableError(refusals[k](apart, sizes[k]))
                bounds[k] *= 10
                starts[k] = answer.beta
        answers = [answer for answer in solved if answer is not None]
        if folds:
            bounded = [_bounded(task, bound) for task, bound in zip(tasks, bounds, strict=True)]
            answers = self._solve(X, bounded, [answer.beta for answer in answers], folds)
        return answers

    def _self_products(self, X: Matrix, rows: NDArray[Any]) -> Vector:
        if self._stored:
            return np.asarray(X[rows, rows], dtype=np.float64)
        points = X[rows]
        squares = points.multiply(points).sum(axis=1) if sp.issparse(points) else (points * points).sum(axis=1)
        return np.asarray(self._kernel.native().self(np.asarray(squares, dtype=np.float64).ravel()))

    def _reporter(self) -> Callable[[int, float, int], None] | None:
        if self.progress is not None or not self.verbose:
            return self.progress
        began = last = time.monotonic()

        def report(steps: int, violation: float, active: int) -> None:
            nonlocal last
            if (now := time.monotonic()) - last >= 1:
                last = now
                so_far = f"{steps:,} steps, violation {violation:.2g}, {active:,} active"
                print(f"[{type(self).__name__}] {now - began:.0f} s: {so_far}", file=sys.stderr)

        return report

    def _conclude(self, X: Matrix, solved: list[Solved], began: float) -> None:
        """Certificate, and the warnings that belong to how the solver ended."""
        primal = sum(one.primal for one in solved)
        dual = sum(one.dual for one in solved)
        if not self._kernel.valid and not self._positive_on_sample(X):
            dual = -np.inf
            msg = (
                f"The kernel {self._kernel!r} is not positive semi-definite on this data: the fit is a stationary "
                "point of a problem that may have better ones, and its certificate proves no bound."
            )
            warnings.warn(msg, UserWarning, stacklevel=3)
        steps = sum(one.steps for one in solved)
        self.certificate_ = Certificate(primal=primal, dual=dual, iterations=steps, seconds=time.perf_counter() - began)
        self.fit_status_ = int(any(one.ended == OUT_OF_STEPS for one in solved))
        if self.fit_status_:
            msg = (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
                f"StandardScaler or MinMaxScaler. The relative gap is {self.certificate_.relative_gap:.1e}."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=3)
        elif any(one.ended == STALLED for one in solved):
            msg = (
                f"The solver stopped making progress at a relative gap of {self.certificate_.relative_gap:.1e} and a "
                f"violation of {max(one.violation for one in solved):.1e} (tol={self.tol:g}): the kernel's values span "
                "too many magnitudes for double precision. Consider scaling the data."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=3)

    def _positive_on_sample(self, X: Matrix) -> bool:
        n = X.shape[0]
        chosen = np.unique(np.linspace(0, n - 1, min(n, _MERCER_SAMPLE)).astype(int))
        if self._stored:
            # LIBSVM reads one triangle or the other; only the symmetric part can matter to definiteness.
            K = X[np.ix_(chosen, chosen)]
            return bool(check_kernel("precomputed", (K + K.T) / 2, rtol=1e-6))
        return bool(check_kernel(self._kernel, X[chosen], rtol=1e-6))

    def _check_finite(self) -> None:
        coefficients = self.dual_coef_.data if sp.issparse(self.dual_coef_) else self.dual_coef_
        if not (np.isfinite(coefficients).all() and np.isfinite(self.intercept_).all()):
            msg = (
                "The dual coefficients or intercepts are not finite. The input data may contain large values and need "
                "to be preprocessed."
            )
            raise ValueError(msg)

    dual_coef_: Any
    intercept_: Vector
    support_: NDArray[np.int32]

    def _rows_of(self, X: Matrix, rows: NDArray[Any]) -> Any:
        """Support vectors; a precomputed kernel has none to show."""
        return np.empty((0, 0)) if self._stored else X[rows]

    def _validate_for_predict(self, X: Matrix) -> Matrix:
        check_is_fitted(self)
        if self._foreign:
            values = self._kernel.matrix(X, self._X_fit)
            return np.asarray(values, dtype=np.float64)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            accept_large_sparse=True,
            reset=False,
        )
        if sp.issparse(X) and not self._sparse:
            msg = f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            raise ValueError(msg)
        if self._stored and X.shape[1] != self.shape_fit_[0]:
            msg = (
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number of samples at "
                "training time"
            )
            raise ValueError(msg)
        if not self._stored and self.support_vectors_.shape[0] != self.n_support_.sum():
            msg = f"The internal representation of {type(self).__name__} was altered"
            raise ValueError(msg)
        return X

    support_vectors_: Any
    n_support_: NDArray[np.int32]

    def _sums(self, X: Matrix, coefficients: Vector, starts: NDArray[np.int64]) -> Vector:
        """Sums over each group of support vectors of coefficient times kernel: (rows of X, groups, coefficients)."""
        shape = (X.shape[0], len(starts) - 1, len(coefficients))
        if self.support_.size == 0:
            return np.zeros(shape)
        if self._stored:
            K = X[:, self.support_].astype(np.float64, copy=False)
            groups = [K[:, a:b] @ coefficients[:, a:b].T for a, b in itertools.pairwise(starts)]
            return np.stack(groups, axis=1)
        left, right = _arrays.rows(self.support_vectors_), _arrays.rows(X)
        flat = _native.kernel_sums(
            self._kernel.native(), left, right, np.ascontiguousarray(coefficients), starts, _threads.count()
        )
        return defined(np.asarray(flat)).reshape(shape)

    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def coef_(self) -> Any:
        """Weights of the features when ``kernel='linear'``."""
        if not self._is_linear():
            msg = "coef_ is only available when using a linear kernel"
            raise AttributeError(msg)
        coef = self._get_coef()
        if sp.issparse(coef):
            coef.data.flags.writeable = False
        else:
            coef.flags.writeable = False
        return coef

    def _get_coef(self) -> Any:
        return self.dual_coef_ @ self.support_vectors_

    def estimate_cost(self, X: Matrix) -> Cost:
        """Seconds and bytes that a fit on X would take, from a measurement of kernel values on a few of its rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            What `fit` would be given.

        Returns
        -------
        Cost
            ``seconds`` as a range from few support vectors to all of them, and ``memory`` in bytes, beyond X itself.
        """
        self._validate_params()
        kernel = self._as_kernel()
        if _is_foreign(kernel, X) or isinstance(kernel, Precomputed):
            n = num_samples(X)
            return Cost(seconds=(n * n * 1e-9, n * n * 1e-7), memory=8 * n * n)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
        return estimate(kernel.resolve(X), X, int(self.cache_size * 1e6))


def _bounded(task: QuadraticProgram, bound: float) -> QuadraticProgram:
    return QuadraticProgram(
        task.row, task.linear, np.where(task.lower < 0, -bound, 0.0), np.where(task.upper > 0, bound, 0.0)
    )


def _is_foreign(kernel: Kernel, X: Matrix) -> bool:
    """Whether only Python can compute this kernel."""
    if isinstance(kernel, Precomputed):
        return False
    try:
        return kernel.steps() is None
    except ValueError:  # gamma='scale': needs data, and is native
        return kernel.resolve(check_array(X, accept_sparse="csr", dtype=None)).steps() is None
