"""Kernel methods: support vector machines, least squares, the perceptron, and finite approximations."""

from tallywise.kernel._approximation import Nystroem, RandomFourierFeatures
from tallywise.kernel._least_mean_squares import KernelLeastMeanSquares
from tallywise.kernel._perceptron import KernelPerceptron
from tallywise.kernel._ridge import KernelRidge
from tallywise.kernel._svc import SVC
from tallywise.kernel._svr import SVR

__all__ = [
    "SVC",
    "SVR",
    "KernelLeastMeanSquares",
    "KernelPerceptron",
    "KernelRidge",
    "Nystroem",
    "RandomFourierFeatures",
]
