"""Regression on ordered levels."""

from tallywise.linear.ordinal._estimator import OrdinalRegression

__all__ = ["OrdinalRegression"]
