"""Arrays that another thread changes while a native call reads them: other numbers at worst, never a crash or a hang.

Each case runs in a process of its own: a crash would end the tests.
"""

import subprocess
import sys

import pytest

FIT = """
import faulthandler, threading, warnings
import numpy as np, scipy.sparse as sp
import tallywise as t

faulthandler.dump_traceback_later(200, exit=True)
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = sp.random(3000, 400, density=0.05, format="csr", rng=rng)
X.indices, X.indptr = X.indices.astype({index!r}), X.indptr.astype({index!r})
Z, y = rng.integers(0, 5, (3000, 20)), rng.integers(0, 3, 3000)
kept = [array.copy() for array in (X.indices, X.indptr, X.data, Z)]


def damage_indices():
    X.indices[:] = 1 << 29
    X.indptr[1:-1] = 1 << 29
    Z[:] = -9


def damage_entries():
    X.data[::7] = np.nan
    X.data[1::7] = np.inf


def keep_changing(damage, done):
    while not done.is_set():
        damage()
        X.indices[:], X.indptr[:], X.data[:], Z[:] = kept


for damage in (damage_indices, damage_entries):
    done = threading.Event()
    other = threading.Thread(target=keep_changing, args=(damage, done), daemon=True)
    other.start()
    for _ in range(3):
        try:
            {call}
        except (ValueError, ArithmeticError):
            pass  # it looked while the array was damaged
    done.set()
    other.join()
print("alive")
"""

CALLS = (
    "t.LogisticRegression(max_iter=50).fit(X, y)",
    "t.LogisticRegression(max_iter=50, l1_ratio=1.0, solver='saga').fit(X, y)",
    "t.LinearSVC(max_iter=50).fit(X, y)",
    "t.KNeighborsClassifier(3).fit(X, y).predict(X)",
    "t.Perceptron(max_iter=20).fit(X, y)",
    "t.MultinomialNB().fit(X, y).predict(X)",
    "t.CategoricalNB().fit(Z, y, np.full(3000, 0.5)).predict(Z)",
    "t.SVC(max_iter=2000).fit(X, y)",
    "t.Ridge().fit(X, y)",
    "t.Lasso(alpha=0.01, max_iter=50).fit(X, y)",
    "t.OrdinalRegression(max_iter=20).fit(X, y)",
    "t.LatentDirichletAllocation(4, max_iter=3).fit(X)",
    "t.TfidfTransformer().fit(X).transform(X, copy=False)",
)


@pytest.mark.parametrize("call", CALLS)
def test_arrays_that_change_during_fit_neither_crash_nor_hang_it(call):
    runs(call=call, index="int32")


def test_wide_indices_that_change_during_fit_do_not_crash_it():
    runs(call=CALLS[0], index="int64")


def runs(**case):
    found = subprocess.run([sys.executable, "-c", FIT.format(**case)], capture_output=True, text=True, timeout=300)
    assert found.stdout == "alive\n", found.stderr[-2000:]
