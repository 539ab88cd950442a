"""Naive Bayes from sums over shards: exact, the same bytes for any number of workers; scoring; the command."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tallywise
from tallywise import TextClassifier
from tallywise import naive_bayes as nb
from tallywise.cli import main
from tallywise.reading import InputError, Layout, find_shards
from tallywise.scale import classify, train, trees
from tallywise.scale.jobs import Features, Job, grouped, parts
from tallywise.scale.models import MODELS
from tallywise.scale.statistics import Statistics, with_columns
from tallywise.scale.worker import Worker
from tallywise.text import CountVectorizer
from tallywise.text_model.contents import text_file_of
from tallywise.text_model.fits import naive_bayes_form
from tests.scale.corpus import corpus, digest, write_shards

EVENTS = sorted({model.event for model in MODELS.values() if model.event} | {"PoissonNB"})


@pytest.fixture(scope="module", params=[2, 4], ids=lambda K: f"{K} classes")
def shards(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    texts, labels = corpus(request.param)
    return texts, labels, write_shards(folder / "parts", texts, labels)


# --- sums ---


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("cut", [{}, {"min_df": 3}, {"min_df": 2, "max_features": 300}, {"min_df": 0.005}])
def test_merged_statistics_are_those_of_all_rows_at_once(event, cut):
    texts, labels = corpus(3, 600)
    features = Features(**cut)
    merged = Statistics(features, (event,))
    for a in range(0, 600, 170):
        part = Statistics(features, (event,))
        for b in range(a, min(a + 170, 600), 50):
            rows = slice(b, min(b + 50, a + 170))
            part.add(texts[rows], labels[rows], np.zeros(len(texts[rows]), dtype=bool))
        merged.merge(Statistics.unpacked(part.packed(), features, (event,)))
    vectorizer = CountVectorizer(ngram_range=(1, 2), **cut)
    X = vectorizer.fit_transform(texts)
    terms, order = merged.chosen_terms()
    assert terms == vectorizer.get_feature_names_out().tolist()
    assert np.array_equal(merged.documents[order], np.bincount(X.indices, minlength=len(terms)))
    at_once = getattr(nb, event)().fit(X, np.array(labels, dtype=object)).statistics()
    for name, table in with_columns(merged.sums[event], order).statistics().items():
        assert np.array_equal(table, at_once[name]), name


@pytest.mark.parametrize(
    "numbers", [[0.0, 3.0, 2.0**52], [1.5, 2.0], [-0.0, 1.0], [np.nan, 1.0], [1, 1 << 60], [-1, 0]]
)
def test_packed_arrays_come_back_with_their_bits(numbers):
    statistics = Statistics(Features())
    statistics.documents = np.array(numbers)
    back = Statistics.unpacked(statistics.packed(), Features()).documents
    assert back.dtype == statistics.documents.dtype
    assert back.tobytes() == statistics.documents.tobytes()


def test_workers_that_score_load_neither_scikit_learn_nor_scipy():
    modules = "tallywise.scale.engines, tallywise.scale.shard_predictions"
    code = f"import sys, {modules}; print({{'sklearn', 'scipy'}} & {{*sys.modules}})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_texts_without_any_term_are_counted_as_rows():
    statistics = Statistics(Features(), ("MultinomialNB",))
    statistics.add(["!", "a word here"], ["x", "y"], np.zeros(2, dtype=bool))
    statistics.add(["?"], ["x"], np.zeros(1, dtype=bool))
    assert statistics.rows == 3
    assert statistics.sums["MultinomialNB"].class_count_.tolist() == [2, 1]


@pytest.mark.parametrize("n", range(1, 12))
def test_sums_over_the_tree_have_the_same_bits_for_any_workers(n):
    random = np.random.default_rng(n)
    values = random.normal(size=n) * 10.0 ** random.integers(-8, 8, n)

    def leaf(shard):
        return None if shard == 3 else (np.array([values[shard]]),)

    found = set()
    for workers in range(1, n + 1):
        known = {}
        for run in parts([1] * n, workers):
            known.update({node: trees.node_sum(node, leaf, n) for node in trees.whole_nodes(run, n)})
        found.add(float(trees.total(known, n)[0][0]))
    assert len(found) == 1


@pytest.mark.parametrize("sizes", [[1] * 3, [1] * 1000, [0] * 9, [10**9, 1, 1, 10**9, 2], [5 << 20] * 300])
def test_small_shards_are_grouped_in_order_by_their_sizes_alone(sizes):
    groups = grouped(sizes)
    assert [k for group in groups for k in group] == list(range(len(sizes)))
    assert all(len(group) == 1 or sum(sizes[k] for k in group[:-1]) < 8 << 20 for group in groups)


def test_parts_are_consecutive_and_even():
    assert parts([3, 1, 1, 1, 3], 3) == [range(0, 1), range(1, 4), range(4, 5)]
    for workers in range(1, 9):
        runs = parts([5, 1, 9, 0, 2, 2, 7], workers)
        assert [k for run in runs for k in run] == list(range(7))
        assert all(len(run) for run in runs)
        assert len(runs) == min(workers, 7)


# --- the same bytes ---


@pytest.mark.parametrize("model", ["multinomial_nb", "complement_nb", "bernoulli_nb"])
def test_the_model_file_has_the_same_bytes_for_any_number_of_workers(shards, tmp_path, model):
    _, _, folder = shards
    digests = {digest(train(folder, model=model, workers=workers), tmp_path) for workers in (1, 2, 5)}
    assert len(digests) == 1


def test_naive_bayes_from_shards_is_that_of_one_machine_to_the_byte(shards, tmp_path):
    texts, labels, folder = shards
    trained = train(folder, model="multinomial_nb", workers=3)
    whole = write_shards(tmp_path / "whole", texts, labels, shards=1)
    at_once = train(whole, model="multinomial_nb", workers=1)
    assert digest(trained, tmp_path) == digest(at_once, tmp_path)
    local = TextClassifier("multinomial_nb", ngram_range=(1, 2), analyzer="word", cv=2).fit(texts, labels)
    X = local.vectorizer_.transform(texts)
    fitted = nb.MultinomialNB(**trained.model.model_types_[0].setting).fit(X, np.searchsorted(local.classes_, labels))
    form, arrays = naive_bayes_form(fitted), trained.model.runtime_.contents.arrays
    expected = text_file_of(trained.model, form._replace(blocks=trained.model.blocks_)).compact().arrays
    assert expected.keys() == arrays.keys()
    for name, array in expected.items():
        assert np.array_equal(arrays[name], array), name
    assert trained.model.vectorizer_.vocabulary_ == local.vectorizer_.vocabulary_


def test_a_trained_model_is_a_text_classifier_that_goes_on_learning(shards, tmp_path):
    texts, _, folder = shards
    trained = train(folder, model="multinomial_nb", workers=2)
    trained.save(tmp_path / "m.tally")
    loaded = tallywise.load(tmp_path / "m.tally")
    assert loaded.predict(texts[:50]).tolist() == trained.model.predict(texts[:50]).tolist()
    trained.model.learn(["something new"] * 3, ["1"] * 3)
    assert "new" in trained.model.vectorizer_.vocabulary_


# --- classes that count for more ---


@pytest.mark.parametrize("model", ["multinomial_nb", "bernoulli_nb", "complement_nb"])
@pytest.mark.parametrize("class_weight", ["balanced", {"1": 3.0}], ids=["balanced", "given"])
def test_class_weights_over_shards_are_those_of_one_machine(tmp_path, model, class_weight):
    texts, labels = corpus(3, 500)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=4)
    setting = dict(MODELS[model].grid[0])
    made = train(folder, model=model, setting=setting, workers=2, held_out=0, class_weight=class_weight)
    counts = np.array([labels.count(label) for label in ("1", "2", "3")])
    by_class = len(labels) / (3 * counts) if class_weight == "balanced" else np.array([3.0, 1.0, 1.0])
    s = by_class[np.array(labels).astype(int) - 1]
    X = Features().view().vectorizer.fit_transform(texts)
    local = getattr(nb, MODELS[model].event)(**setting).fit(X, labels, sample_weight=s)
    found = made.model.estimator_
    np.testing.assert_allclose(found.feature_log_prob_, local.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(found.class_log_prior_, local.class_log_prior_, rtol=1e-12)


def test_threshold_and_costs_are_chosen_on_held_out_texts(tmp_path):
    folder = write_shards(tmp_path / "parts", *corpus(2, 1500), shards=3)
    plain = train(folder, model="multinomial_nb", workers=1, held_out=0.5)
    strict = train(folder, model="multinomial_nb", workers=2, held_out=0.5, max_flagged={"1": 0.01})
    assert strict.model.rule_["kind"] == "threshold"
    assert strict.model.threshold_.value > 0.5
    called = strict.model.predict(corpus(2, 1500, seed=9)[0])
    assert (called == "2").sum() < (plain.model.predict(corpus(2, 1500, seed=9)[0]) == "2").sum()
    dear = train(folder, model="multinomial_nb", workers=2, held_out=0.5, costs={("1", "2"): 1000.0})
    assert (dear.model.predict(corpus(2, 1500, seed=9)[0]) == "2").sum() < (called == "2").sum() + 750
    assert dear.model.cost_matrix_.tolist() == [[0, 1000], [1, 0]]
    for model in (strict, dear):
        model.save(tmp_path / "m.tally")
        texts = corpus(2, 50, seed=5)[0]
        assert tallywise.load(tmp_path / "m.tally").predict(texts).tolist() == model.model.predict(texts).tolist()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"class_weight": {"9": 2.0}}, "class_weight names '9'"),
        ({"class_weight": {"1": -2.0}}, "class_weight must be"),
        ({"class_weight": "even"}, "class_weight must be"),
        ({"max_flagged": {"1": 0.1}, "held_out": 0}, "held-out texts"),
        ({"max_flagged": {"9": 0.1}}, "names '9'"),
        ({"max_flagged": {"1": 0.1}, "costs": {("1", "2"): 3}}, "give one"),
    ],
)
def test_class_options_that_do_not_fit_are_refused(tmp_path, options, said):
    folder = write_shards(tmp_path / "parts", *corpus(2, 200), shards=2)
    with pytest.raises(ValueError, match=said):
        train(folder, model="multinomial_nb", workers=1, **{"held_out": 0.3, **options})


# --- recovery ---


@pytest.fixture
def job(tmp_path):
    texts, labels = corpus(3, 300)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=4)
    return Job(tuple(find_shards(folder)), Layout("text", "label"), Features(), ("MultinomialNB",), held_out=0.1)


def test_statistics_whose_answer_was_lost_are_given_again(job):
    worker = Worker(job, 0, 4)
    first = worker.statistics()
    assert worker.statistics() == first == Worker(job, 0, 4).statistics()


def test_held_out_texts_keep_repeats_together_and_are_learned_in_the_end(tmp_path):
    texts, labels = corpus(2, 400)
    folder = write_shards(tmp_path / "parts", texts * 2, labels * 2, shards=4)
    trained = train(folder, model="multinomial_nb", workers=2, held_out=0.25)
    assert trained.rows == 800
    job = Job((), Layout(), Features(), held_out=0.25)
    held = sum(map(job.is_held_out, texts * 2))
    assert held % 2 == 0
    assert f"judged on {held} texts" in trained.model.description_[1]
    unjudged = train(
        folder, model="multinomial_nb", workers=2, held_out=0.0, setting=trained.model.model_types_[0].setting
    )
    arrays = unjudged.model.runtime_.contents.arrays
    assert np.array_equal(arrays["W"], trained.model.runtime_.contents.arrays["W"])


# --- faults ---


def spoil(folder, k=2):
    path = f"{folder}/part-{k}.jsonl"
    with open(path, "a") as stream:
        stream.write("{broken\n")
    return path


def test_a_shard_that_cannot_be_read_ends_the_job_with_its_name_or_is_listed(tmp_path):
    texts, labels = corpus(2, 400)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=4)
    bad = spoil(folder)
    for model in ("multinomial_nb", "logistic"):
        with pytest.raises(InputError, match=r"part-2\.jsonl:101"):
            train(folder, model=model, workers=2)
        trained = train(folder, model=model, workers=2, skip_bad=True)
        assert list(trained.skipped) == [bad]
        assert trained.rows == 300
    without = [f"{folder}/part-{k}.jsonl" for k in (0, 1, 3)]
    options = {"model": "multinomial_nb", "workers": 2, "held_out": 0.1}
    assert digest(train(without, **options), tmp_path) == digest(train(folder, skip_bad=True, **options), tmp_path)


def test_bad_requests_are_refused(tmp_path):
    texts, labels = corpus(2, 40)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=2)
    with pytest.raises(ValueError, match="There is no model 'nothing'"):
        train(folder, model="nothing", workers=1)
    with pytest.raises(ValueError, match="held_out"):
        train(folder, model="multinomial_nb", held_out=1.0)
    for given in ({"held_out": 0.1}, {"setting": {"C": 2.0}}, {"max_features": 10}, {"max_size": 10_000}):
        with pytest.raises(ValueError, match=f"{next(iter(given))} cannot be given for 'auto' of shards"):
            train(folder, **given)
    with pytest.raises(ValueError, match="sums does not know cv"):
        train(folder, model="multinomial_nb", cv=3)
    with pytest.raises(ValueError, match="analyzer='char_wb'"):
        train(folder, analyzer="char")
    with pytest.raises(ValueError, match="workers"):
        train(folder, workers=0)
    for model in ("auto", "multinomial_nb"):
        with pytest.raises(InputError, match="two are needed"):
            train(write_shards(tmp_path / "one", texts, ["x"] * 40, shards=2), model=model, workers=1)
    with pytest.raises(InputError, match="no terms remain"):
        train(folder, model="multinomial_nb", min_df=1000, workers=1)


# --- scoring ---


@pytest.fixture
def scored(tmp_path):
    texts, labels = corpus(2, 300)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=3)
    train(folder, model="multinomial_nb", workers=1).save(tmp_path / "m.tally")
    return texts, folder, tmp_path / "m.tally", tmp_path / "out"


def lines(path):
    with open(path) as stream:
        return [json.loads(line) for line in stream]


def test_verdicts_are_those_of_the_model_a_file_a_shard(scored):
    texts, folder, model, out = scored
    done = classify(model, folder, out, workers=2, probabilities=True)
    assert [path.rsplit("/", 1)[1] for path in done.outputs] == ["part-0.jsonl", "part-1.jsonl", "part-2.jsonl"]
    found = [line for path in done.outputs for line in lines(path)]
    loaded = tallywise.load(model)
    P = loaded.predict_proba(texts)
    assert [line["label"] for line in found] == loaded.predict(texts).tolist()
    assert [list(line["probabilities"].values()) for line in found] == P.tolist()
    assert found[100]["source"] == f"{folder}/part-1.jsonl:1"
    assert done.rows == 300


def test_parquet_verdicts(scored):
    parquet = pytest.importorskip("pyarrow.parquet")
    texts, folder, model, out = scored
    done = classify(model, folder, out, workers=1, kind="parquet", probabilities=True)
    table = parquet.read_table(done.outputs[0]).to_pydict()
    assert list(table) == ["source", "label", "probability", "p_1", "p_2"]
    assert table["label"] == tallywise.load(model).predict(texts[:100]).tolist()


def test_a_second_run_goes_on_where_the_first_ended(scored):
    texts, folder, model, out = scored
    seen = []

    def die(progress):
        seen.append(progress)
        if len(progress.done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        classify(model, folder, out, workers=1, progress=die)
    before = {path: path.stat().st_mtime_ns for path in out.glob("part-*.jsonl")}
    assert 2 <= len(before) <= 3
    assert not list(out.glob(".part*"))
    done = classify(model, folder, out, workers=1, resume=True)
    assert done.kept == len(before)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert [line["label"] for path in done.outputs for line in lines(path)] == tallywise.load(model).predict(
        texts
    ).tolist()
    train(folder, model="bernoulli_nb", workers=1).save(model)
    with pytest.raises(InputError, match="another model"):
        classify(model, folder, out, workers=1, resume=True)


def test_shards_of_one_name_get_files_of_their_own(scored, tmp_path):
    texts, folder, model, out = scored
    texts, labels = corpus(2, 60)
    other = write_shards(tmp_path / "other", texts, labels, shards=3)
    done = classify(model, [folder, other], out, workers=2)
    assert len(set(done.outputs)) == 6
    assert done.rows == 360


def test_a_bad_shard_leaves_no_verdicts(scored):
    _, folder, model, out = scored
    bad = spoil(folder, 1)
    with pytest.raises(InputError, match=r"part-1\.jsonl:101"):
        classify(model, folder, out, workers=1)
    assert not (out / "part-1.jsonl").exists()
    done = classify(model, folder, out, workers=1, skip_bad=True)
    assert list(done.skipped) == [bad]
    assert len(done.outputs) == 2
    assert not list(out.glob(".part*"))


# --- the command ---


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return left.value.code


def test_train_and_classify_shards_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, labels = corpus(2, 300)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=3)
    assert run("train", f"{folder}/*.jsonl", "--workers", 2) == 0
    said = capsys.readouterr().out
    assert "learned from 300 texts: 2 threads of one process, 3 shards" in said
    assert "<- kept" in said
    assert run("classify", "model.tally", f"{folder}/*.jsonl", "-o", "out", "--workers", 1) == 0
    assert "classified 300 texts" in capsys.readouterr().out
    assert run("classify", "model.tally", f"{folder}/*.jsonl", "-o", "out", "--resume", "--json") == 0
    assert json.loads(capsys.readouterr().out)["already_there"] == 3
    assert run("train", f"{folder}/part-0.jsonl", "--stream", "--model", "multinomial_nb", "--json") == 0
    assert json.loads(capsys.readouterr().out)["texts"] == 100
    assert run("train", folder, "--size", "1MB") == 2
    assert "needs all texts in memory" in capsys.readouterr().err
    assert run("train", folder, "--model", "multinomial_nb", "--cv", 3) == 1
    assert "does not know cv" in capsys.readouterr().err
    assert run("train", folder, "--task", "numbers") == 2
    assert "tallywise.scale.regress learns numbers" in capsys.readouterr().err
    options = ["--class-weight", "balanced", "--max-flagged", "1=0.2", "--min-df", 2, "--cv", 3]
    assert run("train", folder, "--model", "logistic", "--workers", 1, "--json", *options) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["threshold"]["flagged"] <= 0.2
    assert run("train", folder, "--costs", "1:2=5", "--n-features", 1024, "--model", "multinomial_nb") == 0
    assert run("train", folder, "--class-weight", "9=2", "--model", "multinomial_nb") == 1
    assert "class_weight names '9'" in capsys.readouterr().err
    assert run("train", f"{folder}/part-0.jsonl", "--min-df", 2) == 2
    assert run("classify", "model.tally", folder, "--ray", "local") == 2


def test_without_ray_one_line_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    texts, labels = corpus(2, 60)
    folder = write_shards(tmp_path / "parts", texts, labels, shards=2)
    assert run("train", folder, "--ray", "auto") == 1
    assert capsys.readouterr().err.strip() == (
        "error: --ray needs Ray, which is not installed: pip install 'tallywise[ray]'"
    )
