"""Naive Bayes: every event model, with exact incremental learning and forgetting."""

from tallywise.naive_bayes._categorical import CategoricalNB
from tallywise.naive_bayes._count_models import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB
from tallywise.naive_bayes._gaussian import GaussianNB
from tallywise.naive_bayes._joint import JointBayes
from tallywise.naive_bayes._leave_one_out import LeaveOneOutScores
from tallywise.naive_bayes._scoring import LinearRule

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "JointBayes",
    "LeaveOneOutScores",
    "LinearRule",
    "MultinomialNB",
    "PoissonNB",
]
