"""The kernels with names, a user's own functions, and matrices that are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise._arrays import Matrix, check_array
from tallywise.kernels._algebra import Kernel, KernelMatrix, Step, _dense, _points, _required, _within_reason


class Linear(Kernel):
    """k(x, z) = <x, z>.

    Examples
    --------
    >>> from tallywise.kernels import Linear
    >>> k = Linear()
    >>> k([[1.0, 2.0]], [[3.0, 1.0]]).round(4)
    array([[5.]])
    """

    def steps(self) -> list[Step]:
        """Native expression."""
        return [("linear", 0.0, 0.0, 0.0)]

    def features(self, X: Matrix) -> Matrix:
        """X itself."""
        return _points(X)


class _WithGamma(Kernel):
    """A kernel whose gamma may be 'scale' (1 / (features x variance)) or 'auto' (1 / features)."""

    gamma: Any

    def _set_gamma(self, gamma: float | str) -> None:
        if isinstance(gamma, str):
            if gamma not in ("scale", "auto"):
                own = type(self).__name__
                msg = f"The 'gamma' parameter of {own} must be a number, 'scale' or 'auto'. Got {gamma!r}."
                raise ValueError(msg)
            self.gamma = gamma
        else:
            self.gamma = _required(type(self).__name__, "gamma", gamma, least=0)

    def resolve(self, X: Matrix) -> Kernel:
        """Kernel with a number for gamma."""
        if not isinstance(self.gamma, str):
            return self
        clone = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__, gamma=resolve_gamma(self.gamma, X))
        return clone

    def _number(self) -> float:
        if isinstance(self.gamma, str):
            msg = f"gamma={self.gamma!r} needs data: call {type(self).__name__}.resolve(X) first."
            raise ValueError(msg)
        return float(self.gamma)


def _variance(X: Any) -> float:
    """Of all entries."""
    if sp.issparse(X):
        values = X.astype(np.float64)
        return float(values.power(2).mean() - values.mean() ** 2)
    return float(np.var(X, dtype=np.float64))


def resolve_gamma(gamma: float | str, X: Matrix) -> float:
    """Number that 'scale', 'auto' or None stand for on this data. Weights of rows do not count, as in scikit-learn."""
    if gamma is None or gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma == "scale":
        with np.errstate(over="ignore", invalid="ignore"):
            variance = _variance(X)
        if not np.isfinite(variance):
            msg = "gamma='scale' needs the variance of X, whose values are too large to have one. Scale the data."
            raise ValueError(msg)
        return float(1.0 / (X.shape[1] * variance)) if variance > 0 else 1.0
    return float(gamma)


class Polynomial(_WithGamma):
    """k(x, z) = (gamma <x, z> + coef0)^degree, with coef0 >= 0 and a whole degree for validity.

    Examples
    --------
    >>> from tallywise.kernels import Polynomial
    >>> k = Polynomial(degree=2, gamma=1.0, coef0=1.0)
    >>> k([[1.0, 2.0]], [[3.0, 1.0]]).round(4)
    array([[36.]])
    """

    degree: float
    coef0: float

    def __init__(self, degree: float = 3, gamma: float | str = 1.0, coef0: float = 1.0) -> None:
        self.degree = _required("Polynomial", "degree", degree, least=0)
        self._set_gamma(gamma)
        self.coef0 = _required("Polynomial", "coef0", coef0)

    @property
    def valid(self) -> bool:
        """Whether the expansion has no negative coefficient."""
        return self.coef0 >= 0 and float(self.degree).is_integer()

    def steps(self) -> list[Step]:
        """Native expression."""
        return [("polynomial", self._number(), self.coef0, self.degree)]

    def features(self, X: Matrix) -> KernelMatrix:
        """All monomials of total degree q in (sqrt(gamma) x, sqrt(coef0)), times roots of multinomial coefficients."""
        if not self.valid:
            return np.asarray(super().features(X))
        X = _dense(X) * math.sqrt(self._number())
        if self.coef0 > 0:
            X = np.hstack([X, np.full((len(X), 1), math.sqrt(self.coef0))])
        return _monomials(X, int(self.degree))


class MonomialSum(Kernel):
    """k(x, z) = 1 + s + s^2 + ... + s^q with s = <x, z>: all ordered monomials up to degree q.

    The feature map is 1, x_i, x_i x_j, x_i x_j x_k, ... with every order of the indices counted.

    Examples
    --------
    >>> from tallywise.kernels import MonomialSum
    >>> k = MonomialSum(2)
    >>> k([[1.0, 2.0]], [[3.0, 1.0]]).round(4)
    array([[31.]])
    """

    degree: int

    def __init__(self, degree: int = 3) -> None:
        if not isinstance(degree, Integral) or degree < 0 or degree > 1000:
            msg = f"The 'degree' parameter of MonomialSum must be a whole number in [0, 1000]. Got {degree!r}."
            raise ValueError(msg)
        self.degree = int(degree)

    def steps(self) -> list[Step]:
        """Native expression."""
        return [("monomial_sum", 1.0, 0.0, float(self.degree))]

    def features(self, X: Matrix) -> KernelMatrix:
        """Monomials of each degree, each once, times the root of its number of orders."""
        X = _dense(X)
        return np.hstack([_monomials(X, degree) for degree in range(self.degree + 1)])


class Gaussian(_WithGamma):
    """k(x, z) = exp(-gamma |x - z|^2), or exp(-|x - z|^2 / (2 sigma^2)) when sigma is given.

    Examples
    --------
    >>> from tallywise.kernels import Gaussian
    >>> k = Gaussian(gamma=0.5)
    >>> k([[1.0, 2.0]], [[1.0, 4.0]]).round(4)
    array([[0.1353]])
    """

    def __init__(self, gamma: float | str | None = None, sigma: float | None = None) -> None:
        if gamma is not None and sigma is not None:
            msg = "Gaussian takes gamma or sigma, not both: gamma = 1 / (2 sigma^2)."
            raise ValueError(msg)
        if sigma is not None:
            width = _required("Gaussian", "sigma", sigma, least=0, open_=True)
            gamma = 1.0 / (2.0 * width * width)
        self._set_gamma("scale" if gamma is None else gamma)

    def steps(self) -> list[Step]:
        """Native expression."""
        return [("gaussian", self._number(), 0.0, 0.0)]


class RationalQuadratic(_WithGamma):
    """k(x, z) = (1 + gamma |x - z|^2 / alpha)^-alpha: a mixture of Gaussians of every width, with heavier tails.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, section 4.2.

    Examples
    --------
    >>> from tallywise.kernels import RationalQuadratic
    >>> k = RationalQuadratic(gamma=0.5)
    >>> k([[1.0, 2.0]], [[1.0, 4.0]]).round(4)
    array([[0.3333]])
    """

    alpha: float

    def __init__(self, gamma: float | str = "scale", alpha: float = 1.0) -> None:
        self._set_gamma(gamma)
        self.alpha = _required("RationalQuadratic", "alpha", alpha, least=0, open_=True)

    def steps(self) -> list[Step]:
        """Native expression."""
        return [("rational_quadratic", self._number(), 0.0, self.alpha)]


class Sigmoid(_WithGamma):
    """k(x, z) = tanh(gamma <x, z> + coef0). Not a valid kernel for every gamma and coef0: see `check_kernel`.

    Examples
    --------
    >>> from tallywise.kernels import Sigmoid
    >>> k = Sigmoid(gamma=0.1)
    >>> k([[1.0, 2.0]], [[3.0, 1.0]]).round(4)
    array([[0.4621]])
    """

    valid = False

    def __init__(self, gamma: float | str = "scale", coef0: float = 0.0) -> None:
        self._set_gamma(gamma)
        self.coef0 = _required("Sigmoid", "coef0", coef0)

    def steps(self) -> list[Step]:
        """Native expression."""
        return [("sigmoid", self._number(), self.coef0, 0.0)]


class Cosine(Kernel):
    """k(x, z) = <x, z> / (|x| |z|), and 0 where a norm is 0.

    Examples
    --------
    >>> from tallywise.kernels import Cosine
    >>> k = Cosine()
    >>> k([[1.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.6]])
    """

    def steps(self) -> list[Step]:
        """Native expression."""
        return [("cosine", 0.0, 0.0, 0.0)]

    def features(self, X: Matrix) -> Matrix:
        """Rows of X at length one."""
        from sklearn.preprocessing import normalize

        return normalize(_points(X))


class Laplacian(_WithGamma):
    """k(x, z) = exp(-gamma |x - z|_1).

    Examples
    --------
    >>> from tallywise.kernels import Laplacian
    >>> k = Laplacian(gamma=0.5)
    >>> k([[1.0, 2.0]], [[1.0, 4.0]]).round(4)
    array([[0.3679]])
    """

    def __init__(self, gamma: float | str = "auto") -> None:
        self._set_gamma(gamma)

    def matrix(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """Values by Manhattan distances."""
        from sklearn.metrics.pairwise import laplacian_kernel

        return np.asarray(laplacian_kernel(_points(X), None if Y is None else _points(Y, "Y"), gamma=self._number()))


class Function(Kernel):
    """A user's own function: of two matrices of points, or, with ``pairwise``, of two points.

    Examples
    --------
    >>> from tallywise.kernels import Function
    >>> k = Function(lambda x, z: float(len(set(x) & set(z))), pairwise=True)
    >>> k(["abc"], ["cab", "xa"]).round(4)
    array([[3., 1.]])
    """

    valid = False  # unknown

    def __init__(self, function: Callable[..., Any], *, pairwise: bool = False) -> None:
        if not callable(function):
            msg = f"The 'function' parameter of Function must be callable. Got {function!r}."
            raise ValueError(msg)
        self.function = function
        self.pairwise = pairwise

    def matrix(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """Values of the function, checked for their shape."""
        Y = X if Y is None else Y
        if self.pairwise:
            values = np.array([[self.function(x, z) for z in Y] for x in X], dtype=np.float64)
        else:
            values = self.function(X, Y)
            values = values.toarray() if sp.issparse(values) else values
            values = np.asarray(values, dtype=np.float64)
        shape = (_count(X), _count(Y))
        if values.shape != shape:
            msg = f"The kernel function must return a matrix of shape {shape}. Got {values.shape}."
            raise ValueError(msg)
        return np.ascontiguousarray(values)


class Precomputed(Kernel):
    """The matrix of kernel values itself is what is passed as X.

    Examples
    --------
    >>> from tallywise import SVC
    >>> from tallywise.kernels import Precomputed
    >>> K = [[1.0, -1.0], [-1.0, 1.0]]
    >>> SVC(kernel=Precomputed()).fit(K, [0, 1]).predict(K)
    array([0, 1])
    """

    valid = False

    def steps(self) -> list[Step]:
        """Native expression."""
        return [("precomputed", 0.0, 0.0, 0.0)]

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """X, as it is."""
        return np.asarray(check_array(X, dtype=np.float64))


def _count(X: Matrix) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _monomials(X: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """Every monomial of this degree once, times the root of the number of orders of its factors."""
    n, d = X.shape
    _within_reason(n, math.comb(d + degree - 1, degree) if d or not degree else 0)
    columns = np.empty((n, math.comb(d + degree - 1, degree) if d or not degree else 0))
    for k, chosen in enumerate(itertools.combinations_with_replacement(range(d), degree)):
        repeats = np.unique(np.array(chosen, dtype=int), return_counts=True)[1]
        orders = math.factorial(degree) / math.prod(math.factorial(int(r)) for r in repeats)
        columns[:, k] = math.sqrt(orders) * np.prod(X[:, list(chosen)], axis=1)
    return columns


def as_kernel(
    kernel: Any,
    *,
    gamma: float | str | None = None,
    degree: float = 3,
    coef0: float = 1.0,
    parameters: dict[str, Any] | None = None,
    pairwise: bool = False,
) -> Kernel:
    """Kernel for what scikit-learn's estimators accept: a name, a callable, or a Kernel.

    Parameters
    ----------
    kernel : str, callable or Kernel
        'linear', 'poly' or 'polynomial', 'rbf' or 'gaussian', 'sigmoid', 'cosine', 'laplacian', 'precomputed', another
        name that `sklearn.metrics.pairwise.pairwise_kernels` knows, or a function.
    gamma, degree, coef0 : float
        Parameters of the named kernels. gamma may be 'scale', 'auto' or None (which is 1 / features).
    parameters : dict, optional
        Further arguments of a function.
    pairwise : bool
        Whether a function takes two points instead of two matrices.

    Examples
    --------
    >>> from tallywise.kernels import as_kernel
    >>> as_kernel("rbf", gamma=0.5)
    Gaussian(gamma=0.5)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        extra = parameters or {}
        return Function((lambda x, z: kernel(x, z, **extra)) if extra else kernel, pairwise=pairwise)
    gamma = "auto" if gamma is None else gamma
    makers: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "poly": lambda: Polynomial(degree=degree, gamma=gamma, coef0=coef0),
        "rbf": lambda: Gaussian(gamma=gamma),
        "sigmoid": lambda: Sigmoid(gamma=gamma, coef0=coef0),
        "cosine": Cosine,
        "laplacian": lambda: Laplacian(gamma=gamma),
        "precomputed": Precomputed,
    }
    makers |= {"polynomial": makers["poly"], "gaussian": makers["rbf"]}
    if kernel in makers:
        return makers[kernel]()
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    if kernel not in PAIRWISE_KERNEL_FUNCTIONS:
        known = sorted({*makers, *PAIRWISE_KERNEL_FUNCTIONS})
        msg = f"Unknown kernel {kernel!r}. Known: {', '.join(map(repr, known))}."
        raise ValueError(msg)
    extra = {} if gamma == "auto" or kernel == "additive_chi2" else {"gamma": gamma}
    function = PAIRWISE_KERNEL_FUNCTIONS[kernel]
    return Function((lambda x, z: function(x, z, **extra)) if extra else function)
