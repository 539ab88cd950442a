"""Texts with any number of labels: figures by their formulas, machines label by label, files, reasons, the command."""

import json
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import f1_score

import tallywise
from benchmarks import datasets
from tallywise import ModelFileError, MultiLabelTextClassifier, _arrays, _native
from tallywise.evaluation import choose_label_thresholds, measure_labels
from tallywise.evaluation.label_metrics import _best_thresholds
from tallywise.models import model_file
from tallywise.models.label_set_serving import MultiLabelTextModel
from tallywise.reading import open_source
from tallywise.report import render
from tallywise.text_model import label_report_data
from tallywise.text_model.fits import _options
from tallywise.text_model.label_matrix import LabelMatrix
from tallywise.text_model.label_selection import fit_labels, strata
from tallywise.text_model.training_data import TrainingData
from tests.commands import tally
from tests.reference import labels as slow

WORDS = {
    "food": "pizza pasta bread wine olive cheese",
    "travel": "flight rome airport train hotel luggage",
    "work": "meeting report deadline office minutes budget",
}


def made_up(n=400, seed=0):
    random = np.random.default_rng(seed)
    common = "the a to you and in is it for we".split()
    texts, y = [], []
    for _ in range(n):
        labels = [label for label, share in zip(WORDS, (0.5, 0.3, 0.15), strict=True) if random.random() < share]
        words = [*random.choice(common, 6)]
        for label in labels:
            words += [*random.choice(WORDS[label].split(), 2)]
        words += [random.choice(WORDS[random.choice(list(WORDS))].split())] if random.random() < 0.2 else []
        random.shuffle(words)
        texts.append(" ".join(words))
        y.append(labels)
    return texts, y


@pytest.fixture(scope="module")
def corpus():
    return made_up()


@pytest.fixture(scope="module")
def fitted(corpus):
    return MultiLabelTextClassifier(cv=3).fit(*corpus)


# --- figures and thresholds ---


@pytest.mark.parametrize("seed", range(5))
def test_micro_and_macro_f1_are_those_of_the_formulas(seed):
    random = np.random.default_rng(seed)
    Y, P = random.random((40, 6)) < 0.3, random.random((40, 6)) < 0.3
    Y[:, 4:] = P[:, 5] = False  # a label that is only given, and one that nothing has
    found = measure_labels(Y, P, resamples=50)
    assert found["micro_f1"].value == pytest.approx(slow.micro_f1(Y, P), abs=1e-12)
    assert found["macro_f1"].value == pytest.approx(slow.macro_f1(Y, P), abs=1e-12)
    assert found["micro_f1"].value == pytest.approx(f1_score(Y, P, average="micro"))
    assert found["macro_f1"].value == pytest.approx(f1_score(Y[:, :5], P[:, :5], average="macro", zero_division=0))
    assert found["exact_match"].value == (Y == P).all(axis=1).mean()
    assert found["hamming_loss"].value == pytest.approx((Y != P).mean())
    for figure in found.values():
        assert figure.low <= figure.value <= figure.high


def test_figures_of_nothing_at_all_are_zero_and_not_an_error():
    nothing = np.zeros((5, 2), dtype=bool)
    found = measure_labels(nothing, nothing, resamples=5)
    assert (found["micro_f1"].value, found["macro_f1"].value, found["exact_match"].value) == (0, 0, 1)
    with pytest.raises(ValueError, match="matrices of one shape"):
        measure_labels(nothing, nothing[:, :1])


def test_repeats_of_a_text_widen_the_intervals():
    random = np.random.default_rng(0)
    Y = random.random((60, 3)) < 0.5
    P = Y ^ (random.random((60, 3)) < 0.2)
    alone = measure_labels(Y, P)
    repeated = measure_labels(np.repeat(Y, 5, axis=0), np.repeat(P, 5, axis=0), groups=np.repeat(np.arange(60), 5))
    assert repeated["micro_f1"].value == pytest.approx(alone["micro_f1"].value)
    assert repeated["micro_f1"].high - repeated["micro_f1"].low > 0.8 * (alone["micro_f1"].high - alone["micro_f1"].low)


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_of_each_label_alone_have_the_largest_f1(seed):
    random = np.random.default_rng(seed)
    Y = random.random((50, 4)) < (0.5, 0.2, 0.1, 0.04)
    Y[0] = True
    P = np.round(np.clip(0.4 * Y + random.random((50, 4)) * 0.6, 0, 1), 2)  # with ties
    alone = _best_thresholds(Y, P)[0]
    for k in range(4):
        reached = slow.f1(*slow.counts(Y[:, [k]], P[:, [k]] >= alone[k], 0))
        assert reached == pytest.approx(slow.best_f1(Y[:, k], P[:, k]))


def test_all_labels_together_decide_for_a_label_that_is_rare():
    random = np.random.default_rng(0)
    Y = random.random((2000, 30)) < 0.02
    P = 1 / (1 + np.exp(-(4 * Y + random.normal(size=Y.shape) - 3)))
    found = choose_label_thresholds(Y, P)
    assert found.shared > 0
    own = _best_thresholds(Y, P)[0]
    assert found.values.std() < own.std()
    assert found.verdicts.shape == Y.shape


# --- machines ---


def test_machines_of_sets_are_those_of_each_label():
    random = np.random.default_rng(0)
    X = csr_matrix(random.random((300, 3000)) * (random.random((300, 3000)) < 0.02))
    Y = random.random((300, 17)) < 0.3
    codes, sets = LabelMatrix(np.arange(17), Y).ids
    s, rows = np.full(300, 1.0), _arrays.rows(X)
    fold = (np.arange(300) % 3).astype(np.int32)
    W, b, *_ = _native.margin_classes(rows, codes, s, np.ones((17, 2)), _options(1, 1e-6, 300), sets)
    Z = _native.held_out_margins(rows, codes, s, np.ones((17, 2)), fold, _options(1, 1e-6, 300), sets)[0]
    for k in (0, 7, 16):
        alone = np.ascontiguousarray(Y[:, k], dtype=np.int64)
        w, c, *_ = _native.margin_classes(rows, alone, s, np.ones((1, 2)), _options(1, 1e-6, 300))
        z = _native.held_out_margins(rows, alone, s, np.ones((1, 2)), fold, _options(1, 1e-6, 300))[0]
        assert W[k] == pytest.approx(w[0], abs=2e-3)
        assert b[k] == pytest.approx(c[0], abs=2e-3)
        assert Z[:, k] == pytest.approx(z[:, 0], abs=5e-3)
    with pytest.raises(ValueError, match="a row of sets per code"):
        _native.margin_classes(rows, codes + len(sets), s, np.ones((17, 2)), _options(1, 1e-2, 300), sets)
    with pytest.raises(ValueError, match="a column of sets per problem"):
        _native.margin_classes(rows, codes, s, np.ones((16, 2)), _options(1, 1e-2, 300), sets)


def test_every_fold_gets_some_of_each_label_that_is_not_too_rare():
    Y = np.zeros((100, 3), dtype=bool)
    Y[:, 0] = True
    Y[:10, 1] = Y[:2, 2] = True
    assert np.bincount(strata(Y, 5)).tolist() == [90, 8, 0, 2]


# --- the model ---


def test_labels_are_learned(fitted):
    texts, y = made_up(200, seed=1)
    assert fitted.score(texts, y) > 0.9
    assert fitted.figures_["micro_f1"].value > 0.85
    Y = LabelMatrix.of(y).Y
    assert fitted.score(texts, y) == pytest.approx(f1_score(Y, fitted.predict(texts), average="micro"))
    assert fitted.predict_labels(["pizza at the airport", "", "the a to"]) == [["food", "travel"], [], []]


def test_matrices_of_labels_are_taken_as_lists_are(corpus, fitted):
    texts, y = corpus
    Y = LabelMatrix.of(y).Y.astype(int)
    for given in (Y, csr_matrix(Y)):
        other = MultiLabelTextClassifier(cv=3).fit(texts, given)
        assert other.classes_.tolist() == [0, 1, 2]
        assert np.array_equal(other.predict_proba(texts[:50]), fitted.predict_proba(texts[:50]))
    pandas = pytest.importorskip("pandas")
    framed = MultiLabelTextClassifier(cv=3).fit(texts, pandas.DataFrame(Y, columns=["food", "travel", "work"]))
    assert framed.classes_.tolist() == ["food", "travel", "work"]


@pytest.mark.parametrize(
    ("y", "cause"),
    [
        (["food"] * 8, "use TextClassifier"),
        ([["food"]] * 7 + [None], "Got None for text 7"),
        ([[]] * 8, "No text has a label"),
        ([["food"]] * 8, r"Every text has the same labels, \['food'\]"),
        ([["food"]] * 7, "8 texts and 7 lists"),
        (np.full((8, 2), 3), "of 0 and 1"),
    ],
)
def test_labels_that_cannot_be_learned_are_named(y, cause):
    with pytest.raises(ValueError, match=cause):
        MultiLabelTextClassifier().fit(["a b", "c d", "e f", "g h"] * 2, y)


def test_one_label_alone_is_given_or_not(corpus):
    texts, y = corpus
    only = MultiLabelTextClassifier(cv=3).fit(texts, [[label for label in labels if label == "food"] for labels in y])
    assert only.classes_.tolist() == ["food"]
    assert only.predict_labels(["pizza and wine", "the office"]) == [["food"], []]
    assert only.predict_proba(["pizza"]).shape == (1, 1)
    found = only.explain("pizza and wine")
    assert found.bias + sum(word.contribution for word in found.words) == pytest.approx(found.score)


def test_labels_on_every_text_or_on_one_do_no_harm(corpus):
    texts, y = corpus
    strange = [["all", *labels, *(["once"] if i == 5 else []), *labels] for i, labels in enumerate(y)]
    model = MultiLabelTextClassifier(cv=3).fit(texts, strange)
    assert all("all" in labels for labels in model.predict_labels(texts[:100]))
    P = model.predict_proba(texts)
    assert np.isfinite(P).all()
    assert P[:, model.classes_.tolist().index("once")].mean() < 0.1


def test_probabilities_are_those_of_the_log_odds_and_thresholds_decide(fitted, corpus):
    texts = corpus[0][:50]
    P = fitted.predict_proba(texts)
    assert P == pytest.approx(1 / (1 + np.exp(-fitted.runtime_.scores(texts))), abs=1e-12)
    assert np.array_equal(fitted.predict(texts), P >= fitted.thresholds_)


def test_contributions_add_up_to_the_log_odds_of_each_label(fitted):
    for text in ("pizza at the airport", "", "deadline for the pizza report, wine!"):
        for k, label in enumerate(fitted.classes_):
            found = fitted.explain(text, label)
            assert found.label == label
            assert found.bias + sum(word.contribution for word in found.words) == pytest.approx(found.score, abs=1e-9)
            assert found.score == pytest.approx(fitted.runtime_.scores([text])[0, k], abs=1e-9)
    assert fitted.explain("pizza and pasta").label == "food"
    with pytest.raises(ValueError, match="not one of the classes"):
        fitted.explain("pizza", "nonsense")


def test_flips_give_and_take_a_label(fitted):
    flip = fitted.flip("pizza and wine at the airport", "food")
    assert (flip.label, flip.becomes) == ("food", False)
    assert {"pizza", "wine"} >= set(flip.remove) > set()
    flip = fitted.flip("the minutes", "travel")
    assert flip.becomes
    assert "travel" in fitted.predict_labels([" ".join(["the minutes", *flip.add])])[0]


def test_both_sides_give_the_same_bits(fitted, corpus, tmp_path):
    texts = corpus[0]
    fitted.save(tmp_path / "m.tally")
    loaded = tallywise.load(tmp_path / "m.tally")
    assert type(loaded).__name__ == "MultiLabelTextModel"
    for other in (loaded, pickle.loads(pickle.dumps(fitted))):
        assert np.array_equal(other.predict_proba(texts), fitted.predict_proba(texts))
        assert other.predict_labels(texts) == fitted.predict_labels(texts)
    for jobs in (1, 2):
        again = MultiLabelTextClassifier(cv=3, n_jobs=jobs).fit(*corpus)
        assert np.array_equal(again.predict_proba(texts), fitted.predict_proba(texts))


def test_rounding_changes_log_odds_by_no_more_than_is_said(fitted, corpus):
    texts, (ids, sets) = corpus[0], LabelMatrix.of(corpus[1]).ids
    counts = [view.count(texts) for view in fitted.views_]
    data = TrainingData(fitted.views_, counts, ids.astype(np.intp), np.arange(len(sets)), None, sets=sets)
    exact = MultiLabelTextModel(fitted._file(fit_labels(fitted.trials_[0], data))).scores(texts[:20])
    assert fitted.runtime_.meta["precision"]["bits"] == 8
    change = np.abs(fitted.runtime_.scores(texts[:20]) - exact).max(axis=1)
    assert 0 < change.max() < 0.05 * np.abs(exact).max()
    for text, most in zip(texts, change, strict=False):
        assert most <= fitted.runtime_.largest_change(text)


def test_a_wish_for_a_size_is_kept(corpus, fitted, tmp_path):
    whole = fitted.save(tmp_path / "whole.tally")
    small = MultiLabelTextClassifier(cv=3, max_size=whole // 2).fit(*corpus)
    assert small.save(tmp_path / "small.tally") <= whole // 2
    assert small.runtime_.meta["left_out"]["changed"] < 0.2


def test_forged_files_are_refused(fitted, tmp_path):
    meta, arrays = fitted.runtime_.contents
    path = tmp_path / "forged.tally"
    for more_meta, more_arrays in [
        ({}, {"label_thresholds": np.zeros(2)}),
        ({}, {"label_thresholds": np.zeros(3, dtype=np.float32)}),
        ({"rule": {"kind": "most likely"}}, {}),
        ({"link": {"kind": "softmax", "scale": 1.0, "shift": 0.0}}, {}),
        ({"classes": ["a"]}, {}),
    ]:
        model_file.write(path, {**meta, **more_meta}, {**arrays, **more_arrays})
        with pytest.raises(ModelFileError):
            tallywise.load(path)
    model_file.write(path, meta, {name: a for name, a in arrays.items() if name != "label_thresholds"})
    with pytest.raises(ModelFileError):
        tallywise.load(path)
    model_file.write(path, {**meta, "kind": "text classifier"}, arrays)
    with pytest.raises(ModelFileError):
        tallywise.load(path)


def test_the_report_shows_labels_comparison_and_mistakes(fitted, corpus):
    page = render(label_report_data(fitted, *corpus, "<made up>"))
    for part in ("micro F1", "macro F1", "threshold", "<td class=name>travel", "Most indicative terms", "&lt;made up"):
        assert part in page
    assert "Worst mistakes" in page


def test_intents_joined_two_by_two_are_found_as_well_as_said():
    """Pairs of questions as one text with both intents: the estimate by cross-validation holds on new pairs."""
    try:
        (texts, labels), (new, of_new) = datasets.banking(), datasets.banking("test")
    except datasets.Missing as missing:
        pytest.skip(str(missing))
    random = np.random.default_rng(0)

    def joined(texts, labels, n):
        pairs = random.integers(0, len(texts), (n, 2))
        one = random.random(n) < 0.3
        said = [texts[a] if single else f"{texts[a]} {texts[b]}" for (a, b), single in zip(pairs, one, strict=True)]
        return said, [
            [labels[a]] if single else [labels[a], labels[b]] for (a, b), single in zip(pairs, one, strict=True)
        ]

    some = np.isin(labels, np.unique(labels)[:25]), np.isin(of_new, np.unique(labels)[:25])
    train = joined([t for t, keep in zip(texts, some[0], strict=True) if keep], labels[some[0]], 2500)
    test = joined([t for t, keep in zip(new, some[1], strict=True) if keep], of_new[some[1]], 1000)
    model = MultiLabelTextClassifier("word_svm", cv=3).fit(*train)
    Y, gets = LabelMatrix.of(test[1]).Y, model.predict(test[0])
    reached = slow.micro_f1(Y, gets)
    assert reached == pytest.approx(model.score(*test))
    assert reached > 0.8
    assert abs(reached - model.figures_["micro_f1"].value) < 0.1


# --- reading ---


def labels_of(path, **how):
    source = open_source(path, **how)
    return [record.labels for record in source], source


def test_lists_are_recognised_in_every_table(tmp_path):
    rows = [("pizza in rome", ["food", "travel"]), ("a report", ["work"]), ("nothing", []), ("unknown", None)]
    jsonl = tmp_path / "a.jsonl"
    jsonl.write_text("".join(json.dumps({"text": text, "tags": tags}) + "\n" for text, tags in rows))
    found, source = labels_of(jsonl)
    assert found == [("food", "travel"), ("work",), ()]
    assert source.label_sets
    assert source.skipped == 1
    table = tmp_path / "a.csv"
    table.write_text('text,label\npizza in rome,"[\'food\', \'travel\']"\na report,"[""work""]"\nnothing,[]\n')
    assert labels_of(table)[0] == found
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(
        pyarrow.table({"text": [t for t, _ in rows], "labels": [v for _, v in rows]}), tmp_path / "a.parquet"
    )
    assert labels_of(tmp_path / "a.parquet")[0] == found


def test_a_separator_cuts_cells_and_an_empty_cell_is_no_label(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,topics\npizza in rome,food; travel;food\na report,work\nnothing,\n,lost\n")
    found, source = labels_of(path, label_separator=";")
    assert found == [("food", "travel"), ("work",), ()]
    assert source.skipped == 1
    assert labels_of(path)[0] == [None] * 3  # without it, cells are labels as they are


@pytest.mark.parametrize(
    "cell", ["[" * 100_000, "[1, [2]]", "[{}]", "['a' + 'b']", "[__import__('os')]", "['\\", "[]]"]
)
def test_what_is_no_list_is_a_label_as_it_is(tmp_path, cell):
    path = tmp_path / "a.jsonl"
    rows = [{"text": "some text", "label": cell}, {"text": "other text", "label": "b"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [(record.label, record.labels) for record in open_source(path)] == [(cell, None), ("b", None)]


def test_a_label_that_is_no_list_among_lists_is_named(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"text": f"text {i}", "labels": ["a"]} for i in range(1500)] + [{"text": "other", "labels": "b"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(tallywise.TallywiseError, match=r"a\.jsonl:1501: a label is not a list"):
        list(open_source(path))


# --- the command ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("labels")
    with (folder / "train.jsonl").open("w") as stream:
        for text, labels in zip(*corpus, strict=True):
            stream.write(json.dumps({"text": text, "labels": labels}) + "\n")
    with (folder / "train.csv").open("w") as stream:
        stream.write("text,label\n" + "".join(f"{t},{' / '.join(v)}\n" for t, v in zip(*corpus, strict=True)))
    code, out, err = tally(
        "train", folder / "train.csv", "--label-separator", "/", "-o", folder / "m.tally", "--report", folder / "r.html"
    )
    assert code == 0, err
    assert "micro F1" in out
    assert "labels per text" in out
    return folder


def test_train_from_lists_and_from_a_separator_is_the_same(folder, tmp_path):
    code, out, err = tally("train", folder / "train.jsonl", "-o", tmp_path / "m.tally", "--no-report", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["labels"] == ["food", "travel", "work"]
    assert found["figures"]["micro_f1"][0] > 0.85
    one, other = tallywise.load(tmp_path / "m.tally"), tallywise.load(folder / "m.tally")
    assert np.array_equal(one.predict_proba(["pizza in rome"]), other.predict_proba(["pizza in rome"]))
    assert "Labels</h2>" in (folder / "r.html").read_text()


def test_classify_answers_with_lists(folder, tmp_path):
    code, out, _ = tally("classify", folder / "m.tally", folder / "train.csv", "--json")  # rows without labels, too
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == 400
    assert all(isinstance(row["labels"], list) and set(row["probabilities"]) == set(row["labels"]) for row in rows)
    code, out, _ = tally("classify", folder / "m.tally", "-", stdin="pizza at the airport\nthe a to\n")
    assert [line.split("\t")[0] for line in out.splitlines()] == ["food, travel", "-"]
    code, out, _ = tally("classify", folder / "m.tally", "-", "-e", "-p", stdin="pizza at the airport\n")
    assert 'food: "pizza" +' in out
    assert "not travel without" in out
    assert "work=0." in out
    code, out, _ = tally("classify", folder / "m.tally", "-", "-e", "-p", "--json", stdin="pizza at the airport\n")
    assert set(json.loads(out)["words"]) == {"food", "travel"}
    assert len(json.loads(out)["probabilities"]) == 3


def test_evaluate_explain_and_inspect_speak_of_each_label(folder, tmp_path):
    path = tmp_path / "later.csv"
    path.write_text("text,label\npizza in rome,food/travel\nthe report,work/new\nthe a to,\n")
    code, out, err = tally("evaluate", folder / "m.tally", path, "--json")  # the model knows its separator
    assert code == 0, err
    found = json.loads(out)
    assert found["never_learned"] == {"new": 1}
    assert found["by_label"]["new"]["recall"][0] == 0
    assert found["figures"]["micro_f1"][0] == pytest.approx(6 / 7)
    code, out, _ = tally("evaluate", folder / "m.tally", path)
    assert "1 labels were never learned and count as missed: new (1)" in out
    code, out, _ = tally("explain", folder / "m.tally", stdin="pizza at the airport")
    assert "would not be food without" in out
    assert "would not be travel without" in out
    code, out, _ = tally("explain", folder / "m.tally", "--class", "work", "--json", stdin="pizza at the airport")
    assert [found["label"] for found in json.loads(out)] == ["work"]
    code, out, _ = tally("inspect", folder / "m.tally")
    assert "micro F1" in out
    assert "food (from probability 0." in out


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["train", "train.jsonl", "--costs", "food:work=3"], "do not go with --costs"),
        (["train", "train.csv", "--label-separator", ""], "must not be empty"),
        (["train", "train.csv", "--label-separator", "/", "--stream"], "do not go with work on shards"),
        (["compare", "train.jsonl"], "one label per text is needed here"),
        (["classify", "m.tally", "train.csv", "-o", "out"], "gives texts several labels"),
    ],
)
def test_what_does_not_go_with_several_labels_is_named(folder, tmp_path, arguments, cause):
    given = [str(folder / part) if part.endswith((".jsonl", ".csv", ".tally")) else part for part in arguments]
    given = [str(tmp_path / "out") if part == "out" else part for part in given]
    code, _, err = tally(*given)
    assert code in (1, 2)
    assert cause in err
