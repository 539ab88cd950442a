"""Probabilities to predictions: the most likely class, a threshold on one class, or the least expected cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Label = str | int | float


def refuse(cause: str) -> NoReturn:
    """Stop reading a model for that cause."""
    raise ValueError(cause)


def plain(label: Any) -> Any:
    """A label as Python and JSON have it."""
    return label.item() if isinstance(label, np.generic) else label


def no_costs() -> Array:
    """The matrix of costs of a rule that has none."""
    return np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """How probabilities decide; a model of label sets has one threshold per label instead (kind 'thresholds')."""

    kind: str = "most likely"  # or threshold, costs, thresholds
    label: Label | None = None  # of a threshold: the class that is predicted from it on
    threshold: float = 0.5
    costs: Array = field(default_factory=no_costs)  # true by predicted class

    @classmethod
    def read(cls, meta: Mapping[str, Any], costs: Array, classes: Sequence[Label]) -> "DecisionRule":
        """From what the model file says."""
        kind = meta["kind"]
        if kind not in ("most likely", "threshold", "costs", "thresholds"):
            refuse(f"there is no rule {kind!r}")
        if kind == "threshold" and meta["class"] not in classes:
            refuse("its threshold is of no class")
        if kind == "costs" and costs.shape != (len(classes), len(classes)):
            refuse("its costs do not fit its classes")
        return cls(kind, meta.get("class"), float(meta.get("threshold", 0.5)), costs)

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it, besides its costs."""
        if self.kind == "threshold":
            return {"kind": self.kind, "class": self.label, "threshold": self.threshold}
        return {"kind": self.kind}

    def decide(self, P: Array, classes: Sequence[Label]) -> NDArray[np.intp]:
        """Positions of the predictions among the classes."""
        if self.kind == "costs":
            return np.asarray((P @ self.costs).argmin(axis=1))
        if self.kind == "threshold":
            k = list(classes).index(self.label)  # type: ignore[arg-type]  # the reader has seen it among them
            rest = P.copy()
            rest[:, k] = -1.0
            return np.where(P[:, k] >= self.threshold, k, rest.argmax(axis=1))
        return np.asarray(P.argmax(axis=1))
