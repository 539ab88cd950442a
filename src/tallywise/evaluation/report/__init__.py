"""The report: one self-contained page about one trained model."""

from tallywise.evaluation.report.data import Mistake, ReportData, Rival
from tallywise.evaluation.report.labels import LabelMistake, LabelReportData, LabelRival, render_labels
from tallywise.evaluation.report.page import render

__all__ = [
    "LabelMistake",
    "LabelReportData",
    "LabelRival",
    "Mistake",
    "ReportData",
    "Rival",
    "render",
    "render_labels",
]
