"""Kernels and their algebra, and what learns with them.

Support vector machines, least squares, the perceptron and finite approximations take any kernel; sums, products,
scalings and normalisations of kernels are kernels.

>>> import numpy as np
>>> from tallywise import kernels
>>> k = 2 * kernels.Linear() + kernels.Gaussian(gamma=0.5)
>>> k(np.eye(2)).round(3)
array([[3.   , 0.368],
       [0.368, 3.   ]])
"""

from tallywise.kernels._algebra import Kernel, Normalised, Product, Scaled, Sum
from tallywise.kernels._approximation import Nystroem, RandomFourierFeatures
from tallywise.kernels._check import KernelCheck, check_feature_map, check_kernel
from tallywise.kernels._least_mean_squares import KernelLeastMeanSquares
from tallywise.kernels._named import (
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
from tallywise.kernels._perceptron import KernelPerceptron
from tallywise.kernels._ridge import KernelRidge
from tallywise.kernels._spectrum import Spectrum
from tallywise.kernels._svc import SVC
from tallywise.kernels._svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "Cosine",
    "Function",
    "Gaussian",
    "Kernel",
    "KernelCheck",
    "KernelLeastMeanSquares",
    "KernelPerceptron",
    "KernelRidge",
    "Laplacian",
    "Linear",
    "MonomialSum",
    "Normalised",
    "Nystroem",
    "Polynomial",
    "Precomputed",
    "Product",
    "RandomFourierFeatures",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Sum",
    "as_kernel",
    "check_feature_map",
    "check_kernel",
]
