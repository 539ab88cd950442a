"""The one objective, sum s_i l(y_i, z_i) + l1 |w|_1 + l2/2 |w|^2, and what each public scaling makes of l1 and l2."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prior:
    """A penalty read as the prior whose posterior mode the fit is (MAP estimation).

    ``exp(-l1 |w| - l2/2 w^2)`` is, up to a constant, a Laplace density of scale ``1/l1`` times a Gaussian one of
    variance ``1/l2``; for least squares both are in units of the noise variance. ``inf`` means flat: no such penalty.
    """

    gaussian_variance: float
    laplace_scale: float


def prior(l1: float, l2: float) -> Prior:
    """Prior that the penalty l1 |w| + l2/2 w^2 stands for."""
    return Prior(
        gaussian_variance=1 / l2 if l2 > 0 else float("inf"),
        laplace_scale=1 / l1 if l1 > 0 else float("inf"),
    )


# --- least squares ---


def of_elastic_net(alpha: float, l1_ratio: float, weight: float) -> tuple[float, float]:
    """Strengths (l1, l2) of scikit-learn's Lasso and ElasticNet.

    Theirs is a mean over samples, ``sum s_i (y_i - z_i)^2 / (2 weight) + alpha (l1_ratio |w| + (1 - l1_ratio)/2
    |w|^2)`` with ``weight = sum s_i``; ours is the sum.
    """
    return weight * alpha * l1_ratio, weight * alpha * (1.0 - l1_ratio)


def largest_alpha(pull: float, l1_ratio: float, weight: float) -> float:
    """Smallest alpha of an elastic net whose solution is zero, given the strongest pull on any weight at zero."""
    return pull / (weight * l1_ratio)


def of_ridge(alpha: float) -> tuple[float, float]:
    """Strengths (l1, l2) of scikit-learn's Ridge: ``sum s_i (y_i - z_i)^2 + alpha |w|^2`` is twice our objective."""
    return 0.0, alpha
