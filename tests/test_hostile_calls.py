"""Damaged matrices and calls at random: the right answer or a clear error, never a crash or a hang."""

import numpy as np
import pytest
import scipy.sparse as sp

from reliability.calls import estimators, run
from tallywise import CategoricalNB, ComplementNB, MinimaxConcaveRegression, TfidfTransformer, _arrays

SPARSE = [
    name
    for name, cls in estimators().items()
    if name != "OrdinalRegression" and cls().__sklearn_tags__().input_tags.sparse
]


def damaged(kind):
    """A 6 x 4 matrix with one entry that points outside of it."""
    X = sp.csr_matrix(np.arange(24.0).reshape(6, 4) % 5)
    if kind in ("csr", "csc", "bsr"):
        X = X.asformat(kind)
        X.indices[0] = 1000
    elif kind == "negative":
        X.indices[3] = -7
    elif kind == "indptr":
        X.indptr[-1] += 10**6
    elif kind == "falling":
        X.indptr[2], X.indptr[3] = X.indptr[3], X.indptr[2]
    elif kind == "coo":
        X = X.tocoo()
        X.row[0] = 10**6
    elif kind == "lil":
        X = X.tolil()
        X.rows[0][-1] = 10**6
    return X


KINDS = ["csr", "csc", "bsr", "negative", "indptr", "falling", "coo", "lil"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_sparse_matrix_is_refused_with_its_cause(kind):
    with pytest.raises(ValueError, match="damaged"):
        _arrays.check_structure(damaged(kind))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "csr_array", "lil", "dok", "dia"])
@pytest.mark.parametrize("shape", [(6, 4), (1, 1), (0, 4), (4, 0)])
def test_a_sound_sparse_matrix_passes(kind, shape):
    X = sp.random_array(shape, density=0.5, format="csr", random_state=0) if min(shape) else sp.csr_matrix(shape)
    _arrays.check_structure(sp.csr_array(X) if kind == "csr_array" else sp.csr_matrix(X).asformat(kind))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SPARSE)
def test_damaged_matrices_are_refused_before_scipy_reads_them(name):
    sound = sp.csr_matrix(np.arange(80.0).reshape(20, 4) % 7)
    cls = estimators()[name]
    for kind in KINDS:
        with pytest.raises(ValueError, match="damaged"):
            cls().fit(damaged(kind), [0, 1, 0, 1, 0, 1])
    model = cls().fit(sound, [0, 1] * 10)
    verbs = [verb for verb in ("predict", "predict_proba", "decision_function", "transform") if hasattr(model, verb)]
    for verb in verbs:
        for kind in KINDS:
            with pytest.raises(ValueError, match="damaged"):
                getattr(model, verb)(damaged(kind))


@pytest.mark.parametrize(
    "X", [[[1e19], [0]], np.array([[2**70], [1]], dtype=object), [[np.inf], [0]], [[2**63 - 1], [0]]]
)
def test_categories_beyond_all_integers_are_refused_by_name(X):
    with pytest.raises(ValueError, match=r"Categories are numbered from 0|infinity"):
        CategoricalNB().fit(X, [0, 1])
    with pytest.raises(ValueError, match="'min_categories' must be at most"):
        CategoricalNB(min_categories=2**40).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("seed", [1, 2])
def test_calls_at_random_answer_or_say_what_is_wrong_and_print_nothing(seed):
    became, wrong = run(seed, 0, 150)
    assert not wrong
    assert min(became.values()) > 20


def test_one_class_alone_has_normalised_complement_weights():
    assert ComplementNB(norm=True).fit([[1]], [1]).predict_proba([[1], [0]]).tolist() == [[1.0], [1.0]]


def test_logarithms_of_counts_want_counts():
    weigh = TfidfTransformer(sublinear_tf=True, use_idf=False, norm=None)
    with pytest.raises(ValueError, match="must not be negative"):
        weigh.fit_transform(np.array([[-1.0, 2.0]]))
    stored = sp.csr_matrix((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert weigh.fit_transform(stored).toarray().tolist() == [[0.0, 1.0]]


def test_targets_whose_squares_overflow_are_refused_at_once():
    with pytest.raises(ValueError, match="Scale X and y"):
        MinimaxConcaveRegression(gamma=0.5).fit(np.eye(7), np.full(7, 1e200) * [1, -1, 1, -1, 1, -1, 1])
