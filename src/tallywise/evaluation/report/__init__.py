"""The report: one self-contained page about one trained model."""

from tallywise.evaluation.report.facts import Facts, Mistake, Rival
from tallywise.evaluation.report.page import render

__all__ = ["Facts", "Mistake", "Rival", "render"]
