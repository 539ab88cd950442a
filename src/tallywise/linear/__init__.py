"""Linear models with a certificate of convergence."""

from tallywise.linear._logistic_path import LogisticPath
from tallywise.linear.least_squares import LinearRegression
from tallywise.linear.least_squares_cv import ElasticNetCV, LassoCV
from tallywise.linear.least_squares_ridge import Ridge
from tallywise.linear.least_squares_ridge_cv import RidgeCV
from tallywise.linear.least_squares_sparse import ElasticNet, Lasso
from tallywise.linear.logistic import LogisticRegression
from tallywise.linear.logistic_cv import LogisticRegressionCV
from tallywise.linear.paths import enet_path, lasso_path

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LogisticPath",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Ridge",
    "RidgeCV",
    "enet_path",
    "lasso_path",
]
