"""Memory of a fit: what is let go of, and what is made a stretch at a time."""

import numpy as np
import pytest

from tallywise import TextClassifier
from tallywise.selection import Combination
from tallywise.text_model import text_classifier as fit_side
from tallywise.text_model.candidates import TextCandidate
from tallywise.text_model.contents import text_file_of
from tallywise.text_model.forms import combined
from tallywise.text_model.model_types import MODEL_TYPES, named
from tallywise.text_model.training_data import TrainingData
from tallywise.text_model.views import make_views


@pytest.fixture(scope="module")
def corpus():
    random = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in range(60)])
    labels = random.integers(4, size=200)
    texts = [" ".join(random.choice(words[10 * label : 10 * label + 30], 12)) for label in labels]
    return texts, [f"class {label}" for label in labels]


def training_data(texts, labels):
    views = make_views("auto", None, 1, None, deobfuscate=False, stop_words=None, n_jobs=None)
    classes, codes = np.unique(labels, return_inverse=True)
    return TrainingData.counted(
        views, lambda view: view.fit(texts), MODEL_TYPES, codes, classes, None, None, pairs=True
    )


def test_weights_of_a_sum_are_made_a_stretch_of_rows_at_a_time(corpus, monkeypatch):
    monkeypatch.setattr("tallywise.models.compression._ROUNDED", 7)
    texts, labels = corpus
    data = training_data(texts, labels)
    parts = [TextCandidate(named(name), data).fit() for name in ("linear_svm", "nb_svm")]
    mixing = np.random.default_rng(1).normal(size=(4, 4))
    form = combined(parts, Combination(np.array([0.5, 2.0]), np.zeros(4), mixing))
    expected = np.vstack([0.5 * np.asarray(parts[0].W), 2.0 * np.asarray(parts[1].W)]) @ mixing
    assert np.asarray(form.W) == pytest.approx(expected, abs=1e-12)
    assert form.W[3:40] == pytest.approx(expected[3:40], abs=1e-12)
    model = TextClassifier(["linear_svm", "nb_svm"], cv=2).fit(texts, labels)
    model.views_ = data.views
    whole, stretches = (text_file_of(model, form._replace(W=W)).compact().arrays for W in (expected, form.W))
    assert np.array_equal(whole["exponents"], stretches["exponents"])
    assert np.abs(whole["W"].astype(int) - stretches["W"]).max() <= 1


def test_counts_are_gone_before_models_are_compared(corpus, monkeypatch):
    seen = []
    real = fit_side.select

    def spied(candidates, *args, **options):
        seen.append(candidates[0].data)
        return real(candidates, *args, **options)

    monkeypatch.setattr(fit_side, "select", spied)
    TextClassifier(cv=2).fit(*corpus)
    (data,) = seen
    kept = {view.name for view, counts in zip(data.views, data.counts, strict=True) if counts is not None}
    assert kept == {"pairs"}  # what naive Bayes learns from, for reference
    assert all(merged.counts is None for merged in data._mergings.values())
