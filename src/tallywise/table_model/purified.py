"""Trees of two splits written out as sums: a constant, a table per column and a table per pair of columns.

A tree that asks for column i and then, on one side, for column j is v (1 - s_i) + s_i (u m_j + w (1 - m_j)) with
indicators s and m of their bins: a table of i plus a product of both. The products are summed per pair, and what rows
and columns of a pair's table have on the average goes to the tables of the columns (Lengerich et al. 2020, Purifying
interaction effects with the functional ANOVA, AISTATS), weighted by the rows learned from. The sum stays what it was.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.models.table_encoding import (
    CalendarCode,
    CategoryCode,
    Code,
    DateCode,
    Design,
    DesignPart,
    NumberCode,
    PairCode,
)
from tallywise.models.table_trees import Trees, sizes_of
from tallywise.text_model.forms import Form

Array = NDArray[np.float64]


@dataclass
class Tables:
    """Scores as a constant plus a table per column and per pair, whose bins some codes give."""

    constant: Array
    columns: list[Array]  # (bins, outputs)
    pairs: dict[tuple[int, int], tuple[Code, Code, Array]] = field(default_factory=dict)  # codes, (bins, bins, outputs)


def tables_of(trees: Trees, bins: NDArray[np.uint8]) -> Tables:
    """The tables of trees of two splits at most; `bins` are those of the rows learned from."""
    codes = [part.code for part in trees.design.parts]
    sizes = sizes_of(trees.design)[0].tolist()
    found = Tables(np.zeros(trees.outputs), [np.zeros((size, trees.outputs)) for size in sizes])
    products: dict[tuple[int, int], list[tuple[int, Array, Array]]] = {}
    reader = _Reader(trees, sizes)
    for number, root in enumerate(np.asarray(trees.nodes["roots"]).tolist()):
        k = number % trees.outputs
        if reader.feature[root] < 0:
            found.constant[k] += reader.value[root]
            continue
        i, left = reader.feature[root], reader.left[root]
        first = reader.goes_left(root)
        for child, side in ((left, first), (left + 1, 1.0 - first)):
            j = reader.feature[child]
            if j < 0:
                found.columns[i][:, k] += reader.value[child] * side
                continue
            low, high = reader.value[reader.left[child]], reader.value[reader.left[child] + 1]
            second = (low - high) * reader.goes_left(child)
            found.columns[i][:, k] += high * side
            if i == j:
                found.columns[i][:, k] += side * second
            else:
                pair = (k, side, second) if i < j else (k, second, side)
                products.setdefault((min(i, j), max(i, j)), []).append(pair)
    for (i, j), listed in sorted(products.items()):
        place_i, code_i = _coarser(codes[i], np.array([u for _, u, _ in listed]))
        place_j, code_j = _coarser(codes[j], np.array([v for _, _, v in listed]))
        first_i, first_j = (np.unique(place, return_index=True)[1] for place in (place_i, place_j))
        table = np.zeros((len(first_i), len(first_j), trees.outputs))
        for k in range(trees.outputs):
            own = [(u[first_i], v[first_j]) for output, u, v in listed if output == k]
            if own:
                table[:, :, k] = np.array([u for u, _ in own]).T @ np.array([v for _, v in own])
        shares = [np.bincount(place[bins[k]]) / bins.shape[1] for k, place in ((i, place_i), (j, place_j))]
        shares = [np.append(s, np.zeros(size - len(s))) for s, size in zip(shares, table.shape, strict=False)]
        rows, columns = _purify(table, *shares)
        found.columns[i] += rows[place_i]
        found.columns[j] += columns[place_j]
        found.pairs[i, j] = code_i, code_j, table
    return found


class _Reader:
    """The nodes of trees as lists, and which bins go left at a node."""

    def __init__(self, trees: Trees, sizes: list[int]) -> None:
        nodes = trees.nodes
        self.feature, self.left, self.value = (nodes[name].tolist() for name in ("feature", "left", "value"))
        self._cut, self._missing = nodes["cut"].tolist(), nodes["missing"].tolist()
        self._levels = np.unpackbits(np.asarray(nodes["sets"]), bitorder="little").reshape(-1, 256)
        self._ordered, self._sizes = sizes_of(trees.design)[1].tolist(), sizes

    def goes_left(self, node: int) -> Array:
        """1 for the bins that go left, 0 for the others."""
        j = self.feature[node]
        size = self._sizes[j]
        if not self._ordered[j]:
            return np.asarray(self._levels[self._cut[node], :size], dtype=np.float64)
        side: Array = (np.arange(size) <= self._cut[node]).astype(np.float64)
        side[-1] = self._missing[node]
        return side


def _coarser(code: Any, factors: Array) -> tuple[NDArray[np.intp], Code]:
    """Bins of a number that no tree of a pair tells apart as one: the new bin of each, and their code."""
    if not isinstance(code, NumberCode):
        return np.arange(code.width), code
    begins = np.append(True, (factors[:, 1:-1] != factors[:, :-2]).any(axis=0))
    place = np.append(np.cumsum(begins) - 1, begins.sum())
    return place, NumberCode("bins", 0.0, 1.0, tuple(np.array(code.knots)[begins].tolist()))


def _purify(table: Array, rows: Array, columns: Array) -> tuple[Array, Array]:
    """Take the means of rows and columns out of a table, and give what was taken of each.

    Cells are weighted by the shares of their row and of their column. Weights of the joint counts leave tables of many
    empty cells without bounds: there rows and columns can stand for each other's cells.
    """
    of_columns = np.einsum("i,ijk->jk", rows, table)
    table -= of_columns[None]
    of_rows = np.einsum("j,ijk->ik", columns, table)
    table -= of_rows[:, None]
    return of_rows, of_columns


def summed(design: Design, form: Form, trees: Trees, bins: NDArray[np.uint8]) -> tuple[Design, Form]:
    """The line and the tables of trees as one design with its weights; those of texts stay behind."""
    tables = tables_of(trees, bins)
    places: dict[tuple[str, str], int] = {}
    for number, (names, code) in enumerate(trees.design.parts):
        places[names[0], code.part if isinstance(code, CalendarCode) else ""] = number
    parts, blocks = [], []
    for (names, code), begin in zip(design.parts, design.offsets, strict=False):
        W = form.W[begin : begin + code.width]
        own = {part: tables.columns[j] for (name, part), j in places.items() if name == names[0]}
        value = trees.design.parts[places[names[0], ""]].code
        added, weights = _with_tables(code, value, W, own)
        parts.append(DesignPart(names, added))
        blocks.append(weights)
    for (i, j), (one, other, table) in tables.pairs.items():
        names = (trees.design.parts[i].columns[0], trees.design.parts[j].columns[0])
        parts.append(DesignPart(names, PairCode(one, other)))  # type: ignore[arg-type]
        blocks.append(table.reshape(-1, trees.outputs))
    texts = form.W[design.width :]
    return Design(parts), form._replace(W=np.vstack([*blocks, texts]), b=form.b + tables.constant)


def _with_tables(code: Any, value: Any, W: Array, own: dict[str, Array]) -> tuple[Code, Array]:
    """A column of the line with its table: its code, and its weights."""
    table = own[""]
    if isinstance(code, CategoryCode):
        # Trees have the same levels in the same order, but for the rarest.
        known = len(value.levels)
        place = np.append(np.minimum(np.arange(len(code.levels) + 1), known), known + 1)
        return code, W + table[place]
    number = code.day if isinstance(code, DateCode) else code
    steps = NumberCode("steps", number.mean, number.scale, value.knots)
    weights = np.vstack([table[:-1], W[:1], table[-1:] + W[1:2]])
    if not isinstance(code, DateCode):
        return steps, weights
    rest = W[2:].copy()
    begin = 0
    for part, size in (("month", 12), ("weekday", 7), ("hour", 24)):
        if part in own:
            rest[begin : begin + size] += own[part][:-1]
            weights[-1] += own[part][-1]  # a date that is absent has no part of the calendar
        begin += size
    return DateCode(steps, code.hours), np.vstack([weights, rest])
