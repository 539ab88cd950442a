"""Linear models with a certificate of convergence."""

from tallywise.linear._logistic_path import LogisticPath
from tallywise.linear.logistic import LogisticRegression
from tallywise.linear.logistic_cv import LogisticRegressionCV
from tallywise.linear.ordinal import OrdinalRegression
from tallywise.linear.svm import LinearSVC, LinearSVR

__all__ = [
    "LinearSVC",
    "LinearSVR",
    "LogisticPath",
    "LogisticRegression",
    "LogisticRegressionCV",
    "OrdinalRegression",
]
