"""A fitted model of a table: a design, and either weights of its features or rows to remember."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.models.stored_rows import StoredRows, nearest_rows, nearest_scores
from tallywise.models.table_encoding import Design
from tallywise.table_model.training_columns import Problem, Rows, TableData
from tallywise.text_model.forms import Form

Array = NDArray[np.float64]
LOOSE = 1e-2  # relative gap, as for texts: what is left of it is less than the folds could tell from luck


class Neighbours:
    """The neighbours of held-out rows, found once for all numbers of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._last: tuple[Rows, Array, Rows] | None = None

    def scores(self, memory: StoredRows, design: Design, data: TableData, rows: Rows) -> Array:
        """What `memory` gives for rows; those of the last call are looked up."""
        if self._last is None or self._last[0] is not rows:
            found = nearest_rows(design.dense(data.of_rows(rows), len(rows)), memory.M, self._most)
            self._last = (rows, *found)
        _, distances, near = self._last
        k = int(memory.number)
        return nearest_scores(distances[:, :k], memory.A[near[:, :k]], memory.votes)


class Fitted(NamedTuple):
    """Scores z = x W + b of the features of a design, or of what is remembered."""

    design: Design
    form: Form
    memory: StoredRows | None = None
    neighbours: Neighbours | None = None  # a shortcut of the comparison: no part of the model

    def scores(self, data: TableData, rows: Rows) -> Array:
        """Scores of rows."""
        if self.memory is not None and self.neighbours is not None:
            return self.neighbours.scores(self.memory, self.design, data, rows) + self.form.b
        if self.memory is not None:
            return self.memory.scores(self.design.dense(data.of_rows(rows), len(rows))) + self.form.b
        z: Array = data.matrix(self.design, rows) @ self.form.W + self.form.b
        return z

    def shifted(self, offsets: Array) -> "Fitted":
        """The same with offsets added to its scores."""
        return self._replace(form=self.form.shifted(offsets))


def with_pairs(
    problem: Problem, chosen: list[tuple[str, str]], first: Form, key: tuple[Any, ...], fit: Callable[[Any], Form]
) -> Fitted:
    """Curves with pairs of columns; fitted once for all numbers of pairs that have the same ones chosen."""
    design = problem.with_pairs(problem.design("curve"), chosen)
    if not chosen:
        return Fitted(design, first)
    return Fitted(design, problem.kept((*key, *chosen), lambda: fit(problem.data.matrix(design, problem.rows))))
