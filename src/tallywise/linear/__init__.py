"""Linear models with a certificate of convergence."""

from tallywise.linear.logistic import LogisticRegression
from tallywise.linear.svm import LinearSVC, LinearSVR

__all__ = [
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
]
