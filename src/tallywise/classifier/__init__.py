"""One text model from texts and labels: vectoriser, weighting, classifier, calibration, decision rule."""

from tallywise.classifier.label_report import label_report_data
from tallywise.classifier.model import TextClassifier
from tallywise.classifier.multilabel import MultiLabelTextClassifier
from tallywise.classifier.recipes import RECIPES, Form, Recipe
from tallywise.classifier.report_data import report_data

__all__ = [
    "RECIPES",
    "Form",
    "MultiLabelTextClassifier",
    "Recipe",
    "TextClassifier",
    "label_report_data",
    "report_data",
]
