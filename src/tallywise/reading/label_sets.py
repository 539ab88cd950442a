"""Several labels in one cell: a list, or labels joined by a separator."""

import ast
import json
import re
from collections.abc import Callable, Iterable, Sequence

from tallywise.reading.encodings_and_limits import InputError

NAMES = ("labels", "tags", "categories", "topics", "classes")  # of columns that may hold several labels a cell
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_PYTHON_LIST = re.compile(rf"\[\s*(?:{_QUOTED}(?:\s*,\s*{_QUOTED})*)?\s*\]")  # flat: nothing deep is ever parsed

Labels = tuple[str, ...]


def list_in(cell: str) -> Labels | None:
    """Labels of a cell that holds a list, as JSON or as Python writes it; None for any other cell."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(cell) if _PYTHON_LIST.fullmatch(cell) else None
        except (ValueError, SyntaxError):
            return None
    if not isinstance(found, list) or not all(isinstance(label, str | int | float) for label in found):
        return None
    return _each_once(map(str, found))


def are_lists(cells: Iterable[str]) -> bool:
    """Whether all cells that are not empty hold lists, and there is one."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(list_in(cell) is not None for cell in filled)


def splitter(cells: Sequence[str], separator: str | None) -> Callable[[str], Labels | None] | None:
    """What makes labels of a cell: it is a list, where the first cells are; else by the separator, if there is one.

    None of a cell means that its labels are not known; without a separator and without lists there is no splitter.
    """
    if are_lists(cells):
        return _from_list
    if separator is None:
        return None
    return lambda cell: _each_once(cell.split(separator))


def _from_list(cell: str) -> Labels | None:
    if not cell:
        return None
    found = list_in(cell)
    if found is None:
        msg = f"a label is not a list, as those before it are: {cell[:60]!r}"
        raise InputError(msg)
    return found


def _each_once(labels: Iterable[str]) -> Labels:
    return tuple(dict.fromkeys(label for label in map(str.strip, labels) if label))
