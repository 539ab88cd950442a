"""Linear models of several classes: what is done to their weights."""

import numpy as np

from tallywise.text_model.forms import Form


def test_an_absent_class_scores_what_the_present_ones_do_on_average():
    rng = np.random.default_rng(0)
    present, K = np.array([0, 2, 3]), 5
    form = Form(rng.standard_normal((7, 3)), rng.standard_normal(3))
    share = np.full((3, K), 1 / 3)
    share[:, present] = np.eye(3)
    spread = form.spread(present, K)
    np.testing.assert_array_equal(spread.W[:, present], form.W)
    np.testing.assert_allclose(spread.W, form.W @ share)
    np.testing.assert_allclose(spread.b, form.b @ share)


def test_one_column_for_two_classes_spreads_to_halves():
    form = Form(np.array([[2.0], [-4.0]]), np.array([1.0])).spread(np.array([1, 2]), 3)
    np.testing.assert_array_equal(form.W, [[0, -1, 1], [0, 2, -2]])
    np.testing.assert_array_equal(form.b, [0, -0.5, 0.5])
