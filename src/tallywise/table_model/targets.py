"""What is to be predicted: classes, grades or numbers; and targets that nothing can be learned from."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation.metrics import ordinal_levels
from tallywise.models.table_encoding import Categories
from tallywise.reading.column_kinds import Column, as_numbers, column_of, looks_numeric
from tallywise.reading.frames import Cells, Table
from tallywise.reading.number_formats import absent, number_format, survey, too_many
from tallywise.reading.unreadable_cells import Unread, unread

TASKS = ("classes", "grades", "numbers")
_MOST_CLASSES = 1000
_FEWEST = 20  # rows; below, an order is luck
_LARGEST = 1e150  # its square is still a number
_CHANCE = 1e-6  # probability of what does not happen by chance


class Target(NamedTuple):
    """The target of every row: a number (with grades and classes, the position of the class)."""

    task: str
    y: NDArray[np.float64]
    codes: NDArray[np.intp]
    classes: NDArray[Any]

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each class; nothing for numbers."""
        sizes = np.bincount(self.codes, minlength=len(self.classes)).tolist()
        return dict(zip(map(str, self.classes.tolist()), sizes, strict=False))

    def take(self, rows: NDArray[np.intp]) -> "Target":
        """Some of the rows."""
        return self._replace(y=self.y[rows], codes=self.codes[rows])


def recognise_task(cells: Cells, name: str = "target") -> str:
    """Classes, grades or numbers, by the values of the target.

    Numbers with a fraction, or of more than ten values, are numbers; three to ten whole numbers in a row are grades.
    """
    if looks_numeric(cells, name):
        return "numbers"
    x = as_numbers(cells, name)
    return "classes" if x is None or ordinal_levels(np.unique(x[~np.isnan(x)])) is None else "grades"


def unread_target(cells: Cells, name: str, table: Table) -> Unread | None:
    """The cells of a target of numbers that are none; None where all can be read, or it is not one of numbers."""
    if cells.hint == "number":
        return unread(Column(name, "number"), cells, table)
    written = None if cells.hint else number_format(Counter(cells.strings()), cells.decimal, name)
    return None if written is None else unread(Column(name, "number", written), cells, table)


def usable(cells: Cells) -> NDArray[np.intp]:
    """Rows whose target is there."""
    x = as_numbers(cells)
    if x is not None:
        return np.flatnonzero(~np.isnan(x))
    return np.array([i for i, cell in enumerate(cells.strings()) if cell is not None], dtype=np.intp)


def make_target(cells: Cells, task: str | None, name: str = "target") -> Target:
    """The target of rows that all have one.

    Raises
    ------
    ValueError
        When nothing can be learned: the target is missing, constant, or different in every row.
    """
    if len(cells) == 0:
        msg = f"Column {name!r} has no values: nothing can be learned from it. Choose another target."
        raise ValueError(msg)
    chosen = recognise_task(cells, name) if task is None else task
    if chosen not in TASKS:
        msg = f"task must be one of {', '.join(map(repr, TASKS))}. Got {task!r}."
        raise ValueError(msg)
    x = as_numbers(cells)
    if chosen == "numbers" or (chosen == "grades" and x is not None):
        if x is None:
            wrong = next(cell for cell in cells.strings() if not absent(cell) and not survey([cell]).bodies)
            msg = f"Column {name!r} cannot be predicted as {chosen}: it holds {wrong!r}. Use task='classes'."
            raise ValueError(msg)
        distinct = np.unique(x)
        if len(distinct) == 1:
            raise _constant(name, f"{distinct[0]:g}")
        if chosen == "numbers" and np.abs(distinct).max() > _LARGEST:
            msg = f"Column {name!r} holds numbers beyond 1e150, whose squares are too large: give it in other units."
            raise ValueError(msg)
        if task is None and chosen == "numbers" and column_of(name, cells).kind == "identifier":
            msg = (
                f"Column {name!r} looks like an identifier: {len(distinct):,} whole numbers that never come again. "
                "Choose another target, or task='numbers' if it is one."
            )
            raise ValueError(msg)
        if chosen == "numbers":
            return Target("numbers", x.copy(), np.zeros(len(x), dtype=np.intp), np.empty(0))
        whole = bool((distinct == np.floor(distinct)).all()) and bool(np.abs(distinct).max() < 2**53)
        classes = distinct.astype(np.int64) if whole else distinct
        codes = np.searchsorted(distinct, x)
    else:
        labels = Categories.of(cells.strings())
        codes, classes = labels.codes, np.array(labels.names)
        if x is not None:  # whole numbers in their own order
            distinct = np.unique(x)
            if len(distinct) == len(classes) and bool((distinct == np.floor(distinct)).all()):
                codes, classes = np.searchsorted(distinct, x), distinct.astype(np.int64)
    if len(classes) < 2:
        raise _constant(name, str(classes[0]))
    counts = np.bincount(codes)
    if len(classes) > _MOST_CLASSES or (len(codes) >= 20 and 2 * len(classes) > len(codes)):
        kind = column_of(name, cells).kind
        what = "an identifier" if kind == "identifier" else "text" if kind == "text" else "no class"
        msg = (
            f"Column {name!r} looks like {what}: {len(classes):,} different values in {len(codes):,} rows, "
            f"{int((counts == 1).sum()):,} of them once. {_almostas_numbers(cells)}Choose another target."
        )
        raise ValueError(msg)
    return Target(chosen, codes.astype(np.float64), codes.astype(np.intp), classes)


def _almostas_numbers(cells: Cells) -> str:
    """What is said of a target whose cells are mostly numbers, but too many are not."""
    strings = cells.strings()
    read = [cell is not None and bool(survey([cell]).bodies) for cell in strings]
    if 2 * sum(read) < len(read):
        return ""
    wrong = next(cell for cell, good in zip(strings, read, strict=True) if not good)
    return f"{sum(read):,} are numbers, and others such as {wrong!r} are not: correct these, or empty them. "


def usable_target(
    cells: Cells, task: str, classes: Sequence[Any], name: str = "target"
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Rows that have a target of a trained model, and these targets: numbers, or positions among its classes.

    Raises
    ------
    ValueError
        When a target is none of the classes, or no number.
    """
    rows = usable(cells)
    kept = cells.take(rows)
    x = as_numbers(kept)
    if task == "numbers":
        if x is None:
            msg = f"Column {name!r} must hold numbers to be compared with predicted ones."
            raise ValueError(msg)
        return rows, x
    place: dict[Any, int] = {label: k for k, label in enumerate(classes)}
    of_numbers = x is not None and all(isinstance(label, int | float) for label in classes)
    labels: list[Any] = x.tolist() if of_numbers and x is not None else [str(c).strip() for c in kept.strings()]
    unknown = next((label for label in labels if label not in place), None)
    if unknown is not None:
        msg = f"Column {name!r} holds {unknown!r}, which is not one of the classes {list(classes)[:10]}."
        raise ValueError(msg)
    return rows, np.array([place[label] for label in labels], dtype=np.intp)


def _constant(name: str, value: str) -> ValueError:
    return ValueError(f"Column {name!r} is {value!r} in every row: nothing can be learned. Choose another target.")


_LATER = "ignore it if it is only known afterwards"


def leaks(names: Sequence[str], values: dict[str, Any], target: Target) -> list[str]:
    """Columns that determine the target, each with how: they may not be known when the model is used."""
    found = ((name, _how(values[name], target)) for name in names)
    return [f'"{name}" {how}; {_LATER}' for name, how in found if how]


def _how(x: Any, target: Target) -> str:
    """How a column determines the target, or nothing: absent values count as a value of their own."""
    absent = x.codes < 0 if isinstance(x, Categories) else np.isnan(x)
    if isinstance(x, Categories):
        return _by_values(x.codes, target) or _filled_for_one(absent, target)
    if 0 < absent.sum() < len(x) and (how := _by_values(absent.astype(np.intp), target)):
        return how.replace("each of its 2 values goes", "having a value or none goes")
    if absent.any():
        codes = np.unique(np.where(absent, np.inf, x), return_inverse=True)[1]
        return _by_values(codes, target) or _filled_for_one(absent, target)
    return _by_order(x, target) or _by_values(np.unique(x, return_inverse=True)[1], target)


def _filled_for_one(absent: NDArray[np.bool_], target: Target) -> str:
    """Whether a column has values, but for slips, in the rows of one class alone, and that cannot be chance."""
    if target.task == "numbers" or not absent.any() or absent.all():
        return ""
    counts = np.bincount(target.codes[~absent], minlength=len(target.classes))
    k, filled = int(counts.argmax()), int(counts.sum())
    share = float((target.codes == k).mean())
    if too_many(filled - int(counts[k]), filled) or filled * math.log(max(share, 1e-300)) > math.log(_CHANCE):
        return ""
    return f'has a value almost only where the target is "{target.classes[k]}" ({counts[k]:,} of {filled:,} rows)'


def _by_values(codes: NDArray[np.intp], target: Target) -> str:
    """Whether rows with the same value have the same target, where a value comes ten times on the average."""
    y = np.unique(target.y, return_inverse=True)[1] if target.task == "numbers" else target.codes
    levels, different = len(np.unique(codes)), len(np.unique(y))
    least = 2 if target.task == "numbers" else different
    if levels < least or different < 2 or 10 * levels > len(codes):
        return ""
    if len(np.unique((codes + 1) * different + y)) > levels:
        return ""
    what = "number" if target.task == "numbers" else "class"
    return f"determines the target: each of its {levels} values goes with one {what}"


def _by_order(x: NDArray[np.float64], target: Target) -> str:
    """Whether rows in the order of a column are in that of the target, or have its classes one after the other."""
    order = np.lexsort((target.y, x))
    steps, y = np.diff(x[order]) > 0, target.y[order]
    if len(x) < _FEWEST or len(np.unique(x)) < 2:
        return ""
    if target.task != "numbers":
        changed = np.diff(y) != 0
        own = bool(steps[changed].all()) and int(changed.sum()) == len(target.classes) - 1
        return "determines the target: each class has a range of its values of its own" if own else ""
    if abs(np.corrcoef(x, target.y)[0, 1]) > 1 - 1e-9:
        return "is the target in other units"
    moved = np.diff(y)[steps]
    tied = bool((np.diff(y)[~steps] == 0).all())
    if tied and ((moved > 0).all() or (moved < 0).all()):
        return f"determines the target: it {'rises' if moved[0] > 0 else 'falls'} with it without exception"
    return ""
