"""Errors and warnings of tallywise. Each is also of the built-in type that scikit-learn raises."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tallywise._separation import SeparatedClasses

if TYPE_CHECKING:
    from tallywise._certificate import SeparationWarning

__all__ = [
    "ConcentrationWarning",
    "DivergenceError",
    "ModelFileError",
    "NoPossibleClassError",
    "NotLearnedError",
    "NotSeparableError",
    "OverwriteError",
    "SeparationError",
    "SeparationWarning",
    "TallywiseError",
    "UnreadCellsWarning",
]


def __getattr__(name: str) -> Any:
    # SeparationWarning is a warning of scikit-learn's, which this module does not load.
    if name == "SeparationWarning":
        from tallywise._certificate import SeparationWarning

        return SeparationWarning
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


class TallywiseError(Exception):
    """Base class of tallywise's errors."""


class NotLearnedError(TallywiseError, ValueError):
    """Rows to be forgotten were never learned; the model is unchanged."""


class NoPossibleClassError(TallywiseError, ValueError):
    """Rows that have probability 0 under every class, so that none can be predicted; ``rows`` has their numbers."""

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = [int(row) for row in rows]
        count = "1 row has" if len(self.rows) == 1 else f"{len(self.rows)} rows have"
        super().__init__(
            f"{count} probability 0 under every class (first: row {self.rows[0]}), so no class can be predicted. "
            "Smooth with alpha > 0, or use predict_joint_log_proba."
        )

    def __reduce__(self) -> tuple[type, tuple[list[int]]]:
        return type(self), (self.rows,)


class ModelFileError(TallywiseError, ValueError):
    """A model file is damaged, hostile, or of a version that this release cannot read."""


class OverwriteError(TallywiseError, ValueError):
    """An output is a file that is read, too; nothing was written."""


class ConcentrationWarning(UserWarning):
    """Distances have concentrated: nearest neighbours are hardly nearer than any other rows."""


class UnreadCellsWarning(UserWarning):
    """A few cells of a table could not be read as what their column holds, and count as missing."""


class SeparationError(SeparatedClasses, TallywiseError, ValueError):
    """What `SeparationWarning` says, for those who ask for an error: no weights without a penalty are the best."""


class NotSeparableError(TallywiseError, ValueError):
    """No hyperplane separates the classes, so there is no hard margin; ``combination`` proves it.

    Parameters
    ----------
    message : str
        What was found.
    combination : ndarray of shape (n_samples,), optional
        Nonnegative weights with sum 1 under which the signed points ``y_i (x_i, 1)`` (``y_i x_i`` without an
        intercept) add up to the origin. A separator would have to be on the same side of all of them.
    label : object, optional
        The class that cannot be separated from the rest.
    """

    def __init__(self, message: str, combination: Any = None, label: Any = None) -> None:
        super().__init__(message)
        self.combination = combination
        self.label = label

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.combination, self.label)


class DivergenceError(TallywiseError, ValueError):
    """The loss grew without bound: the step size is too large.

    Parameters
    ----------
    message : str
        What happened, and a safe step size.
    trajectory : ndarray of shape (n_points, n_weights)
        Weights at the recorded iterations.
    losses : ndarray of shape (n_points,)
        Loss at these iterations.
    """

    def __init__(self, message: str, trajectory: Any, losses: Any) -> None:
        super().__init__(message)
        self.trajectory = trajectory
        self.losses = losses

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.trajectory, self.losses)
