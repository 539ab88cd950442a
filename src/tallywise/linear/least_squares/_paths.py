"""Regularisation paths of least squares: one warm-started, screened solve after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from tallywise import _penalty
from tallywise._arrays import check_array
from tallywise.linear.least_squares._base import (
    Array,
    Data,
    SquaresDesign,
    dense_where_small,
    penalty_of,
    squares_path,
    squares_under,
)

Callback = Callable[[int, int], Any]


def alpha_grid(
    X: Any,
    y: Array,
    *,
    l1_ratio: float = 1.0,
    fit_intercept: bool = True,
    eps: float = 1e-3,
    n_alphas: int = 100,
    s: Array | None = None,
    positive: bool = False,
) -> Array:
    """Alphas from the smallest with all weights zero down to ``eps`` times that, evenly spaced in the logarithm.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array of shape (n_samples,)
        Targets.
    l1_ratio : float, default=1.0
        Share of the L1 penalty.
    fit_intercept : bool, default=True
        Whether the path has an intercept.
    eps : float, default=1e-3
        Last alpha over first.
    n_alphas : int, default=100
        Number of alphas.
    s : array of shape (n_samples,), default=None
        Sample weights.
    positive : bool, default=False
        Whether the weights are kept from being negative.

    Returns
    -------
    array of shape (n_alphas,)
        Decreasing alphas.
    """
    if l1_ratio == 0:
        msg = (
            "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a grid by providing your "
            "estimator with the appropriate `alphas=` argument."
        )
        raise ValueError(msg)
    weights = np.ones(len(y)) if s is None else s
    total = weights.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        r = weights * (y - (weights @ y / total if fit_intercept else 0.0))
        u = np.asarray(X.T @ r).ravel()
    if not np.isfinite(u).all():
        msg = "The values of X and y are too large for this fit: their products overflow. Scale X and y."
        raise ValueError(msg)
    pull = float(max(u.max(initial=0.0), 0.0) if positive else np.abs(u).max(initial=0.0))
    top = _penalty.largest_mean_strength(pull, l1_ratio, float(total))
    if top <= np.finfo(float).resolution:
        return np.full(n_alphas, np.finfo(float).resolution)
    return np.geomspace(top, top * eps, num=n_alphas)


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    tol: float = 1e-4,
    max_iter: int = 1000,
    sample_weight: Any = None,
    callback: Callback | None = None,
    **params: Any,
) -> tuple[Any, ...]:
    r"""Elastic-net path, without an intercept.

    For each alpha, minimises :math:`\frac{1}{2n} |y - Xw|^2 + \alpha \rho |w|_1 + \frac{\alpha (1 - \rho)}{2} |w|^2`
    from the last solution. Several targets are fitted one by one.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    l1_ratio : float, default=0.5
        The share :math:`\rho` of the L1 penalty.
    eps : float, default=1e-3
        Last alpha over first, where the grid is made here.
    alphas : int or array, default=100
        Length of the grid, or the grid itself.
    precompute, Xy, copy_X, verbose, check_input, **params
        Accepted for compatibility.
    coef_init : array of shape (n_features,), default=None
        Where to start.
    return_n_iter : bool, default=False
        Whether to give the iterations, too.
    positive : bool, default=False
        Whether the weights must not be negative.
    tol : float, default=1e-4
        Relative duality gap to reach at every alpha.
    max_iter : int, default=1000
        Most rounds over the coordinates, per alpha.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples.
    callback : callable, default=None
        Called as ``callback(done, total)`` after each alpha.

    Returns
    -------
    alphas : array of shape (n_alphas,)
        Decreasing alphas.
    coefs : array of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        Weights.
    dual_gaps : array of shape (n_alphas,) or (n_targets, n_alphas)
        Duality gaps, per sample.
    n_iters : list of int
        With ``return_n_iter``.

    Examples
    --------
    >>> from tallywise.linear import lasso_path
    >>> alphas, coefs, gaps = lasso_path([[1, 2], [2.3, 5.4], [3.1, 4.3]], [1, 2, 3.1], alphas=[5.0, 1.0, 0.5])
    >>> coefs.round(2)
    array([[0.  , 0.  , 0.48],
           [0.22, 0.45, 0.22]])
    """
    X = dense_where_small(check_array(X, accept_sparse="csc", dtype=[np.float64, np.float32]))
    y = check_array(y, ensure_2d=False, dtype=np.float64)
    check_consistent_length(X, y)
    targets = y.reshape(len(y), -1)
    s = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
    if isinstance(alphas, (int, np.integer)):
        grids = [
            alpha_grid(
                X, target, l1_ratio=l1_ratio, fit_intercept=False, eps=eps, n_alphas=int(alphas), s=s, positive=positive
            )
            for target in targets.T
        ]
        grid = max(grids, key=lambda g: float(g[0]))
    else:
        grid = np.sort(np.asarray(alphas, dtype=np.float64))[::-1]
    weight = float(X.shape[0] if s is None else s.sum())
    penalties = [_penalty.from_mean_strength(alpha, l1_ratio, weight) for alpha in grid]
    design = SquaresDesign.of(Data(X, targets, s, y.ndim == 1), fit_intercept=False)
    problem = squares_under(penalty_of(positive), tol=tol, max_iter=max_iter, fit_intercept=False)
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        assert callback is not None
        callback(done, len(grid) * targets.shape[1])

    fits = [
        squares_path(
            design,
            target,
            s,
            problem,
            [(penalty.l1, penalty.l2) for penalty in penalties],
            None if coef_init is None else np.atleast_2d(coef_init)[k],
            None if callback is None else step,
        )
        for k, target in enumerate(targets.T)
    ]
    coefs = np.array([[fit.w for fit in path] for path in fits], dtype=X.dtype).transpose(0, 2, 1)
    gaps = np.array([[fit.certificate.gap / weight for fit in path] for path in fits])
    rounds = [[fit.certificate.iterations for fit in path] for path in fits]
    if y.ndim == 1:
        return (grid, coefs[0], gaps[0], rounds[0]) if return_n_iter else (grid, coefs[0], gaps[0])
    return (grid, coefs, gaps, rounds) if return_n_iter else (grid, coefs, gaps)


def lasso_path(X: Any, y: Any, **options: Any) -> tuple[Any, ...]:
    """Lasso path: :func:`enet_path` with ``l1_ratio=1``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    **options
        As in :func:`enet_path`.

    Returns
    -------
    tuple
        As from :func:`enet_path`.

    Examples
    --------
    >>> from tallywise import lasso_path
    >>> alphas, coefs, gaps = lasso_path([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 0.1, 1.1], alphas=[0.3, 0.01])
    >>> (coefs != 0).sum(axis=0)
    array([1, 2])
    """
    options.pop("l1_ratio", None)
    return enet_path(X, y, l1_ratio=1.0, **options)
