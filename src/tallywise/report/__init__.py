"""The report: one self-contained page about one trained model; the curves and plots that it and users draw."""

from tallywise.report.data import (
    ColumnEffect,
    LabelMistake,
    LabelReportData,
    LabelRival,
    Mistake,
    NumberReportData,
    NumberRival,
    ReportData,
    Rival,
)
from tallywise.report.page import render

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
]
