"""A fitted text model as plain numbers: weights and biases over blocks of features, or training rows that it stores."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays, _threads
from tallywise.models.text_schema import StoredTexts
from tallywise.selection import Combination
from tallywise.text_model.merging import Merging
from tallywise.text_model.weighting import Weighting

Array = NDArray[np.float64]
ROWS_AT_ONCE = 1 << 16  # rows of weights that are made at once: half a megabyte per column of scores


class Block(NamedTuple):
    """The terms of a view as features: how their counts are weighted."""

    view: str
    weighting: Weighting


class Part(NamedTuple):
    """What one model gives to the weights of a block: of its columns, or of the sets that they were merged into."""

    weight: float
    merging: Merging | None
    V: Array


class SharedWeights:
    """Weights of all columns as sums of those of merged columns: a stretch of rows is made when it is asked for.

    Whole, they are the largest array of a fit: five million terms by twenty classes, 843 MB each, of 20 Newsgroups.

    Parameters
    ----------
    blocks : list of list of Part
        Of each block of columns what is added up there.
    sizes : list of int
        Columns of each block.
    factors : list of array
        What the sum is multiplied by, in this order: a matrix on the right, or a number (or one per column of scores).
    """

    dtype = np.dtype(np.float64)

    def __init__(self, blocks: Sequence[Sequence[Part]], sizes: Sequence[int], factors: Sequence[Any] = ()) -> None:
        self.blocks, self.sizes, self.factors = list(blocks), list(sizes), list(factors)
        self.shape = sum(sizes), self.blocks[0][0].V.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def times(self, factor: Any) -> "SharedWeights":
        """These weights multiplied by a matrix, a number, or a number per column of scores."""
        return SharedWeights(self.blocks, self.sizes, [*self.factors, factor])

    def __getitem__(self, rows: slice) -> Array:
        begin, end, _ = rows.indices(self.shape[0])
        out, start = np.zeros((max(end - begin, 0), self.shape[1])), 0
        for parts, size in zip(self.blocks, self.sizes, strict=True):
            first, last = max(begin - start, 0), min(end - start, size)
            for part in parts if first < last else ():
                place = out[start + first - begin : start + last - begin]
                if part.merging is None:
                    place += part.weight * part.V[first:last]
                else:
                    shared = np.empty_like(place)
                    part.merging.unmerge(part.V, shared, slice(first, last))
                    shared *= part.weight
                    place += shared
            start += size
        for factor in self.factors:
            out = multiplied(out, factor)
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        whole = np.empty(self.shape)
        for begin in range(0, len(whole), ROWS_AT_ONCE):
            whole[begin : begin + ROWS_AT_ONCE] = self[begin : begin + ROWS_AT_ONCE]
        return whole if dtype is None else whole.astype(dtype, copy=False)


def multiplied(values: Array, factor: Any) -> Array:
    """Rows of scores or weights times a matrix on the right, a number, or a number per column."""
    return np.asarray(np.dot(values, factor) if np.ndim(factor) == 2 else values * factor)


class Form(NamedTuple):
    """Scores z = x W + b: one column for two classes (or ordered ones), else one per class.

    x has the features of the `blocks`, one after the other. A model that stores rows has them in `memory`, and no W.
    """

    W: Any  # array of shape (p, columns), or SharedWeights
    b: Array
    thresholds: Array = np.empty(0)
    estimator: Any = None
    memory: "Memory | None" = None
    blocks: tuple[Block, ...] = ()

    def scores(self, X: Any) -> Array:
        """Scores of the rows of X."""
        z: Array = (X @ np.asarray(self.W) if self.memory is None else self.memory.scores(X)) + self.b
        return z

    def most_likely(self, z: Array) -> NDArray[np.intp]:
        """Codes of the classes with the highest scores, or that ordered scores fall in."""
        if self.thresholds.size:
            return np.asarray((z > self.thresholds[None, :]).sum(axis=1))
        return (z[:, 0] > 0).astype(np.intp) if z.shape[1] == 1 else np.asarray(z.argmax(axis=1))

    def shifted(self, offsets: Array) -> "Form":
        """The form with offsets added to its scores."""
        return self._replace(b=self.b + offsets)

    def times(self, factor: Any) -> "Form":
        """The form with its scores multiplied by a matrix, by a number, or by a number per column."""
        memory = self.memory
        if memory is not None:
            memory = memory._replace(arrays=memory.arrays | {"memory_A": multiplied(memory.arrays["memory_A"], factor)})
        W = self.W.times(factor) if isinstance(self.W, SharedWeights) else multiplied(self.W, factor)
        return self._replace(W=W, b=multiplied(self.b, factor), memory=memory)

    def spread(self, present: NDArray[Any], K: int) -> "Form":
        """Form of K classes from one of those present: an absent class scores what the others do on average."""
        if self.W.shape[1] == 1:
            share = np.full((2, K), 0.5)
            share[:, present] = np.eye(2)
            share = np.diff(share, axis=0) / 2
            return self._replace(W=self.W @ share, b=self.b @ share)

        def placed(values: Array) -> Array:  # as a product, 9 s of 10,000 classes in one call that no alarm interrupts
            out = np.empty((*values.shape[:-1], K))
            out[...] = values.mean(axis=-1, keepdims=True)
            out[..., present] = values
            return out

        return self._replace(W=placed(self.W), b=placed(self.b))


def combined(forms: Sequence[Form], combination: Combination) -> Form:
    """The weighted sum of forms with its scores mixed and its offsets added: one form."""
    if len(forms) > 1:
        form = added(forms, combination.weights.tolist())
    else:
        weight = float(combination.weights[0])
        form = forms[0] if weight == 1 else forms[0].times(weight)
    return (form if combination.mixing is None else form.times(combination.mixing)).shifted(combination.offsets)


def added(forms: Sequence[Form], weights: Sequence[float]) -> Form:
    """The weighted sum of linear forms: one form over the blocks of all of them, each block once."""
    found: dict[int, tuple[Block, list[Part]]] = {}
    for form, weight in zip(forms, weights, strict=True):
        begin = 0
        for k, block in enumerate(form.blocks):
            size = len(block.weighting.scale)
            parts = found.setdefault(id(block.weighting), (block, []))[1]
            if isinstance(form.W, SharedWeights):
                parts += [part._replace(weight=weight) for part in form.W.blocks[k]]
            else:
                parts.append(Part(weight, None, form.W[begin : begin + size]))
            begin += size
    blocks = tuple(block for block, _ in found.values())
    W = SharedWeights([parts for _, parts in found.values()], [len(block.weighting.scale) for block in blocks])
    b = np.sum([weight * form.b for form, weight in zip(forms, weights, strict=True)], axis=0)
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
