"""The report: one self-contained page about one trained model."""

from tallywise.evaluation.report.columns import ColumnEffect
from tallywise.evaluation.report.data import Mistake, ReportData, Rival
from tallywise.evaluation.report.labels import LabelMistake, LabelReportData, LabelRival, render_labels
from tallywise.evaluation.report.numbers import NumberReportData, NumberRival, render_numbers
from tallywise.evaluation.report.page import render

__all__ = [
    "ColumnEffect",
    "LabelMistake",
    "LabelReportData",
    "LabelRival",
    "Mistake",
    "NumberReportData",
    "NumberRival",
    "ReportData",
    "Rival",
    "render",
    "render_labels",
    "render_numbers",
]
