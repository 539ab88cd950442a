"""Names of models that users may give, and those of earlier releases."""

import warnings
from collections.abc import Sequence
from typing import Any

from tallywise.table_model.procedure import MODELS

TITLES = {
    "logistic": "logistic regression",
    "ordinal": "ordered logistic regression",
    "ridge": "ridge regression",
    "additive": "the line and trees of two splits, as tables of columns and pairs",
    "boosted": "the line and trees of 31 leaves",
}
# The nearest model of today for each name of earlier releases.
RETIRED = {
    **dict.fromkeys(("gaussian_nb", "binned_nb", "linear_svm"), "logistic"),
    **dict.fromkeys(("lasso", "elastic_net", "linear_svr", "huber"), "ridge"),
    "ordinal_curves": "ordinal",
    **dict.fromkeys(("curves", "curve_svm", "pairs", "bins", "curves_ridge", "curve_svr", "pairs_ridge"), "additive"),
    **dict.fromkeys(("joint_bayes", "nearest", "gaussian_svm", "gaussian_logistic", "bayes_numbers"), "boosted"),
    **dict.fromkeys(("nearest_mean", "gaussian_svr", "gaussian_ridge", "kernel_ridge"), "boosted"),
}


def named_models(given: Any, task: str) -> tuple[str, ...]:
    """The models to compare for a task, simplest first.

    Raises
    ------
    ValueError
        When there is no such model, or it is of another task.
    """
    models = MODELS[task]
    if given == "auto":
        return tuple(name for name in models if name not in ("logistic", "ridge"))
    known = list(dict.fromkeys(name for names in MODELS.values() for name in names))
    found: list[str] = []
    asked: Sequence[Any] = [given] if isinstance(given, str) else given
    for name in asked:
        new = RETIRED.get(name, name)
        if new not in known:
            msg = f"There is no model {name!r}. Known: 'auto', {', '.join(map(repr, known))}."
            raise ValueError(msg)
        if new != name:
            msg = f"The model {name!r} is gone: {new!r} is fitted instead. The next release will refuse the name."
            warnings.warn(msg, FutureWarning, stacklevel=5)
        if new not in models:
            msg = f"The model {name!r} does not take a target of {task}. Use 'auto', or one of {', '.join(models)}."
            raise ValueError(msg)
        found.append(new)
    return tuple(name for name in models if name in found)
