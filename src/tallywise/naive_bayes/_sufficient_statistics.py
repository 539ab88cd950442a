"""The statistics of a naive Bayes model: sums over rows, which add and subtract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise import _native

Floats = NDArray[np.float64]

LARGEST_COUNT = 2.0**53  # beyond it, a double skips integers


@dataclass(eq=False)
class Sums:
    """Sums by statistic, class and cell (a feature, or a category of one).

    ``value`` holds them; ``carry`` what a double could not hold of them, or None while all is integer; ``totals`` the
    documents of each class, their carry, its tokens, their carry. The tables may have room for more cells than are in
    use, because a stream of texts adds new words with every row.
    """

    value_room: Floats
    carry_room: Floats | None
    totals: Floats
    cells: int

    @classmethod
    def of_nothing(cls, statistics: int, classes: int, cells: int) -> Sums:
        """All zero."""
        return cls(_native.zero_sums(statistics, classes, cells), None, np.zeros((4, classes)), cells)

    @property
    def value(self) -> Floats:
        """The table of sums, (statistics, classes, cells)."""
        return self.value_room[:, :, : self.cells]

    @property
    def carry(self) -> Floats | None:
        """What the table could not hold, or None."""
        return None if self.carry_room is None else self.carry_room[:, :, : self.cells]

    def keep_carry(self) -> None:
        """Keep the part that a double cannot hold from now on."""
        if self.carry_room is None:
            self.carry_room = np.zeros_like(self.value_room)

    def keep_writable(self) -> None:
        """Own the memory: a model that was loaded from a memory map may have its tables there."""
        for name in ("value_room", "carry_room", "totals"):
            table = getattr(self, name)
            if table is not None and not table.flags.writeable:
                setattr(self, name, np.array(table))

    def native(self) -> _native.Statistics:
        """View for the native core."""
        return _native.Statistics(self.value, self.carry, self.totals)

    def grown(self, places: NDArray[np.int64], classes: int, cells: int) -> Sums:
        """Return sums for more classes and cells; class k is now at places[k], new cells follow the known ones.

        Where there is room already, the result shares memory with these sums.
        """
        old = self.totals.shape[1]
        if classes == old and cells <= self.value_room.shape[2]:
            return Sums(self.value_room, self.carry_room, self.totals, cells)
        room = cells + cells // 4 if cells > self.cells else cells
        totals = np.zeros((4, classes))
        totals[:, places] = self.totals

        def table(values: Floats) -> Floats:
            wider = np.zeros((len(values), classes, room))
            wider[:, places, : self.cells] = values[:, :, : self.cells]
            return wider

        carry = None if self.carry_room is None else table(self.carry_room)
        return Sums(table(self.value_room), carry, totals, cells)

    def plus(self, other: Sums) -> Sums:
        """Sum of both, for the same classes and cells."""
        if self.carry is None and other.carry is None:
            totals = self.totals + other.totals
            if (totals > LARGEST_COUNT).any() or (totals - self.totals != other.totals).any():
                msg = "Counts of a class would pass 2^53, beyond which they are not exact."
                raise OverflowError(msg)
            return Sums(self.value + other.value, None, totals, self.cells)
        value, carry = _pair_sum(self.value, self.carry, other.value, other.carry)
        documents = _pair_sum(self.totals[0], self.totals[1], other.totals[0], other.totals[1])
        tokens = _pair_sum(self.totals[2], self.totals[3], other.totals[2], other.totals[3])
        return Sums(value, carry, np.stack([*documents, *tokens]), self.cells)

    def __getstate__(self) -> dict[str, Any]:
        carry = None if self.carry is None else np.ascontiguousarray(self.carry)
        return {
            "value_room": np.ascontiguousarray(self.value),
            "carry_room": carry,
            "totals": self.totals,
            "cells": self.cells,
        }


def _pair_sum(a: Floats, a_low: Floats | None, b: Floats, b_low: Floats | None) -> tuple[Floats, Floats]:
    """(a + a_low) + (b + b_low) as a double and what it could not hold."""
    high, low = _two_sum(a, b)
    for more in (a_low, b_low):
        low = low if more is None else low + more
    return _two_sum(high, low)


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Exact sum of doubles (Knuth): its rounding, and what that lost."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)
