"""The private names of scikit-learn that we use, in one place, because a new release may move them.

They are looked up when first asked for, because some of their modules take long to import.
"""

import importlib
from typing import Any

HOMES = {
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


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        msg = f"module 'tallywise._sklearn' has no attribute {name!r}"
        raise AttributeError(msg)
    module, _, own = HOMES[name].rpartition(".")
    value = getattr(importlib.import_module(module), own)
    globals()[name] = value
    return value
