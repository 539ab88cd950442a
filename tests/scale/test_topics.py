"""Topics from shards: the formula's twin, the same bits for any number of workers, the perplexity of one machine."""

import json
import zlib

import numpy as np
import pytest

from tallywise import CountVectorizer, LatentDirichletAllocation
from tallywise.cli import main
from tallywise.reading import InputError, Layout, find_shards
from tallywise.scale import find_topics
from tallywise.scale.jobs import Job
from tallywise.scale.statistics import encoded_terms
from tallywise.scale.topic_worker import TopicFeatures, TopicVocabulary, TopicWorker
from tallywise.topics import expectation_maximisation
from tests.scale.corpus import write_shards

K = 4


def documents(rows=600, seed=0):
    """Texts of 40 words, each of a mixture of four topics."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(200, 0.05), K)
    words = np.array([f"word{w}" for w in range(200)])
    theta = random.dirichlet(np.full(K, 0.2), rows)
    return [" ".join(words[random.choice(200, 40, p=mixture @ phi)]) for mixture in theta]


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    texts = documents()
    return texts, write_shards(tmp_path_factory.mktemp("topics") / "parts", texts, ["-"] * len(texts), shards=5)


def bits(found):
    judged = None if found.held_out is None else found.held_out.perplexity
    return found.model.components_.tobytes(), found.model.alpha_.tobytes(), judged, found.terms


def test_topics_have_the_same_bits_for_any_number_of_workers(shards):
    _, folder = shards
    one = find_topics(folder, K, passes=4, workers=1)
    assert one.workers == "1 thread of one process, 5 shards"
    assert one.held_out is not None
    for workers in (2, 5):
        assert bits(find_topics(folder, K, passes=4, workers=workers)) == bits(one)


def twin(X, state, passes):
    """Expectation-maximisation by the formula, a document and a word at a time."""
    counts, alpha, beta = state.counts, state.alpha, state.beta
    for _ in range(passes):
        phi = (counts + beta) / (counts + beta).sum(axis=0)
        fresh = np.zeros_like(counts)
        for x in X:
            words = np.flatnonzero(x)
            gamma = np.ones(len(alpha))
            for _ in range(100):
                shares = gamma * phi[words]
                shares /= shares.sum(axis=1, keepdims=True)
                after = alpha + (x[words][:, None] * shares).sum(axis=0)
                moved, gamma = np.abs(after - gamma).mean(), after
                if moved < 1e-3:
                    break
            shares = gamma * phi[words]
            fresh[words] += x[words][:, None] * shares / shares.sum(axis=1, keepdims=True)
        counts = fresh
    return counts


def test_passes_over_shards_are_expectation_maximisation_over_all_documents(shards):
    texts, folder = shards
    found = find_topics(folder, K, passes=3, workers=2, held_out=0, learn_priors=False, min_df=1)
    X = CountVectorizer(vocabulary=found.terms, stop_words="english").transform(texts)
    order = np.argsort([zlib.crc32(text.encode()) for text in texts], kind="stable")
    start = expectation_maximisation.first_state(X[order], K, float(X.sum()), 0)
    np.testing.assert_allclose(found.model.components_.T - 1 / K, twin(X.toarray(), start, 3), rtol=1e-7, atol=1e-9)
    assert found.held_out is None
    assert found.model.n_iter_ == found.passes == 3


def test_held_out_perplexity_is_near_that_of_one_machine(shards):
    texts, folder = shards
    found = find_topics(folder, K, workers=1, held_out=0.25)
    job = Job((), Layout(), TopicFeatures(), held_out=0.25)
    X = CountVectorizer(vocabulary=found.terms, stop_words="english").transform(texts)
    held = np.array([job.is_held_out(text) for text in texts])
    local = LatentDirichletAllocation(K, random_state=0, n_init=3).fit(X[~held])
    here, there = local.held_out(X[held]), found.model.held_out(X[held])
    assert there.perplexity < 1.05 * here.perplexity
    assert found.held_out.perplexity == pytest.approx(there.perplexity, rel=0.05)  # other halves of the documents
    words = np.asarray(X[~held].sum(axis=0)).ravel() + 0.5
    one_topic = np.exp(-(X[held] @ np.log(words / words.sum())).sum() / X[held].sum())
    assert found.held_out.perplexity < 0.9 * one_topic


def test_a_driver_that_died_goes_on_with_the_next_pass_to_the_same_bits(shards, tmp_path):
    _, folder = shards
    whole = find_topics(folder, K, passes=4, workers=1)
    seen = []

    def die(progress):
        seen.append(progress.line)
        if progress.line.startswith("pass 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_topics(folder, K, passes=4, workers=1, resume=tmp_path / "r", progress=die)
    seen.clear()
    again = find_topics(folder, K, passes=4, workers=2, resume=tmp_path / "r", progress=lambda p: seen.append(p.line))
    assert bits(again) == bits(whole)
    assert [line.split(":")[0] for line in seen] == ["pass 3 of 4", "pass 4 of 4"]
    fewer = find_topics(folder, K, passes=1, workers=2, resume=tmp_path / "r")
    assert fewer.passes == 1  # more passes than asked for are not taken for an answer


def test_a_worker_started_anew_gives_the_same_sums(shards):
    _, folder = shards
    features = TopicFeatures(ngram_range=(1, 1))
    job = Job(tuple(find_shards(folder)), Layout("text"), features, held_out=0.1)
    columns = TopicVocabulary(*encoded_terms(sorted(f"word{w}" for w in range(200))))
    used = TopicWorker(job, 0, 5)
    used.statistics()
    hashes, sample = used.sample(columns, 50)
    assert (np.diff(hashes.astype(np.int64)) >= 0).all()
    state = expectation_maximisation.first_state(sample, K, 1e4, 0)
    for verb, arguments in (("topic_sums", (state,)), ("completion", (state, 0)), ("sample", (50,))):
        first, anew = (getattr(worker, verb)(columns, *arguments) for worker in (used, TopicWorker(job, 0, 5)))
        assert repr(first) == repr(anew), verb
    for node, some in used.topic_sums(columns, state).items():
        for x, y in zip(some, TopicWorker(job, 0, 5).topic_sums(columns, state)[node], strict=True):
            assert np.array_equal(x, y)


def test_a_shard_that_cannot_be_read_ends_the_job_with_its_name_or_is_listed(tmp_path):
    folder = write_shards(tmp_path / "parts", documents(90), ["-"] * 90, shards=3)
    bad = tmp_path / "parts" / "part-1.jsonl"
    bad.write_text(bad.read_text() + "{broken\n")
    with pytest.raises(InputError, match=r"part-1\.jsonl:31"):
        find_topics(folder, 2, passes=1, workers=1)
    found = find_topics(folder, 2, passes=1, workers=2, skip_bad=True)
    assert list(found.skipped) == [str(bad)]
    assert found.rows == 60


@pytest.mark.parametrize(("options", "said"), [({"passes": 0}, "passes must be"), ({"n_components": 0}, "n_compon")])
def test_bad_requests_are_refused(shards, options, said):
    with pytest.raises(ValueError, match=said):
        find_topics(shards[1], **options)


def test_topics_of_shards_on_the_command_line(shards, capsys, tmp_path):
    arguments = ["topics", shards[1], "-k", "4", "--passes", "3", "--workers", "2", "--resume", str(tmp_path / "r")]
    for _ in range(2):
        with pytest.raises(SystemExit) as left:
            main([*arguments, "--json"])
        assert left.value.code == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["texts"], told["shards"], told["passes"], len(told["topics"])) == (600, 5, 3, 4)
        assert told["held_out"]["perplexity"] > 1
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr().out
    assert "600 texts: 2 threads of one process, 5 shards, 3 passes" in said
    assert "held-out perplexity" in said
