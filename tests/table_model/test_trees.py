"""Boosted trees: against a slow twin, the rule for categories, threads, and trees written out as tables."""

import numpy as np
import pytest

from tallywise import TableModel, _native
from tallywise.models.table_encoding import Categories, CategoryCode, Design, DesignPart, NumberCode
from tallywise.models.table_trees import Trees, bins_of, sizes_of
from tallywise.table_model.boosting import added
from tallywise.table_model.purified import tables_of
from tallywise.table_model.training_columns import cuts_of, tree_design
from tests.reference import trees as twin


def problem(loss, n=300, seed=0):
    """Two ordered columns (absent in the last bin) and a category, and a target that depends on all of them."""
    random = np.random.default_rng(seed)
    sizes, ordered = np.array([9, 5, 6], dtype=np.int32), np.array([1, 1, 0], dtype=np.uint8)
    bins = np.array([random.integers(0, size, n) for size in sizes], dtype=np.uint8)
    signal = 0.4 * bins[0] * (bins[1] > 2) + np.array([0, 1, 2, 0, 1, -1])[bins[2]] + random.normal(0, 0.5, n)
    y = {
        "squared": signal,
        "logistic": (signal > 1).astype(float),
        "poisson": np.floor(np.exp(0.5 * signal)),
        "softmax": np.digitize(signal, [0.5, 1.5]).astype(float),
    }[loss]
    K = 3 if loss == "softmax" else 1
    w = random.uniform(0.5, 2, n)
    held = np.arange(n) % 3 == 0

    def part(rows):
        return np.ascontiguousarray(bins[:, rows]), y[rows], w[rows], np.full((int(rows.sum()), K), 0.1)

    return part(~held), part(held), sizes, ordered, K


def boosted(loss, leaves, threads=1, rounds=12, **data):
    train, held, sizes, ordered, K = problem(loss, **data)
    asked = _native.BoostProblem(loss, K, leaves, 0.3, rounds=rounds, threads=threads)
    return _native.boost_trees(train, held, sizes, ordered, asked), (train, held, sizes, ordered, K)


@pytest.mark.parametrize("loss", _native.tree_losses())
@pytest.mark.parametrize("leaves", [3, 8])
def test_trees_are_those_of_a_slow_twin(loss, leaves):
    found, (train, held, sizes, ordered, K) = boosted(loss, leaves)
    expected, rounds = twin.boost(train, held, sizes, ordered, loss, leaves, 0.3, 12)
    assert len(found["roots"]) == K * rounds > 0
    np.testing.assert_allclose(found["held_out"], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_trees_have_the_same_bytes_for_any_number_of_threads(loss):
    one, several = (boosted(loss, 31, threads, n=30_000, rounds=5)[0] for threads in (1, 3))
    for name, array in one.items():
        np.testing.assert_array_equal(array, several[name])


def test_levels_that_say_nothing_are_not_split():
    random = np.random.default_rng(0)
    n, splits = 3000, []
    for _ in range(20):
        level = random.integers(0, 50, n).astype(np.uint8)[None]
        y = random.integers(0, 2, n).astype(float)
        rows = (level, y, np.ones(n), np.zeros((n, 1)))
        asked = _native.BoostProblem("logistic", 1, 3, 0.3, rounds=1)
        found = _native.boost_trees(rows, rows, np.array([50], np.int32), np.array([0], np.uint8), asked)
        splits.append(len(found["roots"]))
    # The best of 49 cuts in two always gains something: without the rule all are split, with it those beyond the mean.
    assert 0 < np.mean(splits) < 0.75


def forest(loss="softmax", leaves=3):
    found, (train, held, sizes, ordered, K) = boosted(loss, leaves, rounds=40)
    nodes = {name: array for name, array in found.items() if name not in ("held_out", "loss")}
    codes = [
        NumberCode("bins", 0.0, 1.0, tuple(float(k) for k in range(size - 1)))
        if kind
        else CategoryCode(tuple("abcdefgh"[: size - 2]))
        for size, kind in zip(sizes.tolist(), ordered.tolist(), strict=True)
    ]
    design = Design([DesignPart((f"x{j}",), code) for j, code in enumerate(codes)])
    return added(design, [(0.5, nodes), (0.5, nodes)], K), train, held, found, K


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_tables_of_columns_and_pairs_give_the_score_of_the_trees(loss):
    trees, train, held, found, K = forest(loss)
    tables = tables_of(trees, train[0])
    bins = held[0]
    z = np.tile(tables.constant, (bins.shape[1], 1))
    for j, table in enumerate(tables.columns):
        z += table[bins[j]]
    values = {f"x{j}": bins[j].astype(float) for j in range(2)}
    for j, size in enumerate(sizes_of(trees.design)[0][:2]):
        values[f"x{j}"][bins[j] == size - 1] = np.nan
    names = [*"abcd", "other"]
    codes = np.where(bins[2] == 5, -1, bins[2].astype(np.intp))
    values["x2"] = Categories(codes, names)
    np.testing.assert_array_equal(bins_of(trees.design, values, bins.shape[1]), bins)
    for (i, j), (one, other, table) in tables.pairs.items():
        cells = [
            code.slots(values[trees.design.parts[k].columns[0]]).columns[:, 0] for k, code in ((i, one), (j, other))
        ]
        z += table[cells[0], cells[1]]
    assert tables.pairs
    np.testing.assert_allclose(z, found["held_out"] - 0.1, atol=1e-9)
    np.testing.assert_allclose(trees.scores(values, bins.shape[1]), z, atol=1e-9)
    paths = trees.paths(values, bins.shape[1])
    np.testing.assert_allclose(paths.sum(axis=1) + trees.base, z, atol=1e-9)
    assert paths.shape == (bins.shape[1], 3, K)


def test_what_a_pair_says_on_the_average_is_said_by_its_columns():
    random = np.random.default_rng(0)
    a, b = random.uniform(0, 1, (2, 2000))
    rows = {"a": a, "b": b, "y": (a > 0.5) * 2.0 + (b > 0.3) * 1.0}
    model = TableModel("additive", task="numbers", cv=2).fit(rows, "y")
    names, contributed = model.runtime_.contributions({"a": a, "b": b})
    sizes = dict(zip(names, np.abs(contributed).mean(axis=(0, 2)), strict=True))
    assert sizes["a"] > 0.8
    assert sizes["b"] > 0.3
    assert sizes.get("a x b", 0.0) < 0.02


def test_damaged_trees_are_refused():
    trees, *_ = forest()
    for name, change in (
        ("left", lambda a: a * 0),  # a node that leads to itself
        ("left", lambda a: a + 10_000),
        ("feature", lambda a: a + 7),
        ("cut", lambda a: a - 1000),
        ("cut", lambda a: a + 1000),
        ("roots", lambda a: a - 10_000),
        ("roots", lambda a: a[:-1]),
        ("value", lambda a: a * np.nan),
        ("sets", lambda a: a[:-1]),
        ("left", lambda a: a.astype(float)),
    ):
        nodes = {**trees.nodes, name: change(trees.nodes[name])}
        if name == "cut" and (nodes["cut"] > 500).any():
            continue  # a cut beyond the bins of an ordered column sends all rows left
        with pytest.raises(ValueError, match=r"tree|node|differ"):
            Trees.read(trees.design, nodes, 3)


def test_bins_begin_halfway_between_values_and_no_value_fills_them_all():
    np.testing.assert_array_equal(cuts_of(np.array([1.0, 2.0, 4.0, 4.0]), 254), [1.0, 1.5, 3.0])
    mostly_zero = np.concatenate([np.zeros(920), np.arange(1, 81)])
    assert len(cuts_of(mostly_zero, 10)) >= 8
    close = np.array([1.0, np.nextafter(1.0, 2.0)])
    np.testing.assert_array_equal(cuts_of(close, 254), close)


def test_a_column_has_at_most_256_bins():
    from tallywise.reading.column_kinds import Column

    x = np.random.default_rng(0).normal(size=5000)
    names = [f"level {k}" for k in range(900)]
    values = {"x": x, "c": Categories(np.arange(5000) % 900, names)}
    sizes, ordered = sizes_of(tree_design([Column("x", "number"), Column("c", "category")], values))
    assert sizes.tolist() == [255, 255]
    assert ordered.tolist() == [1, 0]
