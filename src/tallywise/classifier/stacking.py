"""Sums of models, mixtures of scores and shapes of probabilities, chosen by the log loss of held-out scores."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tallywise.classifier.combining import few_of, mixing, mixing_work, stack
from tallywise.classifier.recipes import Part, Recipe, Sum
from tallywise.classifier.trials import AS_IT_IS, Trial, finish, measure_probabilities, sharper
from tallywise.evaluation.calibration import calibrate_sigmoids

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


def mixed(trial: Trial, codes: NDArray[np.intp], rows: NDArray[np.intp]) -> Trial:
    """The trial with its scores mixed, where that lowers the log loss of rows the mixture was not chosen on for sure.

    Rows are judged by mixtures that were chosen on other rows, as in `summed`.
    """
    K = trial.scores.shape[1]
    if K == 1 or trial.thresholds.size or mixing_work(len(rows), K) > 1:
        return trial
    y = codes[rows]
    z = trial.calibration.scale * (trial.scores[rows] + trial.offsets)
    all_rows = mixing(z, y)
    P = np.empty_like(z)
    for chunk in range(_CHUNKS):
        inside = np.arange(len(rows)) % _CHUNKS == chunk
        if len(np.unique(y[~inside])) < K:
            return trial
        A, c = mixing(z[~inside], y[~inside], all_rows)
        P[inside] = softmax(z[inside] @ A + c, axis=1)
    found = replace(trial)
    measure_probabilities(found, P, y)
    if not sharper(found, trial) or found.error > trial.error:
        return trial
    found.mixing = trial.calibration.scale * all_rows[0]
    found.offsets = trial.offsets @ found.mixing + all_rows[1]
    found.calibration = AS_IT_IS
    return found


def by_sigmoids(trial: Trial, codes: NDArray[np.intp], rows: NDArray[np.intp]) -> Trial:
    """The trial with sigmoids in the place of a softmax, where that lowers the log loss of held-out rows for sure.

    Verdicts stay: a score that is higher is likelier either way. Of two numbers chosen on thousands of rows, what the
    same rows say is what others would.
    """
    if trial.scores.shape[1] == 1 or trial.thresholds.size:
        return trial
    z, y = trial.scores[rows] + trial.offsets, codes[rows]
    some = few_of(*z.shape)
    found = replace(trial, calibration=calibrate_sigmoids(z[some], y[some]))
    measure_probabilities(found, found.calibration.probabilities(z), y)
    return found if sharper(found, trial) else trial
