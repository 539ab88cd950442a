"""Any number of labels a text: lists of them, or a matrix."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallywise import _arrays
from tallywise.text_model.inputs import check_label, labels_of

Labels = NDArray[np.bool_]


class LabelMatrix(NamedTuple):
    """Labels of texts: their names, and a matrix that is true where a text has the label."""

    classes: NDArray[Any]
    Y: Labels

    @classmethod
    def of(cls, y: Any) -> "LabelMatrix":
        """Of lists of labels, or of a matrix (array, sparse, or data frame) of 0 and 1."""
        if hasattr(y, "toarray"):
            y = y.toarray()
        if getattr(y, "ndim", 1) == 2:
            names = y.columns.tolist() if hasattr(y, "columns") else range(y.shape[1])
            matrix = np.asarray(y)
            if not np.isin(matrix, (0, 1)).all():
                msg = "A matrix of labels has one column a label, of 0 and 1. Got other values: pass lists of labels."
                raise ValueError(msg)
            return cls(np.array(list(names)), matrix.astype(bool))
        sets = [_labels_of(row, i) for i, row in enumerate(y)]
        distinct = list(dict.fromkeys(label for row in sets for label in row))
        classes = _arrays.encode_labels(labels_of(distinct))[0] if distinct else np.array([])
        return cls(classes, indicator(sets, classes))

    @property
    def ids(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The number of each text's set of labels, and a row of 0 and 1 for each set."""
        numbers: dict[bytes, int] = {}
        ids = [numbers.setdefault(row.tobytes(), len(numbers)) for row in self.Y]
        sets = np.frombuffer(b"".join(numbers), dtype=np.uint8).reshape(len(numbers), self.Y.shape[1])
        return np.array(ids, dtype=np.int64), sets


def _labels_of(row: Any, number: int) -> list[Any]:
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        msg = (
            f"y must have a list of labels for each text, or be a matrix of 0 and 1. Got {row!r} for text {number}: "
            "for one label a text, use TextClassifier."
        )
        raise ValueError(msg)
    found = [label.item() if isinstance(label, np.generic) else label for label in row]
    for label in found:
        if type(label) not in (str, int):
            check_label(number, label)
    return found


def indicator(sets: Sequence[Iterable[Any]], classes: NDArray[Any]) -> Labels:
    """A row for each set, true where the class is in it; labels that are no class are left out."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    Y = np.zeros((len(sets), len(classes)), dtype=bool)
    for i, row in enumerate(sets):
        Y[i, [place[label] for label in row if label in place]] = True
    return Y
