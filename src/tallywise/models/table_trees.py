"""Trees over columns in bins, as a part of a table model. Needs NumPy and the native core."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _native, _threads
from tallywise._lazy import lazy
from tallywise.models.table_encoding import CategoryCode, Design

Array = NDArray[np.float64]
NODE_ARRAYS = {
    "feature": np.int32,
    "cut": np.int32,
    "left": np.int32,
    "missing": np.int32,
    "roots": np.int32,
    "value": np.float64,
    "sets": np.uint8,
}


def bins_of(design: Design, values: Mapping[str, Any], rows: int) -> NDArray[np.uint8]:
    """The bin of each row in each column of a design of bins and levels, (columns, rows)."""
    found = np.zeros((len(design.parts), rows), dtype=np.uint8)
    for j, (names, code) in enumerate(design.parts):
        found[j] = code.slots(*(values[name] for name in names)).columns[:, 0]
    return found


def sizes_of(design: Design) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Bins of each column of such a design, the last one that of absent values; and which columns are ordered."""
    codes = [part.code for part in design.parts]
    sizes = np.array([code.width for code in codes], dtype=np.int32)
    return sizes, np.array([not isinstance(code, CategoryCode) for code in codes], dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Trees:
    """A sum of trees; tree t adds to score t modulo `outputs`.

    `nodes` holds the arrays of `NODE_ARRAYS`: see `cpp/core/trees/forest.hpp`.
    """

    design: Design
    nodes: Mapping[str, NDArray[Any]]
    outputs: int

    @lazy
    def _native(self) -> "_native.Forest":
        nodes = {**self.nodes, "sets": np.ascontiguousarray(self.nodes["sets"]).view(np.uint64)}
        return _native.Forest(nodes, *sizes_of(self.design), self.outputs)

    @property
    def base(self) -> Array:
        """What the roots add: the score before any column has been asked for."""
        roots = np.asarray(self.nodes["roots"])
        values: Array = np.asarray(self.nodes["value"], dtype=np.float64)[roots]
        return np.asarray(np.bincount(np.arange(len(roots)) % self.outputs, values, self.outputs), dtype=np.float64)

    @property
    def columns(self) -> list[str]:
        """The column that each of its features is of."""
        return [part.columns[0] for part in self.design.parts]

    def scores(self, values: Mapping[str, Any], rows: int) -> Array:
        """Scores of rows."""
        return np.asarray(self._native.score(bins_of(self.design, values, rows), _threads.count()))

    def paths(self, values: Mapping[str, Any], rows: int) -> Array:
        """What each feature changes on the paths of rows, (rows, features, outputs); with `base`, these add up."""
        return np.asarray(self._native.paths(bins_of(self.design, values, rows), _threads.count()))

    @classmethod
    def read(cls, design: Design, arrays: Mapping[str, NDArray[Any]], outputs: int) -> "Trees":
        """From what a model file holds; ValueError where it does not fit together."""
        for name, kind in NODE_ARRAYS.items():
            if arrays[name].dtype != kind or arrays[name].ndim != 1:
                msg = "its trees are malformed"
                raise ValueError(msg)
        if not np.isfinite(arrays["value"]).all() or len(arrays["sets"]) % 32 or len(arrays["roots"]) % outputs:
            msg = "its trees are malformed"
            raise ValueError(msg)
        if any(part.code.width > 256 for part in design.parts):
            msg = "one of the columns of its trees has too many bins"
            raise ValueError(msg)
        found = cls(design, dict(arrays), outputs)
        _ = found._native  # checks that every node leads to later nodes and to known columns
        return found
