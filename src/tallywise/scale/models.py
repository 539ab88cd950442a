"""Models that can be learned from shards: naive Bayes by sums, linear ones by Newton's method over sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _penalty
from tallywise.classifier import Form, Recipe
from tallywise.classifier.recipes import named

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ShardModel:
    """A recipe as shards know it: the event model whose sums it is, or the loss that is minimised."""

    name: str  # of the recipe
    event: str = ""
    loss: str = ""

    @property
    def recipe(self) -> Recipe:
        """Title, weighting of the counts, settings worth trying."""
        return named(self.name)

    def settings(self, wanted: dict[str, Any] | None) -> list[dict[str, Any]]:
        """Those that are compared: of naive Bayes all, since they come from the same sums; of a linear model one."""
        if wanted is not None:
            return [wanted]
        return list(self.recipe.grid) if self.event else [self.recipe.grid[0]]

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


MODELS = {
    model.name: model
    for model in (
        ShardModel("multinomial_nb", event="MultinomialNB"),
        ShardModel("complement_nb", event="ComplementNB"),
        ShardModel("bernoulli_nb", event="BernoulliNB"),
        ShardModel("logistic", loss="softmax"),
        ShardModel("linear_svm", loss="squared_hinge"),
        ShardModel("ordinal", loss="ordered logit"),
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
