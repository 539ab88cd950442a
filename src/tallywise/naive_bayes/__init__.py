"""Naive Bayes: every event model, learning and forgetting exactly."""

from tallywise.naive_bayes._base import LeaveOneOut, LinearRule
from tallywise.naive_bayes._categorical import CategoricalNB
from tallywise.naive_bayes._discrete import BernoulliNB, ComplementNB, MultinomialNB
from tallywise.naive_bayes._gaussian import GaussianNB
from tallywise.naive_bayes._joint import JointBayes

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "JointBayes",
    "LeaveOneOut",
    "LinearRule",
    "MultinomialNB",
]
