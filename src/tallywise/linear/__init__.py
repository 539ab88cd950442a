"""Linear models with a certificate of convergence."""

from tallywise.linear._logistic_path import LogisticPath
from tallywise.linear.logistic import LogisticRegression

__all__ = [
    "LogisticPath",
    "LogisticRegression",
]
