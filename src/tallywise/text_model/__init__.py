"""One text model from texts and labels: vectoriser, weighting, classifier, calibration, decision rule."""

from tallywise.text_model.forms import Form
from tallywise.text_model.label_report import label_report_data
from tallywise.text_model.model_types import MODEL_TYPES, ModelType
from tallywise.text_model.multilabel import MultiLabelTextClassifier
from tallywise.text_model.report_data import report_data
from tallywise.text_model.text_classifier import TextClassifier

__all__ = [
    "MODEL_TYPES",
    "Form",
    "ModelType",
    "MultiLabelTextClassifier",
    "TextClassifier",
    "label_report_data",
    "report_data",
]
