"""One text model from texts and labels: vectoriser, weighting, classifier, calibration, decision rule."""

from tallywise.classifier.forms import Form
from tallywise.classifier.label_report import label_report_data
from tallywise.classifier.model import TextClassifier
from tallywise.classifier.model_types import MODEL_TYPES, ModelType
from tallywise.classifier.multilabel import MultiLabelTextClassifier
from tallywise.classifier.report_data import report_data

__all__ = [
    "MODEL_TYPES",
    "Form",
    "ModelType",
    "MultiLabelTextClassifier",
    "TextClassifier",
    "label_report_data",
    "report_data",
]
