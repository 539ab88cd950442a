"""What the text models share on their way to the serve side: pickles and files hold the serve side's contents alone."""

import os
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from tallywise._base import BaseEstimator
from tallywise.models.text_serving import TextModel


class Served(BaseEstimator):
    """An estimator whose fit leaves a serve side in ``runtime_``."""

    _runtime: ClassVar[type[TextModel]] = TextModel
    runtime_: TextModel

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "runtime_" in state:
            state = {**state, "runtime_": state["runtime_"].contents}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "runtime_" in self.__dict__:
            self.runtime_ = self._runtime(self.__dict__["runtime_"])

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model to one safe file for `tallywise.load` and ``tally classify``; returns its size in bytes."""
        check_is_fitted(self)
        return self.runtime_.save(path)
