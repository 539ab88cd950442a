"""Least squares: without a penalty, under L2 and L1 norms and their mixture, and under a concave penalty."""

from tallywise.linear.least_squares._concave import MinimaxConcaveRegression
from tallywise.linear.least_squares._ordinary import LinearRegression
from tallywise.linear.least_squares._paths import enet_path, lasso_path
from tallywise.linear.least_squares._ridge import Ridge
from tallywise.linear.least_squares._ridge_cv import RidgeCV
from tallywise.linear.least_squares._sparse import ElasticNet, Lasso
from tallywise.linear.least_squares._sparse_cv import ElasticNetCV, LassoCV

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "MinimaxConcaveRegression",
    "Ridge",
    "RidgeCV",
    "enet_path",
    "lasso_path",
]
