"""Sums of models, their weights chosen by the log loss of held-out scores."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallywise.classifier.combining import stack
from tallywise.classifier.recipes import Part, Recipe, Sum
from tallywise.classifier.trials import Trial, finish

_CHUNKS = 5


def summed(trials: Sequence[Trial], codes: NDArray[np.intp], rows: NDArray[np.intp]) -> Trial | None:
    """The sum of some trials as a trial of its own; None where the best weights leave one of them out.

    Rows are scored with weights that were chosen on other rows.
    """
    Z = np.stack([trial.scores[rows] for trial in trials])
    y = codes[rows]
    weights, shift = stack(Z, y)
    if not (weights > 0).all():
        return None
    parts = []
    for trial, weight in zip(trials, weights, strict=True):
        assert isinstance(trial.recipe, Recipe)
        parts.append(Part(trial.recipe, trial.setting, float(weight)))
    found = Trial(Sum(tuple(parts)), {}, seconds=sum(trial.seconds for trial in trials))
    found.scores = np.full_like(trials[0].scores, np.nan)
    for chunk in range(_CHUNKS):
        inside = np.arange(len(rows)) % _CHUNKS == chunk
        if inside.any() and not inside.all():
            others = stack(Z[:, ~inside], y[~inside], (weights, shift))
            found.scores[rows[inside]] = np.tensordot(others[0], Z[:, inside], 1)
    if np.isnan(found.scores[rows]).any():  # too few rows to choose on others
        return None
    finish(found, codes, rows)
    return found
