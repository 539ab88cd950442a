"""The private names of scikit-learn that we use, in one place, because a new release may move them.

They are looked up when first asked for, because some of their modules take long to import.
"""

import importlib
from typing import Any

import scipy.sparse as sp

HOMES = {
    "CallbackSupportMixin": "sklearn.callback.CallbackSupportMixin",
    "HasMethods": "sklearn.utils._param_validation.HasMethods",
    "Hidden": "sklearn.utils._param_validation.Hidden",
    "Interval": "sklearn.utils._param_validation.Interval",
    "KNeighborsMixin": "sklearn.neighbors._base.KNeighborsMixin",
    "LinearClassifierMixin": "sklearn.linear_model._base.LinearClassifierMixin",
    "LinearModel": "sklearn.linear_model._base.LinearModel",
    "SparseCoefMixin": "sklearn.linear_model._base.SparseCoefMixin",
    "StrOptions": "sklearn.utils._param_validation.StrOptions",
    "align_api_if_sparse": "sklearn.utils._sparse._align_api_if_sparse",
    "check_feature_names_in": "sklearn.utils.validation._check_feature_names_in",
    "check_partial_fit_first_call": "sklearn.utils.multiclass._check_partial_fit_first_call",
    "check_sample_weight": "sklearn.utils.validation._check_sample_weight",
    "check_y": "sklearn.utils.validation._check_y",
    "fit_context": "sklearn.base._fit_context",
    "num_samples": "sklearn.utils.validation._num_samples",
    "ovr_decision_function": "sklearn.utils.multiclass._ovr_decision_function",
    "raise_for_params": "sklearn.utils.metadata_routing._raise_for_params",
    "routing_enabled": "sklearn.utils.metadata_routing._routing_enabled",
}


class _NoCallbacks:
    """For `CallbackSupportMixin`: fits without callbacks."""

    def _init_callback_context(self, **_: Any) -> Any:
        return self

    def call_on_fit_task_begin(self, **_: Any) -> None:
        """Nothing listens."""

    call_on_fit_task_end = call_on_fit_task_begin


def _as_matrix(X: Any) -> Any:
    """For `align_api_if_sparse`: SciPy's sparse matrices, which scikit-learn's own transformers return there."""
    return getattr(sp, f"{X.format}_matrix")(X) if sp.issparse(X) else X


# What scikit-learn 1.9 brought has these in its place below it.
_STAND_INS: dict[str, Any] = {"CallbackSupportMixin": _NoCallbacks, "align_api_if_sparse": _as_matrix}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        msg = f"module 'tallywise._sklearn' has no attribute {name!r}"
        raise AttributeError(msg)
    module, _, own = HOMES[name].rpartition(".")
    try:
        value = getattr(importlib.import_module(module), own)
    except ModuleNotFoundError:
        if name not in _STAND_INS:
            raise
        value = _STAND_INS[name]
    globals()[name] = value
    return value
