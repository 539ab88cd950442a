"""Mixtures of scores: chosen on rows not seen, judged on others, and served as one linear model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from tallywise import TextClassifier
from tallywise.classifier.combining import mixing
from tallywise.classifier.recipes import Form, named
from tallywise.classifier.report_data import _training_data
from tallywise.classifier.stacking import mixed
from tallywise.classifier.trials import AS_IT_IS, Trial, finish, fit


def test_mixtures_of_scores_find_what_they_say_of_other_classes():
    random = np.random.default_rng(0)
    A, c = random.normal(size=(3, 3)) + 2 * np.eye(3), np.array([0.5, 0.0, -0.5])
    z = random.normal(size=(20_000, 3)) @ random.normal(size=(3, 3))
    P = softmax(z @ A + c, axis=1)
    y = (random.random(len(z))[:, None] > P.cumsum(axis=1)).sum(axis=1)
    found = mixing(z, y)
    for got, true in zip(found, (A, c), strict=True):  # softmax is blind to what all classes share
        centred = got - got.mean(axis=-1, keepdims=True) - (true - true.mean(axis=-1, keepdims=True))
        assert np.abs(centred).max() < 0.15
    again = mixing(z, y, found)
    np.testing.assert_allclose(
        softmax(z @ again[0] + again[1], axis=1), softmax(z @ found[0] + found[1], axis=1), atol=5e-3
    )


def test_scores_are_mixed_where_that_helps_on_other_rows_and_else_left_alone():
    random = np.random.default_rng(0)
    y = random.integers(0, 4, 4000)
    rows = np.arange(len(y))
    sure = 2 * np.eye(4)[y] + random.normal(size=(4000, 4))
    for z, helps in ((sure, False), (np.roll(sure, 1, axis=1) + 0.5 * sure, True)):
        trial = Trial(named("word_svm"), {"C": 1.0}, scores=z)
        finish(trial, y, rows)
        found = mixed(trial, y, rows)
        assert (found is not trial) == helps
    assert found.log_loss < trial.log_loss
    assert found.error < trial.error
    form = Form(np.eye(4), np.zeros(4)).adjusted(found.mixing, found.offsets)
    assert (form.scores(z).argmax(axis=1) != y).mean() < trial.error


def test_the_model_serves_mixed_scores(monkeypatch):
    A, c = np.random.default_rng(0).normal(size=(3, 3)), np.array([0.5, 0.0, -0.5])

    def always(trial, codes, rows):
        return replace(trial, mixing=A, offsets=c, calibration=AS_IT_IS)

    monkeypatch.setattr("tallywise.classifier.race._REPEATED", 0)
    monkeypatch.setattr("tallywise.classifier.race.mixed", always)
    texts = ["good cheap", "bad cheap", "fair price"] * 10
    codes = np.arange(30) % 3
    for kind in ("word_svm", "nearest"):  # one with weights, one that remembers rows
        model = TextClassifier(kind, cv=2).fit(texts, np.array(["a", "b", "c"])[codes])
        form = fit(model.recipe_, model.setting_, _training_data(model, texts, codes))
        z = form.scores(model.features(texts)) @ A + c
        np.testing.assert_allclose(model.predict_proba(texts), softmax(z, axis=1), atol=5e-3)
    linear = TextClassifier("word_svm", cv=2).fit(texts, np.array(["a", "b", "c"])[codes])
    explained = linear.explain(texts[0])
    assert sum(word.contribution for word in explained.words) + explained.bias == pytest.approx(explained.score)
