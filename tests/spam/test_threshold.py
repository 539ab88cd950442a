"""The threshold of a budget, by scores drawn from known distributions."""

import math
import random

import pytest

from tallywise.spam import SpamFilter
from tallywise.spam.threshold import budget_threshold
from tests.mail import messages

BUDGET = 0.001
SHAPES = {
    "normal": lambda draw, middle: draw.gauss(middle, 2.5),
    "long tails": lambda draw, middle: middle - math.copysign(1.6, middle) * draw.expovariate(1),
    "bounded": lambda draw, middle: 15 * math.tanh(draw.gauss(middle, 4) / 15),
}


def record(shape, n, wrong, seed):
    """Scores of ham and of spam, and the same by label, where a share of labels is wrong."""
    draw = random.Random(seed)
    ham, spam = ([SHAPES[shape](draw, middle) for _ in range(n)] for middle in (-8, 9))
    cut = int(wrong * n)
    return ham, spam, sorted(ham[cut:] + spam[:cut]), sorted(spam[cut:] + ham[:cut])


def shares(shape, n, wrong, seed):
    """Of ham flagged and of spam caught, and of spam caught by the quantile of the true labels."""
    ham, spam, as_ham, as_spam = record(shape, n, wrong, seed)
    threshold, ideal = budget_threshold(as_ham, as_spam, BUDGET), sorted(ham)[-1 - int(BUDGET * n)]
    return [
        sum(score > limit for score in scores) / n
        for scores, limit in ((ham, threshold), (spam, threshold), (spam, ideal))
    ]


@pytest.mark.parametrize("n", [2000, 10000])
@pytest.mark.parametrize("wrong", [0, 0.002, 0.01, 0.03])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_budget_is_about_kept_and_spam_is_caught_whatever_share_of_labels_is_wrong(shape, wrong, n):
    flagged, caught, ideal = (
        sum(share) / 8 for share in zip(*(shares(shape, n, wrong, seed) for seed in range(8)), strict=True)
    )
    assert flagged <= 4 * BUDGET
    assert caught >= ideal - 0.08


@pytest.mark.parametrize("shape", ["normal", "long tails"])  # the third has much true ham among spam
def test_a_budget_of_sound_labels_is_their_quantile(shape):
    for seed in range(8):
        ham, _, as_ham, as_spam = record(shape, 5000, 0, seed)
        assert budget_threshold(as_ham, as_spam, BUDGET) == sorted(ham)[-1 - int(BUDGET * 5000)]


def test_the_quantile_alone_would_lose_most_spam():
    """What the rule is for: the highest scores of "ham" are those of mislabelled spam."""
    _, spam, as_ham, _ = record("normal", 5000, 0.01, 0)
    quantile = as_ham[-1 - int(BUDGET * 5000)]
    assert sum(score > quantile for score in spam) / len(spam) < 0.5


@pytest.mark.parametrize(
    ("ham", "spam", "share"),
    [([1.0], [], 0.0), ([1.0], [2.0], 0.9), ([2.0] * 50, [2.0] * 50, 0.1), ([3.0, 4.0], [1.0], 0.5)],
)
def test_few_or_equal_scores_give_one_of_hams(ham, spam, share):
    assert budget_threshold(ham, spam, share) in ham


def test_the_threshold_follows_what_this_and_other_filters_learn_and_forget(tmp_path):
    pytest.importorskip("apsw", reason="a filter in a file needs apsw")
    stream = messages(500)
    with SpamFilter(tmp_path / "f", max_flagged=0.01) as one, SpamFilter(tmp_path / "f", max_flagged=0.01) as two:
        for start in range(0, 500, 100):
            one.learn_many(stream[start : start + 50])
            two.learn_many(stream[start + 50 : start + 100])
            one.refresh()
            assert one.threshold() == two.threshold()
        one.forget(stream[7][0])
        two.refresh()
        assert one.threshold() == two.threshold()
