"""Estimated cost of a fit."""

import time
from dataclasses import dataclass

import numpy as np

from tallywise._arrays import Matrix
from tallywise.kernels._algebra import Kernel


@dataclass(frozen=True)
class Cost:
    """Estimate for a fit: ``seconds`` from a favourable to an unfavourable case, ``memory`` in bytes at most."""

    seconds: tuple[float, float]
    memory: int

    def __repr__(self) -> str:
        low, high = self.seconds
        return f"Cost(seconds=({low:.2g}, {high:.2g}), memory={self.memory / 1e6:.0f} MB)"


def estimate(kernel: Kernel, X: Matrix, cache_bytes: int) -> Cost:
    """Time a block of kernel values, and extrapolate: each support vector needs its row at least once."""
    n = X.shape[0]
    few = X[np.linspace(0, n - 1, min(n, 1000)).astype(int)]
    began = time.perf_counter()
    kernel(few)
    value = max((time.perf_counter() - began) / few.shape[0] ** 2, 1e-10)
    least = 0.05 * n * n * value + 1e-7 * n
    # All points support vectors; rows made twice (round, exact gradients), half of them once more for variables that
    # come back, and again where the cache is too small for them.
    rows = 2.5 + (n * n * 4 > cache_bytes)
    packed = 8 * X.shape[1] * min(n, 100_000_000 // max(1, X.shape[1]))
    return Cost(seconds=(least, rows * n * n * value + 1e-6 * n), memory=min(4 * n * n, cache_bytes) + packed + 64 * n)
