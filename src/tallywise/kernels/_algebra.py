"""Kernels as objects: the form k(<u,v>, |u|^2, |v|^2) has a native expression, the rest compute a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise import _arrays, _native, _threads
from tallywise._arrays import Matrix, check_array

KernelMatrix = NDArray[Any]
Step = tuple[str, float, float, float]

_LARGEST_MAP = 10_000_000  # coordinates of an explicit feature map, summed over the rows asked for
_DIAGONAL_ROWS = 64


def _required(owner: str, name: str, value: Any, *, least: float = -math.inf, open_: bool = False) -> float:
    """A finite number in range, or an error."""
    number = float(value) if isinstance(value, Real) else math.nan
    good = math.isfinite(number) and (number > least if open_ else number >= least)
    if not good:
        bounds = f"{'(' if open_ else '['}{least:g}, inf)" if least > -math.inf else "(-inf, inf)"
        msg = f"The {name!r} parameter of {owner} must be a number in {bounds}. Got {value!r}."
        raise ValueError(msg)
    return number


def defined(sums: KernelMatrix) -> KernelMatrix:
    """Sums over kernel values, or an error where these overflow: infinity less infinity is no number."""
    if np.isnan(sums).any():
        msg = "Kernel values of these samples are beyond floating point. Scale the data, or the kernel."
        raise ValueError(msg)
    return sums


def _points(X: Matrix, name: str = "X") -> Any:
    checked = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name=name)
    return checked.tocsr() if sp.issparse(checked) else checked


class Kernel:
    """A symmetric function of two points; positive semi-definite where ``valid``.

    Call it on points to get the matrix of its values: ``k(X)`` or ``k(X, Y)``. Add kernels, multiply them with each
    other or with positive numbers, and take ``k.normalised``.

    Examples
    --------
    >>> from tallywise.kernels import Gaussian, Linear
    >>> k = 0.5 * Linear() + Gaussian(gamma=0.5)
    >>> k([[1.0, 2.0]], [[1.0, 4.0]]).round(4)
    array([[4.6353]])
    """

    valid: Any = True  # positive semi-definite for every choice of points, as far as is known

    def resolve(self, X: Matrix) -> Kernel:
        """Kernel with parameters that depend on the data (``gamma='scale'``) filled in."""
        return self

    def steps(self) -> list[Step] | None:
        """Native expression in postfix order, or None for a kernel that only Python can compute."""
        return None

    def native(self) -> _native.Kernel:
        """Compiled form; only where `steps` has an answer."""
        steps = self.steps()
        if steps is None:
            msg = f"{self!r} has no native form."
            raise ValueError(msg)
        return _native.Kernel.of(steps)

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """Kernel values between the rows of X and of Y (default X)."""
        kernel = self.resolve(X)
        if kernel.steps() is None:
            return kernel.matrix(X, Y)
        X = _points(X)
        Y = X if Y is None else _points(Y, "Y")
        compute: Callable[..., KernelMatrix] = _native.kernel_matrix
        if X.dtype == np.float32 and Y.dtype == np.float32:
            compute = _native.kernel_matrix_single
        left = _arrays.rows(X)
        right = left if Y is X else _arrays.rows(Y)
        return np.asarray(compute(kernel.native(), left, right, _threads.count()))

    def matrix(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """Values computed in Python: what kernels without native form provide."""
        raise NotImplementedError

    def diagonal(self, X: Matrix) -> NDArray[np.float64]:
        """k(x, x) for each row of X."""
        kernel = self.resolve(X)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        # All pairs of a few rows cost less than to check and to call for each row; a function of Python, more.
        step = 1 if kernel.steps() is None else _DIAGONAL_ROWS
        blocks = [np.diag(kernel(X[i : i + step])) for i in range(0, n, step)]
        return np.concatenate(blocks).astype(np.float64) if blocks else np.empty(0)

    def features(self, X: Matrix) -> Matrix:
        """Explicit feature map phi with <phi(x), phi(z)> = k(x, z), where a finite one is known."""
        msg = f"{self!r} has no finite feature map; see Nystroem and RandomFourierFeatures for approximate ones."
        raise ValueError(msg)

    @property
    def normalised(self) -> Kernel:
        """k(x, z) / sqrt(k(x, x) k(z, z)): every point at distance one from the origin."""
        return Normalised(self)

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, float(other)) if isinstance(other, Real) else NotImplemented

    __rmul__ = __mul__

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({given})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # Python's own way to say that there is none


class _Combined(Kernel):
    """Expression over other kernels."""

    def __init__(self, *parts: Kernel) -> None:
        self.parts = parts

    def resolve(self, X: Matrix) -> Kernel:
        """Expression with every part resolved."""
        clone = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__, parts=tuple(part.resolve(X) for part in self.parts))
        return clone

    @property
    def valid(self) -> bool:
        """Sums, products and positive scalings of kernels are kernels."""
        return all(part.valid for part in self.parts)

    def _expression(self, *own: Step) -> list[Step] | None:
        parts = [part.steps() for part in self.parts]
        if any(steps is None or steps[0][0] == "precomputed" for steps in parts):
            return None
        return [step for steps in parts if steps for step in steps] + list(own)


class Sum(_Combined):
    """k + l.

    Examples
    --------
    >>> from tallywise.kernels import Linear
    >>> k = Linear() + Linear()
    >>> k([[1.0, 2.0]], [[3.0, 1.0]]).round(4)
    array([[10.]])
    """

    def steps(self) -> list[Step] | None:
        """Native expression."""
        return self._expression(("sum", 0.0, 0.0, 0.0))

    def matrix(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """Sum of both matrices."""
        return np.asarray(self.parts[0](X, Y) + self.parts[1](X, Y))

    def features(self, X: Matrix) -> Matrix:
        """Both maps side by side."""
        maps = [part.features(X) for part in self.parts]
        return sp.hstack(maps, format="csr") if any(map(sp.issparse, maps)) else np.hstack(maps)

    def __repr__(self) -> str:
        return f"{self.parts[0]!r} + {self.parts[1]!r}"


class Product(_Combined):
    """k l, entry by entry.

    Examples
    --------
    >>> from tallywise.kernels import Linear
    >>> k = Linear() * Linear()
    >>> k([[1.0, 2.0]], [[3.0, 1.0]]).round(4)
    array([[25.]])
    """

    def steps(self) -> list[Step] | None:
        """Native expression."""
        return self._expression(("product", 0.0, 0.0, 0.0))

    def matrix(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """Product of both matrices, entry by entry."""
        return np.asarray(self.parts[0](X, Y) * self.parts[1](X, Y))

    def features(self, X: Matrix) -> KernelMatrix:
        """All products of a coordinate of one map with one of the other."""
        a, b = (_dense(part.features(X)) for part in self.parts)
        _within_reason(len(a), a.shape[1] * b.shape[1])
        return np.asarray(np.einsum("ni,nj->nij", a, b).reshape(len(a), -1))

    def __repr__(self) -> str:
        return " * ".join(f"({part!r})" if isinstance(part, Sum) else repr(part) for part in self.parts)


class Scaled(_Combined):
    """c k, c > 0.

    Examples
    --------
    >>> from tallywise.kernels import Linear
    >>> k = 3 * Linear()
    >>> k([[1.0, 2.0]], [[3.0, 1.0]]).round(4)
    array([[15.]])
    """

    scale: float

    def __init__(self, part: Kernel, scale: float) -> None:
        super().__init__(part)
        self.scale = _required("Scaled", "scale", scale, least=0, open_=True)

    def steps(self) -> list[Step] | None:
        """Native expression."""
        return self._expression(("scale", self.scale, 0.0, 0.0))

    def matrix(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """Matrix times the scale."""
        return np.asarray(self.scale * self.parts[0](X, Y))

    def features(self, X: Matrix) -> Matrix:
        """Map times the root of the scale."""
        return math.sqrt(self.scale) * self.parts[0].features(X)

    def __repr__(self) -> str:
        part = self.parts[0]
        return f"{self.scale:g} * " + (f"({part!r})" if isinstance(part, Sum) else repr(part))


class Normalised(_Combined):
    """k(x, z) / sqrt(k(x, x) k(z, z)), and 0 where a point has k(x, x) = 0.

    Examples
    --------
    >>> from tallywise.kernels import Linear
    >>> k = Linear().normalised
    >>> k([[1.0, 0.0]], [[3.0, 4.0]]).round(4)
    array([[0.6]])
    """

    def steps(self) -> list[Step] | None:
        """Native expression."""
        return self._expression(("normalised", 0.0, 0.0, 0.0))

    def matrix(self, X: Matrix, Y: Matrix | None = None) -> KernelMatrix:
        """Matrix over the roots of both diagonals."""
        part = self.parts[0]
        left = part.diagonal(X)
        right = left if Y is None else part.diagonal(Y)
        scale = np.sqrt(np.maximum(np.outer(left, right), 0))
        values = part(X, Y)
        return np.asarray(np.divide(values, scale, out=np.zeros_like(values), where=scale > 0))

    def features(self, X: Matrix) -> Matrix:
        """Map at length one."""
        from sklearn.preprocessing import normalize

        return normalize(self.parts[0].features(X))

    def __repr__(self) -> str:
        part = self.parts[0]
        return f"({part!r}).normalised" if isinstance(part, Sum | Product | Scaled) else f"{part!r}.normalised"


def _dense(X: Matrix) -> NDArray[np.float64]:
    X = _points(X)
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def _within_reason(rows: int, columns: int) -> None:
    if rows * columns > _LARGEST_MAP:
        msg = f"The feature map has {columns:,} coordinates for each of {rows:,} rows: too many to write out."
        raise ValueError(msg)
