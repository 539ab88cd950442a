"""Errors and warnings of tallywise. Each also is the built-in kind that scikit-learn users catch."""


class TallywiseError(Exception):
    """Base of the errors that are ours alone."""


class NotLearnedError(TallywiseError, ValueError):
    """What was to be forgotten had never been learned; nothing has changed."""


class ModelFileError(TallywiseError, ValueError):
    """A model file is damaged, hostile, or of a version that this release cannot read."""


class ConcentrationWarning(UserWarning):
    """Distances have concentrated: nearest neighbours are hardly nearer than any other rows."""
