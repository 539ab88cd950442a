"""Linear models: least squares under each penalty."""

from tallywise.linear.least_squares import LinearRegression
from tallywise.linear.least_squares_cv import ElasticNetCV, LassoCV
from tallywise.linear.least_squares_ridge import Ridge
from tallywise.linear.least_squares_ridge_cv import RidgeCV
from tallywise.linear.least_squares_sparse import ElasticNet, Lasso
from tallywise.linear.paths import enet_path, lasso_path

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "enet_path",
    "lasso_path",
]
