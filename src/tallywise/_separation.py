"""What the warning and the error of separated classes share: one is of scikit-learn's kind, one of ours."""

from typing import Any


class SeparatedClasses(Exception):
    """What the warning and the error of separated classes carry.

    Parameters
    ----------
    message : str
        What was found.
    coef : ndarray of shape (n_weight_vectors, n_features)
        The direction that separates: no sample lies on the wrong side of it, and some lie strictly on the right side.
    intercept : ndarray of shape (n_weight_vectors,)
        Its offset.
    complete : bool
        Whether every sample lies strictly on the right side.
    """

    def __init__(self, message: str, coef: Any, intercept: Any, complete: bool) -> None:
        super().__init__(message)
        self.coef = coef
        self.intercept = intercept
        self.complete = complete

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.coef, self.intercept, self.complete)
