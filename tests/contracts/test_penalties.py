"""Laws that every penalty of the registry keeps, a newcomer included."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from tallywise import _native
from tallywise._arrays import columns

numbers = st.floats(-10, 10)
strengths = st.sampled_from([0.0, 0.3, 2.0])
penalties = pytest.mark.parametrize("name", _native.penalties())


def at(name, l1, l2, w, u):
    return _native.penalty_at(name, l1, l2, w, u)


@penalties
@given(l1=strengths, l2=strengths, v=numbers, other=numbers, step=st.sampled_from([0.1, 1.0]))
def test_prox_is_the_minimiser(name, l1, l2, v, other, step):
    def objective(w):
        return 0.5 * (w - v) ** 2 + step * at(name, l1, l2, w, 0.0)["value"]

    best = at(name, l1, l2, v, step)["prox"]
    assert objective(best) <= objective(other) + 1e-9


@penalties
@given(l1=strengths, l2=strengths, w=numbers, u=numbers)
def test_conjugate_bounds_every_product(name, l1, l2, w, u):
    here = at(name, l1, l2, w, u)
    assert here["value"] + here["conjugate"] >= w * u - 1e-9


@penalties
@given(l1=strengths, l2=st.sampled_from([0.3, 2.0]), v=numbers)
def test_conjugate_is_reached_and_distance_is_zero_at_a_stationary_point(name, l1, l2, v):
    w = at(name, l1, l2, v, 1.0)["prox"]  # then v - w is a subgradient at w
    assert at(name, l1, l2, w, w - v)["distance"] == pytest.approx(0, abs=1e-9)
    here = at(name, l1, l2, w, v - w)
    assume(math.isfinite(here["conjugate"]))
    if _native.penalty_traits(name)["convex"]:
        assert here["value"] + here["conjugate"] == pytest.approx(w * (v - w), abs=1e-9)


@penalties
@given(l1=strengths, l2=strengths, g=numbers)
def test_weights_stay_at_zero_while_the_slope_at_zero_is_not_reached(name, l1, l2, g):
    assert (at(name, l1, l2, 0.0, g)["distance"] > 0) == (at(name, l1, l2, g, 0.0)["pull"] > l1)


@given(data=st.data(), w=numbers, u=numbers, l1=strengths, l2=strengths)
def test_convex_penalties_are_the_elastic_net_where_they_are_finite(data, w, u, l1, l2):
    name = data.draw(st.sampled_from([name for name in _native.penalties() if _native.penalty_traits(name)["convex"]]))
    here = at(name, l1, l2, w, u)
    assert here["value"] in (math.inf, pytest.approx(l1 * abs(w) + 0.5 * l2 * w * w))


OFFERED = [
    (loss, penalty)
    for loss in _native.losses()
    for penalty in _native.penalties()
    if _native.loss_traits(loss)["plain"]
    and (_native.penalty_traits(penalty)["labels"] or not _native.loss_traits(loss)["binary"])
]


@pytest.mark.parametrize(("loss", "penalty"), OFFERED)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(80, 12), (60, 300)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_paths_end_where_no_gradient_is_left(loss, penalty, fit_intercept, shape, form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.6)
    y = X[:, :5] @ [2.0, -1, 1, -0.5, 0.25] + 0.3 + 0.5 * rng.standard_normal(shape[0])
    y = np.where(y > 0, 1.0, -1.0) if _native.loss_traits(loss)["binary"] else y
    s = rng.choice([0.0, 1.0, 2.5], shape[0])
    strengths = np.array([[20.0, 3.0], [8.0, 3.0], [4.0, 3.0]])
    answers = []
    for threads in (1, 4):
        problem = _native.SparseProblem(loss, penalty, 1e-9, 100_000, fit_intercept, threads)
        answers.append(_native.sparse_path(columns(form(X)), problem, y, s, strengths))
    assert all(a[0].tobytes() == b[0].tobytes() for a, b in zip(*answers, strict=True))
    for (w, b, primal, dual, _, distance), (l1, l2) in zip(answers[0], strengths, strict=True):
        fits = [_native.loss_at(loss, 0.0, *pair) for pair in zip(y, X @ w + b, strict=True)]
        assert primal == pytest.approx(
            s @ [fit["value"] for fit in fits] + sum(at(penalty, l1, l2, x, 0.0)["value"] for x in w)
        )
        u = X.T @ (s * [fit["gradient"] for fit in fits])
        left = max(at(penalty, l1, l2, x, g)["distance"] for x, g in zip(w, u, strict=True))
        assert left <= distance + 1e-9 * l1
        assert left <= 1e-3 * l1
        assert dual <= primal * (1 + 1e-13)
        if _native.penalty_traits(penalty)["convex"]:
            assert primal - dual <= 1e-9 * primal
        else:
            assert left <= 2e-9 * l1
