"""Evaluation: splits, metrics with intervals, thresholds, tests, baselines, comparison."""

from tallywise.evaluation.baselines import constant_error, cover_hart_bound, cover_hart_interval
from tallywise.evaluation.calibration import Calibration, calibrate
from tallywise.evaluation.comparison import Comparison, ModelResult, compare
from tallywise.evaluation.intervals import Metric, bootstrap, proportion, proportion_interval
from tallywise.evaluation.label_metrics import LabelThresholds, choose_label_thresholds, measure_labels
from tallywise.evaluation.metrics import measure
from tallywise.evaluation.metrics_per_class import ClassMetrics, class_metrics
from tallywise.evaluation.regression_metrics import measure_numbers
from tallywise.evaluation.significance import corrected_t_test, friedman, holm, mcnemar
from tallywise.evaluation.splits import Folds, duplicate_groups, make_folds
from tallywise.evaluation.thresholds import Threshold, choose_threshold

__all__ = [
    "Calibration",
    "ClassMetrics",
    "Comparison",
    "Folds",
    "LabelThresholds",
    "Metric",
    "ModelResult",
    "Threshold",
    "bootstrap",
    "calibrate",
    "choose_label_thresholds",
    "choose_threshold",
    "class_metrics",
    "compare",
    "constant_error",
    "corrected_t_test",
    "cover_hart_bound",
    "cover_hart_interval",
    "duplicate_groups",
    "friedman",
    "holm",
    "make_folds",
    "mcnemar",
    "measure",
    "measure_labels",
    "measure_numbers",
    "proportion",
    "proportion_interval",
]
