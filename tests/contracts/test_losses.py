"""Laws that every loss of the registry keeps, a newcomer included."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallywise import _native

scores = st.floats(-30, 30)
losses = pytest.mark.parametrize("name", _native.losses())
ascending = pytest.mark.parametrize("name", [name for name in _native.losses() if _native.loss_traits(name)["ascends"]])
PARAMETER = 0.1


def targets(name):
    return st.sampled_from([-1.0, 1.0]) if _native.loss_traits(name)["binary"] else st.floats(-5, 5)


def at(name, y, z):
    return _native.loss_at(name, PARAMETER, y, z)


@losses
@given(data=st.data(), z=scores)
def test_gradient_is_the_slope(name, data, z):
    y = data.draw(targets(name))
    h = 1e-6
    left, right = at(name, y, z - h), at(name, y, z + h)
    slope = (right["value"] - left["value"]) / (2 * h)
    assert left["gradient"] - 1e-6 <= slope <= right["gradient"] + 1e-6


@losses
@given(data=st.data(), z=scores)
def test_curvature_is_the_slope_of_the_gradient_and_within_the_smoothness(name, data, z):
    y = data.draw(targets(name))
    smoothness = _native.loss_traits(name)["smoothness"]
    assert 0 <= at(name, y, z)["curvature"] <= smoothness
    h = 1e-5
    change = (at(name, y, z + h)["gradient"] - at(name, y, z - h)["gradient"]) / (2 * h)
    assert change >= -1e-6
    assert change <= smoothness + 1e-4
    if math.isfinite(smoothness) and abs(at(name, y, z + h)["curvature"] - at(name, y, z - h)["curvature"]) < 1e-3:
        assert at(name, y, z)["curvature"] == pytest.approx(change, abs=1e-4)


@losses
@given(data=st.data(), z=scores, a=st.floats(-3, 3))
def test_fenchel_young_holds_with_equality_at_the_gradient(name, data, z, a):
    y = data.draw(targets(name))
    here = at(name, y, z)
    assert here["value"] + here["conjugate"] == pytest.approx(z * here["gradient"], abs=1e-8)
    assert here["value"] + _native.loss_conjugate(name, PARAMETER, y, a) >= z * a - 1e-9


@losses
@given(data=st.data(), z=scores)
def test_gradients_are_dual_feasible(name, data, z):
    y = data.draw(targets(name))
    here = at(name, y, z)
    assert math.isfinite(here["conjugate"])
    assert here["clipped"] == here["gradient"]


@losses
def test_losses_are_finite_far_from_the_boundary(name):
    for y in (-1.0, 1.0):
        for z in (-1e6, 1e6):
            assert all(math.isfinite(figure) for figure in at(name, y, z).values())


@losses
@given(data=st.data(), z=scores, other=scores)
def test_bend_is_at_least_the_curvature_and_holds_every_slope(name, data, z, other):
    y = data.draw(targets(name))
    here = at(name, y, z)
    assert here["bend"] >= here["curvature"]
    if math.isinf(_native.loss_traits(name)["smoothness"]) or here["gradient"] == 0:
        return
    assert here["bend"] > 0
    if here["curvature"] == 0:  # a straight piece: the parabola lies above the loss
        step = other - z
        above = here["value"] + step * (here["gradient"] + 0.5 * here["bend"] * step)
        assert at(name, y, other)["value"] <= above + 1e-9


@ascending
@given(data=st.data(), z=scores, s=st.floats(0.01, 10), q=st.floats(0.01, 10), share=st.floats(-1, 1))
def test_ascend_is_the_minimiser(name, data, z, s, q, share):
    y = data.draw(targets(name))
    b = -s * at(name, y, data.draw(scores))["gradient"]

    def objective(t):
        return 0.5 * q * (t - b) ** 2 + z * t + s * _native.loss_conjugate(name, PARAMETER, y, -t / s)

    best = _native.loss_ascend(name, PARAMETER, y, s, q, z, b)
    size = 1e-9 * (1 + abs(best)) * (1 + abs(z) + q * abs(best - b))
    inside = best * (1 - 1e-15)  # s times a bound, over s, may be above it
    for other in (b, best + share, best + 1e-3 * share, share * s):
        assert objective(inside) <= objective(other) + size
