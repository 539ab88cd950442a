"""Small models: rounded weights stay within the stated bound, codes are exact, and a wish for a size is kept."""

import numpy as np
import pytest

import tallywise
from tallywise import ModelFileError, TextClassifier, _native
from tallywise.models import model_file
from tallywise.models.compression import ModelWeights, Scales, compact, terms_of
from tallywise.text_model.candidates import fit_trial
from tallywise.text_model.contents import text_file_of
from tallywise.text_model.report_data import _training_data

WORDS = [f"{a}{b}" for a in "prize lunch noon ball vote code".split() for b in ("", "s", "ing", "ed")]


@pytest.fixture(scope="module")
def corpus():
    random = np.random.default_rng(3)
    labels = random.choice(["a", "b", "c", "d"], 300)
    centre = {"a": 0, "b": 6, "c": 12, "d": 18}
    texts = []
    for label in labels:
        own = random.choice(WORDS[centre[label] : centre[label] + 6], 5)
        texts.append(" ".join([*own, *random.choice(WORDS, 6)]))
    return texts, labels


def whole(model, texts, labels):
    """A model before anything of it is rounded or left out."""
    codes = np.searchsorted(model.classes_, labels)
    form = fit_trial(model.trials_[0], _training_data(model, texts, codes))
    return tallywise.TextModel(text_file_of(model, form))


@pytest.mark.parametrize("two", [True, False], ids=["two classes", "four classes"])
@pytest.mark.parametrize("name", [["linear_svm", "multinomial_nb"], "nb_svm", "multinomial_nb", "logistic"], ids=str)
def test_scores_change_by_no_more_than_is_said(corpus, name, two):
    texts, labels = corpus[0], np.where(np.isin(corpus[1], ["a", "b"]), "a", "b") if two else corpus[1]
    model = TextClassifier(name, cv=2).fit(texts, labels)
    exact, small = whole(model, texts, labels), model.runtime_
    asked = [*texts[:50], "", "prize " * 1000, "unknown words prized", "lunch\n\tNOON!!"]
    before, after = exact.scores(asked), small.scores(asked)
    if not two:  # what all classes share is no part of a verdict
        before, after = before - before[:, :1], after - after[:, :1]
    for text, change in zip(asked, np.abs(after - before).max(axis=1), strict=True):
        bound = small.largest_change(text) * (1 if two else 2)
        assert change <= bound + 1e-9
        _, _, x = small._scorer.row(text)
        assert small.largest_change(text) <= small.meta["precision"]["half_unit"] * x.sum() + 1e-12
        assert exact.largest_change(text) == 0
    assert small.meta["precision"]["bits"] == (16 if two else 8)
    assert model_file.size(*small.contents) < model_file.size(*exact.contents)


def test_rows_are_rounded_by_the_formula():
    random = np.random.default_rng(0)
    W = random.normal(size=(200, 5)) * 10.0 ** random.integers(-12, 6, (200, 1))
    W[7] = 0
    W[8] = 3.5
    W[9] = [127, -127, 1, 0.5, 0]
    for centred in (False, True):
        q, e = _native.rounded_rows(W, centred)
        moved = W - ((W.max(axis=1) + W.min(axis=1)) / 2)[:, None] if centred else W
        back = q * 2.0 ** e[:, None].astype(float)
        assert (np.abs(back - moved) <= 2.0 ** (e[:, None] - 1.0) * (1 + 1e-9)).all()
        used = np.abs(moved).max(axis=1) > 0
        assert (np.abs(q).max(axis=1)[used] >= 63).all()  # no bit is wasted
        assert not q[7].any()
    q, e = _native.rounded_rows(W, False)
    assert e[9] == 0
    with pytest.raises(ValueError, match="not finite"):
        _native.rounded_rows(np.array([[1.0, np.nan]]), False)
    with pytest.raises(ValueError, match="too large"):
        _native.rounded_rows(np.array([[1.0, 1e300]]), False)


@pytest.mark.parametrize(
    "terms",
    [
        [],
        ["a"],
        ["", "", "a", "a b", "a b c", "ab", "b"],
        ["z", "a", "zz"],
        ["x" * 254, "x" * 255, "x" * 256, "x" * 511, "x" * 1000 + "y"],
        ["naïve", "naïveté", "日本", "日本語"],
    ],
    ids=len,
)
def test_coded_terms_come_back(terms):
    encoded = [term.encode() for term in terms]
    text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    offsets = np.cumsum([0, *map(len, encoded)])
    parts = _native.front_coded(text, offsets)
    back, places = _native.front_decoded(*parts, len(text))
    assert np.array_equal(back, text)
    assert np.array_equal(places, offsets)
    if len(text):
        with pytest.raises(ValueError, match="longer than it says"):
            _native.front_decoded(*parts, len(text) - 1)


def test_forged_codes_of_terms_are_refused():
    def bytes_of(*values):
        return np.array(values, dtype=np.uint8)

    for shared, lengths, rest in (
        (bytes_of(1), bytes_of(1), bytes_of(65)),  # shares with nothing
        (bytes_of(0, 2), bytes_of(1, 1), bytes_of(65, 66)),
        (bytes_of(0), bytes_of(255), bytes_of(*[65] * 255)),  # a length that does not end
        (bytes_of(0), bytes_of(2), bytes_of(65)),
        (bytes_of(0), bytes_of(1), bytes_of(65, 66)),
        (bytes_of(0), bytes_of(1, 1), bytes_of(65)),
        (bytes_of(), bytes_of(), bytes_of(65)),
    ):
        with pytest.raises(ValueError, match=r"terms|term shares"):
            _native.front_decoded(shared, lengths, rest, 10**6)
    for offsets in ([], [1], [0, 3], [0, 2, 1], [0, -1]):
        with pytest.raises(ValueError, match="offsets"):
            _native.front_coded(bytes_of(65, 66), np.array(offsets, dtype=np.int64))


def test_forged_small_models_are_refused_and_never_crash(corpus):
    meta, arrays = TextClassifier("linear_svm", cv=2).fit(*corpus).runtime_.contents
    forged = [
        {"scale_places": arrays["scale_places"][1:]},
        {"scale_places": arrays["scale_places"].astype(np.int32)},
        {"scale_values": arrays["scale_values"][:1]},
        {"scale_values": arrays["scale_values"].astype(np.float32)},
        {"scale_values": arrays["scale_values"] * np.nan},
        {"exponents": arrays["exponents"][1:]},
        {"exponents": arrays["exponents"].astype(np.int16)},
        {"units": arrays["units"] * np.inf},
        {"units": arrays["units"][1:]},
        {"W": arrays["W"].astype(np.float64)},
        {"W": arrays["W"][1:]},
        {"term_shared": arrays["term_shared"] + np.uint8(1)},
        {"term_shared": arrays["term_shared"][1:]},
        {"term_lengths": arrays["term_lengths"][1:]},
        {"term_rest": arrays["term_rest"][1:]},
    ]
    for changed in forged:
        with pytest.raises(ModelFileError):
            tallywise.TextModel(model_file.Contents(meta, {**arrays, **changed}))
    for missing in ("scale_places", "scale_values", "term_rest", "W"):
        with pytest.raises(ModelFileError):
            tallywise.TextModel(model_file.Contents(meta, {k: v for k, v in arrays.items() if k != missing}))


def test_pairs_are_folded_into_the_view_that_has_longer_runs_too(corpus):
    model = TextClassifier(["linear_svm", "multinomial_nb"], cv=2).fit(*corpus)
    exact = whole(model, *corpus)
    if len(exact.meta["views"]) == len(exact.meta["blocks"]) == 3:
        assert len(model.runtime_.meta["views"]) == 2
        assert len(model.runtime_.meta["blocks"]) == 3
    for text in corpus[0][:5]:
        found, before = model.explain(text, "a"), exact.explain(text, "a")
        assert found.bias + sum(word.contribution for word in found.words) == pytest.approx(found.score, abs=1e-9)
        assert {word.term for word in found.words} == {word.term for word in before.words}
        assert found.score == pytest.approx(before.score, abs=2 * model.runtime_.largest_change(text) + 1e-9)


def test_terms_without_weight_are_left_out_where_they_do_not_count_for_a_length():
    texts, labels = ["win same", "win same", "lunch same", "lunch same"] * 4, ["a", "a", "b", "b"] * 4
    model = TextClassifier("nb_svm", cv=2, analyzer="word", ngram_range=(1, 1)).fit(texts, labels)
    exact, small = whole(model, texts, labels), model.runtime_
    assert exact.n_features == 3
    assert small.n_features == 2  # "same" has the ratio 1 : 1
    assert np.allclose(exact.scores(["same win", "lunch"]), small.scores(["same win", "lunch"]), atol=1e-3)


@pytest.mark.parametrize("share", [0.8, 0.5, 0.25])
def test_a_wish_for_a_size_is_kept(corpus, tmp_path, share):
    full = TextClassifier("linear_svm", cv=2).fit(*corpus)
    most = int(share * full.save(tmp_path / "full.tally"))
    model = TextClassifier("linear_svm", cv=2, max_size=most).fit(*corpus)
    assert 0.7 * most < model.save(tmp_path / "m.tally") <= most
    assert model.runtime_.meta["left_out"]["of"] == full.runtime_.n_features
    assert np.mean(model.predict(corpus[0]) == full.predict(corpus[0])) > 0.9
    loaded = tallywise.load(tmp_path / "m.tally")
    assert np.array_equal(loaded.predict_proba(corpus[0]), model.predict_proba(corpus[0]))


def test_sizes_that_cannot_be_kept_are_named(corpus):
    for wrong in (0, -1, 2.5, "10MB"):
        with pytest.raises(ValueError, match="max_size"):
            TextClassifier("linear_svm", cv=2, max_size=wrong).fit(*corpus)
    with pytest.raises(ValueError, match="without any term"):
        TextClassifier("linear_svm", cv=2, max_size=100).fit(*corpus)
    with pytest.raises(ValueError, match="cannot do without"):
        TextClassifier("multinomial_nb", cv=2, max_size=100, n_features=1024).fit(*corpus)


def test_coding_is_exact(corpus):
    model = TextClassifier("word_svm", cv=2).fit(*corpus)
    exact = whole(model, *corpus).contents
    small = compact(exact)
    assert np.array_equal(Scales.read(small.arrays)[:], exact.arrays["scale"])
    for mine, theirs in zip(terms_of(small.arrays, ""), terms_of(exact.arrays, ""), strict=True):
        assert np.array_equal(mine, theirs)
    assert ModelWeights.read(small.arrays)[:].shape == exact.arrays["W"].shape
    assert np.array_equal(ModelWeights.read(exact.arrays)[:], exact.arrays["W"])
