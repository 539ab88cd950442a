"""Models that can be learned from shards: naive Bayes by sums, linear ones by Newton's method over sums."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _penalty
from tallywise.text_model import Form, ModelType
from tallywise.text_model.model_types import named

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ShardModel:
    """A model type as shards know it: the event model whose sums it is, or the loss that is minimised."""

    name: str  # of the model type
    title: str
    grid: tuple[dict[str, Any], ...]
    event: str = ""
    loss: str = ""

    def model_type(self, setting: dict[str, Any]) -> ModelType:
        """The model type with a setting, over one view of the texts."""
        return dataclasses.replace(named(self.name), title=self.title, views=("words",), setting=setting)

    def settings(self, wanted: dict[str, Any] | None) -> list[dict[str, Any]]:
        """Those that are compared: of naive Bayes all, since they come from the same sums; of a linear model one."""
        if wanted is not None:
            return [wanted]
        return list(self.grid)

    def l2(self, setting: dict[str, Any]) -> float:
        """Penalty of a linear model."""
        l2 = setting["l2"] if "l2" in setting else _penalty.from_inverse_strength(setting["C"], 0.0).l2
        if not l2 > 0:
            msg = f"A fit over shards needs a penalty above 0. Got l2 = {l2}."
            raise ValueError(msg)
        return float(l2)

    def start(self, counts: Array) -> Array:
        """Offsets to begin with: thresholds at the shares of the classes, or zeros."""
        if self.loss.startswith("ordered"):
            below = np.cumsum(counts)[:-1] / counts.sum()
            return np.asarray(np.log(below) - np.log1p(-below))
        return np.zeros(1 if len(counts) == 2 else len(counts))

    def form(self, W: Array, b: Array) -> Form:
        """Scores from weights and offsets."""
        if self.loss.startswith("ordered"):
            return Form(W, np.zeros(1), b)
        return Form(W, b)


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
        ShardModel("logistic", "logistic regression, L2", ({"C": 10.0},), loss="softmax"),
        ShardModel("linear_svm", "linear SVM", ({"C": 1.0},), loss="squared_hinge"),
        ShardModel("ordinal", "ordered logistic regression", ({"l2": 0.3},), loss="ordered logit"),
    )
}
DEFAULT = ("multinomial_nb", "logistic")  # the quickest, and the most accurate of those with probabilities


def chosen(model: str | list[str] | tuple[str, ...]) -> list[ShardModel]:
    """Models by name; ``'auto'`` is multinomial naive Bayes and logistic regression."""
    names = list(DEFAULT) if model == "auto" else [model] if isinstance(model, str) else list(model)
    for name in names:
        if name not in MODELS:
            msg = f"There is no model {name!r} for shards. Known: 'auto', {', '.join(map(repr, MODELS))}."
            raise ValueError(msg)
    return [MODELS[name] for name in names]
