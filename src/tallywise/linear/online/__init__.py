"""Models that learn one row at a time: the perceptron and least mean squares."""

from tallywise.linear.online._least_mean_squares import LeastMeanSquares
from tallywise.linear.online._perceptron import Perceptron

__all__ = ["LeastMeanSquares", "Perceptron"]
