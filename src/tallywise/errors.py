"""Errors and warnings of tallywise. Each also is the built-in kind that scikit-learn users catch."""

from collections.abc import Sequence


class TallywiseError(Exception):
    """Base of the errors that are ours alone."""


class NotLearnedError(TallywiseError, ValueError):
    """What was to be forgotten had never been learned; nothing has changed."""


class NoPossibleClassError(TallywiseError, ValueError):
    """Rows that have probability 0 under every class, so that none can be preferred; ``rows`` says which."""

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = [int(row) for row in rows]
        count = "1 row has" if len(self.rows) == 1 else f"{len(self.rows)} rows have"
        super().__init__(
            f"{count} probability 0 under every class (first: row {self.rows[0]}), so no class can be preferred. "
            "Smooth with alpha > 0, or use predict_joint_log_proba."
        )

    def __reduce__(self) -> tuple[type, tuple[list[int]]]:
        return type(self), (self.rows,)


class ModelFileError(TallywiseError, ValueError):
    """A model file is damaged, hostile, or of a version that this release cannot read."""


class NotSeparableError(TallywiseError, ValueError):
    """A hard margin was asked for, and the classes have none; the message carries the proof."""
