"""Linear models with a certificate of convergence."""

from tallywise.linear.least_squares import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    MinimaxConcaveRegression,
    Ridge,
    RidgeCV,
    enet_path,
    lasso_path,
)
from tallywise.linear.logistic import LogisticPath, LogisticRegression, LogisticRegressionCV
from tallywise.linear.online import LeastMeanSquares, Perceptron
from tallywise.linear.ordinal import OrdinalRegression
from tallywise.linear.svm import LinearSVC, LinearSVR

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LeastMeanSquares",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticPath",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MinimaxConcaveRegression",
    "OrdinalRegression",
    "Perceptron",
    "Ridge",
    "RidgeCV",
    "enet_path",
    "lasso_path",
]
