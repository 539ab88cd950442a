"""`predict_file`: a file with its predictions as further columns; all its columns and the order of its rows stay."""

import heapq
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tallywise.models.table_serving import TableRuntime
from tallywise.models.table_writers import table_writer
from tallywise.reading import InputError, open_source, read_table
from tallywise.reading.input_formats import look_at, table_rows
from tallywise.reading.table_formats import cell_text

_TOGETHER = 4096  # rows
_REVIEWED = 50  # least sure rows that are listed
_SHARE = 0.9  # of the probability that a set of classes has, and of the cases that an interval holds
_EXCERPT = 300  # characters


class Unsure(NamedTuple):
    """A row to look at: the least sure has the highest order."""

    order: float
    row: int
    prediction: str
    probability: float
    text: str


@dataclass
class FileAnswers:
    """What was made of a file: rows, rows by prediction, and the least sure ones to look at."""

    rows: int = 0
    text: str | None = None  # the column of the texts
    unlike: int = 0  # rows unlike the training data
    counts: Counter[str] = field(default_factory=Counter)
    least_sure: list["Unsure"] = field(default_factory=list)


def predict_file(
    model: Any,
    path: str,
    output: str | os.PathLike[str],
    *,
    text: str | None = None,
    format: str | None = None,
    kind: str = "",
    progress: Callable[[int], None] = lambda rows: None,
) -> FileAnswers:
    """Write a file again with predictions beside each row.

    Texts and rows with classes get ``prediction``, ``probability`` and ``likely``, the fewest classes that have 90 % of
    the probability; texts also ``unlike_training``. Numbers get ``prediction`` and the ends of the 90 % interval,
    ``low`` and ``high``. Models of label sets write the labels of a text, and the probability of the least likely.

    Parameters
    ----------
    model : TextModel, TableRuntime or another that `tallywise.load` gives
        What answers.
    path, output : path
        The file, and the new one: .csv, .tsv, .xlsx or .parquet.
    text, format : str, optional
        Column of the texts, and format of the file; recognised when not given.
    kind : str
        The ending that says what is written, where the name of the output does not.
    progress : function of the number of rows, optional
        Called now and then.

    Raises
    ------
    InputError
        For a file that cannot be read.
    """
    found = FileAnswers()
    table = isinstance(model, TableRuntime)
    names, batches = _of_table(model, path, format) if table else _of_texts(model, path, text, format, found)
    own = _columns(model)
    numeric = [False] * len(names) + [
        name in _NUMBERS and not (name == "prediction" and not _numbers(model)) for name in own
    ]
    called = list(names)
    for name in own:  # a column of the file keeps its name
        called.append(next(n for n in (name, *(f"{name}_{k}" for k in range(2, 999))) if n not in called))
    with table_writer(output, called, numeric, kind) as put:
        for rows, bodies, answers in batches:
            put([[*row, *answer] for row, answer in zip(rows, answers, strict=True)])
            _count(found, bodies, answers, own)
            progress(found.rows)
        if not found.rows:
            msg = f"{path} holds no rows"
            raise InputError(msg)
    found.least_sure.sort(key=lambda one: one.order, reverse=True)
    return found


_NUMBERS = ("probability", "low", "high", "prediction")
Batch = tuple[Sequence[Sequence[str]], Sequence[str], list[list[Any]]]


def _numbers(model: Any) -> bool:
    return isinstance(model, TableRuntime) and model.task == "numbers"


def _columns(model: Any) -> list[str]:
    if _numbers(model):
        return ["prediction", "low", "high"]
    if hasattr(model, "predict_labels"):
        return ["prediction", "probability", "unlike_training"]
    return ["prediction", "probability", "likely"] + ([] if isinstance(model, TableRuntime) else ["unlike_training"])


def _count(found: FileAnswers, bodies: Sequence[str], answers: Sequence[list[Any]], own: Sequence[str]) -> None:
    for body, answer in zip(bodies, answers, strict=True):
        found.rows += 1
        if own[1] == "probability":
            found.counts[answer[0]] += 1
            sure = answer[1]
        else:
            sure = -(answer[2] - answer[1]) if answer[1] is not None else -math.inf  # the widest interval
        found.unlike += own[-1] == "unlike_training" and answer[-1] == "yes"
        entry = Unsure(-sure, found.rows, str(answer[0]), sure, " ".join(body[: 2 * _EXCERPT].split())[:_EXCERPT])
        (heapq.heappush if len(found.least_sure) < _REVIEWED else heapq.heappushpop)(found.least_sure, entry)


def _of_table(model: TableRuntime, path: str, format: str | None) -> tuple[list[str], Iterator[Batch]]:
    found = read_table(path, format=format, every_row=True)
    if found is None:
        msg = f"{path} is not a table: CSV, TSV, JSONL, Parquet or Excel is wanted"
        raise InputError(msg)
    try:
        whole = model.read(found.table())
    except ValueError as error:
        msg = f"{path}: {error}"
        raise InputError(msg) from None
    width = len(found.names)
    rows = found.rows
    if found.frame is not None:
        rows = [list(map(cell_text, row)) for row in zip(*(c.to_pylist() for c in found.frame.columns), strict=True)]

    def batches() -> Iterator[Batch]:
        for start in range(0, whole.rows, _TOGETHER):
            part = whole.take(np.arange(start, min(start + _TOGETHER, whole.rows)))
            cells = [_fitted(row, width) for row in rows[start : start + _TOGETHER]]
            yield (
                cells,
                ["; ".join(f"{n}: {c}" for n, c in zip(found.names, row, strict=True)) for row in cells],
                _answers(model, part),
            )

    return found.names, batches()


def _answers(model: TableRuntime, part: Any) -> list[list[Any]]:
    if model.task == "numbers":
        values, ends = model.predict(part), model.predict_interval(part)
        known: Any = np.isfinite(ends).all(axis=1).tolist()
        return [[v, *(e if k else (None, None))] for v, e, k in zip(values.tolist(), ends.tolist(), known, strict=True)]
    P = model.predict_proba(part)
    return _classes(model, P)


def _classes(model: Any, P: Any) -> list[list[Any]]:
    """Prediction, its probability, and the fewest classes that have the share of the probability asked for."""
    names = [str(label) for label in model.classes]
    chosen = model.decide(P)
    order = np.argsort(-P, axis=1, kind="stable")
    enough = (np.cumsum(np.take_along_axis(P, order, axis=1), axis=1) < _SHARE).sum(axis=1) + 1
    return [
        [names[k], float(P[i, k]), " | ".join(names[j] for j in order[i, : enough[i]])]
        for i, k in enumerate(chosen.tolist())
    ]


def _of_texts(
    model: Any, path: str, text: str | None, format: str | None, found: FileAnswers
) -> tuple[list[str], Iterator[Batch]]:
    table = table_rows(path, format, every_row=True)
    if table is None:  # lines, mail: each text is a row
        source = open_source(path, text=text, format=format, labelled=False, every_row=True)
        names, rows, at = ["source", "text"], ([record.source, record.text] for record in source), 1
    else:
        opened = look_at(table[0], table[1], text, None)
        columns, width = opened.columns, len(opened.columns.names)
        names = columns.names if columns.header else [str(k + 1) for k in range(width)]
        rows, at = (_fitted(row, width) for _, row in opened.rows), columns.text
    found.text = names[at]

    def batches() -> Iterator[Batch]:
        while part := list(islice(rows, _TOGETHER)):
            bodies = [row[at] for row in part]
            P = model.predict_proba(bodies)
            unlike = ["yes" if one else "no" for one in model.out_of_depth(bodies).tolist()]
            if hasattr(model, "predict_labels"):
                answers = _label_sets(model, P)
            else:
                answers = _classes(model, P)
            yield part, bodies, [[*answer, one] for answer, one in zip(answers, unlike, strict=True)]

    return names, batches()


def _label_sets(model: Any, P: Any) -> list[list[Any]]:
    gets = model.decide(P)
    rows = []
    for i, given in enumerate(gets):
        chosen = np.flatnonzero(given)
        least = P[i, chosen].min() if len(chosen) else 1 - P[i].max()
        rows.append([" | ".join(str(model.classes[k]) for k in chosen), float(least)])
    return rows


def _fitted(row: Sequence[str], width: int) -> list[str]:
    """A row with a cell per column; what is beyond the last one stays in it."""
    if len(row) > width:
        return [*row[: width - 1], " ".join(row[width - 1 :])]
    return [*row, *[""] * (width - len(row))]
