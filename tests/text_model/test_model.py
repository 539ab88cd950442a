"""One text model: fit side and serve side give the same bits, reasons add up, verdicts follow their rule."""

import dataclasses
import pickle
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack
from scipy.sparse import random as random_sparse

import tallywise
from benchmarks import datasets
from tallywise import ModelFileError, TextClassifier
from tallywise.evaluation import Folds, make_folds
from tallywise.evaluation.metrics import ordinal_levels
from tallywise.linear import LinearSVC
from tallywise.models import model_file
from tallywise.selection import Combination
from tallywise.text_model import report_data
from tallywise.text_model.candidates import TextCandidate, fit_trial
from tallywise.text_model.contents import text_file_of
from tallywise.text_model.forms import combined
from tallywise.text_model.merging import merge, with_columns
from tallywise.text_model.model_types import MODEL_TYPES, named
from tallywise.text_model.report_data import _training_data
from tallywise.text_model.training_data import TrainingData
from tallywise.text_model.views import least_for, make_views
from tallywise.text_model.weighting import Weighting, side_by_side

WORDS = {"ham": "meeting lunch noon minutes report garden school", "spam": "prize claim cash winner free urgent offer"}


@pytest.fixture(scope="module")
def corpus():
    random = np.random.default_rng(0)
    labels = random.choice(["ham", "spam"], 400, p=[0.7, 0.3])
    both = "the a to you and in is it for we".split()
    texts = []
    for label in labels:
        own = WORDS[label].split()
        other = WORDS["ham" if label == "spam" else "spam"].split()
        words = [*random.choice(both, 8), *random.choice(own, 3), *random.choice(other, 1)]
        random.shuffle(words)
        texts.append(" ".join(words))
    return texts, labels


@pytest.fixture(scope="module", params=[*(model_type.name for model_type in MODEL_TYPES), "multinomial_nb, hashed"])
def fitted(request, corpus):
    name, *hashed = request.param.split(", ")
    return TextClassifier(name, cv=3, n_features=2**14 if hashed else None).fit(*corpus)


def test_probabilities_sum_to_one_and_their_largest_is_the_verdict(fitted, corpus):
    P = fitted.predict_proba(corpus[0])
    assert P.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert np.array_equal(fitted.classes_[P.argmax(axis=1)], fitted.predict(corpus[0]))
    assert fitted.figures_["error"].value < 0.25


def test_contributions_add_up_to_the_score(fitted, corpus):
    for text in [*corpus[0][:20], "", "nothing known here", "prize prize CLAIM, prize"]:
        found = fitted.explain(text)
        total = found.bias + sum(word.contribution for word in found.words)
        assert total == pytest.approx(found.score, abs=1e-9)
        z = fitted.runtime_.scores([text])[0]
        sign = 1 if found.label == fitted.classes_[1] else -1
        assert sign * z[0] == pytest.approx(found.score, abs=1e-9)
        for word in found.words:
            assert word.spans
            stands = {" ".join(re.findall(r"\w+|[^\w\s]", text[b:e].lower())) for b, e in word.spans}
            assert stands == set(word.term.split(" / "))


def test_both_sides_give_the_same_bits(fitted, corpus, tmp_path):
    fitted.save(tmp_path / "m.tally")
    loaded = tallywise.load(tmp_path / "m.tally")
    assert np.array_equal(loaded.predict_proba(corpus[0]), fitted.predict_proba(corpus[0]))
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(corpus[0]), fitted.predict_proba(corpus[0]))
    for jobs in (1, 2, 8):
        assert np.array_equal(loaded.predict_proba(corpus[0], jobs), fitted.predict_proba(corpus[0]))


def exact(model, texts, labels):
    """The form of a model before its weights are rounded, and its serve side."""
    codes = np.searchsorted(model.classes_, labels)
    form = fit_trial(model.trials_[0], _training_data(model, texts, codes))
    return form, tallywise.TextModel(text_file_of(model, form))


def test_scores_equal_the_estimator_on_the_weighted_counts(fitted, corpus):
    X = fitted.features(corpus[0])
    form, whole = exact(fitted, *corpus)
    weight, offset = fitted.combination_.weights[0], fitted.combination_.offsets[0]
    if fitted.model == "nearest":
        distances, rows = fitted.estimator_.kneighbors(X)
        votes = np.where(corpus[1] == "spam", 1.0, -1.0)[rows]
        expected = weight * ((1 - distances) * votes).sum(axis=1) + offset
    elif fitted.model == "gaussian_svm":
        expected = weight * fitted.estimator_.decision_function(X) + offset
    else:
        expected = form.scores(X)[:, 0]
    assert whole.scores(corpus[0])[:, 0] == pytest.approx(expected, abs=1e-10)
    for text, z in zip(corpus[0], fitted.runtime_.scores(corpus[0])[:, 0] - expected, strict=True):
        assert abs(z) <= fitted.runtime_.largest_change(text) + 1e-10


def test_a_flip_flips(fitted, corpus):
    flipped = 0
    for text in corpus[0][:30]:
        found = fitted.flip(text)
        before = fitted.predict([text])[0]
        if found is None:
            continue
        if found.remove:
            after = " ".join(word for word in text.split() if word not in found.remove)
            assert fitted.predict([after])[0] == found.becomes != before
            flipped += 1
            for word in found.remove:  # none is superfluous
                fewer = [w for w in found.remove if w != word]
                if fewer:
                    assert fitted.predict([" ".join(w for w in text.split() if w not in fewer)])[0] == before
        if found.add:
            assert fitted.predict([" ".join([text, *found.add])])[0] != before
    assert flipped > 10


@pytest.mark.parametrize("name", ["auto", *(model_type.name for model_type in MODEL_TYPES)])
def test_a_class_of_a_single_text_and_two_texts_in_all_can_be_learned(name):
    texts, labels = ["win a prize", "lunch at noon"] * 5, ["spam", "ham"] * 5
    if name != "ordinal":
        model = TextClassifier(name).fit(texts, labels)
        assert model.predict(["a prize", "lunch"]).tolist() == ["spam", "ham"]
    texts = [f"{colour} paint {k}" for k in range(9) for colour in ("red", "green")] + ["the only cat"]
    model = TextClassifier(name).fit(texts, ["1", "2"] * 9 + ["3"])
    assert model.predict(["red", "green"]).tolist() == ["1", "2"]


def test_the_same_texts_give_the_same_model(corpus):
    first, second = (TextClassifier(n_jobs=jobs).fit(*corpus).runtime_.contents for jobs in (1, 2))
    assert first.meta == second.meta
    assert all(np.array_equal(first.arrays[name], second.arrays[name]) for name in first.arrays)


def test_repeated_texts_stay_on_one_side(corpus):
    texts, labels = corpus
    model = TextClassifier("multinomial_nb", cv=4).fit(texts * 3, np.tile(labels, 3))
    assert "kept together" in model.description_[0]
    # three copies of every row teach nothing new: the error on unseen rows stays what it was
    once = TextClassifier("multinomial_nb", cv=4).fit(texts, labels)
    assert model.figures_["error"].value == pytest.approx(once.figures_["error"].value, abs=0.05)


def test_max_flagged_is_kept_and_costs_decide(corpus):
    texts, labels = corpus
    model = TextClassifier("multinomial_nb", max_flagged={"ham": 0.01}).fit(texts, labels)
    P = model.oof_probabilities_[:, 1]
    flagged = (P[labels[model.rows_] == "ham"] >= model.threshold_.value).mean()
    assert flagged <= 0.01
    assert model.threshold_.flagged.value == pytest.approx(flagged)
    verdicts = model.predict(texts)
    assert np.array_equal(verdicts == "spam", model.predict_proba(texts)[:, 1] >= model.threshold_.value)
    dear = TextClassifier("multinomial_nb", costs={("ham", "spam"): 50.0}).fit(texts, labels)
    plain = TextClassifier("multinomial_nb").fit(texts, labels)
    assert (dear.predict(texts) == "spam").sum() < (plain.predict(texts) == "spam").sum()


@pytest.mark.parametrize("model", ["auto", "multinomial_nb"])
@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["a prize", "lunch at noon"], ["spam", "ham"]),
        (["a prize"] * 3 + ["lunch at noon"], ["spam"] * 3 + ["ham"]),
        (["a prize", "lunch at noon", "the cat"], ["x", "y", "z"]),  # no numbers: of ordinal labels the median answers
        (["a prize", "win it", "lunch at noon", "see you"], ["spam", "spam", "ham", "ham"]),
    ],
)
def test_a_handful_of_texts_trains(model, texts, labels):
    found = TextClassifier(model).fit(texts, labels)
    assert found.predict(texts).tolist() == labels
    assert 0 <= found.figures_["error"].value <= 1
    data = report_data(found, texts, labels, "a handful")
    assert len(data.mistakes) == (data.verdicts != data.codes).sum()


def test_one_text_alone_is_refused():
    with pytest.raises(ValueError, match="At least two different texts"):
        TextClassifier().fit(["a prize", "A  prize"], ["spam", "ham"])


def test_learning_and_forgetting_are_exact(corpus):
    texts, labels = corpus
    model = TextClassifier("multinomial_nb").fit(texts, labels)
    before, counts = model.predict_proba(texts), model.estimator_.feature_count_.copy()
    model.learn(texts[:7], labels[:7])
    assert not np.array_equal(model.predict_proba(texts), before)
    model.forget(texts[:7], labels[:7])
    assert np.array_equal(model.predict_proba(texts), before)
    new = ["zebra crossing the meadow", "zebra prize"]
    model.learn(new, ["ham", "spam"])
    assert model.explain("zebra").words[0].term == "zebra"
    model.forget(new, ["ham", "spam"])
    # The new words keep their columns, so that smoothing counts them; what was counted is as it was.
    known = counts.shape[1]
    assert np.array_equal(model.estimator_.feature_count_[:, :known], counts)
    assert model.estimator_.feature_count_.shape[1] == known + 7  # three words and four pairs
    assert not model.estimator_.feature_count_[:, known:].any()
    assert np.array_equal(model.predict(texts), model.classes_[before.argmax(axis=1)])
    with pytest.raises(ValueError, match="cannot all have been learned"):
        model.forget(["zebra zebra zebra"], ["ham"])
    with pytest.raises(ValueError, match="'eggs' is not one of the classes"):
        model.learn(["x"], ["eggs"])
    with pytest.raises(TypeError, match="cannot learn or forget after fit"):
        TextClassifier("logistic", cv=2).fit(texts, labels).learn(["a"], ["ham"])


@pytest.mark.parametrize(
    ("arguments", "labels", "cause"),
    [
        ({}, ["ham"] * 6, "At least two classes"),
        ({}, ["ham", "spam"], "one label a text. Got 6 texts and 2 labels"),
        ({"model": "oracle"}, ["a", "b"] * 3, "There is no model 'oracle'. Known: 'auto'"),
        ({"max_flagged": {"eggs": 0.1}, "cv": 2}, ["a", "b"] * 3, "'eggs', which is not a class"),
        ({"max_flagged": 0.1, "cv": 2}, ["a", "b"] * 3, "max_flagged needs two classes and one entry"),
        ({"costs": {("a", "z"): 1}, "cv": 2}, ["a", "b"] * 3, "Costs are"),
    ],
)
def test_bad_input_is_named(arguments, labels, cause):
    texts = ["one two", "three four", "one two three", "four five", "two one", "five three"]
    with pytest.raises(ValueError, match=cause.replace("(", r"\(").replace(".", r"\.")):
        TextClassifier(**{"model": "multinomial_nb", **arguments}).fit(texts, labels)
    with pytest.raises(ValueError, match="Got one str"):
        TextClassifier().fit("text", ["a"])


def test_loading_needs_neither_scikit_learn_nor_scipy(fitted, tmp_path):
    fitted.save(tmp_path / "m.tally")
    code = (
        "import sys, tallywise; m = tallywise.load(sys.argv[1]); m.predict(['free prize']); m.explain('prize'); "
        "m.flip('prize'); print([n for n in ('sklearn', 'scipy', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m.tally"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_forged_contents_are_refused_and_never_crash(fitted, corpus):
    meta, arrays = exact(fitted, *corpus)[1].contents
    p = len(arrays["scale"])
    first, *others = meta["views"]
    forged = [
        ({**meta, "kind": "toaster"}, {}),
        ({**meta, "classes": ["one"]}, {}),
        ({**meta, "classes": 7}, {}),
        ({key: value for key, value in meta.items() if key != "views"}, {}),
        ({**meta, "views": []}, {}),
        ({**meta, "views": 7}, {}),
        ({**meta, "blocks": []}, {}),
        ({**meta, "blocks": [{**block, "view": 9} for block in meta["blocks"]]}, {}),
        ({**meta, "blocks": [{**block, "view": -1} for block in meta["blocks"]]}, {}),
        ({**meta, "blocks": [*meta["blocks"], meta["blocks"][0]]}, {}),
        ({**meta, "blocks": [{**block, "tf": "magic"} for block in meta["blocks"]]}, {}),
        ({**meta, "views": [{**first, "ngram_range": [2, 1]}, *others]}, {}),
        ({**meta, "views": [{**first, "ngram_range": [1, 10**12]}, *others]}, {}),
        ({**meta, "link": {**meta["link"], "kind": "softmax"}}, {}),
        ({**meta, "link": {**meta["link"], "scale": "x"}}, {}),
        ({**meta, "rule": {"kind": "threshold", "class": "eggs", "threshold": 0.5}}, {}),
        (meta, {"W": arrays["W"].astype(np.float32)}),
        (meta, {"scale": arrays["scale"][:1]}),
        (meta, {"b": np.empty(0)}),
    ]
    if first["n_features"]:
        forged += [({**meta, "views": [{**first, "n_features": b}, *others]}, {}) for b in (0, -1, 7, 2**40, "x", 0.5)]
    else:
        forged += [
            (meta, {"term_offsets": arrays["term_offsets"][::-1].copy()}),
            (meta, {"term_offsets": arrays["term_offsets"] + 10**12}),
        ]
    if "memory" in meta:
        m = len(arrays["memory_A"])
        forged += [
            ({**meta, "memory": {**meta["memory"], "kind": "magic"}}, {}),
            ({**meta, "memory": {**meta["memory"], "number": float("nan")}}, {}),
            ({**meta, "memory": {**meta["memory"], "number": -1}}, {}),
            ({**meta, "memory": 7}, {}),
            (meta, {"memory_A": arrays["memory_A"][: m // 2]}),
            (meta, {"memory_A": np.full_like(arrays["memory_A"], np.inf)}),
            (meta, {"memory_A": np.hstack([arrays["memory_A"]] * 2)}),
            (meta, {"memory_rows": arrays["memory_rows"] - m}),
            (meta, {"memory_rows": arrays["memory_rows"][1:]}),
            (meta, {"memory_values": np.full_like(arrays["memory_values"], np.nan)}),
            (meta, {"memory_starts": arrays["memory_starts"][::-1].copy()}),
            (meta, {"memory_starts": arrays["memory_starts"][1:]}),
            (meta, {"memory_starts": np.empty(0, dtype=np.int64)}),
        ]
    else:
        forged += [(meta, {"W": np.full_like(arrays["W"], np.nan)}), (meta, {"W": arrays["W"][: p // 2]})]
    for changed_meta, changed_arrays in forged:
        with pytest.raises(ModelFileError):
            tallywise.TextModel(model_file.Contents(changed_meta, {**arrays, **changed_arrays}))


def test_mutated_files_are_refused(fitted, tmp_path):
    path = tmp_path / "m.tally"
    fitted.save(path)
    data = path.read_bytes()
    random = np.random.default_rng(0)
    for _ in range(200):
        mutated = bytearray(data)
        mutated[random.integers(len(data))] ^= 1 << random.integers(8)
        with pytest.raises(ModelFileError):
            tallywise.TextModel(model_file.parse(bytes(mutated)))


def test_a_file_of_one_view_and_one_weighting_without_lists_still_loads(corpus):
    model = TextClassifier("multinomial_nb", cv=2).fit(*corpus).runtime_
    meta, arrays = model.contents
    old = {key: value for key, value in meta.items() if key not in ("views", "blocks")}
    (view,), (block,) = meta["views"], meta["blocks"]
    old["text"] = {**view, "ngrams": view["ngram_range"], "buckets": None}
    old["text"].pop("ngram_range")
    old["weighting"] = {"tf": block["tf"], "norm": block["norm"]}
    loaded = tallywise.TextModel(model_file.Contents(old, arrays))
    assert np.array_equal(loaded.predict_proba(corpus[0]), model.predict_proba(corpus[0]))


def test_a_sum_is_one_linear_model_whose_scores_are_the_weighted_sum_of_its_parts(corpus, tmp_path):
    parts = [TextClassifier(name, cv=2).fit(*corpus) for name in ("linear_svm", "nb_svm")]
    model = TextClassifier(["linear_svm", "nb_svm"], cv=2).fit(*corpus)
    data = training_data(*corpus)
    combination = Combination(np.array([0.7, 1.3]), np.zeros(1))
    form = combined([TextCandidate(named(name), data).fit() for name in ("linear_svm", "nb_svm")], combination)
    model.views_, model.blocks_ = data.views, form.blocks
    model._serve(form)
    for part in parts:  # scores as the SVM gives them
        part._serve(TextCandidate(part.model_types_[0], data).fit())
    expected = 0.7 * parts[0].runtime_.scores(corpus[0]) + 1.3 * parts[1].runtime_.scores(corpus[0])
    weights = ((model, 1.0), (parts[0], 0.7), (parts[1], 1.3))
    change = [sum(a * m.runtime_.largest_change(text) for m, a in weights) for text in corpus[0]]
    assert (np.abs(model.runtime_.scores(corpus[0]) - expected)[:, 0] <= np.array(change) + 1e-9).all()
    assert len(model.runtime_.meta["blocks"]) == 3  # words and characters by tf-idf, pairs of words by presence
    for text in corpus[0][:5]:
        found = model.explain(text)
        assert found.bias + sum(word.contribution for word in found.words) == pytest.approx(found.score, abs=1e-9)
    model.save(tmp_path / "sum.tally")
    assert np.array_equal(tallywise.load(tmp_path / "sum.tally").scores(corpus[0]), model.runtime_.scores(corpus[0]))


def test_ratios_of_every_class_and_interpolation_follow_the_formula(corpus, monkeypatch):
    monkeypatch.setattr("tallywise.text_model.fits._TOL", 1e-12)
    texts, labels = corpus
    three = np.where(labels == "spam", "spam", np.where(np.arange(len(texts)) % 2, "ham", "eggs"))
    model = TextClassifier("nb_svm", cv=2).fit(texts, three)
    X = model.features(texts).toarray()
    codes = np.searchsorted(model.classes_, three)
    form = TextCandidate(named("nb_svm"), _training_data(model, texts, codes)).fit()
    assert set(np.unique(X)) == {0.0, 1.0}
    for k, label in enumerate(model.classes_):
        inside = three == label
        p, q = 1 + X[inside].sum(axis=0), 1 + X[~inside].sum(axis=0)
        r = np.log(p / p.sum()) - np.log(q / q.sum())
        machine = LinearSVC(tol=1e-12, C=0.1).fit(csr_matrix(X * r), inside)
        w = machine.coef_[0]
        seen = (X.sum(axis=0) > 0).sum()
        expected = r * (0.25 * w + 0.75 * np.abs(w).sum() / seen)
        used = X.any(axis=0)
        assert np.asarray(form.W)[used, k] == pytest.approx(expected[used], abs=1e-5)


def training_data(texts, labels):
    views = make_views("auto", None, 1, None, deobfuscate=False, stop_words=None, n_jobs=None)
    classes, codes = np.unique(labels, return_inverse=True)
    asking = [*MODEL_TYPES, *(dataclasses.replace(one, merged=False) for one in MODEL_TYPES)]
    return TrainingData.counted(views, lambda view: view.fit(texts), asking, codes, classes, None, None, pairs=True)


@pytest.mark.parametrize("name", ["linear_svm", "nb_svm", "logistic"])
def test_a_fit_on_merged_columns_is_the_fit_on_all_of_them(name, corpus, monkeypatch):
    monkeypatch.setattr("tallywise.text_model.fits._TOL", 1e-12)
    data = training_data(*corpus)
    model_type = named(name)
    plain = dataclasses.replace(model_type, merged=False)
    assert data.features(model_type).nnz < data.features(plain).nnz
    merged, whole = (TextCandidate(one, data).fit() for one in (model_type, plain))
    assert np.asarray(merged.W) == pytest.approx(whole.W, abs=2e-5 * np.abs(whole.W).max())
    assert merged.b == pytest.approx(whole.b, abs=1e-5)


@pytest.mark.parametrize("name", ["linear_svm", "nb_svm"])
@pytest.mark.parametrize("classes", [2, 3, 9])
@pytest.mark.parametrize("tol", [1e-9, 1e-3])  # in double and in single precision
def test_held_out_scores_are_those_of_a_fit_without_the_fold(name, classes, tol, corpus, monkeypatch):
    monkeypatch.setattr("tallywise.text_model.fits._TOL", 1e-9)
    monkeypatch.setattr("tallywise.text_model.fits._HELD_OUT_TOL", tol)
    data = training_data(corpus[0], np.arange(len(corpus[0])) % classes)
    model_type = named(name)
    rows = np.arange(len(data.codes))
    for folds in (
        make_folds(data.codes, n_splits=3, random_state=0),
        Folds(list(make_folds(data.codes, n_splits=3, random_state=0))[:2], "two of three"),
    ):
        one_by_one = dataclasses.replace(model_type, held_out=None, merged=False)
        together, apart = (TextCandidate(one, data).held_out(rows, folds).scores for one in (model_type, one_by_one))
        assert len(together) == sum(len(test) for _, test in folds)
        assert together == pytest.approx(apart, abs=1e-4 if tol < 1e-6 else 0.1)


def test_held_out_texts_are_scored_as_new_ones():
    texts = ["free prize now", "claim free prize", "lunch at noon", "noon meeting", "free lunch xyzzy", "prize qux now"]
    data = training_data(texts, ["spam", "spam", "ham", "ham", "ham", "spam"])
    train, test = np.arange(4), np.arange(4, 6)
    candidate = TextCandidate(named("word_svm"), data)
    found = candidate.held_out(np.arange(6), Folds([(train, test)], ""))
    form = candidate.fit(train)
    counts = data.counts[0].toarray()
    known = counts[test] * counts[train].any(axis=0)
    assert (known.sum(axis=1) < counts[test].sum(axis=1)).all()
    expected = form.blocks[0].weighting.apply(csr_matrix(known)) @ np.asarray(form.W) + form.b
    assert found.scores == pytest.approx(expected, abs=0.05)


def test_columns_are_merged_where_they_are_equal_and_nowhere_else():
    X = csr_matrix(np.array([[1.0, 1, 2, 0, 1, 0], [0, 0, 3, 0, 0, 1], [2, 2, 0, 0, 1, 0]]))
    scale = np.array([3.0, 4, 1, 1, 1, 1])
    merging, counts, total = merge(X, scale, presence=False)
    assert merging.group.tolist() == [0, 0, 1, -1, 2, 3]
    assert total.tolist() == [5.0, 1.0, 1.0, 1.0]
    assert counts.toarray().tolist() == [[1, 2, 1, 0], [0, 3, 0, 1], [2, 0, 1, 0]]
    W = np.arange(8.0).reshape(4, 2)
    unmerged = np.full((6, 2), np.nan)
    merging.unmerge(W, unmerged, slice(None))
    assert X.multiply(scale) @ unmerged == pytest.approx(counts.multiply(total) @ W)
    assert merge(X, scale, presence=True)[0].group.tolist() == [0, 0, 1, -1, 0, 2]
    assert merge(csr_matrix((3, 2)), np.ones(2), presence=True)[1].shape == (3, 0)


def test_merged_columns_are_the_same_for_any_number_of_threads(monkeypatch):
    random = np.random.default_rng(0)
    X = random_sparse(300, 150_000, 0.002, random_state=random, format="csr")
    X.data = random.integers(1, 3, X.nnz).astype(float)
    X = hstack([X, X[:, ::3]], format="csr")  # half of the columns come twice, far from each other
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setenv("TALLYWISE_NUM_THREADS", str(threads))
        merging, counts, total = merge(X, np.ones(X.shape[1]), presence=False)
        found.append((merging.group, merging.share, counts.indptr, counts.indices, counts.data, total))
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert counts.has_sorted_indices
    assert len(total) <= 150_000
    np.testing.assert_allclose(counts.multiply(total).power(2).sum(axis=1), X.power(2).sum(axis=1))


def test_features_of_two_views_are_those_of_each_side_by_side():
    random = np.random.default_rng(0)
    counts = [csr_matrix(random.poisson(0.3, (50, p)).astype(float)) for p in (40, 7)]
    weightings = [Weighting.fit("tf-idf", X) for X in counts]
    expected = hstack([w.apply(X) for w, X in zip(weightings, counts, strict=True)]).toarray()
    np.testing.assert_array_equal(side_by_side(weightings, counts).toarray(), expected)
    np.testing.assert_array_equal(side_by_side(weightings[:1], counts[:1]).toarray(), expected[:, :40])
    kept = random.random(40) < 0.4
    np.testing.assert_array_equal(with_columns(counts[0], kept).toarray(), counts[0].toarray()[:, kept])


def test_a_list_that_another_thread_changes_meanwhile_is_scored_as_it_was(corpus):
    model = TextClassifier("multinomial_nb", cv=2).fit(*corpus).runtime_
    texts = [str(text) for text in corpus[0]] * 20
    expected = model.predict_proba(list(texts))
    done = threading.Event()

    def disturb():
        while not done.is_set():
            for i in range(len(texts)):
                texts[i] = "".join([texts[i]])  # another string of the same text; the old one may go

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(5):
            assert np.array_equal(model.predict_proba(texts), expected)
    finally:
        done.set()
        thread.join()


def test_many_texts_are_cut_into_words_and_pairs_of_words_in_several_texts(corpus, monkeypatch, tmp_path):
    from sklearn.feature_extraction.text import CountVectorizer

    texts, labels = corpus
    monkeypatch.setattr("tallywise.text_model.views.MOST_CHARACTERS", sum(map(len, texts)) - 1)
    model = TextClassifier(cv=2).fit(texts, labels)
    (view,) = model.views_
    counter = CountVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\w+|[^\w\s]")
    X = counter.fit_transform(texts)
    kept = [" " not in term or df >= 2 for term, df in zip(counter.get_feature_names_out(), X.getnnz(0), strict=True)]
    assert 0 < sum(kept) < len(kept)
    names = view.vectorizer.get_feature_names_out().tolist()
    columns = [counter.vocabulary_[name] for name in names]
    assert sorted(columns) == np.flatnonzero(kept).tolist()
    assert abs(view.count(texts) - X[:, columns]).max() == 0
    tiers = np.frexp(X.getnnz(0)[columns])[1] // 2
    assert (np.diff(tiers) <= 0).all()  # frequent terms first
    assert sorted(zip(-tiers, names, strict=True)) == list(zip(-tiers, names, strict=True))
    assert "words and pairs of words in at least 2 texts" in " ".join(model.description_)
    model.save(tmp_path / "model.tally")
    assert np.array_equal(tallywise.load(tmp_path / "model.tally").predict_proba(texts), model.predict_proba(texts))


def test_terms_of_many_texts_are_the_most_frequent_that_weights_have_room_for(corpus, monkeypatch):
    texts, labels = corpus
    monkeypatch.setattr("tallywise.text_model.views.MOST_CHARACTERS", sum(map(len, texts)) - 1)
    whole = TextClassifier("linear_svm", cv=2).fit(texts, labels)
    (view,) = whole.views_
    df = dict(zip(view.vectorizer.get_feature_names_out(), (view.count(texts) > 0).sum(axis=0).A1, strict=True))
    monkeypatch.setattr("tallywise.text_model.views.MOST_WEIGHTS", 20)
    model = TextClassifier("linear_svm", cv=2).fit(texts, labels)
    (small,) = model.views_
    kept = set(small.vectorizer.get_feature_names_out())
    words, pairs = ({term for term in df if (" " in term) == pair} for pair in (False, True))
    assert 0 < len(kept & words) <= 10
    assert 10 < len(kept) <= 20
    for terms in (words, pairs):  # what is left out is rarer than all that is kept
        assert max(df[term] for term in terms - kept) < min(df[term] for term in terms & kept)
    assert f"words in at least {small.least_of_words} texts" in " ".join(model.description_)
    assert model.unknown_words_ is None


@pytest.mark.parametrize(("most", "least"), [(10, 1), (4, 2), (3, 3), (2, 6), (0, 10)])
def test_the_least_number_of_texts_leaves_no_more_terms_than_asked(most, least):
    assert least_for(np.array([1, 9, 1, 2, 5, 5]), 1, most) == least


def test_a_sample_sees_the_same_whether_all_texts_were_merged_before_or_not(corpus):
    views = make_views("word", (1, 2), 1, None, deobfuscate=False, stop_words=None, n_jobs=None)
    classes, codes = np.unique(corpus[1], return_inverse=True)
    counts = [view.fit(corpus[0]) for view in views]
    for model_type in (named("word_svm"), named("nb_svm")):
        found = []
        for before in (False, True):
            data = TrainingData(views, counts, codes, classes, None, None)
            if before:
                data.features(model_type)
            X = data.part(np.arange(0, len(codes), 3)).features(model_type)
            found.append((X @ X.T).toarray())
        np.testing.assert_allclose(*found, atol=1e-12)


def test_neighbours_that_say_little_are_compared_without_a_warning():
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in random.integers(0, 3000, 40)) for _ in range(60)]
    model = TextClassifier(["nearest", "multinomial_nb"], cv=2).fit(texts, ["a", "b"] * 30)  # warnings are errors
    assert model.trials_


def test_weighting_matches_scikit_learns_tf_idf(corpus):
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    X = CountVectorizer().fit_transform(corpus[0])
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    assert abs(Weighting.fit("tf-idf", X).apply(X) - expected).max() < 1e-12


def test_grades_are_recognised():
    assert ordinal_levels(np.array(["1", "10", *map(str, range(2, 10))])).tolist() == [
        1,
        10,
        *range(2, 10),
    ]
    for labels in ([1, 2, 3, 4, 5], [1, 2, 4, 5], [0, 2, 4], ["1", "2", "3"], ["1.0", "2.0", "3.0"], [-1, 0, 1]):
        assert ordinal_levels(np.array(labels)).tolist() == [float(label) for label in labels]
    for labels in (["ham", "spam", "x"], [0, 1], [1, 5, 9], [0.5, 1.5, 2.5], [1, 2, np.inf], [1, 2, np.nan], range(11)):
        assert ordinal_levels(np.array(labels)) is None


def test_sms_spam_is_learned_well():
    texts, labels = datasets.sms()
    model = TextClassifier("multinomial_nb", max_flagged={"ham": 0.002}).fit(texts, labels)
    assert model.figures_["roc_area"].value > 0.97
    assert model.threshold_.caught.value > 0.7


def test_shares_of_unknown_words_are_those_of_a_count_by_hand(corpus):
    model = TextClassifier("linear_svm", cv=2).fit(*corpus)
    asked = ["prize lunch", "prize xyzzy", "xyzzy!", "", "the the qux QUX lunch"]
    assert model.runtime_.unknown_words(asked).tolist() == [0.0, 0.5, 1.0, 0.0, 0.4]
    known = set(" ".join(corpus[0]).lower().split())
    texts = [*corpus[0][:50], *(f"{text} foo{i} bar" for i, text in enumerate(corpus[0][:50]))]
    expected = [np.mean([word not in known for word in text.split()]) for text in texts]
    assert model.runtime_.unknown_words(texts) == pytest.approx(expected)
    hashed = TextClassifier("multinomial_nb", cv=2, n_features=256).fit(*corpus).runtime_
    letters = TextClassifier("linear_svm", cv=2, analyzer="char_wb").fit(*corpus).runtime_
    for blind in (hashed, letters):
        assert blind.unknown_words(asked) is None
        assert not blind.out_of_depth(asked).any()


def test_usual_shares_of_unknown_words_are_those_of_texts_left_out_one_by_one(corpus):
    texts = [f"{text} own{i}" if i % 3 == 0 else text for i, text in enumerate(corpus[0][:60])]
    texts += texts[:5]  # repeats know each other's words, and must not
    labels = np.concatenate([corpus[1][:60], corpus[1][:5]])
    model = TextClassifier("multinomial_nb", cv=2).fit(texts, labels)
    shares = []
    for text in texts:
        others = {word for other in texts if other != text for word in other.split()}
        shares.append(np.mean([word not in others for word in text.split()]))
    assert model.unknown_words_["mean"] == pytest.approx(np.mean(shares))
    assert model.unknown_words_["high"] == pytest.approx(np.quantile(shares, 0.99, method="higher"))
    assert model.runtime_.out_of_depth([texts[0], "words of another world"]).tolist() == [False, True]
    meta, arrays = model.runtime_.contents
    for wrong in (7, {}, {"mean": "x", "high": 0.5}, None):
        with pytest.raises(ModelFileError):
            tallywise.TextModel(model_file.Contents({**meta, "unknown_words": wrong}, arrays))
