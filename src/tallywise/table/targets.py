"""What is to be predicted: classes, grades or numbers; and targets that nothing can be learned from."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise.evaluation.metrics import grades
from tallywise.table.cells import absent, number_format, numbers
from tallywise.table.columns import column_of
from tallywise.table.encoding import Categories
from tallywise.table.tables import Cells

TASKS = ("classes", "grades", "numbers")
_FEW = 10  # values: whole numbers of no more are classes, or grades
_MOST_CLASSES = 1000


class Target(NamedTuple):
    """The target of every row: a number (with grades and classes, the position of the class)."""

    task: str
    y: NDArray[np.float64]
    codes: NDArray[np.intp]
    classes: NDArray[Any]

    def take(self, rows: NDArray[np.intp]) -> "Target":
        """Some of the rows."""
        return self._replace(y=self.y[rows], codes=self.codes[rows])


def recognise_task(cells: Cells, name: str = "target") -> str:
    """Classes, grades or numbers, by the values of the target.

    Numbers with a fraction, or of more than ten values, are numbers; three to ten whole numbers in a row are grades.
    """
    x = _numbers(cells)
    if x is None:
        return "classes"
    present = np.unique(x[~np.isnan(x)])
    whole = bool((present == np.floor(present)).all())
    if len(present) > _FEW or (not whole and len(present) > 2):
        return "numbers"
    return "grades" if grades(present) is not None else "classes"


def _numbers(cells: Cells) -> NDArray[np.float64] | None:
    if cells.hint == "number":
        return cells.floats("number")
    if cells.hint:
        return None
    strings = cells.strings()
    written = number_format(set(strings))
    return None if written is None else numbers(strings, written)


def usable(cells: Cells) -> NDArray[np.intp]:
    """Rows whose target is there."""
    x = _numbers(cells)
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
    x = _numbers(cells)
    if chosen == "numbers" or (chosen == "grades" and x is not None):
        if x is None:
            wrong = next(cell for cell in cells.strings() if not absent(cell) and number_format([cell]) is None)
            msg = f"Column {name!r} cannot be predicted as {chosen}: it holds {wrong!r}. Use task='classes'."
            raise ValueError(msg)
        distinct = np.unique(x)
        if len(distinct) == 1:
            raise _constant(name, f"{distinct[0]:g}")
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
            f"{int((counts == 1).sum()):,} of them once. Choose another target."
        )
        raise ValueError(msg)
    return Target(chosen, codes.astype(np.float64), codes.astype(np.intp), classes)


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
    x = _numbers(kept)
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


def leaks(names: Sequence[str], values: dict[str, Any], target: Target) -> list[str]:
    """Columns that determine the target, each with how: they may not be known when the model is used."""
    found = []
    for name in names:
        x = values[name]
        if isinstance(x, Categories):
            codes = x.codes
        else:
            known = ~np.isnan(x)
            if target.task == "numbers" and known.all() and x.std() > 0:
                r = np.corrcoef(x, target.y)[0, 1]
                if abs(r) > 1 - 1e-9:
                    found.append(f'"{name}" is the target in other units')
                continue
            codes = np.unique(x, return_inverse=True)[1] if known.all() else np.empty(0, dtype=np.intp)
        levels = len(np.unique(codes)) if len(codes) else 0
        if target.task == "numbers" or levels < len(target.classes) or 10 * levels > len(codes):
            continue
        if len(np.unique(codes * len(target.classes) + target.codes)) == levels:
            found.append(f'"{name}" determines the target: each of its {levels} values goes with one class')
    return found
