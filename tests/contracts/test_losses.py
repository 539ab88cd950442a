"""Laws that every loss of the registry keeps, a newcomer included."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallywise import _native

scores = st.floats(-30, 30)
losses = pytest.mark.parametrize("name", _native.losses())
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
