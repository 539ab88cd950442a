"""Texts and labels as users hand them over: refused with the row that is wrong, before anything is counted."""

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallywise.models.text_serving import listed


def texts_of(texts: Iterable[str]) -> list[str]:
    """Texts as a list of str.

    Raises
    ------
    TypeError
        For anything else, with its row.
    """
    found = listed(texts)
    if any(not issubclass(kind, str) for kind in set(map(type, found))):
        row, text = next((k, text) for k, text in enumerate(found) if not isinstance(text, str))
        msg = f"Each text must be a str, but row {row} is {_shown(text)}."
        raise TypeError(msg)
    return found


def labels_of(labels: Iterable[Any]) -> NDArray[Any]:
    """Labels as an array: all texts, or all numbers, none of them missing.

    Raises
    ------
    TypeError, ValueError
        With the row of a label that is missing, infinite or neither text nor number, and for labels of both kinds.
    """
    if isinstance(labels, str):
        msg = "Labels are wanted as a list. Got one str: put it in brackets."
        raise TypeError(msg)
    given = labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels)
    kinds = set(map(type, given))
    if kinds - {str, int, bool} or any("\0" in label for label in set(given) if isinstance(label, str)):
        for row, label in enumerate(given):
            check_label(row, label)
    texts = {kind for kind in kinds if issubclass(kind, str)}
    if texts and texts != kinds:
        other = next(label for label in given if isinstance(label, str) != isinstance(given[0], str))
        msg = f"Labels must be all texts or all numbers. Got {given[0]!r} and {other!r}."
        raise TypeError(msg)
    return np.asarray(given)


def check_settings(cv: Any, model: Any = "auto", time_limit: Any = None) -> None:
    """Refuse settings of a comparison of models that mean nothing."""
    if not isinstance(model, str) and not (isinstance(model, list | tuple) and model):
        msg = f"model must be 'auto', a name or a list of names. Got {model!r}."
        raise ValueError(msg)
    if cv is not None and (isinstance(cv, bool) or not isinstance(cv, numbers.Integral) or cv < 2):
        msg = f"cv must be a number of folds, an int of at least 2, or None. Got {cv!r}."
        raise ValueError(msg)
    if time_limit is not None and not (isinstance(time_limit, int | float | np.number) and 0 <= time_limit < np.inf):
        msg = f"time_limit must be a number of seconds, at least 0, or None. Got {time_limit!r}."
        raise ValueError(msg)


def check_label(row: int, label: Any) -> None:
    """Refuse a label of a row that no model file could hold, or that stands for none."""
    if isinstance(label, str):
        if "\0" in label:  # NumPy drops them at the end of a text: two labels would be one
            msg = f"Labels must not hold NUL characters. Got {label!r}."
            raise ValueError(msg)
    elif isinstance(label, numbers.Real | np.bool_) and not hasattr(label, "as_tuple"):
        if not math.isfinite(label):
            what = "missing" if math.isnan(label) else "infinite"
            msg = f"The label of row {row} is {what} ({label}): leave such rows out."
            raise ValueError(msg)
    elif label is None or str(label) in ("<NA>", "NaT"):
        msg = f"The label of row {row} is missing ({label}): leave such rows out."
        raise ValueError(msg)
    else:
        msg = f"Each label must be a text or a number, but that of row {row} is {_shown(label)}."
        raise TypeError(msg)


def _shown(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
