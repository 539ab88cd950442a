"""The native module checks what it is given, whoever calls it: a wrong length or number is a ValueError."""

import numpy as np
import pytest

from tallywise import SVC, _native

X = _native.Design.dense(np.arange(12.0).reshape(4, 3))
SPARSE = _native.Design.sparse(np.ones(4), np.arange(4, dtype=np.int32) % 3, np.arange(5, dtype=np.int32), 3)
Y = np.array([0, 1, 0, 1])
S = np.ones(4)
SCALE = np.ones((2, 2))


def class_fit(y=Y, s=S, w0=None, b0=None, classes=2):
    problem = _native.ClassProblem(classes, False, 0.0, 1.0, 1e-6, 100, True, 1)
    return _native.class_fit(X, y, s, problem, False, False, w0, b0)


def ordinal(y=Y, s=S):
    problem = _native.OrdinalProblem("logit", 2, 0.0, 1.0, 1e-6, 100, 1)
    return _native.fit_ordinal(X, y, s, problem, False, False)


def margin_options():
    return _native.MarginOptions("hinge", 0.0, 1.0, False, 1e-3, 100, 0, 1)


def learn(classes=Y, writable=True):
    value, totals = np.zeros((1, 2, 3)), np.zeros((4, 2))
    value.flags.writeable = totals.flags.writeable = writable
    sums = _native.Statistics(value, None, totals)
    _native.learn(_native.EventOptions("multinomial"), X, classes, None, 11.0, False, sums, 1)
    return sums


CALLS = {
    "codes of classes": lambda: class_fit(y=np.array([0, 1, 2, 1])),
    "negative codes": lambda: class_fit(y=np.array([0, -1, 0, 1])),
    "length of y": lambda: class_fit(y=Y[:3]),
    "length of weights": lambda: class_fit(s=S[:3]),
    "negative weights": lambda: class_fit(s=-S),
    "weights that are no numbers": lambda: class_fit(s=np.full(4, np.nan)),
    "start of weights": lambda: class_fit(w0=np.zeros((2, 1))),
    "start of intercepts": lambda: class_fit(b0=np.zeros(3)),
    "levels": lambda: ordinal(y=np.array([0, 1, 2, 1])),
    "weights of levels": lambda: ordinal(s=S[:2]),
    "Crammer-Singer's codes": lambda: _native.margin_crammer_singer(X, Y + 2, S, 2, margin_options()),
    "weights of margins": lambda: _native.margin_classes(X, Y, S * np.inf, SCALE, margin_options()),
    "folds": lambda: _native.held_out_margins(SPARSE, Y, S, SCALE, np.array([0, 1, 9, 1], np.int32), margin_options()),
    "blocks": lambda: _native.held_out_margins(
        SPARSE, Y, S, SCALE, np.array([0, 1, 0, 1], np.int32), margin_options(), blocks=np.array([2, 1])
    ),
    "classes of naive Bayes": lambda: learn(Y + 1),
    "sums that are read-only": lambda: learn(writable=False),
    "starts of rows": lambda: _native.weigh_rows(np.array([0, 9]), np.array([0, 1]), np.ones(2), None, "l2", 1),
    "offsets of terms": lambda: _native.decode_terms(np.zeros(2, np.uint8), np.array([0, 5])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_would_be_read_out_of_bounds_is_refused(call):
    with pytest.raises(ValueError, match=r"\w"):
        call()


def test_what_is_right_is_taken():
    assert class_fit(w0=np.zeros((3, 1)), b0=np.zeros(1)).primal > 0
    assert ordinal().primal > 0
    learn()


def test_starts_of_rows_that_are_not_those_of_the_counts_are_refused():
    analyzer = _native.Analyzer("word", True, 1, 1, 1, False, [])
    counter = _native.VocabularyCounter(analyzer)
    counter.feed(_native.Texts.from_list(["a b c", "d"], True), 1)
    *_, rows, _ = counter.finish(1, 1)
    indices, data = np.zeros(4, np.int32), np.zeros(4)
    with pytest.raises(ValueError, match="starts of rows"):
        rows.fill(4, False, np.array([0, 1, 4]), indices, data, False, 1)
    rows.fill(4, False, np.array([0, 3, 4]), indices, data, False, 1)
    assert data.tolist() == [1.0] * 4


def test_a_row_repeated_is_a_row_with_that_weight_to_calibrated_kernel_machines():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    y = (points[:, 0] + rng.normal(size=40) > 0).astype(int)
    repeated = SVC(gamma=0.5, probability=True).fit(
        np.vstack([points, np.repeat(points[:1], 199, axis=0)]), np.concatenate([y, np.repeat(y[:1], 199)])
    )
    weighted = SVC(gamma=0.5, probability=True).fit(points, y, sample_weight=np.where(np.arange(40) == 0, 200.0, 1.0))
    np.testing.assert_allclose(repeated.predict_proba(points), weighted.predict_proba(points), atol=1e-3)
