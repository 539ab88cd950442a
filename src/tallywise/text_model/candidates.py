"""Model types on texts that were counted: the candidates of `tallywise.selection`."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tallywise.evaluation import Folds
from tallywise.selection import HeldOutScores, Trial, fold_numbers, held_rows
from tallywise.text_model.fits import HeldOutProblem
from tallywise.text_model.forms import Form, combined
from tallywise.text_model.model_types import ModelType, named
from tallywise.text_model.training_data import TrainingData

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_SCORES = 6  # arrays of held-out scores at once: two models, their sum, probabilities by two links, a temporary one
_SOLVER = 2  # arrays of all rows while they are made: scores, and dual variables of half the size for each fold
_WEIGHTS = 2  # matrices of weights at once: the solver's, and as they come out of it
_ROUNDED = 3  # bytes per weight of all columns: rounded ones, twice while they are written, and a stretch that is not


class TextCandidate:
    """A model type, and the texts that it may learn from."""

    def __init__(self, model_type: ModelType, data: TrainingData) -> None:
        self.model_type, self.data = model_type, data

    @property
    def name(self) -> str:
        """Name of the model type."""
        return self.model_type.name

    @property
    def title(self) -> str:
        """Name and setting, human-readable."""
        return self.model_type.describe()

    @property
    def rank(self) -> int:
        """How much the model can learn."""
        return self.model_type.rank

    @property
    def adds(self) -> bool:
        """Whether its scores can be part of a weighted sum."""
        return self.model_type.adds

    def cost(self, rows: Rows) -> float:
        """Entries of features that one fit on these rows reads, about."""
        columns = 1 if self.model_type.one_score else self.data.columns
        return self.model_type.effort * columns * self.data.part(rows).entries(self.model_type)

    def memory(self, held: int) -> float:
        """Bytes that held-out scores of so many rows take, and the model on all rows, about."""
        columns = 1 if self.model_type.one_score else self.data.columns
        rows = _SCORES * held + _SOLVER * len(self.data.codes)
        weights = _WEIGHTS * self.data.merged_width(self.model_type)
        return columns * (8.0 * (rows + weights) + _ROUNDED * self.data.width(self.model_type))

    def held_out(self, rows: Rows, folds: Folds) -> HeldOutScores:
        """Scores of held-out rows by fits on the training rows of each fold; folds count places in `rows`."""
        data, model_type = self.data.part(rows), self.model_type
        problem, blocks = data.problem(model_type), data.unit_blocks(model_type)
        if model_type.held_out is not None and (problem.sets is not None or data.has_all_classes(folds)):
            task = HeldOutProblem(problem, fold_numbers(folds, len(data.codes)), blocks)
            return HeldOutScores(model_type.scores_held_out(task))
        scores: Array = np.empty((0, 0))
        held, cuts = held_rows(folds), np.empty(0)
        for train, test in folds:
            form = model_type.fit(problem._replace(X=problem.X[train], codes=problem.codes[train]))
            z = form.scores(_as_new(problem.X, train, test, blocks))
            # Thresholds differ from fold to fold: scores are moved so that the first threshold is always at zero.
            cuts = form.thresholds - form.thresholds[:1] if form.thresholds.size else form.thresholds
            if not scores.size:
                scores = np.empty((len(held), z.shape[1]))
            scores[np.searchsorted(held, test)] = z - (form.thresholds[:1] if form.thresholds.size else 0.0)
        return HeldOutScores(scores, cuts)

    def fit(self, rows: Rows | None = None) -> Form:
        """Fit on some rows of the texts, all by default."""
        data, problem = self.data, self.data.problem(self.model_type)
        if rows is not None:
            problem = problem._replace(X=problem.X[rows], codes=problem.codes[rows])
        form = data.unmerge(self.model_type.fit(problem), self.model_type)
        return form._replace(blocks=data.blocks(self.model_type))


def fit_trial(trial: Trial, data: TrainingData, rows: Rows | None = None, *, last: bool = False) -> Form:
    """Fit the models of a trial on all rows of the data or some of them, and combine them as the trial does.

    With `last`, nothing is fitted after it: features go as they were used.
    """
    forms, model_types = [], [named(name) for name in trial.names]
    for k, model_type in enumerate(model_types):
        forms.append(TextCandidate(model_type, data).fit(rows))
        if data.many:  # memory is short, and the next one makes features of its own
            data.forget_features()
        elif last:
            data.forget_features_of(model_type, model_types[k + 1 :])
    return combined(forms, trial.combination)


def _as_new(X: Any, train: Rows, test: Rows, blocks: NDArray[np.int64]) -> Any:
    """Rows as a model of other rows sees them: without the columns these lack, each block of length 1 again.

    The native SVMs do the same; see `cpp/core/linear/svm/held_out.hpp`.
    """
    rows = X[test]
    if len(blocks) == 0:
        return rows
    known = np.zeros(X.shape[1], dtype=bool)
    known[X[train].indices] = True
    values = np.where(known[rows.indices], rows.data, 0.0)
    block = np.searchsorted(blocks, rows.indices, side="right") - 1
    place = np.repeat(np.arange(len(test)) * len(blocks), np.diff(rows.indptr)) + block
    lengths = np.sqrt(np.bincount(place, np.square(values), minlength=len(test) * len(blocks)))
    values /= np.where(lengths > 0, lengths, 1.0)[place]
    return sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)
