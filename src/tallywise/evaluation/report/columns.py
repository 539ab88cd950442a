"""What the columns of a table add to the score, as a section of a report."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from tallywise.evaluation.report import plots

_PICTURES = 6  # columns whose values are shown one by one
_BARS = 24


class ColumnEffect(NamedTuple):
    """What a column, or a pair of them, adds to the score beyond the average row."""

    name: str
    size: float  # mean absolute contribution
    points: Sequence[tuple[float, float]] = ()  # of a number: value and contribution of some rows
    levels: Sequence[tuple[str, float]] = ()  # of a category its levels, of a text its words: mean contribution


def column_section(columns: Sequence[ColumnEffect], to_what: str) -> str:
    """Columns by what they usually add, and for those that add most, what each of their values adds."""
    if not columns:
        return ""
    order = sorted(columns, key=lambda column: -column.size)
    sizes = plots.bars([(column.name, column.size) for column in order[:_BARS]])
    more = f"<p class=note>{len(order) - _BARS} further columns add less.</p>" if len(order) > _BARS else ""
    note = (
        f"What columns add to {escape(to_what)}, beyond the average row: first the mean size, then by value for those "
        "that add most. What all columns of a row add, and the average row, sum up to its score."
    )
    pictures = [_picture(column) for column in order if column.points or column.levels][:_PICTURES]
    first = f"<figure><figcaption>mean size of what a column adds</figcaption>{sizes}</figure>"
    return f"<h2>Columns</h2><p class=note>{note}</p><div class=plots>{first}{''.join(pictures)}</div>{more}"


def _picture(column: ColumnEffect) -> str:
    caption = f"<figcaption class=name><b>{escape(column.name)}</b></figcaption>"
    if column.points:
        x, y = np.array(column.points).T
        return f"<figure>{caption}{plots.scatter(x, y, ('value', 'adds'), f'what {column.name} adds', at=0.0)}</figure>"
    return f"<figure>{caption}{plots.bars(column.levels)}</figure>"
