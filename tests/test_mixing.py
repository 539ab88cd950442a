"""Mixtures of scores: chosen on rows not seen, judged on others, and served as one linear model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, softmax

from tallywise import TextClassifier, load
from tallywise.classifier.combining import mixing
from tallywise.classifier.recipes import Form, named
from tallywise.classifier.report_data import _training_data
from tallywise.classifier.stacking import by_sigmoids, mixed
from tallywise.classifier.trials import AS_IT_IS, Trial, finish, fit
from tallywise.evaluation.calibration import Calibration, calibrate_sigmoids


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
    monkeypatch.setattr("tallywise.classifier.race.by_sigmoids", always)
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


def drawn(P, random):
    return (random.random(len(P))[:, None] > P.cumsum(axis=1)).sum(axis=1)


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


def test_sigmoids_take_the_place_of_a_softmax_where_held_out_rows_are_sure_of_it():
    random = np.random.default_rng(0)
    z = random.normal(-1, 1, (4000, 5))
    P = expit(4 * z + 1)
    for made, helps in ((P / P.sum(axis=1)[:, None], True), (softmax(3 * z, axis=1), False)):
        y = drawn(made, random)
        trial = Trial(named("word_svm"), {"C": 1.0}, scores=z)
        finish(trial, y, np.arange(len(y)))
        found = by_sigmoids(trial, y, np.arange(len(y)))
        assert (found is not trial) == helps
        assert found.error == trial.error
    pair = Trial(named("word_svm"), {"C": 1.0}, scores=z[:, :1])
    assert by_sigmoids(pair, y % 2, np.arange(len(y))) is pair


def test_the_model_serves_sigmoids_and_so_does_its_file(monkeypatch, tmp_path):
    link = Calibration(3.0, -0.5, sigmoids=True)

    def always(trial, codes, rows):
        return replace(trial, calibration=link)

    monkeypatch.setattr("tallywise.classifier.race._REPEATED", 0)
    monkeypatch.setattr("tallywise.classifier.race.mixed", always)
    monkeypatch.setattr("tallywise.classifier.race.by_sigmoids", always)
    texts = ["good cheap", "bad cheap", "fair price"] * 10
    model = TextClassifier("word_svm", cv=2).fit(texts, ["a", "b", "c"] * 10)
    P = model.predict_proba([*texts, "unheard of"])
    np.testing.assert_allclose(P, link.probabilities(model.runtime_.scores([*texts, "unheard of"])), rtol=1e-12)
    model.save(tmp_path / "model.tally")
    loaded = load(tmp_path / "model.tally")
    assert loaded.meta["link"] == {"kind": "sigmoids", "scale": 3.0, "shift": -0.5}
    np.testing.assert_array_equal(loaded.predict_proba([*texts, "unheard of"]), P)
    explained = loaded.explain("bad cheap")
    assert explained.label == "b"
    assert sum(word.contribution for word in explained.words) + explained.bias == pytest.approx(explained.score)
    flip = loaded.flip("bad cheap")
    assert flip.label == "b"
    assert flip.becomes != "b"


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_sigmoids_of_extreme_scores_add_up_to_one(scale):
    texts = ["good cheap", "bad cheap", "fair price"] * 10
    runtime = TextClassifier("word_svm", cv=2).fit(texts, ["a", "b", "c"] * 10).runtime_
    for shift in (-1e5, -700.0, 0.0, 700.0, 1e5):
        meta = {**runtime.meta, "link": {"kind": "sigmoids", "scale": scale, "shift": shift}}
        P = type(runtime)(runtime.contents._replace(meta=meta)).predict_proba(texts)
        assert P.sum(axis=1) == pytest.approx(1)
        z = runtime.scores(texts)
        np.testing.assert_allclose(P, Calibration(scale, shift, sigmoids=True).probabilities(z), atol=1e-9)
