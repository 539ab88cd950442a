"""The report: one self-contained page about one trained model."""

from tallywise.evaluation.report.data import Mistake, ReportData, Rival
from tallywise.evaluation.report.page import render

__all__ = ["Mistake", "ReportData", "Rival", "render"]
