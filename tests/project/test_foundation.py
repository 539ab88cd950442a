"""Import cost and laziness, threads, designs: what every family stands on."""

import importlib
import os
import subprocess
import sys
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import validation

import tallywise
from tallywise import _arrays, _threads
from tallywise._native import Design
from tools import exports
from tools.levels import built_levels


def run(code, **env):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_import_loads_nothing_heavy():
    loaded = run("import tallywise, sys; print(*[m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])")
    assert loaded == ""


def test_public_names_are_the_same_for_python_and_for_type_checkers():
    for name in tallywise.__all__:
        assert getattr(tallywise, name).__name__ == name
    assert exports.STUB.read_text() == exports.stub()  # or `make names` would add or delete public names
    assert {*tallywise.__all__} == {name for names in exports.homes().values() for name in names}


@pytest.mark.parametrize("package", ["bridges", "scale", "spam", "table_model"])
def test_every_name_of_a_stub_is_there_and_is_imported_when_used(package):
    loaded = run(
        f"import tallywise.{package}, sys; print(*[m for m in sys.modules if m.startswith('tallywise.{package}.')])"
    )
    assert loaded == ""
    module = importlib.import_module(f"tallywise.{package}")
    assert all(getattr(module, name) is not None for name in module.__all__)
    assert {*module.__all__} <= {*dir(module)}


def test_unknown_attribute_is_named():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = tallywise.Nonsense


def test_each_build_can_be_asked_for_and_others_are_refused():
    for level in built_levels():
        assert run("from tallywise._native import level; print(level)", TALLYWISE_LEVEL=level) == level
    with pytest.raises(subprocess.CalledProcessError) as refused:
        run("import tallywise._native", TALLYWISE_LEVEL="v9")
    assert "No build of tallywise for v9 is installed" in refused.value.stderr


def test_threads_follow_the_variable_and_n_jobs(monkeypatch):
    monkeypatch.setenv("TALLYWISE_NUM_THREADS", "3")
    assert _threads.count() == 3
    assert _threads.count(5) == 5
    assert _threads.count(-1) == len(os.sched_getaffinity(0))
    monkeypatch.setenv("TALLYWISE_NUM_THREADS", "many")
    with pytest.raises(ValueError, match=r"TALLYWISE_NUM_THREADS must be .* Got 'many'"):
        _threads.count()
    with pytest.raises(ValueError, match="n_jobs == 0"):
        _threads.count(0)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_designs_take_every_index_and_value_type(index, value):
    X = sp.csr_matrix(np.array([[1, 0, 1], [0, 1, 0]], dtype=value))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    assert (_arrays.rows(X).lines, _arrays.rows(X).width) == (2, 3)
    assert (_arrays.columns(X).lines, _arrays.columns(X).width) == (3, 2)
    assert _arrays.columns(X.toarray()).lines == 3


def test_unsorted_and_repeated_indices_are_made_canonical_on_a_copy():
    X = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    before = X.indices.copy()
    assert _arrays.rows(X).sorted
    assert np.array_equal(X.indices, before)


@pytest.mark.parametrize(
    ("data", "indices", "indptr", "cause"),
    [
        ([1.0], [7], [0, 1], "width 3 holds index 7"),
        ([1.0], [-1], [0, 1], "holds index -1"),
        ([1.0], [0], [0, 5], "beyond its 1 stored entries"),
        ([1.0, 1.0], [0, 1], [0, 2, 1], "must not fall"),
        ([np.nan], [0], [0, 1], "contains NaN"),
        ([np.inf], [0], [0, 1], "contains infinity"),
    ],
)
def test_corrupt_sparse_input_is_refused_with_its_cause(data, indices, indptr, cause):
    with pytest.raises(ValueError, match=cause):
        Design.sparse(np.array(data), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32), 3)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_design_is_sorted_exactly_where_the_indices_of_each_line_rise(index):
    rng = np.random.default_rng(0)
    for _ in range(200):
        lengths = rng.integers(0, 4, 7)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.concatenate([np.sort(rng.choice(6, n, replace=rng.random() < 0.1)) for n in lengths])
        rising = all((np.diff(indices[a:b]) > 0).all() for a, b in pairwise(indptr))
        design = Design.sparse(np.ones(len(indices)), indices.astype(index), indptr.astype(index), 6)
        assert design.sorted == rising


DENSE = np.arange(12.0).reshape(4, 3)
LABELS = np.array([0, 1, 0, 1])


class Anything(BaseEstimator):
    """What `validate_data` writes to."""


@pytest.mark.parametrize("options", [{}, {"dtype": [np.float64, np.float32]}, {"order": "C", "dtype": np.float64}])
@pytest.mark.parametrize("finite", [True, False])
@pytest.mark.parametrize("y", [LABELS, LABELS.astype(str), LABELS * 0.5, LABELS * np.nan, LABELS[:3], [1, 2, 3, 4]])
@pytest.mark.parametrize(
    "X",
    [
        DENSE,
        np.asfortranarray(DENSE),
        DENSE.astype(np.float32),
        DENSE.astype(np.int64),
        (DENSE * 5000).astype(np.float16),  # finite, but for the sum
        DENSE * 1e307,
        np.where(DENSE > 10, np.nan, DENSE),
        np.where(DENSE > 10, np.inf, DENSE),
        DENSE * 1j,
        DENSE.astype(object),
        DENSE.astype(str),
        DENSE.tolist(),
        DENSE[0],
        DENSE[:0],
        DENSE[:, :0],
        sp.csr_matrix(DENSE),
        sp.csr_array(DENSE),
        sp.csc_matrix(DENSE),
        sp.csr_matrix(np.where(DENSE > 10, np.nan, DENSE)),
    ],
)
def test_input_is_validated_as_scikit_learn_does(X, y, finite, options):
    def outcome(validate, **more):
        estimator = Anything()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                found = validate(
                    estimator, X, y, accept_sparse="csr", ensure_all_finite=finite, reset=True, **options, **more
                )
                again = validate(estimator, X, accept_sparse="csr", ensure_all_finite=finite, reset=False, **options)
                wrong = X[:, :2] if hasattr(X, "shape") else DENSE[:, :2]
                validate(estimator, wrong, accept_sparse="csr", ensure_all_finite=finite, reset=False, **options)
            except (ValueError, TypeError) as error:
                found = again = None
                told.append(str(error))
        arrays = [] if found is None else [*found, again]
        dense = [a.toarray() if sp.issparse(a) else np.asarray(a) for a in arrays]
        return (
            [str(word) for word in told],
            vars(estimator),
            [(a.dtype, a.tolist(), a.flags.c_contiguous) for a in dense],
        )

    expected = outcome(validation.validate_data)
    assert str(outcome(_arrays.validate_data)) == str(expected)
    assert str(outcome(_arrays.validate_data, to_design=True)) == str(expected)


def test_names_of_columns_are_asked_for_as_by_scikit_learn():
    frame = pd.DataFrame(DENSE, columns=["a", "b", "c"])
    estimator = Anything()
    _arrays.validate_data(estimator, frame)
    with pytest.warns(UserWarning, match="feature names"):
        _arrays.validate_data(estimator, DENSE, reset=False)
    _arrays.validate_data(estimator, DENSE)
    assert not hasattr(estimator, "feature_names_in_")


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b"],
        [3, 1, 3],
        [True, False, True],
        [1.5, -0.5, 1.5],
        np.array(["b", "a", "b"], object),
        np.array([], np.int64),
        np.array([7], np.int32),
        np.arange(-100, 101).astype(np.int8),  # the range does not fit the type
        np.array([255, 0, 3] * 40, np.uint8),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], np.uint64),
        np.array([2**62, -(2**62)]),  # too far apart for a table
        np.array([str(k * k % 997) for k in range(5000)]),  # strings of many kinds: the hash table grows
        np.array(["", "ä", "", "a\U0001f600"]),
        np.array(["x", "", "y", "x"])[::2],
        np.array(["b", "a", "b"], ">U5"),
        np.array([""] * 3),
    ],
)
def test_labels_are_encoded_as_numpy_would(labels):
    classes, codes = _arrays.encode_labels(np.asarray(labels))
    expected, inverse = np.unique(np.asarray(labels), return_inverse=True)
    assert np.array_equal(classes, expected)
    assert classes.dtype == expected.dtype
    assert np.array_equal(codes, inverse)
    assert codes.dtype == np.int64


def test_a_value_that_is_nan_certifies_nothing():
    from tallywise._certificate import Certificate

    nan = float("nan")
    for primal, dual in ((nan, 1.0), (1.0, nan), (nan, nan), (float("inf"), float("inf")), (1.0, -float("inf"))):
        found = Certificate(primal, dual, iterations=1, seconds=0.0, rounding=1.0)
        assert found.relative_gap == float("inf")
    assert Certificate(0.0, 0.0, iterations=1, seconds=0.0).relative_gap == 0
