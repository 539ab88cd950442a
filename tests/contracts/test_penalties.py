"""Laws that every penalty of the registry keeps, a newcomer included."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tallywise import _native

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
    here = at(name, l1, l2, w, v - w)
    assume(math.isfinite(here["conjugate"]))
    assert here["value"] + here["conjugate"] == pytest.approx(w * (v - w), abs=1e-9)
    assert at(name, l1, l2, w, w - v)["distance"] == pytest.approx(0, abs=1e-9)
