"""The certificate of a convex fit."""

import math
from dataclasses import dataclass

from sklearn.exceptions import ConvergenceWarning

from tallywise._separation import SeparatedClasses


@dataclass(frozen=True)
class Certificate:
    """Proof of how far a convex fit is from its optimum, at most: primal and dual value.

    ``primal`` is the objective reached, ``dual`` a lower bound on every objective, both in float64; the optimum lies
    between the two. ``rounding`` is what float64 may be off by in sums of the size of the data: of an exact fit, whose
    objective is 0, both values are nothing else. A value that is NaN proves nothing: the gap is infinite then.

    Examples
    --------
    >>> from tallywise._certificate import Certificate
    >>> Certificate(primal=2.0, dual=1.5, iterations=3, seconds=0.1).relative_gap
    0.25
    >>> Certificate(primal=1e-32, dual=0.0, iterations=1, seconds=0.1, rounding=1e-15).relative_gap
    0.0
    >>> Certificate(primal=float("nan"), dual=1.0, iterations=1, seconds=0.1).relative_gap
    inf
    """

    primal: float
    dual: float
    iterations: int
    seconds: float
    rounding: float = 0.0

    @property
    def gap(self) -> float:
        """Upper bound on primal minus optimum; infinite where there is none."""
        gap = self.primal - self.dual
        return math.inf if math.isnan(gap) else max(gap, 0.0)

    @property
    def relative_gap(self) -> float:
        """Gap over the size of the objective, 0 for a gap within rounding: what ``tol`` is compared with."""
        if math.isinf(self.gap):
            return math.inf
        scale = max(abs(self.primal), abs(self.dual))
        return 0.0 if self.gap <= self.rounding or scale == 0 else self.gap / scale

    def __repr__(self) -> str:
        return (
            f"Certificate(primal={self.primal:.6g}, dual={self.dual:.6g}, "
            f"relative_gap={self.relative_gap:.1e}, iterations={self.iterations})"
        )


class SeparationWarning(SeparatedClasses, ConvergenceWarning):
    """A hyperplane separates the classes, so that weights without a penalty grow without bound; the fit stops early."""
