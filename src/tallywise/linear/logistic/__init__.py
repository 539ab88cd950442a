"""Logistic regression, binary and multinomial: one fit, a path of penalties, a cross-validated choice."""

from tallywise.linear.logistic._cv import LogisticRegressionCV
from tallywise.linear.logistic._estimator import LogisticRegression
from tallywise.linear.logistic._path import LogisticPath

__all__ = ["LogisticPath", "LogisticRegression", "LogisticRegressionCV"]
