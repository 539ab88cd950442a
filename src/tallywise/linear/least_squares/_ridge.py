"""Least squares under an L2 penalty."""

import time
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _native, _penalty
from tallywise._arrays import columns, rows
from tallywise._certificate import Certificate
from tallywise._lazy import lazy
from tallywise._sklearn import Interval, StrOptions, fit_context
from tallywise.linear.least_squares._base import (
    Array,
    Data,
    LeastSquares,
    LeastSquaresFit,
    SquaresDesign,
    centred,
    rounding,
    squares_path,
    squares_under,
    warn_unless_converged,
)
from tallywise.linear.least_squares._factors import Problem
from tallywise.linear.least_squares._ordinary import unpenalised

_SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
_DIRECT_DENSE = 5000  # smaller side up to which a dense matrix is factorised: 5000^3 / 3 flops are a second or two
_DIRECT_SPARSE = 400


class Ridge(LeastSquares):
    r"""Least squares with an L2 penalty.

    Minimises :math:`\sum_i s_i (y_i - x_i'w - b)^2 + \alpha |w|^2`: in closed form on the smaller side of X, or, for
    large sparse X, by conjugate gradients that stop at a proven relative duality gap of ``tol``.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        Strength of the penalty; 0 gives the least-squares solution of smallest norm.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    copy_X : bool, default=True
        Accepted for compatibility: X is never overwritten.
    max_iter : int, default=None
        Most steps of conjugate gradients; 1000 by default.
    tol : float, default=1e-4
        Relative duality gap to reach.
    solver : str, default="auto"
        scikit-learn's names: "svd" and "cholesky" factorise, the others are mapped to conjugate gradients for sparse X
        and to a factorisation for dense X. All have the same answer.
    positive : bool, default=False
        Whether the weights must not be negative (by coordinate descent).
    random_state
        Accepted for compatibility: no method here is random.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        Weights w.
    intercept_ : float or array of shape (n_targets,)
        Intercept b.
    certificate_ : Certificate, or a list of them
        Half the objective above, its lower bound, iterations and seconds.
    n_iter_ : array of shape (n_targets,)
        Steps of the iterative methods; 1 for a closed form.
    solver_ : str
        The solver asked for; for "auto" what was used: "cholesky", "sparse_cg" or "lbfgs" (for ``positive``).
    prior_ : Prior, or a list of them
        The penalty as a Gaussian prior, in units of the noise variance.

    Notes
    -----
    With g the gradient, the objective exceeds its minimum by at most :math:`|g|^2 / (2 \alpha)`: the duality gap.

    References
    ----------
    Hoerl, Kennard: "Ridge regression", Technometrics 12, 1970.

    Examples
    --------
    >>> from tallywise.linear import Ridge
    >>> model = Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.coef_.round(3), model.prior_.variance
    (array([0.667]), 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(set(_SOLVERS))],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }

    solver_: str
    prior_: _penalty.Prior | list[_penalty.Prior]
    n_iter_: NDArray[Any]

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Ridge":
        """Fit the weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array of shape (n_samples,), default=None
            Weights s.

        Returns
        -------
        Ridge
            The fitted estimator.
        """
        data = self._read(X, y, sample_weight, "csr")
        alphas = self._alphas(data.y.shape[1])
        penalties = [_penalty.from_ridge_strength(float(alpha)) for alpha in alphas]
        l2 = [penalty.l2 for penalty in penalties]
        method = self._choose(data)
        self.solver_ = method if self.solver == "auto" else self.solver
        fits: list[LeastSquaresFit] = []
        if method == "lbfgs":
            for k, strength in enumerate(l2):
                fits += self._non_negative(data, k, strength)
        elif method == "sparse_cg":
            fits = conjugate_gradient(data, l2, self.fit_intercept, self.tol, self.max_iter)
        else:
            fits = closed_form(data, l2, self.fit_intercept, method, self.tol)
        for k, strength in enumerate(l2):
            if strength == 0 and method != "lbfgs":
                one = data._replace(y=data.y[:, k : k + 1])
                (fits[k],) = unpenalised(Problem(one, self.fit_intercept), False, 1e-12)
        self._keep(fits, data.one_target)
        priors = [penalty.prior for penalty in penalties]
        self.prior_ = priors[0] if data.one_target else priors
        self.n_iter_ = np.array([fit.certificate.iterations for fit in fits])
        if method in ("lbfgs", "sparse_cg"):
            for fit, strength in zip(fits, l2, strict=True):
                if strength > 0:
                    warn_unless_converged(
                        fit.certificate, self.tol, "Increase max_iter or alpha, or scale the features."
                    )
        return self

    def _alphas(self, targets: int) -> Array:
        alphas = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)).ravel()
        if (alphas < 0).any() or not np.isfinite(alphas).all():
            msg = f"The 'alpha' parameter of {type(self).__name__} must be finite and 0 or more. Got {self.alpha!r}."
            raise ValueError(msg)
        if len(alphas) not in (1, targets):
            msg = f"Number of targets and number of penalties do not correspond: {len(alphas)} != {targets}"
            raise ValueError(msg)
        return np.broadcast_to(alphas, (targets,))

    def _choose(self, data: Data) -> str:
        if self.positive:
            if self.solver not in ("auto", "lbfgs"):
                msg = (
                    f"solver='{self.solver}' does not support positive fitting. Please set the solver to 'auto' or "
                    "'lbfgs', or set `positive=False`"
                )
                raise ValueError(msg)
            return "lbfgs"
        if self.solver == "lbfgs":
            msg = "'lbfgs' solver can be used only when positive=True. Please use another solver."
            raise ValueError(msg)
        if self.solver == "svd" and sp.issparse(data.X):
            if self.fit_intercept:
                msg = (
                    "solver='svd' does not support fitting the intercept on sparse data. Please set the solver to "
                    "'auto', or set `fit_intercept=False`"
                )
                raise ValueError(msg)
            msg = "solver='svd' does not support sparse X. Use 'auto'."
            raise TypeError(msg)
        if self.solver in ("svd", "cholesky"):
            return self.solver
        return method_for(data.X)

    def _non_negative(self, data: Data, k: int, l2: float) -> list[LeastSquaresFit]:
        if l2 == 0:
            one = data._replace(y=data.y[:, k : k + 1])
            return unpenalised(Problem(one, self.fit_intercept), True, self.tol)
        problem = squares_under(
            "non_negative", tol=self.tol, max_iter=self.max_iter or 15000, fit_intercept=self.fit_intercept
        )
        design = SquaresDesign.of(data, self.fit_intercept)
        return squares_path(design, data.y[:, k], data.s, problem, [[0.0, l2]])


def method_for(X: Any) -> str:
    """Which of "cholesky" and "sparse_cg" is the faster for X."""
    return "sparse_cg" if min(X.shape) > (_DIRECT_SPARSE if sp.issparse(X) else _DIRECT_DENSE) else "cholesky"


def conjugate_gradient(
    data: Data, l2: list[float], fit_intercept: bool, tol: float, max_iter: int | None
) -> list[LeastSquaresFit]:
    """Fits by conjugate gradients, one target after the other; targets without a penalty come back as zeros."""
    began = time.perf_counter()
    found = _native.ridge(
        rows(data.X, any_order=True, repeats=True),
        columns(data.X),
        np.ascontiguousarray(data.y.T),
        data.s,
        np.asarray(l2, dtype=np.float64),
        squares_under("elastic_net", tol=tol, max_iter=max_iter or 1000, fit_intercept=fit_intercept),
    )
    seconds = time.perf_counter() - began
    return [
        LeastSquaresFit(w, b, Certificate(primal, dual, iterations, seconds, rounding(data.y[:, k], data.s)))
        for k, (w, b, primal, dual, iterations, _) in enumerate(found)
    ]


def closed_form(
    data: Data, l2: list[float], fit_intercept: bool, method: str, tol: float, products: "Products | None" = None
) -> list[LeastSquaresFit]:
    """Fits by a factorisation of the smaller of X'SX + l2 I and the matrix XX' of the samples."""
    began = time.perf_counter()
    products = products or Products(data, fit_intercept)
    offsets = data.mean(data.y) if fit_intercept else np.zeros(data.y.shape[1])
    solved: dict[float, tuple[Array, Array, Array]] = {}
    fits = []
    for k, strength in enumerate(l2):
        if strength not in solved:
            solved[strength] = products.solve(strength, method, tol)
        W, primal, gap = solved[strength]
        b = float(offsets[k] - products.offset @ W[:, k])
        seconds = time.perf_counter() - began
        proof = Certificate(float(primal[k]), float(primal[k] - gap[k]), 1, seconds, rounding(data.y[:, k], data.s))
        fits.append(LeastSquaresFit(W[:, k], b, proof))
    return fits


class Products:
    """Products with X about its mean and sqrt(s) on its rows, and the factorisations of its smaller Gram matrix.

    The mean is taken off after each product, so that neither sparse nor dense X is copied; but dense columns that lie
    far from 0 are centred first, because products with them lose digits.
    """

    def __init__(self, data: Data, fit_intercept: bool) -> None:
        n, p = data.X.shape
        self.X = data.X.astype(np.float64, copy=False)
        self.offset = data.mean(self.X) if fit_intercept else np.zeros(p)
        self.y = data.y - data.mean(data.y) if fit_intercept else data.y
        self.root = None if data.s is None else np.sqrt(data.s)
        self.mean: Array | None = self.offset if fit_intercept else None
        if self.root is not None:
            self.y = self.y * self.root[:, None]
        if not sp.issparse(self.X) and fit_intercept and (n <= p or self._far()):
            self.X, self.mean = centred(data._replace(X=self.X), fit_intercept)[0], None

    def _far(self) -> bool:
        """Whether a mean is beyond four standard deviations; a thousand rows are enough to see it."""
        seen = self.X[:: max(1, len(self.X) // 1024)]
        return bool((self.offset**2 > 16 * seen.var(axis=0)).any())

    @lazy
    def gram(self) -> Array:
        """X'X or XX', whichever is smaller."""
        n, p = self.X.shape
        X = self.X
        if self.root is not None:
            X = sp.diags_array(self.root) @ X if sp.issparse(X) else X * self.root[:, None]
        product = X.T @ X if p <= n else X @ X.T
        product = product.toarray() if sp.issparse(product) else product
        if self.mean is None:
            return np.asarray(product)
        root = np.ones(n) if self.root is None else self.root
        if p <= n:
            cross = np.outer(X.T @ root, self.mean)
            shift = float(root @ root) * np.outer(self.mean, self.mean)
        else:
            cross = np.outer(X @ self.mean, root)
            shift = self.mean @ self.mean * np.outer(root, root)
        return np.asarray(product - cross - cross.T + shift)

    def forward(self, W: Array) -> Array:
        """X W, for columns W."""
        Z = self.X @ W
        if self.mean is not None:
            Z -= self.mean @ W
        return np.asarray(Z if self.root is None else self.root[:, None] * Z)

    def backward(self, V: Array) -> Array:
        """X'V, for columns V."""
        V = V if self.root is None else self.root[:, None] * V
        product = self.X.T @ V
        return np.asarray(product if self.mean is None else product - np.outer(self.mean, V.sum(axis=0)))

    def solve(self, l2: float, method: str, tol: float) -> tuple[Array, Array, Array]:
        """W for all targets, objectives and gaps; by singular values where asked, or where Cholesky's gap is wide."""
        if l2 == 0:
            return self._certified(np.zeros((self.X.shape[1], self.y.shape[1])), l2)[:3]
        if method == "cholesky":
            found = self._cholesky(l2)
            if found is not None and (found[2] <= max(1e-3 * tol, 1e-13) * np.maximum(found[1], 1e-300)).all():
                return found
        return self._certified(self._singular(l2), l2)[:3]

    def _cholesky(self, l2: float) -> tuple[Array, Array, Array] | None:
        n, p = self.X.shape
        gram = self.gram.copy()
        gram[np.diag_indices_from(gram)] += l2
        try:
            factor = la.cho_factor(gram, overwrite_a=True, check_finite=False)
        except la.LinAlgError:
            return None
        if p > n:
            return self._certified(self.backward(la.cho_solve(factor, self.y, check_finite=False)), l2)[:3]
        W = la.cho_solve(factor, self.backward(self.y), check_finite=False)
        *found, gradient = self._certified(W, l2)
        if (found[2] > 1e-14 * found[1]).any():  # one correction: the Gram matrix squares the condition number
            W = W - la.cho_solve(factor, gradient, check_finite=False)
            found = list(self._certified(W, l2)[:3])
        return found[0], found[1], found[2]

    def _singular(self, l2: float) -> Array:
        n, p = self.X.shape
        if not sp.issparse(self.X):
            U, singular, Vt = la.svd(self._dense(), full_matrices=False, check_finite=False)
            # Singular values that are rounding errors of zero get no weight, however small the penalty.
            real = singular > singular.max(initial=0.0) * max(n, p) * np.finfo(float).eps
            factors = np.where(real, singular, 0.0) / (singular**2 + l2)
            return np.asarray(Vt.T @ (factors[:, None] * (U.T @ self.y)))
        values, Q = la.eigh(self.gram)
        # Eigenvalues that are rounding errors of zero get no weight where the penalty is as small.
        least = values.max(initial=0.0) * len(values) * np.finfo(float).eps
        kept = np.maximum(values, 0.0) + l2 > least
        Q, values = Q[:, kept], np.maximum(values[kept], 0.0)[:, None]
        wide = p > n  # then w = X'a, and a is what the Gram matrix gives

        def residual(a: Array) -> Array:
            w = self.backward(a) if wide else a
            r = self.y - self.forward(w)
            return (r if wide else self.backward(r)) - l2 * a

        a = np.zeros((n if wide else p, self.y.shape[1]))
        for _ in range(3):  # two corrections: the Gram matrix squares the condition number
            a = a + Q @ ((Q.T @ residual(a)) / (values + l2))
        return self.backward(a) if wide else a

    def left_basis(self) -> tuple[Array, Array]:
        """Eigenvectors and eigenvalues of XX' that span X, for n > p."""
        if sp.issparse(self.X):
            values, V = la.eigh(self.gram)
            keep = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps
            return self.forward(V[:, keep] / np.sqrt(values[keep])), values[keep]
        U, singular, _ = la.svd(self._dense(), full_matrices=False, check_finite=False)
        return U, singular**2

    def _dense(self) -> Array:
        X = self.X if self.mean is None else self.X - self.mean
        return np.asarray(X if self.root is None else X * self.root[:, None])

    def _certified(self, W: Array, l2: float) -> tuple[Array, Array, Array, Array]:
        """W, objectives, duality gaps and gradients."""
        r = self.forward(W) - self.y
        gradient = self.backward(r) + l2 * W
        gap = 0.5 * (gradient**2).sum(axis=0) / l2 if l2 > 0 else np.zeros(W.shape[1])
        return W, 0.5 * (r**2).sum(axis=0) + 0.5 * l2 * (W**2).sum(axis=0), gap, gradient
