"""Models of classes that add up what their features say: linear ones, with pairs of columns, and naive Bayes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tallywise.models.table_encoding import DateCode, NumberCode
from tallywise.table_model.fitted import Fitted, with_pairs
from tallywise.table_model.pairs import choose_pairs
from tallywise.table_model.training_columns import Problem, Rows
from tallywise.text_model.fits import FitData
from tallywise.text_model.forms import Form
from tallywise.text_model.model_types import named as text_model_type

Array = NDArray[np.float64]


def linear(problem: Problem, X: Any, name: str, **setting: Any) -> Form:
    """A linear model of the text model's list, on rows that may lack some of the classes."""
    data = problem.data
    task = FitData(X, problem.codes, data.target.classes, data.n_jobs, data.class_weight)
    return text_model_type(name).fit(task, **setting)


def by_name(name: str, view: str) -> Callable[..., Fitted]:
    """A linear model of the text model's list, numbers in a view."""

    def fit(problem: Problem, **setting: Any) -> Fitted:
        def make() -> Form:
            return linear(problem, problem.features(view), name, **setting)

        return Fitted(problem.design(view), problem.kept((name, view, *setting.values()), make))

    return fit


def pairs_logistic(problem: Problem, *, C: float, pairs: int) -> Fitted:
    """Curves, then products of the pairs of columns where their errors are not random."""
    first = by_name("logistic", "curve")(problem, C=C).form
    z = problem.features("curve") @ first.W + first.b
    codes, K = problem.codes, len(problem.data.target.classes)
    P = expit(z) if z.shape[1] == 1 else softmax(z, axis=1)
    Y = (codes == 1)[:, None].astype(float) if z.shape[1] == 1 else np.eye(K)[codes]
    found = problem.last(("pairs", C), lambda: choose_pairs(problem, P - Y, np.maximum(P * (1 - P), 1e-6)))
    return with_pairs(problem, found[:pairs], first, ("logistic", C), lambda X: linear(problem, X, "logistic", C=C))


def naive_bayes(view: str) -> Callable[..., Fitted]:
    """Numbers normal in each class (view squares) or in bins, categories by their counts; all independent."""

    def fit(problem: Problem, *, alpha: float) -> Fitted:
        K = len(problem.data.target.classes)
        W, b = independent(problem, view, problem.codes, K, alpha)
        if K == 2:
            W, b = W[:, 1:] - W[:, :1], b[1:] - b[:1]
        return Fitted(problem.design(view), Form(np.ascontiguousarray(W), b))

    return fit


def independent(problem: Problem, view: str, codes: Rows, K: int, alpha: float) -> tuple[Array, Array]:
    """Logarithms of the likelihoods of each feature and of the priors for K classes, given those of the rows."""
    from tallywise.naive_bayes import CategoricalNB, GaussianNB

    design = problem.design(view)
    W, b = np.zeros((design.width, K)), np.log(np.bincount(codes, minlength=K) + 0.5)
    slots = design.slots(problem.values, len(problem.rows))
    for (_, code), part, offset in zip(design.parts, slots, design.offsets, strict=False):
        counted = np.arange(part.columns.shape[1])
        number = code if isinstance(code, NumberCode) else code.day if isinstance(code, DateCode) else None
        if number is not None and view == "squares":
            model = GaussianNB().fit(part.values[:, :1], codes)
            mean, variance = np.zeros(K), np.ones(K)
            mean[model.classes_], variance[model.classes_] = model.theta_[:, 0], np.maximum(model.var_[:, 0], 1e-3)
            W[offset], W[offset + 1] = mean / variance, -0.5 / variance
            base = -0.5 * mean**2 / variance - 0.5 * np.log(variance)
            b += base
            W[offset + number.width - 1] = -base  # a number that is absent says nothing
            counted = counted[3:]
        for s in counted:
            low = int(part.columns[:, s].min())
            model = CategoricalNB(alpha=alpha).fit(part.columns[:, [s]] - low, codes)
            found = model.feature_log_prob_[0]
            block = W[low : low + found.shape[1]]
            block[:, model.classes_] += found.T
            absent = np.setdiff1d(np.arange(K), model.classes_)
            block[:, absent] += found.mean(axis=0)[:, None]
    return W, b
