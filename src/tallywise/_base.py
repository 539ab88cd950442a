"""The base class of our estimators: scikit-learn's, with pickles that say which release made them."""

import warnings
from typing import Any, SupportsIndex

import sklearn.base

import tallywise

_STAMP = "_tallywise"  # of a pickle: the release that made it, and the names of what it holds


class BaseEstimator(sklearn.base.BaseEstimator):
    """scikit-learn's base class; a pickle of another release warns, one that lacks something is refused."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        make, given, state, *more = super().__reduce_ex__(protocol)  # after `__getstate__` of every class
        assert isinstance(state, dict)
        return make, given, {**state, _STAMP: (tallywise.__version__, sorted(state))}, *more

    def __setstate__(self, state: dict[str, Any]) -> None:
        name, advice = type(self).__name__, "Fit the model again, or save models that are to last as .tally files."
        release, held = state.get(_STAMP, (tallywise.__version__, ()))
        found = {key: value for key, value in state.items() if key != _STAMP}
        missing = sorted({*held, *self._get_param_names()} - {*found})
        if missing:
            msg = f"This pickle of {name} (tallywise {release}) lacks {', '.join(map(repr, missing[:5]))}. {advice}"
            raise ValueError(msg)
        if release != tallywise.__version__:
            msg = (
                f"This pickle of {name} is of tallywise {release}, and this is {tallywise.__version__}: "
                f"it may answer otherwise or not at all. {advice}"
            )
            warnings.warn(msg, UserWarning, stacklevel=2)
        super().__setstate__(found)
