"""One text model from texts and labels: vectoriser, weighting, classifier, calibration, decision rule."""

from tallywise.classifier.facts import facts_of
from tallywise.classifier.model import TextClassifier
from tallywise.classifier.recipes import RECIPES, Form, Recipe

__all__ = ["RECIPES", "Form", "Recipe", "TextClassifier", "facts_of"]
