"""Beyond one machine: the same models from shards of text, in pieces, on threads or on a Ray cluster.

Names are loaded when used: workers that only score need neither scikit-learn nor SciPy, and start in a fraction of a
second.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallywise.scale.jobs import Progress
    from tallywise.scale.regression import Regression, regress
    from tallywise.scale.report import report_data
    from tallywise.scale.scoring import Scoring, classify
    from tallywise.scale.topics import Topics, find_topics
    from tallywise.scale.training import Training, train

__all__ = [
    "Progress",
    "Regression",
    "Scoring",
    "Topics",
    "Training",
    "classify",
    "find_topics",
    "regress",
    "report_data",
    "train",
]

_HOME_OF = {
    "Progress": "jobs",
    "Regression": "regression",
    "Scoring": "scoring",
    "Topics": "topics",
    "Training": "training",
    "classify": "scoring",
    "find_topics": "topics",
    "regress": "regression",
    "report_data": "report",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        msg = f"module 'tallywise.scale' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"tallywise.scale.{_HOME_OF[name]}"), name)
