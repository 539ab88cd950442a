"""Laws over every family: threads share models, forks inherit them, Ctrl-C ends fits, model files load for ever."""

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import tallywise
from tallywise import (
    SVC,
    BernoulliNB,
    GaussianNB,
    KNeighborsClassifier,
    LatentDirichletAllocation,
    LogisticRegression,
    MultinomialNB,
    OrdinalRegression,
    TextClassifier,
)
from tests.places import STORED
from tools.levels import built_levels

RANDOM = np.random.default_rng(0)
X = RANDOM.poisson(1.0, (400, 30)).astype(float)
Y = (X[:, 0] + RANDOM.random(400) > X[:, 1]).astype(int)
TEXTS = [" ".join(f"w{j}" for j in np.flatnonzero(row)) or "nothing" for row in X]


def models():
    """One of each family, fitted, with what it answers; fitted anew, so that what is derived when asked is not yet."""
    matrix = [
        MultinomialNB(),
        BernoulliNB(),
        GaussianNB(),
        LogisticRegression(),
        OrdinalRegression(l2=1.0),
        SVC(),
        KNeighborsClassifier(),
    ]
    yield from ((model.fit(X, Y).predict_proba if hasattr(model, "predict_proba") and not isinstance(model, SVC)
                 else model.fit(X, Y).decision_function, X) for model in matrix)  # fmt: skip
    yield LatentDirichletAllocation(3, max_iter=5, random_state=0).fit(sp.csr_matrix(X)).transform, sp.csr_matrix(X)
    yield TextClassifier("multinomial_nb", cv=2).fit(TEXTS, Y).predict_proba, TEXTS


def _answer(pair):
    ask, rows = pair
    return np.asarray(ask(rows)).tobytes()


def test_threads_that_share_a_model_get_the_bytes_of_one_thread():
    expected = [_answer(pair) for pair in models()]
    fresh = list(models())
    with ThreadPoolExecutor(4) as pool:
        for one, pair in zip(expected, fresh, strict=True):
            assert set(pool.map(_answer, [pair] * 12)) == {one}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_model_that_was_used_answers_the_same_after_a_fork():
    used = list(models())
    expected = [_answer(pair) for pair in used]
    for pair, one in zip(used, expected, strict=True):
        inherited = multiprocessing.get_context("fork")
        ours, theirs = inherited.Pipe()

        def child(pair=pair, theirs=theirs):
            theirs.send_bytes(_answer(pair))

        process = inherited.Process(target=child)
        process.start()
        assert ours.poll(60), "the child hangs"
        assert ours.recv_bytes() == one
        process.join()


INTERRUPTED = """
import os, signal, sys, threading, warnings
import numpy as np
import tallywise
warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)
random = np.random.default_rng(0)
X = random.normal(size=(4000, 60)) * 10.0 ** random.uniform(-3, 3, 60)
y = random.integers(0, 2, 4000)
model = eval(sys.argv[1], {"t": tallywise, "np": np})
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:  # a fit that ends before the signal comes is begun anew
        model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "model",
    [
        "t.LogisticRegression(l1_ratio=1, C=1e6, tol=0, max_iter=10**8)",
        "t.LogisticRegression(C=1e6, tol=0, max_iter=10**8)",
        "t.Lasso(alpha=1e-9, tol=0, max_iter=10**8)",
        "t.ElasticNetCV(tol=0, max_iter=10**8)",
        "t.LinearSVC(C=1e6, tol=1e-15, max_iter=10**8)",
        "t.LinearSVC(C=1e6, tol=1e-15, loss='hinge', max_iter=10**8)",
        "t.LinearSVR(C=1e6, tol=1e-15, max_iter=10**8)",
        "t.SVC(C=1e9, gamma=1e-3, tol=1e-12)",
        "t.SVR(C=1e9, gamma=1e-3, tol=1e-12)",
        "t.Perceptron(max_iter=10**8, tol=None)",
        "t.LeastMeanSquares(tol=0, max_iter=10**8)",
        "t.KernelPerceptron(max_iter=10**8)",
        "t.OrdinalRegression(tol=0, max_iter=10**8)",
    ],
)
def test_ctrl_c_ends_a_long_fit(model):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, model], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout.strip(), done.stderr.strip()) == ("interrupted", "")


@pytest.mark.parametrize("path", sorted(STORED.glob("*.tally")), ids=lambda path: path.stem)
def test_a_model_file_of_an_earlier_version_loads_and_answers_as_it_did(path):
    model, said = tallywise.load(path), json.loads(path.with_suffix(".json").read_text())
    given = said["texts"] if "texts" in said else said["rows"]
    assert list(model.classes) == said["classes"]
    if "intervals" in said:
        np.testing.assert_allclose(model.predict_interval(given, 0.8), said["intervals"], rtol=1e-9)
        np.testing.assert_allclose(model.predict(given), said["labels"], rtol=1e-9)
    else:
        np.testing.assert_allclose(model.predict_proba(given), said["probabilities"], rtol=1e-9, atol=1e-15)
        assert model.predict(given).tolist() == said["labels"]
    if "bias" in said:
        np.testing.assert_allclose(model.explain(given[0]).bias, said["bias"], rtol=1e-9)


def test_there_are_stored_model_files_of_every_kind_and_release():
    kinds = {(path.stem.split("_")[0], tallywise.load(path).meta["kind"]) for path in STORED.glob("*.tally")}
    assert kinds == {
        ("0.1.0", "text classifier"),
        ("0.2.0", "blended table model"),
        ("0.2.0", "multi-label text classifier"),
        ("0.2.0", "table model"),
        ("0.2.0", "text classifier"),
        ("0.3.0", "table model"),
        ("0.3.0", "table model of trees"),
    }


LEVELS = """
import sys, hashlib
import numpy as np
from tallywise import CountVectorizer, GaussianNB, MultinomialNB
random = np.random.default_rng(0)
texts = [" ".join(map(str, random.integers(0, 300, 40))) for _ in range(500)]
X, y = CountVectorizer(ngram_range=(1, 2)).fit_transform(texts), random.integers(0, 3, 500)
some = X[:, :50].toarray()
parts = [X.data, X.indices, X.indptr, MultinomialNB().fit(X, y).predict_proba(X), GaussianNB().fit(some, y).var_]
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""


def test_text_and_naive_bayes_give_the_same_bits_on_every_level():
    built = built_levels()
    if len(built) < 2:
        pytest.skip(f"one build here: {built}")
    command = [sys.executable, "-c", LEVELS]
    environments = [os.environ | {"TALLYWISE_LEVEL": level} for level in built]
    found = {subprocess.run(command, env=env, capture_output=True, check=True).stdout for env in environments}
    assert len(found) == 1
