"""Selection: one procedure for all candidates, weights and links chosen on held-out rows, measured on others."""

import signal
import time

import numpy as np
import pytest
from scipy.special import expit, softmax

from tallywise import MultiLabelTextClassifier, TextClassifier, load
from tallywise.evaluation import Folds
from tallywise.evaluation.calibration import Calibration, calibrate_sigmoids
from tallywise.evaluation.selection_bias import corrected_error
from tallywise.linear import LinearSVC
from tallywise.selection import (
    Combination,
    Deadline,
    HeldOutScores,
    TimeUpError,
    draw_groups,
    folds_within,
    held_rows,
    select,
)
from tallywise.selection.combination import links, mixed_scores, weighted_sum
from tallywise.text import CountVectorizer
from tallywise.text_model.candidates import TextCandidate
from tallywise.text_model.model_types import named
from tallywise.text_model.report_data import _training_data


class Given:
    """A candidate whose scores are known."""

    def __init__(self, name, scores, *, adds=True, thresholds=(), cost=1.0, memory=0.0, seconds=0.0):
        self.name = self.title = name
        self.scores, self.adds, self.rank, self.thresholds = scores, adds, 0, np.array(thresholds)
        self._cost, self._memory, self.seconds, self.asked = cost, memory, seconds, []

    def cost(self, rows):
        return self._cost

    def memory(self, held):
        return self._memory

    def held_out(self, rows, folds):
        self.asked.append((rows, folds))
        time.sleep(self.seconds)
        return HeldOutScores(self.scores[rows[held_rows(folds)]], self.thresholds)


def drawn(P, random):
    return (random.random(len(P))[:, None] > P.cumsum(axis=1)).sum(axis=1)


@pytest.fixture(scope="module")
def three():
    """Labels of three classes, scores that speak of them, other such scores, and noise."""
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 600)
    good, other = (1.5 * np.eye(3)[y] + random.normal(size=(600, 3)) for _ in range(2))
    return y, good, other, random.normal(size=(600, 3))


# --- weights, offsets, links ---


def test_weights_are_those_of_least_log_loss_and_not_negative(three):
    y, good, _, noise = three
    found = weighted_sum(np.stack([good, 5 * noise]), y)

    def loss(a, b, c=0.0):
        s = a * good + b * 5 * noise + c
        return np.mean(np.log(np.exp(s).sum(axis=1)) - s[np.arange(len(y)), y])

    best = min(loss(a, b) for a in np.linspace(0, 4, 41) for b in np.linspace(0, 0.4, 21))
    assert loss(*found.weights, found.offsets) <= best + 2e-4  # labels count as one row less certain
    assert (found.weights >= 0).all()
    assert weighted_sum(np.stack([good, -good]), y).weights[1] == 0


def test_scores_that_mislead_keep_their_predictions_with_little_weight(three):
    y, good, _, _ = three
    found = weighted_sum(-good[None], y)
    assert (found.probabilities(-good[None]).argmax(axis=1) == (-good).argmax(axis=1)).all()
    assert found.probabilities(-good[None]).max() < 0.4


def test_probabilities_stay_off_zero_and_one_where_no_held_out_row_is_wrong():
    y = np.arange(100) % 2
    z = np.where(y == 1, 1.0, -1.0)[None, :, None]
    P = weighted_sum(z, y).probabilities(z)
    assert 0.98 < P.max() < 0.9999
    Z = (2.0 * np.eye(3)[np.arange(99) % 3])[None]
    assert 0.98 < weighted_sum(Z, np.arange(99) % 3).probabilities(Z).max() < 0.9999


def test_offsets_put_right_scores_that_ignore_the_sizes_of_classes():
    random = np.random.default_rng(0)
    shares = np.array([0.8, 0.15, 0.05])
    y = random.choice(3, 3000, p=shares)
    z = np.eye(3)[y] + random.normal(size=(3000, 3))  # the likeliest class has the largest z + log of its share
    found = weighted_sum(z[None], y)
    assert found.weights[0] == pytest.approx(1, abs=0.1)
    assert np.ptp(found.offsets - np.log(shares)) < 0.5
    assert (found.scores(z[None]).argmax(axis=1) != y).mean() < (z.argmax(axis=1) != y).mean()
    few = weighted_sum(z[None, :30], y[:30])  # of few rows, they are drawn to 0
    assert np.ptp(few.offsets) < 0.5 * np.ptp(found.offsets)


def test_mixtures_of_scores_find_what_they_say_of_other_classes():
    random = np.random.default_rng(0)
    A, c = random.normal(size=(3, 3)) + 2 * np.eye(3), np.array([0.5, 0.0, -0.5])
    z = random.normal(size=(20_000, 3)) @ random.normal(size=(3, 3))
    y = drawn(softmax(z @ A + c, axis=1), random)
    found = mixed_scores(z[None], y, Combination(np.ones(1), np.zeros(3)))
    for got, true in ((found.mixing, A), (found.offsets, c)):  # softmax is blind to what all classes share
        centred = got - got.mean(axis=-1, keepdims=True) - (true - true.mean(axis=-1, keepdims=True))
        assert np.abs(centred).max() < 0.15


def test_sigmoids_are_found_where_they_made_the_labels_and_come_close_to_a_softmax_where_that_did():
    random = np.random.default_rng(0)
    z = random.normal(-1, 1, (20_000, 5))
    P = expit(3 * z + 0.5)
    P /= P.sum(axis=1)[:, None]
    found = calibrate_sigmoids(z, drawn(P, random))
    assert found.scale == pytest.approx(3, abs=0.2)
    assert found.shift == pytest.approx(0.5, abs=0.3)
    np.testing.assert_allclose(found.probabilities(z), P, atol=0.02)
    P = softmax(2 * z, axis=1)
    np.testing.assert_allclose(calibrate_sigmoids(z, drawn(P, random)).probabilities(z), P, atol=0.02)


@pytest.mark.parametrize(("columns", "names"), [(1, 1), (3, 3), (10, 3), (11, 2)])
def test_scores_of_more_than_ten_classes_are_not_mixed(columns, names):
    assert len(links(columns)) == names


@pytest.mark.parametrize("link", ["softmax", "sigmoids", "mixed scores"])
def test_the_link_that_made_the_labels_is_chosen(link):
    random = np.random.default_rng(0)
    z = random.normal(-1, 1, (4000, 4))
    P = {"softmax": softmax(3 * z, axis=1), "mixed scores": softmax(2 * np.roll(z, 1, axis=1) + z, axis=1)}
    P["sigmoids"] = expit(4 * z + 1) / expit(4 * z + 1).sum(axis=1)[:, None]
    y = drawn(P[link], random)
    found = select([Given("a", z)], y, np.arange(len(y))).trials[0]
    assert found.link == link
    assert np.abs(found.probabilities - P[link]).mean() < 0.02
    shown = found.combination.probabilities(z[None])
    assert np.abs(shown - P[link]).mean() < 0.02


# --- the procedure ---


def test_two_candidates_are_added_and_better_than_each_alone(three):
    y, good, other, noise = three
    found = select([Given("a", good), Given("b", other), Given("c", -noise)], y, np.arange(len(y)))
    model, *alone = found.trials
    assert {"a", "b"} <= set(model.names)
    assert len(model.combination.weights) == len(model.names)
    assert [trial.names for trial in alone] == [["a"], ["b"], ["c"]]
    assert model.log_loss < min(trial.log_loss for trial in alone)
    assert found.rows.tolist() == list(range(len(y)))


def test_what_adds_nothing_has_weight_0_and_is_left_out(three):
    y, good, _, _ = three
    assert select([Given("a", good), Given("b", -good)], y, np.arange(len(y))).trials[0].names == ["a"]


def test_a_candidate_that_cannot_be_added_wins_by_its_log_loss_alone(three):
    y, good, other, noise = three
    groups = np.arange(len(y))
    better = select([Given("a", noise), Given("b", good, adds=False)], y, groups).trials
    assert [trial.names for trial in better] == [["b"], ["a"]]
    worse = select([Given("a", good), Given("b", other), Given("c", noise, adds=False)], y, groups).trials
    assert worse[0].names == ["a", "b"]
    assert worse[1].names == ["c"]


def test_scores_cut_by_thresholds_are_probabilities_as_they_are():
    random = np.random.default_rng(0)
    z = random.normal(size=(500, 1)) * 2
    edges = expit(np.array([0.0, 2.0])[None, :] - z)
    P = np.diff(np.hstack([np.zeros((500, 1)), edges, np.ones((500, 1))]), axis=1)
    found = select([Given("a", z, adds=False, thresholds=[0.0, 2.0])], drawn(P, random), np.arange(500)).trials[0]
    assert found.link == "ordered"
    assert found.probabilities == pytest.approx(P)


def test_no_held_out_row_has_a_part_in_its_own_probabilities():
    random = np.random.default_rng(0)
    y = random.integers(0, 8, 160)
    z = random.normal(size=(160, 8))  # nothing can be learned: log(8) is the best there is
    found = select([Given("a", z)], y, np.arange(160)).trials[0]
    assert found.log_loss > np.log(8) - 0.02
    flipped = y.copy()
    flipped[0] = (y[0] + 1) % 8
    other = select([Given("a", z)], flipped, np.arange(160)).trials[0]
    # Newton steps begin at the solution of all rows, and end where they would have from elsewhere to six digits.
    assert found.probabilities[0] == pytest.approx(other.probabilities[0], abs=1e-5)


def test_all_candidates_get_the_same_folds_and_groups_stay_together(three):
    y, good, other, _ = three
    groups = np.arange(len(y)) // 3
    candidates = [Given("a", good), Given("b", other)]
    select(candidates, y, groups, reference=Given("r", good), random_state=3)
    (rows, folds), (same_rows, same_folds) = candidates[0].asked[0], candidates[1].asked[0]
    assert rows is same_rows
    assert folds is same_folds
    assert len(folds) == 5
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])


def test_folds_are_as_many_as_the_work_allows_and_at_least_one(three):
    y, good, _, _ = three
    for cost, count in ((1.0, 5), (3e8, 3), (1e12, 1)):
        candidate = Given("a", good, cost=cost)
        found = select([candidate], y, np.arange(len(y)))
        assert len(candidate.asked[0][1]) == found.fits == count
        assert ("used" in found.split) == (count < 5)
        assert len(found.rows) == sum(len(test) for _, test in candidate.asked[0][1])
    asked = Given("a", good, cost=1e12)
    assert select([asked], y, np.arange(len(y)), cv=4).fits == 4  # who asks for folds gets them


def test_the_reference_is_shown_and_never_selected_before_the_model(three):
    y, good, _, noise = three
    found = select([Given("a", noise)], y, np.arange(len(y)), reference=Given("r", good))
    assert [trial.names for trial in found.trials] == [["a"], ["r"]]
    assert [trial.reference for trial in found.trials] == [False, True]


def test_when_time_is_up_the_reference_is_the_model_and_the_selection_says_so(three):
    y, good, other, _ = three
    late = [Given("a", good), Given("b", other)]
    found = select(late, y, np.arange(len(y)), reference=Given("r", good), deadline=Deadline(0.0))
    assert [trial.names for trial in found.trials] == [["r"]]
    assert not late[0].asked
    assert any("time limit of 0 s left out: a (no time was left); b" in line for line in found.description)


def test_candidates_that_memory_has_no_room_for_are_left_out_with_what_they_need(three):
    y, good, other, _ = three
    found = select([Given("a", good), Given("b", other, memory=1e15)], y, np.arange(len(y)))
    assert found.trials[0].names == ["a"]
    assert "b (needs about 1000000.0 GB of memory" in found.left_out[0]
    with pytest.raises(MemoryError, match=r"3 classes need more memory than there is: b .* Join rare classes"):
        select([Given("b", other, memory=1e15)], y, np.arange(len(y)))


def test_a_sample_has_whole_groups_and_two_rows_of_each_class():
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, 2000)
    codes[[5, 77]] = 3
    groups = random.integers(0, 700, 2000)
    rows = draw_groups(codes, groups, 300, 0)
    assert 300 <= len(rows) < 330
    assert (np.bincount(codes[rows], minlength=4) >= 2).all()
    assert not set(groups[rows]) & set(np.delete(groups, rows))


def test_one_group_alone_is_calibrated_on_itself():
    found = folds_within(Folds([(np.array([0]), np.array([1, 2]))], "one"), 1.0, 8e8)
    assert held_rows(found).tolist() == [1, 2]
    y, z = np.array([0, 1, 0, 1]), np.array([[-1.0], [1.0], [-1.0], [1.0]])
    assert len(select([Given("a", z)], y, np.array([0, 0, 1, 1])).trials[0].wrong) == 4


def test_the_corrected_error_draws_repeats_together():
    wrong = np.zeros((2, 101), dtype=bool)
    wrong[0, :100], wrong[1, 100] = True, True  # one model errs on 100 repeats of a text, the other on one text
    groups = np.array([0] * 100 + [1])
    # whichever of the two texts is drawn, the model that is right on it is wrong on the other
    assert corrected_error(wrong, groups) == 1.0
    assert corrected_error(wrong, np.arange(101)) < 0.1


# --- texts ---

TEXTS = ["good cheap", "bad cheap", "fair price"] * 10
LABELS = ["a", "b", "c"] * 10


@pytest.mark.parametrize("name", ["word_svm", "nearest"])  # one with weights, one that stores rows
def test_the_model_serves_mixed_scores(name, monkeypatch):
    A, c = np.random.default_rng(0).normal(size=(3, 3)), np.array([0.5, 0.0, -0.5])
    mixed = Combination(np.ones(1), c, A)
    monkeypatch.setattr(
        "tallywise.selection.procedure.links", lambda columns: {"mixed": lambda Z, y, softmax, start: mixed}
    )
    model = TextClassifier(name, cv=2).fit(TEXTS, LABELS)
    data = _training_data(model, TEXTS, np.arange(30) % 3)
    z = TextCandidate(named(name), data).fit().scores(model.features(TEXTS)) @ A + c
    np.testing.assert_allclose(model.predict_proba(TEXTS), softmax(z, axis=1), atol=5e-3)
    explained = model.explain(TEXTS[0])
    if name == "word_svm":
        assert sum(word.contribution for word in explained.words) + explained.bias == pytest.approx(explained.score)


def test_the_model_serves_sigmoids_and_so_does_its_file(monkeypatch, tmp_path):
    link = Calibration(3.0, -0.5, sigmoids=True)
    found = Combination(np.ones(1), np.zeros(3), link=link)
    monkeypatch.setattr(
        "tallywise.selection.procedure.links", lambda columns: {"sigmoids": lambda Z, y, softmax, start: found}
    )
    model = TextClassifier("word_svm", cv=2).fit(TEXTS, LABELS)
    P = model.predict_proba([*TEXTS, "unheard of"])
    np.testing.assert_allclose(P, link.probabilities(model.runtime_.scores([*TEXTS, "unheard of"])), rtol=1e-12)
    model.save(tmp_path / "model.tally")
    loaded = load(tmp_path / "model.tally")
    assert loaded.meta["link"] == {"kind": "sigmoids", "scale": 3.0, "shift": -0.5}
    np.testing.assert_array_equal(loaded.predict_proba([*TEXTS, "unheard of"]), P)
    explained = loaded.explain("bad cheap")
    assert explained.label == "b"
    assert sum(word.contribution for word in explained.words) + explained.bias == pytest.approx(explained.score)
    flip = loaded.flip("bad cheap")
    assert flip.label == "b"
    assert flip.becomes != "b"


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_sigmoids_of_extreme_scores_add_up_to_one(scale):
    runtime = TextClassifier("word_svm", cv=2).fit(TEXTS, LABELS).runtime_
    for shift in (-1e5, -700.0, 0.0, 700.0, 1e5):
        meta = {**runtime.meta, "link": {"kind": "sigmoids", "scale": scale, "shift": shift}}
        P = type(runtime)(runtime.contents._replace(meta=meta)).predict_proba(TEXTS)
        assert P.sum(axis=1) == pytest.approx(1)
        z = runtime.scores(TEXTS)
        np.testing.assert_allclose(P, Calibration(scale, shift, sigmoids=True).probabilities(z), atol=1e-9)


def opinions(n=300):
    """Texts of one to five stars, whose words overlap with those of the next level."""
    random = np.random.default_rng(0)
    stars = random.integers(1, 6, n)
    words = [f"w{k}" for k in range(1, 40)]
    texts = [" ".join(random.choice(words[6 * (s - 1) : 6 * (s - 1) + 15], 6)) for s in stars]
    return texts, stars


def test_by_default_two_svms_are_added_beside_naive_bayes_as_a_reference():
    texts, stars = opinions()
    model = TextClassifier(cv=3).fit(texts, np.where(stars > 3, "good", "bad"))
    assert set(model.trials_[0].names) <= {"linear_svm", "nb_svm"}
    assert [trial.names for trial in model.trials_ if trial.reference] == [["multinomial_nb"]]
    assert model.trials_[0].error == model.figures_["error"].value
    assert [model_type.name for model_type in model.model_types_] == model.trials_[0].names
    assert not model.dropped_


def test_the_answer_to_ordinal_labels_is_the_median_of_the_same_probabilities():
    texts, stars = opinions()
    for shown in (stars, np.where(stars == 3, 2, stars), np.array([str(star) for star in stars])):
        model = TextClassifier(cv=3).fit(texts, shown)
        P = model.predict_proba(texts)
        median = model.classes_[(P.cumsum(axis=1) < 0.5).sum(axis=1)]
        assert np.array_equal(model.predict(texts), median)
        mode = model.classes_[model.oof_probabilities_.argmax(axis=1)].astype(float)
        assert model.figures_["mae"].value <= np.abs(mode - shown[model.rows_].astype(float)).mean()
        assert "median" in model.description_[-1]
    codes = TextClassifier(cv=3).fit(texts, np.where(stars == 3, 9, stars))  # 9 is no star: the most likely class
    assert np.array_equal(codes.predict(texts), codes.classes_[codes.predict_proba(texts).argmax(axis=1)])


def test_a_time_limit_of_nothing_leaves_naive_bayes_and_the_model_says_so():
    texts, stars = opinions()
    model = TextClassifier(time_limit=0).fit(texts, stars > 3)
    assert [trial.names for trial in model.trials_] == [["multinomial_nb"]]
    assert len(model.dropped_) == 2
    assert any("time limit of 0 s" in line for line in model.description_)
    assert model.runtime_.meta["time_limit"] == 0
    assert "time_limit" not in TextClassifier("multinomial_nb", cv=3).fit(texts, stars > 3).runtime_.meta


@pytest.mark.parametrize("step", ["text_model.candidates.TextCandidate.held_out", "text_model.text_classifier.measure"])
def test_a_time_limit_ends_a_fit_that_has_no_model_yet(monkeypatch, step):
    texts, stars = opinions()
    monkeypatch.setattr(f"tallywise.{step}", lambda *a, **k: time.sleep(120))
    with pytest.raises(TimeoutError, match=r"limit of 0.1 s .* model of 300 texts in 2 classes. Allow more time"):
        TextClassifier(time_limit=0.1).fit(texts, stars > 3)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_a_time_limit_ends_a_fit_of_label_sets_that_has_no_model_yet(monkeypatch):
    monkeypatch.setattr("tallywise.text_model.multilabel.select_for_labels", lambda *a, **k: time.sleep(120))
    with pytest.raises(TimeoutError, match="model of 4 texts with 2 labels"):
        MultiLabelTextClassifier(time_limit=0.1).fit(["a b", "c d", "e f", "g h"], [["x"], ["y"], ["x"], ["x", "y"]])


def test_a_stopped_candidate_leaves_the_first_its_bound():
    clock = Deadline(0.3)

    def fit():
        with pytest.raises(TimeUpError), clock.enforced(reserve=0.2):
            time.sleep(120)
        time.sleep(120)

    with clock.bounded("this"), pytest.raises(TimeoutError, match="model of this"):
        fit()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_time_limit_stops_a_fit_that_is_under_way():
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in random.integers(0, 20_000, 60)) for _ in range(4000)]
    labels = random.integers(0, 400, 4000)
    X = CountVectorizer().fit_transform(texts).astype(float)
    with pytest.raises(TimeoutError, match="time limit has passed"), Deadline(0.2).enforced():
        LinearSVC(tol=1e-12, max_iter=10**6, C=1e4).fit(X, labels)  # minutes
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_terms_are_fewer_where_there_are_many_classes(monkeypatch):
    texts, stars = opinions()
    monkeypatch.setattr("tallywise.text_model.views.MOST_DENSE_WEIGHTS", 1000)
    monkeypatch.setattr("tallywise.text_model.views.MOST_WEIGHTS", 100)
    model = TextClassifier(cv=2).fit(texts, [f"class {star}" for star in stars])
    assert model.runtime_.contents.arrays["b"].shape == (5,)
    assert sum(len(view.terms()[1]) - 1 for view in model.views_) <= 20
    assert "there are many of them" in " ".join(model.description_)
