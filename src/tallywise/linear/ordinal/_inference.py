"""Standard errors of an ordinal fit, and Brant's test of its one assumption."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from tallywise import _arrays, _native
from tallywise.linear._wald import two_sided, wald_interval


@dataclass(frozen=True)
class OrdinalSummary:
    """Estimates with standard errors: weights first, then the thresholds, in their plain scale."""

    names: list[str]
    estimate: NDArray[np.float64]
    std_err: NDArray[np.float64]
    log_likelihood: float
    n_samples: int

    @property
    def z(self) -> NDArray[np.float64]:
        """Estimate over standard error."""
        return self.estimate / self.std_err

    @property
    def p_value(self) -> NDArray[np.float64]:
        """Two-sided, by the normal approximation."""
        return two_sided(self.z)

    @property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Wald intervals at 95 %."""
        return wald_interval(self.estimate, self.std_err, 0.95)

    def __str__(self) -> str:
        low, high = self.interval
        width = max(len(name) for name in self.names)
        lines = [
            f"log-likelihood {self.log_likelihood:.6f}, {self.n_samples} samples",
            f"{'':{width}}  {'estimate':>11}  {'std. error':>10}  {'z':>7}  {'p':>7}  95 % interval",
        ]
        for name, *row in zip(self.names, self.estimate, self.std_err, self.z, self.p_value, low, high, strict=True):
            value, error, z, p, a, b = row
            lines.append(f"{name:{width}}  {value:11.5g}  {error:10.4g}  {z:7.2f}  {p:7.2g}  [{a:.4g}, {b:.4g}]")
        return "\n".join(lines)


@dataclass(frozen=True)
class BrantTest:
    """Wald test that one weight vector serves every threshold, overall and feature by feature."""

    statistic: float
    df: int
    p_value: float
    names: list[str]
    feature_statistic: NDArray[np.float64]
    feature_df: int
    feature_p_value: NDArray[np.float64]
    coef: NDArray[np.float64]

    def __str__(self) -> str:
        width = max(7, *(len(name) for name in self.names))
        lines = [
            f"{'':{width}}  {'chi2':>9}  {'df':>4}  {'p':>7}",
            f"{'overall':{width}}  {self.statistic:9.3f}  {self.df:4d}  {self.p_value:7.2g}",
        ]
        for name, value, p in zip(self.names, self.feature_statistic, self.feature_p_value, strict=True):
            lines.append(f"{name:{width}}  {value:9.3f}  {self.feature_df:4d}  {p:7.2g}")
        return "\n".join(lines)


def brant(
    X: NDArray[np.float64],
    codes: NDArray[np.int64],
    s: NDArray[np.float64],
    names: list[str],
    problem: _native.OrdinalProblem,
) -> BrantTest:
    """Brant's test on dense X with levels 0, 1, ..., each seen; `problem` is for two levels without a penalty.

    Fits y > k for every k on its own. The estimates' joint covariance has the blocks
    ``A_kk^-1 A_kl A_ll^-1``, ``A_kl = X' diag(s P_l (1 - P_k)) X`` for k <= l, with P_k the probability of y > k.
    """
    n, p = X.shape
    T = int(codes.max())
    design = _arrays.rows(X)
    ones = np.column_stack([np.ones(n), X])
    B, P = np.empty((T, p)), np.empty((T, n))
    for k in range(T):
        above = (codes > k).astype(np.int64)
        found = _native.fit_ordinal(design, above, s, problem, False, False)
        w, primal, dual = found.weights(1)[:, 0], found.primal, found.dual
        z = X @ w - found.offsets[0]
        separated = np.array_equal(z > 0, above == 1)  # then the loss has no minimum, only 0 far out
        if separated or not primal - dual <= 1e-6 * max(abs(primal), 1.0):
            msg = (
                f"The fit of levels above number {k} against the rest does not converge, so there is no test: a "
                f"hyperplane {'separates' if separated else 'may separate'} them. Join rare levels, or drop the "
                "columns that separate."
            )
            raise ValueError(msg)
        B[k] = w
        with np.errstate(over="ignore"):
            P[k] = 1 / (1 + np.exp(-z))
    inverse = [np.linalg.inv(ones.T @ (ones * (s * P[k] * (1 - P[k]))[:, None])) for k in range(T)]
    V = np.empty((T, p, T, p))
    for k in range(T):
        for m in range(k, T):
            middle = ones.T @ (ones * (s * P[m] * (1 - P[k]))[:, None])
            block = (inverse[k] @ middle @ inverse[m])[1:, 1:]
            V[k, :, m, :] = block
            V[m, :, k, :] = block.T
    D = np.column_stack([np.ones(T - 1), -np.eye(T - 1)])
    difference = D @ B
    covariance = np.einsum("ak,kpmq,bm->apbq", D, V, D)
    size = (T - 1) * p
    statistic = float(difference.ravel() @ np.linalg.solve(covariance.reshape(size, size), difference.ravel()))
    each = np.array([difference[:, j] @ np.linalg.solve(covariance[:, j, :, j], difference[:, j]) for j in range(p)])
    return BrantTest(
        statistic=statistic,
        df=size,
        p_value=float(chdtrc(size, statistic)),
        names=names,
        feature_statistic=each,
        feature_df=T - 1,
        feature_p_value=np.asarray(chdtrc(T - 1, each)),
        coef=B,
    )
