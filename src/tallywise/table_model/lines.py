"""The line of a table model: logistic, ordered logistic or ridge regression on slopes, levels and words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.table_model.training_columns import TableData
from tallywise.text_model.fits import FitData
from tallywise.text_model.forms import Form
from tallywise.text_model.model_types import named as text_model_type

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
TITLES = {"logistic": "logistic regression", "ordinal": "ordered logistic regression", "ridge": "ridge regression"}
# Weak to strong. Five values a factor of ten apart: held-out loss is flat between them.
PENALTIES: dict[str, tuple[str, tuple[float, ...]]] = {
    "logistic": ("C", (100.0, 10.0, 1.0, 0.1, 0.01)),
    "ordinal": ("l2", (0.0001, 0.001, 0.01, 0.1, 1.0)),
    "ridge": ("alpha", (0.01, 0.1, 1.0, 10.0, 100.0)),
}


def fit_line(kind: str, data: TableData, X: Any, rows: Rows, y: Array, penalty: float) -> Form:
    """A line of that kind on features X of rows of the table; y are numbers in units of the score, of all rows."""
    name, _ = PENALTIES[kind]
    if kind == "ridge":
        from tallywise.linear import Ridge

        model = Ridge(alpha=penalty, tol=1e-4).fit(X, y[rows])
        w = np.asarray(model.coef_, dtype=float).reshape(-1, 1)
        return Form(np.ascontiguousarray(w), np.reshape(np.asarray(model.intercept_, dtype=float), 1))
    task = FitData(X, data.target.codes[rows], data.target.classes, data.n_jobs, data.class_weight)
    return text_model_type(kind).fit(task, **{name: penalty})
