"""Ridge regression of shards: that of one machine, the same bits for any number of workers."""

import json
import pickle

import numpy as np
import pytest

from tallywise import Ridge
from tallywise.reading import InputError
from tallywise.scale import regress
from tallywise.text import TfidfTransformer


def reviews(rows=400, seed=0):
    """Texts whose number is the mean of what their words are worth, and some noise."""
    draw = np.random.default_rng(seed)
    worth = draw.normal(size=80)
    words = draw.integers(80, size=(rows, 6))
    texts = [" ".join(f"word{k}" for k in row) for row in words]
    return texts, (3 + worth[words].mean(axis=1) + draw.normal(scale=0.05, size=rows)).tolist()


def write(folder, texts, numbers, shards=5):
    folder.mkdir()
    for k in range(shards):
        rows = zip(texts[k::shards], numbers[k::shards], strict=True)
        lines = [json.dumps({"text": text, "stars": number}) for text, number in rows]
        (folder / f"part-{k}.jsonl").write_text("\n".join(lines) + "\n")
    return str(folder)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return write(tmp_path_factory.mktemp("numbers") / "parts", *reviews())


@pytest.mark.parametrize("columns", [{}, {"n_features": 512}, {"min_df": 3, "max_features": 100}])
def test_regression_over_shards_is_ridge_on_all_rows(shards, columns):
    made = regress(shards, label="stars", alpha=0.5, tol=1e-12, workers=2, **columns)
    texts, numbers = reviews()
    counts = made.model[0].transform(texts)
    weighting = TfidfTransformer(sublinear_tf=True).fit(counts)
    assert np.allclose(made.model[1].idf_, weighting.idf_, rtol=1e-15)
    X = weighting.transform(counts)
    local = Ridge(alpha=0.5, tol=1e-13).fit(X, np.array(numbers))

    def objective(w, b):
        return np.square(np.array(numbers) - X @ w - b).sum() + 0.5 * np.square(w).sum()

    least = objective(local.coef_, local.intercept_)
    assert objective(made.model[2].coef_, made.model[2].intercept_) == pytest.approx(least, rel=1e-9)
    assert made.certificate.relative_gap < 1e-9
    assert np.allclose(made.model.predict(texts), local.predict(X), atol=1e-5)


def test_weights_have_the_same_bits_for_any_number_of_workers(shards):
    found = [regress(shards, label="stars", workers=workers) for workers in (1, 2, 5)]
    assert len({made.model[2].coef_.tobytes() for made in found}) == 1
    assert len({(made.alpha, made.rmse, made.model[2].intercept_) for made in found}) == 1
    again = pickle.loads(pickle.dumps(found[0].model))
    assert again.predict(["word1 word2"]) == found[0].model.predict(["word1 word2"])


def test_the_penalty_is_the_best_on_texts_held_out_by_their_hash(shards):
    made = regress(shards, label="stars", alpha=[100.0, 1.0], held_out=0.25, workers=2)
    errors = dict(made.trials)
    assert made.alpha == min(errors, key=errors.get) == 1.0
    assert made.rmse == errors[1.0] < errors[100.0]
    assert 0 < made.r2 < 1
    assert made.rows == 400
    unjudged = regress(shards, label="stars", alpha=1.0, held_out=0, workers=2)
    assert np.isnan(unjudged.rmse)
    # What judged was learned in the end; only the start was another.
    assert np.allclose(made.model[2].coef_, unjudged.model[2].coef_, atol=0.05)


def test_a_label_that_is_no_number_ends_the_job_with_its_shard_or_is_listed(tmp_path):
    texts, numbers = reviews(60)
    folder = write(tmp_path / "parts", texts, [*numbers[:-1], "many"])
    with pytest.raises(InputError, match=r"part-4\.jsonl: the label 'many' is not a number"):
        regress(folder, label="stars", workers=2)
    made = regress(folder, label="stars", workers=2, skip_bad=True)
    assert made.rows == 48
    assert [path.rsplit("/", 1)[1] for path in made.skipped] == ["part-4.jsonl"]
    with pytest.raises(ValueError, match="alpha must be a positive number"):
        regress(folder, label="stars", alpha=[])


def test_a_driver_that_died_goes_on_to_the_same_bits(shards, tmp_path, monkeypatch):
    options = {"label": "stars", "workers": 1, "resume": tmp_path / "resume"}
    expected = regress(shards, **{**options, "resume": None})

    def die(progress):
        if progress.line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        regress(shards, progress=die, **options)
    monkeypatch.setattr("tallywise.scale.gathering.read_shard", None)
    again = regress(shards, **options)
    assert again.model[2].coef_.tobytes() == expected.model[2].coef_.tobytes()
    assert again.trials == expected.trials
