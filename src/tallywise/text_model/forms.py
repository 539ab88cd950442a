"""A fitted text model as plain numbers: weights and biases over blocks of features, or training rows that it stores."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays, _threads
from tallywise.models.text_schema import StoredTexts
from tallywise.selection import Combination
from tallywise.text_model.weighting import Weighting

Array = NDArray[np.float64]
_ROWS_ADDED = 1 << 16  # rows of weights that are added at once: 1 MB per column of scores beside the sum


class Block(NamedTuple):
    """The terms of a view as features: how their counts are weighted."""

    view: str
    weighting: Weighting


class Form(NamedTuple):
    """Scores z = x W + b: one column for two classes (or ordered ones), else one per class.

    x has the features of the `blocks`, one after the other. A model that stores rows has them in `memory`, and no W.
    """

    W: Array  # shape (p, columns)
    b: Array
    thresholds: Array = np.empty(0)
    estimator: Any = None
    memory: "Memory | None" = None
    blocks: tuple[Block, ...] = ()

    def scores(self, X: Any) -> Array:
        """Scores of the rows of X."""
        z: Array = (X @ self.W if self.memory is None else self.memory.scores(X)) + self.b
        return z

    def most_likely(self, z: Array) -> NDArray[np.intp]:
        """Codes of the classes with the highest scores, or that ordered scores fall in."""
        if self.thresholds.size:
            return np.asarray((z > self.thresholds[None, :]).sum(axis=1))
        return (z[:, 0] > 0).astype(np.intp) if z.shape[1] == 1 else np.asarray(z.argmax(axis=1))

    def shifted(self, offsets: Array) -> "Form":
        """The form with offsets added to its scores."""
        return self._replace(b=self.b + offsets)

    def times(self, matrix: Array) -> "Form":
        """The form with its scores multiplied by a matrix (or by a number)."""
        memory = self.memory
        if memory is not None:
            memory = memory._replace(arrays=memory.arrays | {"memory_A": np.dot(memory.arrays["memory_A"], matrix)})
        return self._replace(W=np.dot(self.W, matrix), b=np.dot(self.b, matrix), memory=memory)

    def spread(self, present: NDArray[Any], K: int) -> "Form":
        """Form of K classes from one of those present: an absent class scores what the others do on average."""
        share = np.full((len(present), K), 1 / len(present))
        share[:, present] = np.eye(len(present))
        if self.W.shape[1] == 1:
            share = np.diff(share, axis=0) / 2
        return self._replace(W=self.W @ share, b=self.b @ share)


def combined(forms: Sequence[Form], combination: Combination) -> Form:
    """The weighted sum of forms with its scores mixed and its offsets added: one form."""
    if len(forms) > 1:
        form = added(forms, combination.weights.tolist())
    else:
        weight = float(combination.weights[0])
        form = forms[0] if weight == 1 else forms[0].times(weight)  # type: ignore[arg-type]
    return (form if combination.mixing is None else form.times(combination.mixing)).shifted(combination.offsets)


def added(forms: Sequence[Form], weights: Sequence[float]) -> Form:
    """The weighted sum of linear forms: one form over the blocks of all of them, each block once."""
    places: dict[int, tuple[Block, int]] = {}  # of each block the first row
    rows = 0
    for form in forms:
        for block in form.blocks:
            if id(block.weighting) not in places:
                places[id(block.weighting)] = (block, rows)
                rows += len(block.weighting.scale)
    W = np.zeros((rows, forms[0].W.shape[1]))  # filled in place: of many terms and classes, the largest array there is
    for form, weight in zip(forms, weights, strict=True):
        begin = 0
        for block in form.blocks:
            size, place = len(block.weighting.scale), places[id(block.weighting)][1]
            for first in range(0, size, _ROWS_ADDED):
                last = min(first + _ROWS_ADDED, size)
                W[place + first : place + last] += weight * form.W[begin + first : begin + last]
            begin += size
    b = np.sum([weight * form.b for form, weight in zip(forms, weights, strict=True)], axis=0)
    blocks = tuple(block for block, _ in places.values())
    return Form(W, b, estimator=[form.estimator for form in forms], blocks=blocks)


class Memory(NamedTuple):
    """Training rows that a model stores, as `cpp/core/serve/row_memory.hpp` takes them."""

    kind: str  # nearest, or gaussian
    number: float  # k, or gamma
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, kind: str, number: float, X: Any, A: Array) -> "Memory":
        """Of the rows of X that say anything: those with an entry in A, one row of it per row of X."""
        used = np.flatnonzero(np.abs(A).max(axis=1, initial=0.0))
        columns = X[used].tocsc()
        columns.sort_indices()
        arrays = {
            "memory_starts": columns.indptr.astype(np.int64),
            "memory_rows": columns.indices.astype(np.int32),
            "memory_values": columns.data.astype(np.float64),
            "memory_A": np.ascontiguousarray(A[used], dtype=np.float64),
        }
        return cls(kind, number, arrays)

    @property
    def meta(self) -> dict[str, Any]:
        """What the model file says of it."""
        return {"kind": self.kind, "number": self.number}

    def scores(self, X: Any) -> Array:
        """Scores of the rows of X, without biases."""
        stored = StoredTexts.read(self.meta, self.arrays).native()
        return stored.scores(_arrays.rows(X.astype(np.float64)), _threads.count())
