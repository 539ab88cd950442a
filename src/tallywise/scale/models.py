"""Models that are learned from sums over shards: naive Bayes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.text_model import ModelType
from tallywise.text_model.model_types import named

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ShardModel:
    """A model type as shards know it: the event model whose sums it is."""

    name: str  # of the model type
    title: str
    grid: tuple[dict[str, Any], ...]
    event: str

    def model_type(self, setting: dict[str, Any]) -> ModelType:
        """The model type with a setting, over one view of the texts."""
        return dataclasses.replace(named(self.name), title=self.title, views=("words",), setting=setting)

    def settings(self, wanted: dict[str, Any] | None) -> list[dict[str, Any]]:
        """Those that are compared: all, since they come from the same sums."""
        return list(self.grid) if wanted is None else [wanted]


@dataclass(frozen=True)
class ClassOptions:
    """What classes count for, as for `TextClassifier`."""

    class_weight: Any = None
    costs: Any = None
    max_flagged: Any = None

    def weights(self, classes: list[str], counts: Array) -> tuple[float, ...]:
        """The weight of a row of each class; none where all are 1."""
        given = self.class_weight
        if given is None:
            return ()
        if isinstance(given, str) and given == "balanced":
            return tuple((counts.sum() / (len(counts) * counts)).tolist())
        if not isinstance(given, dict) or not all(0 < weight < np.inf for weight in given.values()):
            msg = f"class_weight must be None, 'balanced' or a positive number for each class named. Got {given!r}."
            raise ValueError(msg)
        for label in given:
            if label not in classes:
                msg = f"class_weight names {label!r}, which is not a class: {classes}."
                raise ValueError(msg)
        return tuple(float(given.get(label, 1.0)) for label in classes)


_ALPHAS = ({"alpha": 0.1}, {"alpha": 0.01}, {"alpha": 1.0})

MODELS = {
    model.name: model
    for model in (
        ShardModel("multinomial_nb", "multinomial naive Bayes", _ALPHAS, event="MultinomialNB"),
        ShardModel("complement_nb", "complement naive Bayes", _ALPHAS, event="ComplementNB"),
        ShardModel("bernoulli_nb", "Bernoulli naive Bayes", _ALPHAS, event="BernoulliNB"),
    )
}


def from_sums(model: str | list[str] | tuple[str, ...]) -> list[ShardModel] | None:
    """The models by name, where all of them are learned from sums; else None."""
    names = [model] if isinstance(model, str) else list(model)
    return [MODELS[name] for name in names] if names and all(name in MODELS for name in names) else None
