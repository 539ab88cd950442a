"""Model selection for label sets: the models of `tallywise.selection`, one link per label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation import Calibration, Metric, calibrate, make_folds
from tallywise.evaluation.label_metrics import label_losses
from tallywise.selection import (
    COMPARED,
    PARTS,
    Combination,
    Deadline,
    HeldOutScores,
    draw_groups,
    folds_within,
    held_rows,
    parts_of,
    score_held_out,
    weighted_sum,
)
from tallywise.text_model.candidates import TextCandidate
from tallywise.text_model.forms import Form, combined
from tallywise.text_model.label_matrix import Labels
from tallywise.text_model.model_types import named
from tallywise.text_model.training_data import TrainingData

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

_WORK = 3e9  # entries read by its fits: more than for classes, since a rare label needs every held-out text there is


@dataclass
class LabelTrial:
    """One model on held-out texts, one column of probabilities per label."""

    title: str
    names: list[str]  # of the model types with weight above 0
    weights: Array
    calibrations: list[Calibration] = field(repr=False)  # one per label, chosen on all held-out texts
    probabilities: Array = field(repr=False)  # each text by weights and calibrations chosen on others
    log_loss: float
    seconds: float
    figures: dict[str, Metric] = field(default_factory=dict)


@dataclass
class LabelSelection:
    """The model first, then each of its parts alone; the held-out texts; how they were compared."""

    trials: list[LabelTrial]
    rows: Rows
    description: list[str]
    left_out: list[str]


def select_for_labels(
    data: TrainingData,
    Y: Labels,
    groups: Rows,
    names: Sequence[str],
    *,
    cv: int | None,
    deadline: Deadline,
    random_state: int,
    tell: Callable[[str], None],
) -> LabelSelection:
    """Score models on the same folds, add them up with weights common to all labels, calibrate each label."""
    splits = min(cv or 5, int(groups.max()) + 1)
    layers = strata(Y, splits)
    drawn = draw_groups(layers, groups, COMPARED, random_state)
    folds = make_folds(layers[drawn], groups=groups[drawn], n_splits=splits, random_state=random_state)
    candidates = [TextCandidate(named(name), data) for name in names]
    if cv is None:
        folds = folds_within(folds, sum(candidate.cost(drawn) for candidate in candidates), _WORK)
    scored = score_held_out(candidates, drawn, folds, Y.shape[1], deadline, tell)
    held = held_rows(folds)
    rows = drawn[held]
    judge = _LabelTrials(Y[rows], parts_of(groups[rows], PARTS), scored.seconds)
    trials = [judge.summed(scored.known)]
    if len(scored.known) > 1:
        trials += [judge.summed([pair]) for pair in scored.known]
    description = [f"compared by {folds.description}"]
    if len(drawn) < len(Y):
        description.append(f"compared on {len(drawn):,} of {len(Y):,} texts, drawn at random")
    return LabelSelection(trials, rows, [*description, *scored.description], scored.left_out)


class _LabelTrials:
    """Held-out scores to trials: the labels of the texts, and the parts that they are calibrated in."""

    def __init__(self, Y: Labels, part: Rows, seconds: dict[str, float]) -> None:
        self.Y, self.part, self.seconds = Y, part, seconds

    def summed(self, known: Sequence[tuple[object, HeldOutScores]]) -> LabelTrial:
        """The sum of models; each text by weights and sigmoids that were chosen on other texts."""
        Z, Y = np.stack([found.scores for _, found in known]), self.Y
        weights = _weights(Z, Y)
        P = np.empty(Y.shape)
        for part in range(int(self.part.max()) + 1):
            inside = self.part == part
            outside = np.flatnonzero(~inside) if not inside.all() else np.arange(len(Y))
            a = _weights(Z[:, outside], Y[outside])
            ways = _calibrations(np.tensordot(a, Z[:, outside], 1), Y[outside])
            P[inside] = _probabilities(np.tensordot(a, Z[:, inside], 1), ways)
        kept = np.flatnonzero(weights)
        parts = [candidate for k, (candidate, _) in enumerate(known) if k in kept]
        candidates = [candidate for candidate in parts if isinstance(candidate, TextCandidate)]
        return LabelTrial(
            " + ".join(candidate.title for candidate in candidates),
            [candidate.name for candidate in candidates],
            weights[kept],
            _calibrations(np.tensordot(weights, Z, 1), Y),
            P,
            float(label_losses(Y, P).mean()),
            sum(self.seconds[candidate.name] for candidate in candidates),
        )


def _weights(Z: Array, Y: Labels) -> Array:
    """Weights >= 0 of models, common to all labels: those of one sigmoid of all scores, a row per text and label."""
    return weighted_sum(Z.reshape(len(Z), -1, 1), Y.ravel().astype(np.intp)).weights


def _calibrations(z: Array, Y: Labels) -> list[Calibration]:
    return [_calibrated(z[:, k], Y[:, k]) for k in range(Y.shape[1])]


def _probabilities(z: Array, ways: list[Calibration]) -> Array:
    return np.column_stack([way.probabilities(z[:, [k]])[:, 1] for k, way in enumerate(ways)])


def _calibrated(z: Array, y: Labels) -> Calibration:
    """Platt's sigmoid; where held-out scores mislead, the share of texts that have the label, whatever the score."""
    found = calibrate(z[:, None], y.astype(int))
    if y.any() and (y.all() or z[y].mean() > z[~y].mean()):
        return found
    share = (y.sum() + 1) / (len(y) + 2)
    return Calibration(found.scale, float(np.log(share / (1 - share)) - found.scale * z.mean()))


def fit_labels(trial: LabelTrial, data: TrainingData) -> Form:
    """The model of a trial on all texts, as a form whose scores are log odds."""
    forms = [TextCandidate(named(name), data).fit() for name in trial.names]
    form = combined(forms, Combination(trial.weights, np.zeros(len(forms[0].b))))
    a, shift = np.array([(found.scale, found.shift) for found in trial.calibrations]).T
    return form.times(a).shifted(shift)


def strata(Y: Labels, splits: int) -> Rows:
    """The rarest label of each text, so that every fold gets some of each; one number for those that are too rare."""
    counts = Y.sum(axis=0)
    rarity = np.where(Y, counts, len(Y) + 1)
    found = np.where(Y.any(axis=1), rarity.argmin(axis=1), Y.shape[1])
    rare = np.flatnonzero(np.bincount(found, minlength=Y.shape[1] + 1) < splits)
    found[np.isin(found, rare)] = Y.shape[1]
    return np.asarray(found, dtype=np.intp)
