"""Naive Bayes: every event model, learning and forgetting exactly."""

from tallywise.naive_bayes._base import LeaveOneOut, LinearRule
from tallywise.naive_bayes._discrete import BernoulliNB, ComplementNB, MultinomialNB

__all__ = [
    "BernoulliNB",
    "ComplementNB",
    "LeaveOneOut",
    "LinearRule",
    "MultinomialNB",
]
