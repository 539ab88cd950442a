"""Beyond one machine: the same models from shards of text, in pieces, on threads or on a Ray cluster."""

from tallywise.scale.scoring import Scoring, classify
from tallywise.scale.training import Progress, Training, train

__all__ = ["Progress", "Scoring", "Training", "classify", "train"]
