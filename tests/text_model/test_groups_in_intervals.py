"""Repeated texts do not make an interval narrower than it is."""

import numpy as np

from tallywise.evaluation import proportion
from tallywise.text_model import TextClassifier


def test_the_interval_of_a_compared_model_counts_repeats_once():
    texts = [f"offer number {k} cheap pills" if k % 2 else f"meeting number {k} at noon" for k in range(40)]
    labels = ["spam" if (k % 2) != (k % 7 == 0) else "ham" for k in range(40)]
    model = TextClassifier(cv=2).fit(texts * 5, labels * 5)
    trial, groups = model.trials_[0], model.groups_[model.rows_]
    repeated, independent = trial.error_metric(groups), trial.error_metric()
    assert repeated == proportion("error", trial.wrong, groups)
    assert repeated.high - repeated.low > 1.5 * (independent.high - independent.low)
    assert len(np.unique(groups)) == 40
