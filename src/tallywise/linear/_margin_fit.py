"""Shared by the linear support vector machines: options of the native solvers, and the fitted attributes."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tallywise import _arrays, _native, _threads
from tallywise._arrays import validate_data
from tallywise._certificate import Certificate
from tallywise._sklearn import check_sample_weight

Answer = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def losses(*, binary: bool) -> set[str]:
    """Losses of labels or of numbers that the native solvers of margins take."""
    traits = {name: _native.loss_traits(name) for name in _native.losses()}
    return {name for name, loss in traits.items() if loss["ascends"] and loss["binary"] == binary}


def refuse_unsupported(penalty: str, loss: str, dual: bool | str) -> None:
    """Raise for combinations that scikit-learn refuses, with its message."""
    plain, kinks = _native.loss_traits(loss)["plain"], np.isinf(_native.loss_traits(loss)["smoothness"])
    if penalty == "l1" and not plain:
        what = f"penalty='l1' and loss={loss!r} is not supported"
    elif penalty == "l2" and kinks and dual is False:
        what = f"penalty='l2' and loss={loss!r} is not supported when dual=False"
    elif penalty == "l1" and dual is True:
        what = f"penalty='l1' and loss={loss!r} is not supported when dual=True"
    else:
        return
    msg = (
        f"Unsupported set of arguments: The combination of {what}, Parameters: penalty={penalty!r}, loss={loss!r}, "
        f"dual={dual!r}"
    )
    raise ValueError(msg)


def design_of(model: Any, X: Any, y: Any, **checks: Any) -> tuple[Any, Any]:
    """Validated X (float64 or float32, C order or CSR with any indices) and y."""
    X, y = validate_data(
        model, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", accept_large_sparse=True, **checks
    )
    return X, y


def weights_of(X: Any, sample_weight: Any) -> NDArray[np.float64]:
    """Weights of samples, not negative and not all zero."""
    s = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)
    if not s.any():
        msg = "All samples have weight zero: there is nothing to fit."
        raise ValueError(msg)
    return np.ascontiguousarray(s)


def is_free(model: Any) -> bool:
    """Whether the intercept is unpenalised: on request, and by default where C is infinite."""
    return bool(
        model.fit_intercept and (model.intercept == "free" or (model.intercept == "auto" and model.C == np.inf))
    )


def options_of(model: Any, loss: str, epsilon: float = 0.0) -> _native.MarginOptions:
    """Native options from an estimator's parameters."""
    scale = 0.0
    if model.fit_intercept:
        scale = 1.0 if is_free(model) else float(model.intercept_scaling)
        if scale <= 0:
            msg = (
                f"Intercept scaling is {model.intercept_scaling!r} but needs to be greater than 0. To disable fitting "
                "an intercept, set fit_intercept=False."
            )
            raise ValueError(msg)
    seed = 0 if model.random_state is None else int(check_random_state(model.random_state).randint(2**31 - 1))
    return _native.MarginOptions(
        loss=loss,
        epsilon=float(epsilon),
        intercept_scale=scale,
        free_intercept=is_free(model),
        tol=float(model.tol),
        max_iter=int(model.max_iter),
        seed=seed,
        threads=_threads.count(model.n_jobs),
    )


def keep(model: Any, dtype: Any, solve: Callable[[], Answer]) -> None:
    """Run a native solve and set `coef_`, `intercept_`, `n_iter_` and `certificate_` from it."""
    began = time.perf_counter()
    W, b, primal, dual, iterations = solve()
    if not (np.isfinite(W).all() and np.isfinite(b).all() and np.isfinite(primal).all()):
        msg = "The fit overflowed: scale X and y, or make C and the sample weights smaller."
        raise ValueError(msg)
    model.coef_ = W.astype(dtype, copy=False)
    model.intercept_ = b.astype(dtype, copy=False) if model.fit_intercept else 0.0
    model.n_iter_ = max(int(iterations.max()), 1)
    model.certificate_ = Certificate(
        float(primal.sum()), float(dual.sum()), int(iterations.max()), time.perf_counter() - began
    )
    with np.errstate(invalid="ignore"):
        gaps = (primal - dual) / np.maximum(np.maximum(np.abs(primal), np.abs(dual)), np.finfo(float).tiny)
    if not gaps.max() <= max(model.tol, 1e-12):
        remedy = (
            f"Increase max_iter (now {model.max_iter})."
            if model.n_iter_ >= model.max_iter
            else "Rounding stops it here: scale the columns of X to one size, or increase tol."
        )
        # It begins with scikit-learn's words, which filters look for.
        said = "Liblinear failed to converge, increase the number of iterations."
        msg = f"{said} The relative duality gap is {gaps.max():.1e}, above tol={model.tol:g}. {remedy}"
        warnings.warn(msg, ConvergenceWarning, stacklevel=4)


def sparse_margins(
    model: Any, X: Any, codes: NDArray[np.int64], s: NDArray[np.float64], scale: NDArray[np.float64]
) -> Answer:
    """A smooth loss under the L1 norm, one class against the rest for each row of `scale`."""
    free = is_free(model)
    # Coordinate descent stops well above rounding: on distinct rows neither their order nor repeats change where.
    order, s = _native.distinct_rows(_arrays.rows(X, any_order=True), codes, s, 0)
    X, codes, s = X[order], codes[order], s[order]
    if model.fit_intercept and not free:
        column = np.full((X.shape[0], 1), model.intercept_scaling, dtype=X.dtype)
        X = sp.hstack([X, column], format="csc") if sp.issparse(X) else np.hstack([X, column])
    columns = _arrays.columns(X)
    problem = _native.SparseProblem(
        model.loss, "elastic_net", float(model.tol), int(model.max_iter), free, _threads.count(model.n_jobs)
    )
    fits = []
    for k, weights in enumerate(scale):
        inside = codes == (1 if len(scale) == 1 else k)
        y = np.where(inside, 1.0, -1.0)
        fits += _native.sparse_path(
            columns, problem, y, s * np.where(inside, weights[1], weights[0]), np.array([[1.0, 0]])
        )
    W = np.array([w for w, *_ in fits])
    b = np.array([fit[1] for fit in fits])
    if model.fit_intercept and not free:
        W, b = np.ascontiguousarray(W[:, :-1]), model.intercept_scaling * W[:, -1]
    primal, dual, iterations = (np.array([fit[k] for fit in fits]) for k in (2, 3, 4))
    return W, b, primal, dual, iterations
