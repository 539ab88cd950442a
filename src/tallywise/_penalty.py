"""From the public penalty parameters to the weights of one objective, and to the equivalent prior.

Every convex linear model here minimises::

    sum_i s_i l(y_i, z_i) + l1 |w|_1 + l2/2 |w|^2,     z = X w + b,     b unpenalised.

scikit-learn's classes scale their losses and name their penalties in several ways. They are translated to
(l1, l2) here and nowhere else.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Penalty:
    """Weights of the two norms, ``l1 |w|_1 + l2/2 |w|^2``."""

    l1: float
    l2: float

    @property
    def prior(self) -> "Prior":
        """Prior density proportional to ``exp(-penalty)``."""
        return Prior(
            variance=1 / self.l2 if self.l2 > 0 else float("inf"),
            scale=1 / self.l1 if self.l1 > 0 else float("inf"),
        )


@dataclass(frozen=True)
class Prior:
    """The prior of each weight that a penalty corresponds to.

    The minimiser of a penalised negative log-likelihood is the mode of the posterior under the prior with density
    proportional to ``exp(-l1 |w| - l2/2 w^2)``: Gaussian for ``l2`` alone, Laplace for ``l1`` alone, their product for
    both, flat for neither.

    Parameters
    ----------
    variance : float
        Variance of the Gaussian factor, ``1 / l2``; inf where there is none.
    scale : float
        Scale of the Laplace factor, ``1 / l1``; inf where there is none.

    Examples
    --------
    >>> print(Penalty(l1=0.0, l2=0.5).prior)
    w ~ Normal(mean 0, variance 2)
    """

    variance: float
    scale: float

    @property
    def family(self) -> str:
        """One of 'gaussian', 'laplace', 'elastic net', 'flat'."""
        gaussian, laplace = self.variance != float("inf"), self.scale != float("inf")
        if gaussian and laplace:
            return "elastic net"
        return "gaussian" if gaussian else "laplace" if laplace else "flat"

    def __str__(self) -> str:
        gaussian = f"Normal(mean 0, variance {self.variance:.6g})"
        laplace = f"Laplace(mean 0, scale {self.scale:.6g})"
        texts = {"elastic net": f"{gaussian} x {laplace}, normalised", "gaussian": gaussian, "laplace": laplace}
        return f"w ~ {texts.get(self.family, 'flat')}"


def from_inverse_strength(C: float, l1_ratio: float) -> Penalty:
    """Penalty of scikit-learn's ``LogisticRegression``.

    It minimises ``C sum_i s_i l_i + l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2``; dividing by C gives ours.
    """
    return Penalty(l1=l1_ratio / C, l2=(1 - l1_ratio) / C)


def from_mean_strength(alpha: float, l1_ratio: float, weight: float) -> Penalty:
    """Penalty of scikit-learn's ``Lasso`` and ``ElasticNet``.

    They minimise ``sum_i s_i l_i / weight + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)`` with
    ``weight = sum_i s_i``; multiplying by it gives ours. The prior is in units of the noise variance.
    """
    return Penalty(l1=weight * alpha * l1_ratio, l2=weight * alpha * (1 - l1_ratio))


def from_concave_strength(alpha: float, gamma: float, weight: float) -> tuple[float, float]:
    """(l1, l2) of the registry's minimax concave penalty, ``l1 |w| - l2/2 w^2`` up to ``|w| = l1 / l2``, flat beyond.

    ``MinimaxConcaveRegression`` minimises ``sum_i s_i l_i / weight + sum_j p(w_j)``, p with slope alpha at 0 and flat
    from ``gamma alpha`` on; multiplying by the weight gives these. It is no prior: its density has no finite mass.
    """
    return weight * alpha, weight / gamma


def largest_mean_strength(pull: float, l1_ratio: float, weight: float) -> float:
    """Smallest alpha of an elastic net with all weights zero, given the largest gradient of the loss at zero."""
    return pull / (weight * l1_ratio)


def from_ridge_strength(alpha: float) -> Penalty:
    """Penalty of scikit-learn's ``Ridge``: ``sum_i s_i (y_i - z_i)^2 + alpha |w|^2`` is twice our objective."""
    return Penalty(l1=0.0, l2=alpha)
