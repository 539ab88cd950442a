"""Splits, figures, tests and bounds against scikit-learn, SciPy, statsmodels and their definitions."""

import numpy as np
import pytest
from sklearn import metrics
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests

from reliability import coverage
from tallywise import evaluation


@pytest.fixture(scope="module")
def verdicts():
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 400)
    score = np.clip(0.25 + 0.4 * y + 0.25 * random.standard_normal(400), 0.01, 0.99).round(2)  # with ties
    return y, np.column_stack([1 - score, score])


def test_figures_equal_scikit_learn(verdicts):
    y, P = verdicts
    found = evaluation.measure(y, P, [0, 1], resamples=20)
    guess = P.argmax(axis=1)
    expected = {
        "accuracy": metrics.accuracy_score(y, guess),
        "macro_f1": metrics.f1_score(y, guess, average="macro"),
        "mcc": metrics.matthews_corrcoef(y, guess),
        "log_loss": metrics.log_loss(y, P),
        "brier": 2 * metrics.brier_score_loss(y, P[:, 1]),
        "roc_area": metrics.roc_auc_score(y, P[:, 1]),
        "pr_area": metrics.average_precision_score(y, P[:, 1]),
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("population", [coverage.POPULATIONS[k] for k in (0, 2, 3, 6)], ids=lambda p: p.title)
def test_intervals_hold_the_truth_as_often_as_they_say_at_few_mistakes(population):
    """95 % intervals, of which at least 93 % should hold: 80 or fewer of 100 happen with probability below 1e-5."""
    held = coverage.cover(population, 100, trials=100, resamples=120)
    assert min(held.values()) > 0.80 + 0.07, held


def test_no_interval_has_zero_width():
    """Also where no row is wrong, or every row is, or one class alone is seen."""
    n = 60
    for y, guess in (
        (np.arange(n) % 2, np.arange(n) % 2),
        (np.arange(n) % 2, 1 - np.arange(n) % 2),
        (np.zeros(n, int), np.zeros(n, int)),
        (np.zeros(n, int), np.ones(n, int)),
        (np.arange(n) % 3, np.arange(n) % 3),
    ):
        K = max(y.max(), guess.max(), 1) + 1
        P = np.full((n, K), 0.02)
        P[np.arange(n), guess] = 1 - 0.02 * (K - 1)
        for groups in (None, np.arange(n) // 2):
            found = evaluation.measure(y, P, np.arange(K), groups=groups, resamples=100)
            sets = evaluation.measure_labels(np.eye(K)[y], np.eye(K)[guess], groups=groups, resamples=100)
            threshold = evaluation.choose_threshold(y == 1, P[:, 1], 0.01, groups=groups, resamples=100)
            classes = evaluation.class_metrics(y, guess, np.arange(K), groups=groups)
            shares = [figure for one in classes for figure in (one.precision, one.recall, one.f1)]
            for figure in (*found.values(), *sets.values(), threshold.flagged, threshold.caught, *shares):
                assert figure.low < figure.high, (figure, y[:4], guess[:4])
                assert figure.low <= figure.value <= figure.high
    for numbers in (np.arange(20.0), np.ones(20)):
        exact = evaluation.measure_numbers(numbers, numbers, resamples=50)
        assert all(figure.low < figure.high or np.isnan(figure.value) for figure in exact.values())


def test_a_repeat_changes_the_interval_of_the_error_as_little_as_it_should():
    y, P = np.arange(100) % 2, np.eye(2)[np.arange(100) % 2]
    alone = evaluation.measure(y, P, [0, 1], resamples=5)["error"]
    rows = [*range(100), 3]
    repeated = evaluation.measure(y[rows], P[rows], [0, 1], groups=rows, resamples=5)["error"]
    assert (alone.low, repeated.low) == (0, 0)
    assert alone.high == pytest.approx(0.0362, abs=1e-4)
    assert alone.high < repeated.high < 1.02 * alone.high


def test_repeated_rows_do_not_narrow_an_interval(verdicts):
    y, P = verdicts
    once = evaluation.measure(y, P, [0, 1], resamples=300)["log_loss"]
    many = evaluation.measure(
        np.tile(y, 5), np.tile(P, (5, 1)), [0, 1], groups=np.tile(np.arange(400), 5), resamples=300
    )
    assert many["log_loss"].high - many["log_loss"].low == pytest.approx(once.high - once.low, rel=0.05)


def test_stars_have_a_mean_absolute_error():
    P = np.eye(5)[[0, 4, 2]]
    assert evaluation.measure([1, 3, 3], P, [1, 2, 3, 4, 5], resamples=5)["mae"].value == pytest.approx(2 / 3)


def test_a_label_outside_the_classes_is_named():
    with pytest.raises(ValueError, match="'eggs' is not among the classes"):
        evaluation.measure(["eggs"], [[0.5, 0.5]], ["ham", "spam"])


def test_recall_at_max_flagged_takes_the_best_threshold_within_it():
    y = np.array([0] * 10 + [1] * 4)
    score = np.r_[np.linspace(0, 0.5, 9), 0.8, 0.6, 0.7, 0.9, 0.3]
    P = np.column_stack([1 - score, score])
    assert evaluation.measure(y, P, [0, 1], max_flagged=0.0, resamples=5)["recall_at_max_flagged"].value == 0.25
    assert evaluation.measure(y, P, [0, 1], max_flagged=0.1, resamples=5)["recall_at_max_flagged"].value == 0.75


@pytest.mark.parametrize("n_splits", [3, -1])
def test_folds_keep_groups_on_one_side_and_cover_every_row_once(n_splits):
    random = np.random.default_rng(1)
    groups = random.integers(0, 40, 100)
    y = random.integers(0, 2, 100)
    seen = []
    for train, test in evaluation.make_folds(y, groups=groups, n_splits=n_splits):
        assert not set(groups[train]) & set(groups[test])
        seen += test.tolist()
    assert sorted(seen) == list(range(100))


def test_folds_in_time_never_look_ahead():
    times = np.random.default_rng(2).permutation(50)
    for train, test in evaluation.make_folds(np.zeros(50), times=times, n_splits=4):
        assert times[train].max() < times[test].min()


def test_rare_classes_and_too_few_rows_are_handled():
    assert len(evaluation.make_folds(["a"] * 9 + ["b"], n_splits=5)) == 5
    with pytest.raises(ValueError, match="5 folds need at least 5 different rows"):
        evaluation.make_folds([0, 1, 0], n_splits=5)


def test_tests_agree_with_statsmodels():
    random = np.random.default_rng(5)
    a, b = random.random(100) < 0.8, random.random(100) < 0.7
    table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
    assert evaluation.mcnemar(a, b) == pytest.approx(reference_mcnemar(table, exact=True).pvalue)
    p = random.random(7) / 20
    assert evaluation.holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert evaluation.friedman(random.random((10, 4)) + np.array([0, 0, 0, 5])) < 0.05
    assert evaluation.friedman(np.ones((5, 3))) == 1.0
    assert evaluation.corrected_t_test([0, 0, 0], 10, 5) == 1.0


def test_proportion_interval_is_exact_at_the_ends():
    assert evaluation.proportion_interval(0, 0) == (0.0, 1.0)
    assert evaluation.proportion_interval(5, 5)[1] == 1.0


def test_the_bayes_error_lies_under_the_neighbour_and_above_the_bound():
    for r in (0.0, 0.1, 0.3, 0.5):
        bound = evaluation.cover_hart_bound(r, 2)
        assert 0 <= bound <= r
        assert 2 * bound * (1 - bound) == pytest.approx(r)  # Cover and Hart's upper bound, turned around


def test_calibration_finds_the_generating_sigmoid_and_temperature():
    random = np.random.default_rng(0)
    z = random.normal(1, 5, (20_000, 1))
    y = (random.random(20_000) < 1 / (1 + np.exp(-(0.4 * z[:, 0] - 0.7)))).astype(int)
    found = evaluation.calibrate(z, y)
    assert found.scale == pytest.approx(0.4, abs=0.02)
    assert found.shift == pytest.approx(-0.7, abs=0.05)
    Z = random.normal(0, 3, (20_000, 4))
    P = np.exp(0.5 * Z) / np.exp(0.5 * Z).sum(axis=1, keepdims=True)
    codes = (random.random(20_000)[:, None] > P.cumsum(axis=1)).sum(axis=1)
    assert evaluation.calibrate(Z, codes).scale == pytest.approx(0.5, abs=0.02)


def test_calibration_never_turns_verdicts_around():
    z = np.linspace(-2, 2, 60)[:, None]
    found = evaluation.calibrate(z, (z[:, 0] < 0).astype(int))
    p = found.probabilities(z)[:, 1]
    assert np.all(np.diff(p) > 0)
    assert np.all(np.abs(p - 0.5) < 0.05)


def test_calibration_of_useless_or_extreme_scores_is_finite():
    for z in (np.zeros((6, 1)), np.array([[-1e6], [1e6]] * 3), np.array([[1e-9], [2e-9]] * 3)):
        P = evaluation.calibrate(z, np.array([0, 1] * 3)).probabilities(z)
        assert np.isfinite(P).all()
        assert P.sum(axis=1) == pytest.approx(1)
    big = np.array([[1e5, 0.0, -1e5]] * 3)
    assert np.isfinite(evaluation.calibrate(big, np.array([0, 0, 1])).probabilities(big)).all()


def test_threshold_flags_at_most_the_share_asked_for():
    random = np.random.default_rng(1)
    positive = random.random(2000) < 0.3
    scores = 1 / (1 + np.exp(-(random.normal(0, 1, 2000) + 3 * positive)))
    for max_flagged in (0.0, 0.01, 0.2):
        found = evaluation.choose_threshold(positive, scores, max_flagged, resamples=100)
        flagged = (scores[~positive] >= found.value).mean()
        assert flagged == found.flagged.value
        assert flagged <= max_flagged
        assert (scores[positive] >= found.value).mean() == found.caught.value
        assert found.caught.low <= found.caught.value <= found.caught.high
    with pytest.raises(ValueError, match=r"max_flagged must be in \[0, 1\)"):
        evaluation.choose_threshold(positive, scores, 1.5)


@pytest.mark.parametrize("top", [1.0, 1 - 2**-53, 0.4])
def test_where_nothing_may_be_flagged_the_threshold_flags_nothing(top):
    positive = np.array([True, False, True, False])
    scores = np.array([top, top, 0.3, 0.1])
    found = evaluation.choose_threshold(positive, scores, 0.0, resamples=5)
    assert (scores >= found.value).sum() == 0
    assert (found.flagged.value, found.caught.value) == (0.0, 0.0)


def test_a_threshold_between_neighbouring_numbers_separates_them():
    scores = np.array([1.0, 1 - 2**-53, 0.5])
    found = evaluation.choose_threshold([True, False, False], scores, 0.0, resamples=5)
    assert (scores >= found.value).tolist() == [True, False, False]
    # 29 of 100 is a share of 0.29, though 0.29 * 100 is below 29 in floating point
    negatives = np.linspace(0, 0.9, 100)
    found = evaluation.choose_threshold(np.zeros(100, dtype=bool), negatives, 0.29, resamples=5)
    assert (negatives >= found.value).sum() == 29


def test_repeats_count_once_in_mcnemar():
    right_a = np.array([True] * 50 + [False, True])
    right_b = np.array([False] * 50 + [True, True])
    groups = np.array([0] * 50 + [1, 2])
    assert evaluation.mcnemar(right_a, right_b) < 1e-10
    assert evaluation.mcnemar(right_a, right_b, groups) == 1.0
    assert evaluation.mcnemar(right_a, right_b, np.arange(52)) == evaluation.mcnemar(right_a, right_b)


def test_the_interval_of_the_bayes_error_holds_the_bound_and_the_neighbours_error():
    low, high = evaluation.cover_hart_interval(40, 200, 2)
    assert low < evaluation.cover_hart_bound(0.2, 2) < 0.2 < high
    assert evaluation.cover_hart_interval(0, 0, 2) == (0.0, 1.0)


def test_compare_ranks_models_on_the_same_held_out_rows_and_tests_their_differences():
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression, Perceptron
    from sklearn.naive_bayes import GaussianNB

    random = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 150)
    X = random.normal(0, 1, (300, 4)) + (y == "b")[:, None]
    models = {"bayes": GaussianNB(), "logistic": LogisticRegression(), "blind": DummyClassifier(), "bare": Perceptron()}
    found = evaluation.compare(models, X, y, n_splits=5)
    assert found.results[-1].name == "blind"
    assert found.results[-1].p_t < 0.05
    assert found.results[-1].p_mcnemar < 0.001
    close = next(s for s in found.results if s.name in ("bayes", "logistic") and s.name != found.best.name)
    assert close.p_mcnemar > 0.05
    assert found.p_friedman < 0.05
    assert found.constant_error == 0.5
    assert found.as_dict()["models"][0]["name"] == found.best.name


def test_figures_of_classes_match_scikit_learns_and_their_intervals_hold_them():
    from sklearn.metrics import precision_recall_fscore_support

    random = np.random.default_rng(5)
    y = random.integers(0, 4, 300)
    guess = np.where(random.random(300) < 0.7, y, random.integers(0, 5, 300))  # one class is called and never there
    found = evaluation.class_metrics(y, guess, np.arange(6))  # and one is neither
    expected = precision_recall_fscore_support(y, guess, labels=np.arange(6), zero_division=0)
    for k, row in enumerate(found):
        for figure, value in zip((row.precision, row.recall, row.f1), expected, strict=False):
            assert figure.value == pytest.approx(value[k])
            assert 0 <= figure.low <= figure.value <= figure.high <= 1
        assert (row.name, row.support) == (str(k), expected[3][k])
    assert (found[5].f1.low, found[5].f1.high) == (0.0, 1.0)


def test_intervals_of_classes_cover_and_repeats_widen_them():
    random = np.random.default_rng(6)
    covered = 0
    for _ in range(300):
        y = random.integers(0, 2, 60)
        guess = np.where(random.random(60) < 0.8, y, 1 - y)  # precision, recall and F1 of 0.8 in expectation
        covered += (
            evaluation.class_metrics(y, guess, [0, 1])[1].f1.low
            <= 0.8
            <= evaluation.class_metrics(y, guess, [0, 1])[1].f1.high
        )
    assert covered >= 0.93 * 300
    once = evaluation.class_metrics(y, guess, [0, 1])[1]
    thrice = evaluation.class_metrics(np.tile(y, 3), np.tile(guess, 3), [0, 1], groups=np.tile(np.arange(60), 3))[1]
    for name in ("precision", "recall", "f1"):
        a, b = getattr(once, name), getattr(thrice, name)
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high))


def test_grades_written_as_text_have_a_mean_absolute_error():
    P = np.eye(5)[[0, 1, 4, 3]] * 0.9 + 0.02
    stars = evaluation.measure(["1", "3", "5", "4"], P, ["1", "2", "3", "4", "5"], resamples=10)
    assert stars["mae"].value == pytest.approx(0.25)
    assert "mae" not in evaluation.measure(["a", "c"], P[:2, :3], ["a", "b", "c"], resamples=10)
    assert "mae" not in evaluation.measure(["10", "30"], P[:2, :3], ["10", "20", "30"], resamples=10)


def test_intervals_of_rmse_hold_the_truth_where_errors_have_heavy_tails():
    held = 0
    for seed in range(150):
        errors = np.random.default_rng(seed).standard_t(5, size=100)
        found = evaluation.measure_numbers(errors, np.zeros(100), resamples=150, random_state=seed)["rmse"]
        held += found.low <= np.sqrt(5 / 3) <= found.high
    assert held / 150 >= 0.93  # 0.89 where one more row is no worse than the worst


def test_intervals_of_macro_f1_hold_the_truth_with_five_rows_in_each_class():
    population = coverage.Population("twenty classes", 0.05, classes=20)
    truth, held = 0.9498, 0  # of a million rows
    for seed in range(100):
        y, P, groups = population.draw(100, np.random.default_rng(seed))
        found = evaluation.measure(y, P, np.arange(20), groups=groups, resamples=200, random_state=seed)["macro_f1"]
        held += found.low <= truth <= found.high
    assert held >= 93
