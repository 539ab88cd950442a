"""Linear models with a certificate of convergence."""

from tallywise.linear._logistic_path import LogisticPath
from tallywise.linear.least_mean_squares import LeastMeanSquares
from tallywise.linear.least_squares import LinearRegression
from tallywise.linear.least_squares_concave import MinimaxConcaveRegression
from tallywise.linear.least_squares_cv import ElasticNetCV, LassoCV
from tallywise.linear.least_squares_ridge import Ridge
from tallywise.linear.least_squares_ridge_cv import RidgeCV
from tallywise.linear.least_squares_sparse import ElasticNet, Lasso
from tallywise.linear.logistic import LogisticRegression
from tallywise.linear.logistic_cv import LogisticRegressionCV
from tallywise.linear.ordinal import OrdinalRegression
from tallywise.linear.paths import enet_path, lasso_path
from tallywise.linear.perceptron import Perceptron
from tallywise.linear.svm import LinearSVC
from tallywise.linear.svm_regression import LinearSVR

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
