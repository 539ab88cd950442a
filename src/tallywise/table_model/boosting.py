"""Boosted trees on folds, and sums of them: `cpp/core/trees/booster.hpp` from Python."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _native, _threads
from tallywise.models.table_encoding import Design
from tallywise.models.table_trees import Trees, bins_of, sizes_of

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
_ROUNDS = 2000


class TreeSize(NamedTuple):
    """Leaves of a tree, and the share of a Newton step that a round takes."""

    leaves: int
    rate: float


TWO_SPLITS = TreeSize(3, 0.3)
MANY_LEAVES = TreeSize(31, 0.1)


class BinnedRows:
    """The bins of some rows in the columns that trees ask for, learned from these rows."""

    def __init__(self, design: Design, values: dict[str, Any], rows: int, n_jobs: int | None) -> None:
        self.design, self.n_jobs = design, n_jobs
        self.bins = bins_of(design, values, rows)
        self.sizes, self.ordered = sizes_of(design)

    def boost(self, goal: Any, size: TreeSize, train: "Side", held: "Side") -> tuple[dict[str, Any], Array]:
        """Nodes of trees learned from some rows, as many as serve the held-out ones best, and the scores of these."""
        problem = _native.BoostProblem(
            goal.loss, goal.outputs, size.leaves, size.rate, rounds=_ROUNDS, threads=_threads.count(self.n_jobs)
        )
        target = goal.y if goal.loss != "squared" else goal.trees

        def native(side: Side) -> tuple[Any, ...]:
            bins = np.ascontiguousarray(self.bins[:, side.rows])
            return bins, target[side.places], goal.weights[side.places], np.ascontiguousarray(side.base)

        found: dict[str, Any] = _native.boost_trees(native(train), native(held), self.sizes, self.ordered, problem)
        held_out: Array = found.pop("held_out")
        found.pop("loss")
        return found, held_out


class Side(NamedTuple):
    """Rows among those binned, the same in the table, and their first scores."""

    rows: Rows
    places: Rows
    base: Array


def added(design: Design, parts: Sequence[tuple[float, dict[str, Any]]], outputs: int) -> Trees | None:
    """The weighted sum of forests as one; None where there is not a single tree."""
    parts = [(weight, nodes) for weight, nodes in parts if weight and len(nodes["roots"])]
    if not parts:
        return None
    ordered = sizes_of(design)[1].astype(bool)
    found: dict[str, list[Any]] = {name: [] for name in parts[0][1]}
    nodes_before = sets_before = 0
    for weight, nodes in parts:
        inner = nodes["feature"] >= 0
        of_levels = inner & ~ordered[np.maximum(nodes["feature"], 0)]
        changed = {
            "left": np.where(inner, nodes["left"] + nodes_before, 0),
            "roots": nodes["roots"] + nodes_before,
            "cut": nodes["cut"] + np.where(of_levels, sets_before, 0),
            "value": weight * nodes["value"],
        }
        for name, array in {**nodes, **changed}.items():
            found[name].append(np.asarray(array, dtype=nodes[name].dtype))
        nodes_before += len(nodes["feature"])
        sets_before += len(nodes["sets"]) // 4
    arrays = {name: np.concatenate(pieces) for name, pieces in found.items()}
    arrays["sets"] = arrays["sets"].astype(np.uint64).view(np.uint8)
    return Trees(design, arrays, outputs)
