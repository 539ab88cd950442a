"""Kernels and their algebra: sums, products, scalings and normalisation of kernels are kernels.

>>> import numpy as np
>>> from tallywise import kernels
>>> k = 2 * kernels.Linear() + kernels.Gaussian(gamma=0.5)
>>> k(np.eye(2)).round(3)
array([[3.   , 0.368],
       [0.368, 3.   ]])
"""

from tallywise.kernel._algebra import Kernel, Normalised, Product, Scaled, Sum
from tallywise.kernel._check import KernelCheck, check_feature_map, check_kernel
from tallywise.kernel._named import (
    Cosine,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    MonomialSum,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    as_kernel,
)
from tallywise.kernel._spectrum import Spectrum

__all__ = [
    "Cosine",
    "Function",
    "Gaussian",
    "Kernel",
    "KernelCheck",
    "Laplacian",
    "Linear",
    "MonomialSum",
    "Normalised",
    "Polynomial",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Sum",
    "as_kernel",
    "check_feature_map",
    "check_kernel",
]
