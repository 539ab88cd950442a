"""Linear models with a certificate of convergence."""

from tallywise.linear.logistic import LogisticRegression

__all__ = [
    "LogisticRegression",
]
