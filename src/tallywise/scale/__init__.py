"""Beyond one machine: the same models from shards of text, in pieces, on threads or on a Ray cluster."""

from tallywise.scale.counting import Progress
from tallywise.scale.regression import Regression, regress
from tallywise.scale.report import report_data
from tallywise.scale.scoring import Scoring, classify
from tallywise.scale.topics import Topics, find_topics
from tallywise.scale.training import Training, train

__all__ = [
    "Progress",
    "Regression",
    "Scoring",
    "Topics",
    "Training",
    "classify",
    "find_topics",
    "regress",
    "report_data",
    "train",
]
