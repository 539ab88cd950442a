"""Signals, forks and spawned processes: ``python -m reliability.run processes [--full]``.

Ctrl-C in every long call: it ends with KeyboardInterrupt, within a second of processor time, and what comes after is as
if nothing had happened. Signals with a handler of their own while estimators are fitted: they are handled, and no bit
of a fit changes. A fork while other threads are in native code, and processes that are spawned: they answer as their
parent does.

``python -m reliability.processes interrupt NAME SECONDS`` makes one interrupted call in this process.
"""

import hashlib
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tallywise
from reliability.determinism import estimators
from reliability.kills import stream
from reliability.models import rows, texts
from reliability.results import Measured, ended

ROOT = Path(__file__).parent.parent
LATEST = 1.0  # seconds of processor time until a call must have ended
_LONG = 10**8

# What is to be fitted to columns of very different units, without an end: `tol=0` is never reached.
FITS = {
    "LogisticRegression, L1": lambda: tallywise.LogisticRegression(l1_ratio=1, C=1e6, tol=0, max_iter=_LONG),
    "LogisticRegression, L2": lambda: tallywise.LogisticRegression(C=1e6, tol=0, max_iter=_LONG),
    "LogisticRegressionCV": lambda: tallywise.LogisticRegressionCV(tol=0, max_iter=_LONG),
    "Lasso": lambda: tallywise.Lasso(alpha=1e-9, tol=0, max_iter=_LONG),
    "ElasticNetCV": lambda: tallywise.ElasticNetCV(tol=0, max_iter=_LONG),
    "MinimaxConcaveRegression": lambda: tallywise.MinimaxConcaveRegression(),
    "LinearSVC": lambda: tallywise.LinearSVC(C=1e6, tol=1e-15, max_iter=_LONG),
    "LinearSVC, hinge": lambda: tallywise.LinearSVC(C=1e6, tol=1e-15, loss="hinge", max_iter=_LONG),
    "LinearSVR": lambda: tallywise.LinearSVR(C=1e6, tol=1e-15, max_iter=_LONG),
    "SVC": lambda: tallywise.SVC(C=1e9, gamma=1e-3, tol=1e-12),
    "SVR": lambda: tallywise.SVR(C=1e9, gamma=1e-3, tol=1e-12),
    "Perceptron": lambda: tallywise.Perceptron(max_iter=_LONG, tol=None),
    "LeastMeanSquares": lambda: tallywise.LeastMeanSquares(tol=0, max_iter=_LONG),
    "KernelPerceptron": lambda: tallywise.KernelPerceptron(max_iter=_LONG),
    "KernelLeastMeanSquares": lambda: tallywise.KernelLeastMeanSquares(),
    "KernelRidge": lambda: tallywise.KernelRidge(kernel="rbf"),
    "OrdinalRegression": lambda: tallywise.OrdinalRegression(tol=0, max_iter=_LONG),
    "KNeighborsClassifierCV": lambda: tallywise.KNeighborsClassifierCV(),
    "Nystroem": lambda: tallywise.Nystroem(n_components=1000),
}


def table() -> tuple[Any, Any]:
    """Rows and classes for the fits."""
    draw = np.random.default_rng(0)
    return draw.normal(size=(4000, 60)) * 10.0 ** draw.uniform(-3, 3, 60), draw.integers(0, 2, 4000)


def _said(n: int) -> list[str]:
    draw = random.Random(0)
    words = [f"word{draw.randrange(99_999)}" for _ in range(5000)]
    return [" ".join(draw.choices(words, k=60)) for _ in range(n)]


def _prepared(name: str) -> Callable[[], Any]:
    """A long call of that name, ready to be made."""
    if name in FITS:
        X, y = table()
        return lambda: FITS[name]().fit(X, y)
    if name == "KNeighborsClassifier.predict":
        draw = np.random.default_rng(0)
        X = draw.normal(size=(30_000, 60))
        return partial(tallywise.KNeighborsClassifier().fit(X, X[:, 0] > 0).predict, X)
    if name == "SVC.predict":
        draw = np.random.default_rng(0)
        X = draw.normal(size=(2000, 30))
        return partial(tallywise.SVC(gamma=1.0).fit(X, draw.integers(0, 2, 2000)).predict, np.tile(X, (50, 1)))
    if name == "LatentDirichletAllocation":
        counts = sp.random(3000, 2000, 0.02, "csr", random_state=0)
        counts.data = np.ceil(5 * counts.data)
        return partial(tallywise.LatentDirichletAllocation(50, max_iter=1000).fit, counts)
    if name in ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer"):
        given = {} if name == "HashingVectorizer" else {"ngram_range": (1, 3)}
        return partial(getattr(tallywise, name)(**given).fit_transform, _said(30_000))
    if name in ("TextClassifier", "MultiLabelTextClassifier"):
        said = _said(4000)
        labels: list[Any] = [str(k % 7) for k in range(4000)]
        if name.startswith("Multi"):
            labels = [[label] for label in labels]
        return partial(getattr(tallywise, name)().fit, said, labels)
    if name == "TableModel":
        given_rows = [{key: row[key] for key in ("x", "kind", "said", "number")} for row in rows(4000)]
        return partial(tallywise.TableModel(task="numbers").fit, given_rows, "number")
    if name == "TextModel.predict":
        said = _said(4000)
        return partial(tallywise.TextClassifier("logistic", cv=2).fit(said, texts(4000)[1]).predict, said * 20)
    from tallywise.spam import SpamFilter

    assert name == "SpamFilter.learn_many"
    messages = stream(0, 20_000)
    return lambda: SpamFilter().learn_many(messages)


CALLS = (
    *FITS,
    *("KNeighborsClassifier.predict", "SVC.predict", "LatentDirichletAllocation", "CountVectorizer", "TfidfVectorizer"),
    *("HashingVectorizer", "TextClassifier", "MultiLabelTextClassifier", "TableModel", "TextModel.predict"),
    "SpamFilter.learn_many",
)


def interrupt(name: str, after: float) -> dict[str, Any]:
    """Make a long call, with Ctrl-C after so many seconds of processor time; what came of it."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before = small_fits()
    call = _prepared(name)
    pressed: list[float] = []

    def press() -> None:
        end = time.process_time() + after
        while time.process_time() < end:
            time.sleep(0.005)
        pressed.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    try:
        while not pressed:  # one that ends before the signal comes is begun anew
            call()
        time.sleep(0.1)  # topics end with what they have, and a warning, instead of an error
    except KeyboardInterrupt:
        pass
    return {"seconds": time.process_time() - pressed[0], "same after": small_fits() == before}


def in_child(name: str, after: float) -> tuple[float, list[str]]:
    """Seconds of processor time until an interrupted call had ended, and what was wrong."""
    command = [sys.executable, "-m", "reliability.processes", "interrupt", name, str(after)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return 0.0, [f"{name}: did not end"]
    if done.returncode or done.stderr:
        return 0.0, [f"{name}: ended with {done.returncode}: {done.stderr[-400:]}"]
    found = json.loads(done.stdout)
    return found["seconds"], [] if found["same after"] else [f"{name}: later fits are not the same"]


def small_fits() -> str:
    """SHA-256 of the answers of small models of several families."""
    draw = np.random.default_rng(1)
    X = draw.poisson(1.0, (200, 20)).astype(float)
    y = (X[:, 0] > X[:, 1]).astype(int)
    into = hashlib.sha256()
    for model in (
        tallywise.MultinomialNB(),
        tallywise.LogisticRegression(),
        tallywise.LinearSVC(),
        tallywise.Lasso(alpha=0.01),
        tallywise.SVC(),
        tallywise.KNeighborsClassifier(),
    ):
        into.update(np.asarray(model.fit(X, y).predict(X)).tobytes())
        into.update(np.asarray(getattr(model, "coef_", [0.0])).tobytes())
    into.update(tallywise.CountVectorizer().fit_transform(texts(200)[0]).data.tobytes())
    return into.hexdigest()


def signalled(fits: Callable[[], dict[str, str]]) -> tuple[int, list[str]]:
    """Digests of fits by name, while a handled signal comes every 2 ms: signals handled, and what was wrong."""
    handled = [0]

    def tick(number: int, frame: Any) -> None:
        handled[0] += 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calm = fits()
        before = signal.signal(signal.SIGALRM, tick)
        signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
        try:
            found = fits()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    return handled[0], [f"{name} is another one under signals" for name in calm if found.get(name) != calm[name]]


def forked(count: int) -> tuple[int, list[str]]:
    """Forks while two threads fit: how many children answered, and what was wrong."""
    wanted = small_fits()
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            small_fits()

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    wrong = []
    fine = 0
    try:
        for number in range(count):
            with tempfile.TemporaryFile("w+") as said:
                child = os.fork()
                if child == 0:
                    code = 1
                    try:
                        said.write(small_fits())
                        said.flush()
                        code = 0
                    finally:
                        os._exit(code)
                end = time.monotonic() + 300
                while not (status := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
                    time.sleep(0.01)
                if not status[0]:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    wrong.append(f"child {number} hangs")
                    continue
                said.seek(0)
                answer = said.read()
                fine += answer == wanted
                if answer != wanted:
                    wrong.append(f"child {number} ended with {status[1]} and says {answer or 'nothing'}")
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return fine, wrong


def _answers(models: list[Any], X: Any) -> list[bytes]:
    return [np.asarray(model.predict(X)).tobytes() for model in models]


def spawned(count: int) -> tuple[int, list[str]]:
    """Fitted models sent to spawned processes: how many answered, and what was wrong."""
    draw = np.random.default_rng(1)
    X = draw.poisson(1.0, (200, 20)).astype(float)
    y = (X[:, 0] > X[:, 1]).astype(int)
    kinds = (tallywise.MultinomialNB, tallywise.LogisticRegression, tallywise.SVC, tallywise.KNeighborsClassifier)
    models: list[Any] = [kind().fit(X, y) for kind in kinds]
    expected = _answers(models, X)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(_answers, [(models, X)] * count)
    return count, [f"process {k} answers otherwise" for k, answer in enumerate(found) if answer != expected]


def measure(full: bool, seconds: float | None) -> Iterator[Measured]:
    """Ten moments of every long call with `full`, else one; 300 forks, else 10."""
    start = time.monotonic()
    rounds = 10 if full else 1
    made, latest, wrong = 0, 0.0, []
    draw = random.Random(0)
    for name in [name for _ in range(rounds) for name in CALLS]:
        if seconds is not None and time.monotonic() - start > seconds:
            break
        took, lines = in_child(name, draw.uniform(0.01, 0.7))
        made += 1
        latest = max(latest, took)
        wrong += lines + ([] if took <= LATEST else [f"{name}: ended {took:.2f} s after Ctrl-C"])
    yield Measured(
        "interrupts",
        "Ctrl-C at random moments of every long call" + ended(made, rounds * len(CALLS)),
        f"it ends within {LATEST:g} s of processor time, nothing is printed, and later fits are the same to the bit",
        {"interrupts": made, "calls": min(made, len(CALLS)), "s at most": latest},
        wrong,
        "python -m reliability.run processes --full",
    )
    signals, lines = signalled(estimators)
    children, more = forked(300 if full else 10)
    others, most = spawned(16 if full else 4)
    yield Measured(
        "processes",
        "fits under a handled signal every 2 ms; forks while two threads fit; models sent to spawned processes",
        "every fit and every answer is the same to the bit, and no process hangs",
        {"signals handled": signals, "forked processes": children, "questions to spawned processes": others},
        lines + more + most,
        "python -m reliability.run processes --full",
    )


if __name__ == "__main__":
    _, _, asked, moment = sys.argv
    print(json.dumps(interrupt(asked, float(moment))))
