"""Linear models with a certificate of convergence."""

from tallywise.linear._logistic_path import LogisticPath
from tallywise.linear.least_mean_squares import LeastMeanSquares
from tallywise.linear.logistic import LogisticRegression
from tallywise.linear.logistic_cv import LogisticRegressionCV
from tallywise.linear.ordinal import OrdinalRegression
from tallywise.linear.perceptron import Perceptron
from tallywise.linear.svm import LinearSVC, LinearSVR

__all__ = [
    "LeastMeanSquares",
    "LinearSVC",
    "LinearSVR",
    "LogisticPath",
    "LogisticRegression",
    "LogisticRegressionCV",
    "OrdinalRegression",
    "Perceptron",
]
