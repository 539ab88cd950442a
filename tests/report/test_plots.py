"""Pictures show the numbers they are given, and refuse what they cannot show."""

import warnings

import numpy as np
import pytest

from tallywise import LatentDirichletAllocation, MultinomialNB, lasso_path
from tallywise.evaluation import choose_threshold, proportion_interval
from tallywise.report import plots

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def drawn(display):
    """The picture's bytes, so that nothing is left to be drawn later; a missing glyph is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.canvas.draw()
    return np.asarray(display.figure_.canvas.buffer_rgba())


def test_a_path_names_the_weights_that_grow_largest():
    X = np.random.default_rng(0).standard_normal((60, 5))
    alphas, coefs, _ = lasso_path(X, X @ [3.0, 0.0, -2.0, 0.1, 0.0])
    shown = plots.plot_path(alphas, coefs, names=list("abcde"), most=2)
    assert [text.get_text() for text in shown.ax_.get_legend().get_texts()] == ["a", "c"]
    assert drawn(shown).std() > 0


def test_a_calibration_shows_shares_of_bins_with_exact_intervals():
    random = np.random.default_rng(0)
    p = random.random(1000)
    hits = random.random(1000) < p
    shown = plots.plot_calibration(hits, p, n_bins=4)
    for part, predicted, figure in zip(np.array_split(np.argsort(p), 4), shown.predicted, shown.observed, strict=True):
        assert predicted == p[part].mean()
        assert figure.value == hits[part].mean()
        assert (figure.low, figure.high) == proportion_interval(hits[part].sum(), 250)
    drawn(shown)


def test_a_learning_curve_holds_out_every_row_once_at_each_size():
    random = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    X = random.poisson(np.where(y[:, None] == np.arange(2), 3.0, 1.0))
    shown = plots.plot_learning_curve(MultinomialNB(), X, y, sizes=(0.1, 1.0), cv=3)
    assert shown.sizes.tolist() == [8, 80]
    assert all(round(120 * error.value, 9).is_integer() for error in shown.errors)
    drawn(shown)


def test_a_learning_curve_leaves_out_sizes_that_miss_a_class():
    X, y = np.eye(2)[[0, 1] * 10], [0, 1] * 10
    assert plots.plot_learning_curve(MultinomialNB(), X, y, sizes=(0.01, 1.0), cv=2).sizes.tolist() == [10]
    with pytest.raises(ValueError, match="larger sizes"):
        plots.plot_learning_curve(MultinomialNB(), X, y, sizes=(0.01,), cv=2)


def test_topics_have_a_panel_each_and_bars_of_probabilities():
    X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 4, 1], [0, 0, 1, 5]] * 5)
    model = LatentDirichletAllocation(3, random_state=0).fit(X)
    shown = plots.plot_topics(model, n=2, names=["ball", "goal", "vote", "law"], topics=[2, 0])
    names = {"ball": 0, "goal": 1, "vote": 2, "law": 3}
    for k, topic in zip([2, 0], shown.topics, strict=True):
        assert [share for _, share in topic] == [model.phi_[k, names[word]] for word, _ in topic]
    assert len(shown.ax_) == 2
    drawn(shown)


def test_thresholds_show_what_is_caught_and_flagged_and_the_one_chosen():
    random = np.random.default_rng(2)
    positive = random.random(400) < 0.3
    p = np.clip(random.normal(np.where(positive, 0.7, 0.3), 0.2), 0, 1)
    shown = plots.plot_thresholds(positive, p, max_flagged=0.05)
    for level, caught, flagged in zip(shown.thresholds, shown.caught, shown.flagged, strict=True):
        assert caught.value == (p[positive] >= level).mean()
        assert flagged.value == (p[~positive] >= level).mean()
    assert shown.chosen == choose_threshold(positive, p, 0.05)
    drawn(shown)


def test_displays_draw_again_on_given_axes():
    from matplotlib import pyplot

    shown = plots.plot_calibration([True, False], [0.9, 0.2])
    ax = pyplot.subplots()[1]
    assert shown.plot(ax).ax_ is ax


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        (lambda: plots.plot_path([1.0], [[1.0, 2.0]]), "one column per alpha"),
        (lambda: plots.plot_path([1.0], [[1.0]], names=["a", "b"]), "one entry per feature"),
        (lambda: plots.plot_calibration([True], [1.5]), r"\[0, 1\]"),
        (lambda: plots.plot_calibration([], []), "at least 1"),
        (lambda: plots.plot_calibration([True], [0.5], n_bins=0), "n_bins"),
        (lambda: plots.plot_thresholds([True], [0.5]), "both classes"),
        (lambda: plots.plot_thresholds([True, False], [0.5, np.nan]), r"\[0, 1\]"),
        (lambda: plots.plot_learning_curve(MultinomialNB(), [[1]], [1], sizes=(2.0,)), "shares"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_cause(call, cause):
    with pytest.raises(ValueError, match=cause):
        call()
