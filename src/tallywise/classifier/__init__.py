"""One text model from texts and labels: vectoriser, weighting, classifier, calibration, decision rule."""

from tallywise.classifier.model import TextClassifier
from tallywise.classifier.recipes import RECIPES, Form, Recipe
from tallywise.classifier.report_data import report_data

__all__ = ["RECIPES", "Form", "Recipe", "TextClassifier", "report_data"]
