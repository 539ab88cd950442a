"""The Dirichlet distribution, and the beta distribution as its two-dimensional case."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, digamma, gammaln, polygamma, xlogy
from sklearn.utils import check_random_state

from tallywise._arrays import Seed

Array = NDArray[np.float64]


class Dirichlet:
    r"""Distribution over the points of a simplex: x_k >= 0, sum of x_k = 1.

    .. math:: p(x) = \frac{1}{B(\alpha)} \prod_k x_k^{\alpha_k - 1}, \qquad
              B(\alpha) = \frac{\prod_k \Gamma(\alpha_k)}{\Gamma(\sum_k \alpha_k)}

    Parameters
    ----------
    alpha : array-like of shape (K,)
        Concentrations, all > 0. Multiplied by a common factor they keep the mean and shrink the variance.

    Attributes
    ----------
    alpha : ndarray of shape (K,)
    concentration : float
        The sum of alpha.

    Examples
    --------
    >>> from tallywise.topics import Dirichlet
    >>> d = Dirichlet([2.0, 3.0, 5.0])
    >>> d.mean()
    array([0.2, 0.3, 0.5])
    >>> round(d.log_density([0.2, 0.3, 0.5]), 4)
    2.1407
    >>> d.marginal(0)
    Beta(2, 8)

    References
    ----------
    T. P. Minka, "Estimating a Dirichlet distribution", 2000.
    """

    concentration: float

    def __init__(self, alpha: ArrayLike) -> None:
        values = np.array(alpha, dtype=np.float64)
        name = type(self).__name__
        if values.ndim != 1 or values.size < 2:
            msg = f"The 'alpha' parameter of {name} must be a vector of at least two numbers. Got shape {values.shape}."
            raise ValueError(msg)
        if not (np.isfinite(values).all() and (values > 0).all()):
            msg = f"The 'alpha' parameter of {name} must be finite and > 0. Got {values.tolist()}."
            raise ValueError(msg)
        values.flags.writeable = False
        self.alpha: Array = values
        self.concentration = float(values.sum())

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(f'{a:g}' for a in self.alpha)}])"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dirichlet) and np.array_equal(self.alpha, other.alpha)

    def __hash__(self) -> int:
        return hash(self.alpha.tobytes())

    def log_normaliser(self) -> float:
        """The logarithm of B(alpha)."""
        return float(gammaln(self.alpha).sum() - gammaln(self.concentration))

    def log_density(self, x: ArrayLike) -> Any:
        """The logarithm of p(x) for a point, or for each row of points."""
        points = self._points(x)
        result = xlogy(self.alpha - 1, points).sum(axis=-1) - self.log_normaliser()
        return float(result) if points.ndim == 1 else result

    def density(self, x: ArrayLike) -> Any:
        """The density p(x) for a point, or for each row of points."""
        return np.exp(self.log_density(x))

    def mean(self) -> Array:
        """E[x] = alpha / sum alpha."""
        return self.alpha / self.concentration

    def variance(self) -> Array:
        """Var[x_k] = m_k (1 - m_k) / (sum alpha + 1), m being the mean."""
        m = self.mean()
        return m * (1 - m) / (self.concentration + 1)

    def covariance(self) -> Array:
        """Cov[x_j, x_k] = (m_k [j = k] - m_j m_k) / (sum alpha + 1)."""
        m = self.mean()
        return np.asarray((np.diag(m) - np.outer(m, m)) / (self.concentration + 1))

    def mean_log(self) -> Array:
        """E[log x_k] = psi(alpha_k) - psi(sum alpha)."""
        return np.asarray(digamma(self.alpha) - digamma(self.concentration))

    def entropy(self) -> float:
        """-E[log p(x)], in nats."""
        return float(self.log_normaliser() - (self.alpha - 1) @ self.mean_log())

    def mode(self) -> Array:
        """Where the density is largest: (alpha - 1) / (sum alpha - K), defined when every alpha > 1."""
        if not (self.alpha > 1).all():
            msg = (
                f"{self!r} has no mode inside the simplex: every alpha must be > 1. "
                f"Its density has no bound, or is flat, where x_{int(np.argmin(self.alpha))} is 0."
            )
            raise ValueError(msg)
        return np.asarray((self.alpha - 1) / (self.concentration - self.alpha.size))

    def marginal(self, k: int) -> "Beta":
        """Distribution of x_k alone."""
        a = float(self.alpha[k])
        return Beta(a, float(np.delete(self.alpha, k).sum()))

    def sample(self, size: int | None = None, random_state: Seed = None) -> Array:
        """One draw, or `size` draws as rows.

        Drawn as gammas in log space, by x_k = g u^(1/alpha_k) with g of shape alpha_k + 1: with a small alpha plain
        gammas all round to 0.
        """
        random = check_random_state(random_state)
        shape = (1 if size is None else size, self.alpha.size)
        logs = (
            np.log(random.standard_gamma(self.alpha + 1, size=shape)) + np.log(random.uniform(size=shape)) / self.alpha
        )
        draws = np.exp(logs - logs.max(axis=1, keepdims=True))
        draws /= draws.sum(axis=1, keepdims=True)
        return np.asarray(draws[0] if size is None else draws)

    def kl(self, other: "Dirichlet") -> float:
        """Kullback-Leibler divergence of `other` from this distribution, in nats."""
        if other.alpha.size != self.alpha.size:
            msg = f"Both distributions must have one dimension. Got {self.alpha.size} and {other.alpha.size}."
            raise ValueError(msg)
        gap = (self.alpha - other.alpha) @ self.mean_log()
        return float(other.log_normaliser() - self.log_normaliser() + gap)

    def log_likelihood(self, counts: ArrayLike) -> Any:
        r"""Logarithm of the Dirichlet-multinomial probability of counts, for a vector or for each row.

        .. math:: \log \frac{n!}{\prod_k n_k!} + \log \frac{B(\alpha + n)}{B(\alpha)}
        """
        n = np.asarray(counts, dtype=np.float64)
        if n.shape[-1:] != self.alpha.shape:
            msg = f"Counts must have {self.alpha.size} columns. Got shape {n.shape}."
            raise ValueError(msg)
        if not (np.isfinite(n).all() and (n >= 0).all()):
            msg = "Counts must be finite and not negative."
            raise ValueError(msg)
        total = n.sum(axis=-1)
        ways = gammaln(total + 1) - gammaln(n + 1).sum(axis=-1)
        result = (
            ways
            + (gammaln(n + self.alpha) - gammaln(self.alpha)).sum(axis=-1)
            - (gammaln(total + self.concentration) - gammaln(self.concentration))
        )
        return float(result) if n.ndim == 1 else result

    @classmethod
    def fit(cls, x: ArrayLike, *, tol: float = 1e-10, max_iter: int = 1000) -> Self:
        """Maximum-likelihood alpha for points of the simplex (rows), by Newton's method.

        The Hessian is diagonal plus a constant, so a step costs O(K) (Minka 2000, section 1).
        """
        points = np.atleast_2d(np.asarray(x, dtype=np.float64))
        if points.shape[0] < 2 or not ((points > 0).all() and np.allclose(points.sum(axis=1), 1.0, atol=1e-6)):
            msg = "Dirichlet.fit needs at least two rows of numbers > 0 that sum to 1."
            raise ValueError(msg)
        target = np.log(points).mean(axis=0)
        first, second = points.mean(axis=0), (points[:, 0] ** 2).mean()
        spread = second - first[0] ** 2
        if np.ptp(points, axis=0).max() < 1e-12:
            msg = "Dirichlet.fit needs points that differ: for equal points the likelihood has no maximum."
            raise ValueError(msg)
        scale = (first[0] - second) / spread if spread > 0 else float(points.shape[1])
        alpha = np.maximum(first * np.clip(scale, 1e-2, 1e6), 1e-4)
        for _ in range(max_iter):
            g = digamma(alpha.sum()) - digamma(alpha) + target
            q = -polygamma(1, alpha)
            z = polygamma(1, alpha.sum())
            b = (g / q).sum() / (1 / z + (1 / q).sum())
            step = (g - b) / q
            # Newton on a concave function of positive numbers: halve until all stay positive.
            while (alpha - step <= 0).any():
                step /= 2
            alpha = alpha - step
            if np.abs(step).max() <= tol * alpha.max():
                break
        return cls._of(alpha)

    @classmethod
    def fit_counts(cls, counts: ArrayLike, *, tol: float = 1e-8, max_iter: int = 10_000) -> Self:
        """Maximum-likelihood alpha of the Dirichlet-multinomial for rows of counts, by Minka's fixed point (eq. 55)."""
        n = np.atleast_2d(np.asarray(counts, dtype=np.float64))
        if not (np.isfinite(n).all() and (n >= 0).all()):
            msg = "Counts must be finite and not negative."
            raise ValueError(msg)
        n = n[n.sum(axis=1) > 0]
        if n.shape[0] < 2 or (n.sum(axis=0) == 0).any():
            msg = "Dirichlet.fit_counts needs two rows that are not empty, and every column to occur."
            raise ValueError(msg)
        alpha = n.sum(axis=0) / n.sum() * n.shape[1]
        totals = n.sum(axis=1)
        for _ in range(max_iter):
            above = (digamma(n + alpha) - digamma(alpha)).sum(axis=0)
            below = (digamma(totals + alpha.sum()) - digamma(alpha.sum())).sum()
            fresh = alpha * above / below
            done = np.abs(fresh - alpha).max() <= tol * alpha.max()
            alpha = fresh
            # Rows no more different than one multinomial makes them: the likelihood has no maximum.
            if done or alpha.sum() > 1e8:
                break
        return cls._of(alpha)

    @classmethod
    def _of(cls, alpha: Array) -> Self:
        return cls(alpha)

    def _points(self, x: ArrayLike) -> Array:
        points = np.asarray(x, dtype=np.float64)
        if points.shape[-1:] != self.alpha.shape or points.ndim > 2:
            msg = f"Points must have {self.alpha.size} coordinates. Got shape {points.shape}."
            raise ValueError(msg)
        if not ((points >= 0).all() and np.allclose(points.sum(axis=-1), 1.0, atol=1e-8)):
            msg = "Points of a Dirichlet distribution are not negative and sum to 1."
            raise ValueError(msg)
        return points


class Beta(Dirichlet):
    """Distribution over [0, 1]: the first coordinate of a Dirichlet distribution with alpha = (a, b).

    What Dirichlet gives for the pair (x, 1 - x) is given here for x alone.

    Parameters
    ----------
    a, b : float
        Concentrations, > 0.

    Examples
    --------
    >>> from tallywise.topics import Beta
    >>> Beta(2, 8).mean()
    0.2
    >>> low, high = Beta(2, 8).interval(0.95)
    >>> round(low, 3), round(high, 3)
    (0.028, 0.482)
    """

    def __init__(self, a: float, b: float) -> None:
        super().__init__([a, b])

    def __repr__(self) -> str:
        return f"Beta({self.alpha[0]:g}, {self.alpha[1]:g})"

    def log_density(self, x: ArrayLike) -> Any:
        """The logarithm of p(x), for a number or an array of them."""
        values = np.asarray(x, dtype=np.float64)
        if not ((values >= 0) & (values <= 1)).all():
            msg = "Points of a beta distribution are in [0, 1]."
            raise ValueError(msg)
        a, b = self.alpha
        result = xlogy(a - 1, values) + xlogy(b - 1, 1 - values) - self.log_normaliser()
        return float(result) if values.ndim == 0 else result

    def cdf(self, x: ArrayLike) -> Any:
        """The probability of a value up to x."""
        return betainc(*self.alpha, np.clip(x, 0, 1))

    def quantile(self, p: ArrayLike) -> Any:
        """The value below which a draw falls with probability p."""
        return betaincinv(*self.alpha, p)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Central interval that holds a draw with probability `level`."""
        tail = (1 - level) / 2
        return float(self.quantile(tail)), float(self.quantile(1 - tail))

    def mean(self) -> Any:
        """E[x] = a / (a + b)."""
        return float(super().mean()[0])

    def variance(self) -> Any:
        """Var[x] = a b / ((a + b)^2 (a + b + 1))."""
        return float(self.covariance()[0, 0])

    def covariance(self) -> Array:
        """Covariance of (x, 1 - x)."""
        return Dirichlet(self.alpha).covariance()

    def mode(self) -> Any:
        """Where the density is largest, (a - 1) / (a + b - 2), defined when a, b > 1."""
        return float(super().mode()[0])

    def sample(self, size: int | None = None, random_state: Seed = None) -> Any:
        """One draw, or an array of `size` draws."""
        draws = super().sample(size, random_state)[..., 0]
        return float(draws) if size is None else draws

    @classmethod
    def _of(cls, alpha: Array) -> Self:
        return cls(*alpha.tolist())

    @classmethod
    def fit(cls, x: ArrayLike, *, tol: float = 1e-10, max_iter: int = 1000) -> Self:
        """Maximum-likelihood a and b for values in (0, 1)."""
        values = np.asarray(x, dtype=np.float64).ravel()
        return super().fit(np.column_stack([values, 1 - values]), tol=tol, max_iter=max_iter)
