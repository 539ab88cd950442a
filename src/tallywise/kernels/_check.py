"""Is it a kernel? Mercer's test on a sample, and a feature map against its kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise._arrays import Matrix
from tallywise.kernels._named import as_kernel


@dataclass(frozen=True)
class KernelCheck:
    """Outcome of a check; true where nothing spoke against the kernel.

    Attributes
    ----------
    passed : bool
        Whether the matrix on the sample is symmetric and positive semi-definite up to rounding. A pass on a sample is
        no proof; a failure is one.
    smallest, largest : float
        Extreme eigenvalues of the (symmetrised) matrix.
    asymmetry : float
        Largest |K_ij - K_ji|.
    witness : ndarray or None
        Where it fails: v with v'Kv < 0.
    value : float
        v'Kv for that witness, 0 without one.
    error : float
        For a feature map: largest |<phi(x), phi(z)> - k(x, z)|.
    reason : str
        What failed, or "".
    """

    passed: bool
    smallest: float = 0.0
    largest: float = 0.0
    asymmetry: float = 0.0
    witness: NDArray[np.float64] | None = None
    value: float = 0.0
    error: float = 0.0
    reason: str = ""

    def __bool__(self) -> bool:
        return self.passed


def check_kernel(kernel: Any, X: Matrix, *, rtol: float = 1e-10, **parameters: Any) -> KernelCheck:
    """Mercer's test on a sample: K_ij = k(x_i, x_j) must be symmetric, with v'Kv >= 0 for all v.

    Parameters
    ----------
    kernel : str, callable or Kernel
        What is to be checked; ``'precomputed'`` takes X as the matrix.
    X : array-like of shape (n, d)
        The sample.
    rtol : float
        Eigenvalues down to -rtol times the largest count as rounding (never less than n machine epsilons).
    **parameters
        gamma, degree, coef0 of a named kernel.

    Returns
    -------
    KernelCheck
        True or false, with the eigenvalues and, on failure, a witness.

    References
    ----------
    J. Mercer (1909), Functions of positive and negative type.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernels import Gaussian, check_kernel
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> bool(check_kernel(Gaussian(gamma=0.1), X))
    True
    >>> found = check_kernel(lambda A, B: -(A @ B.T), X)
    >>> bool(found), found.value < 0
    (False, True)
    """
    K = np.asarray(as_kernel(kernel, **parameters)(X), dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        msg = f"A kernel gives a square matrix on one sample of points. Got shape {K.shape}."
        raise ValueError(msg)
    if not np.isfinite(K).all():
        return KernelCheck(False, reason="The kernel takes values that are not finite numbers.")
    asymmetry = float(np.abs(K - K.T).max())
    scale = float(np.abs(K).max())
    rounding = max(rtol, len(K) * np.finfo(np.float64).eps)
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    smallest, largest = float(values[0]), float(values[-1])
    if asymmetry > rounding * scale:
        return KernelCheck(
            False, smallest, largest, asymmetry, reason=f"k(x, z) and k(z, x) differ by up to {asymmetry:.3g}."
        )
    if smallest < -rounding * max(largest, -smallest if largest <= 0 else 0.0, 0.0) and smallest < 0:
        v = vectors[:, 0]
        return KernelCheck(
            False,
            smallest,
            largest,
            asymmetry,
            witness=v,
            value=float(v @ K @ v),
            reason=f"The matrix on this sample has the eigenvalue {smallest:.3g}.",
        )
    return KernelCheck(True, smallest, largest, asymmetry)


def check_feature_map(kernel: Any, phi: Any, X: Matrix, *, rtol: float = 1e-8, **parameters: Any) -> KernelCheck:
    """Whether <phi(x), phi(z)> = k(x, z) on a sample.

    Parameters
    ----------
    kernel : str, callable or Kernel
        The kernel.
    phi : callable
        Feature map: takes X, returns a matrix with a row for each row of X.
    X : array-like of shape (n, d)
        The sample.
    rtol : float
        Largest difference allowed, relative to the largest kernel value.
    **parameters
        gamma, degree, coef0 of a named kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from tallywise.kernels import Polynomial, check_feature_map
    >>> k = Polynomial(degree=2)
    >>> bool(check_feature_map(k, k.features, np.arange(6.0).reshape(3, 2)))
    True
    """
    K = np.asarray(as_kernel(kernel, **parameters)(X), dtype=np.float64)
    F = phi(X)
    F = F.toarray() if sp.issparse(F) else np.asarray(F, dtype=np.float64)
    if F.ndim != 2 or len(F) != len(K):
        msg = f"A feature map gives a matrix of {len(K)} rows here. Got shape {F.shape}."
        raise ValueError(msg)
    error = float(np.abs(F @ F.T - K).max(initial=0.0))
    if error > rtol * float(np.abs(K).max(initial=0.0)):
        return KernelCheck(False, error=error, reason=f"Inner products and kernel differ by up to {error:.3g}.")
    return KernelCheck(True, error=error)
