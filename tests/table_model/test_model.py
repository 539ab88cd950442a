"""Models of tables: every model on every kind of column, laws, intervals, explanations, files."""

import datetime
import subprocess
import sys

import numpy as np
import pytest

import tallywise
from benchmarks import datasets
from tallywise import TableModel, TableRuntime
from tallywise.errors import ModelFileError, UnreadCellsWarning
from tallywise.models import model_file
from tallywise.models.conformal import Residuals
from tallywise.models.stored_rows import StoredRows, nearest_rows
from tallywise.models.table_encoding import VIEWS, Categories, CategoryCode, Design, DesignPart, NumberCode, knots_of
from tallywise.table_model import from_rows
from tallywise.table_model.procedure import MODELS
from tests.places import STORED

WORDS = ["fine", "bad", "late", "kind", "slow", "quick", "rude", "warm"]


def people(n=160, seed=0, texts=True):
    """Records with every kind of column, some values missing, and targets of every kind that depend on them."""
    random = np.random.default_rng(seed)
    found = []
    for k in range(n):
        hours = float(random.integers(10, 60))
        job = ["chef", "clerk", "cook", "guard"][random.integers(4)]
        words = random.choice(WORDS, 6)
        happy = hours / 20 + 2 * (job == "chef") + texts * np.sum(words == "kind") + random.normal(0, 0.3)
        record = {
            "hours": hours if random.random() > 0.1 else None,
            "job": job if random.random() > 0.05 else None,
            "born": f"19{random.integers(50, 99)}-0{random.integers(1, 9)}-1{random.integers(0, 9)}",
            "row": k,
            "happy": "yes" if happy > 3.5 else "no",
            "mood": ["low", "middle", "high"][int(np.clip(happy - 2, 0, 2))],
            "stars": int(np.clip(happy, 1, 5)),
            "joy": happy,
        }
        if texts:
            record["note"] = " ".join(words)
        found.append(record)
    return found


def without(records, *names):
    return [{key: value for key, value in record.items() if key not in names} for record in records]


TARGETS = {"classes": "mood", "grades": "stars", "numbers": "joy"}
EVERY = {"happy", "mood", "stars", "joy"}


def task_data(task, texts, n=160, two=False):
    target = "happy" if two else TARGETS[task]
    return without(people(n, texts=texts), *(EVERY - {target})), target


def test_numbers_of_rows_are_learned_from_where_there_is_nothing_else():
    model = TableModel("ridge", cv=2).fit([{"day": k, "sales": 3.0 * k + k % 2} for k in range(40)], "sales")
    assert [column.kind for column in model.columns_] == ["number"]
    assert model.predict([{"day": 50}])[0] == pytest.approx(150, abs=10)


@pytest.mark.parametrize("rule", [{"max_flagged": {"no": 0.01}}, {"costs": {("no", "yes"): 20.0}}], ids=str)
def test_rules_of_decision_hold_on_both_sides_and_flips_change_their_verdicts(rule, tmp_path):
    records, target = task_data("classes", False, n=240, two=True)
    model = TableModel("logistic", cv=3, **rule).fit(records, target)
    plain = TableModel("logistic", cv=3).fit(records, target)
    rest = without(records, target)
    P = model.predict_proba(rest)
    np.testing.assert_array_equal(P, plain.predict_proba(rest))
    called = model.predict(rest)
    if "costs" in rule:
        np.testing.assert_array_equal(called == "yes", 20 * P[:, 0] < P[:, 1])
        assert model.threshold_ is None
        assert (called == "yes").sum() < (plain.predict(rest) == "yes").sum()
    else:
        np.testing.assert_array_equal(called == "yes", P[:, 1] >= model.threshold_.value)
        assert model.threshold_.flagged.value <= 0.01
    model.save(tmp_path / "m.tally")
    loaded = tallywise.load(tmp_path / "m.tally")
    np.testing.assert_array_equal(loaded.predict(rest), called)
    flip = loaded.flip(rest[0])
    assert flip.label == called[0]
    changed = {**rest[0], **{name: after for name, (_, after) in flip.changes.items()}}
    assert loaded.predict([changed])[0] == flip.becomes != flip.label


def test_rules_of_decision_are_refused_where_they_make_no_sense():
    records, target = task_data("numbers", False)
    with pytest.raises(ValueError, match="costs and max_flagged are of classes"):
        TableModel("ridge", costs={("a", "b"): 2}).fit(records, target)
    with pytest.raises(ValueError, match="two rules"):
        TableModel("ridge", costs={("a", "b"): 2}, max_flagged={"a": 0.1}).fit(records, target)


def test_costs_of_grades_may_be_named_by_numbers_or_strings():
    records, target = task_data("grades", False)
    found = [TableModel("ordinal", cv=2, costs={(a, b): 5.0}).fit(records, target) for a, b in ((2, 3), ("2", "3"))]
    rest = without(records, target)
    np.testing.assert_array_equal(found[0].predict(rest), found[1].predict(rest))


def test_a_time_limit_leaves_one_model_at_least():
    records, target = task_data("classes", False)
    model = TableModel(time_limit=0.0, cv=2).fit(records, target)
    assert len(model.trials_) == 1
    assert any("time limit" in line for line in model.description_)
    assert len(model.dropped_) == 2


CASES = [(name, task) for task, names in MODELS.items() for name in names]


@pytest.mark.parametrize(("name", "task"), CASES)
def test_every_model_learns_explains_exactly_and_survives_its_file(name, task, tmp_path):
    records, target = task_data(task, texts=True)
    model = TableModel(name, cv=2).fit(records[:120], target)
    assert model.task_ == task
    assert {c.name: c.kind for c in model.columns_}["row"] == "identifier"
    rest = without(records[120:], target)
    model.save(tmp_path / "m.tally")
    loaded = tallywise.load(tmp_path / "m.tally")
    assert isinstance(loaded, TableRuntime)
    np.testing.assert_array_equal(loaded.scores(rest), model.runtime_.scores(rest))
    truth = [record[target] for record in records[120:]]
    if task == "numbers":
        errors = np.abs(model.predict(rest) - truth)
        assert errors.mean() < np.abs(np.mean(truth) - truth).mean()
    else:
        P = model.predict_proba(rest)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        common = max(truth.count(label) for label in set(truth)) / len(truth)
        assert np.mean(model.predict(rest) == truth) > min(common, 0.6) - 0.05
    for record in rest[:3]:
        found = loaded.explain(record)
        assert found.bias + sum(c.contribution for c in found.columns) == pytest.approx(found.score, abs=1e-8)
        for column in found.columns:
            if column.words:
                assert column.value == record["note"]


@pytest.mark.parametrize("name", ["logistic", "additive", "boosted"])
def test_a_flip_makes_the_verdict_what_it_says(name):
    records, target = task_data("classes", texts=name != "boosted", two=True)
    model = TableModel(name, cv=2).fit(records, target)
    seen = 0
    for record in without(records[:20], target):
        flip = model.flip(record)
        if flip is None:
            continue
        seen += 1
        assert model.predict([record])[0] == flip.label != flip.becomes
        changed = {**record, **{column: after for column, (_, after) in flip.changes.items()}}
        assert model.predict([changed])[0] == flip.becomes
        assert all(record[column] == before for column, (before, _) in flip.changes.items())
    assert seen > 5


def test_a_product_of_two_numbers_is_found_as_a_pair():
    random = np.random.default_rng(0)
    width, height, age = random.uniform(1, 5, (3, 600))
    rows = {"w": width, "h": height, "age": age, "area": width * height}
    model = TableModel("additive", cv=3).fit(rows, "area")
    assert model.figures_["r2"].value > 0.98
    names, added = model.runtime_.contributions(rows)
    size = dict(zip(names, np.abs(added).mean(axis=(0, 2)), strict=True))
    assert size["w x h"] > 10 * max(size["w x age"], size["h x age"], size["age"])


def test_a_column_may_be_called_like_a_pair_of_columns():
    random = np.random.default_rng(0)
    width, height = random.uniform(-1, 1, 300), random.uniform(-1, 1, 300)
    rows = [{"width": w, "height": h, "width x height": "ab"[int(w > h)]} for w, h in zip(width, height, strict=True)]
    model = TableModel("additive", cv=2).fit(rows, (width * height).tolist())
    names = [c.column for c in model.explain(rows[0]).columns]
    assert "'width' x 'height'" in names
    assert len({*names}) == len(names)
    assert model.runtime_.shown_values("width x height", rows[:1]) == ["ab"[int(width[0] > height[0])]]
    assert model.runtime_.shown_values("'width' x 'height'", rows[:1]) == [f"{width[0]:g}, {height[0]:g}"]


def test_words_of_a_text_column_add_up_to_what_the_column_adds():
    records, target = task_data("numbers", texts=True)
    model = TableModel("ridge", cv=2).fit(records, target)
    mean = model.runtime_.contents.arrays["means"][-1, 0]
    found = {c.column: c for c in model.explain(without(records, target)[0]).columns}["note"]
    assert sum(word.contribution for word in found.words) == pytest.approx(found.contribution + mean, abs=1e-8)


@pytest.mark.parametrize("task", TARGETS)
def test_the_order_of_columns_does_not_change_a_model(task):
    records, target = task_data(task, texts=False)
    name = "ridge" if task == "numbers" else "additive"
    first = TableModel(name, cv=2).fit(records, target)
    turned = [dict(reversed(record.items())) for record in records]
    second = TableModel(name, cv=2).fit(turned, target)
    np.testing.assert_allclose(first.runtime_.scores(records), second.runtime_.scores(turned), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", ["ridge", "additive", "boosted"])
def test_numbers_in_other_units_give_the_same_predictions_in_other_units(name):
    records, target = task_data("numbers", texts=False, n=100)
    scaled = [
        {**r, "hours": None if r["hours"] is None else 1000 * r["hours"] + 5, target: 1e6 * r[target] - 3}
        for r in records
    ]
    first = TableModel(name, cv=2).fit(records, target)
    second = TableModel(name, cv=2).fit(scaled, target)
    assert first.trials_[0].title == second.trials_[0].title
    z = first.predict(records)
    assert np.abs((second.predict(scaled) + 3) / 1e6 - z).max() < 1e-2 * z.std()


def test_unseen_and_absent_values_are_answered():
    records, target = task_data("classes", texts=True, two=True)
    model = TableModel("logistic", cv=2).fit(records, target)
    odd = [
        {"job": "astronaut", "note": ""},
        {"hours": 1e308, "job": "x" * 10_000, "note": "\0"},
        {"hours": "NA", "job": None, "unknown": 3},
    ]
    assert np.isfinite(model.predict_proba(odd)).all()
    frame = {"hours": [1.0], "job": ["chef"]}
    with pytest.raises(ValueError, match="no column 'born'"):
        model.predict(frame)
    with pytest.raises(ValueError, match="none of its columns"):
        model.predict([{}])


@pytest.mark.parametrize(
    "cell", ["many", "12O0", "(120)", float("inf"), 10**400, True, ">100", datetime.date(2020, 1, 1)]
)
def test_a_cell_that_is_no_number_is_named_and_never_taken_for_a_missing_one(cell):
    records, target = task_data("classes", texts=True, two=True)
    model = TableModel("logistic", cv=2).fit(records, target)
    with pytest.raises(ValueError, match='"hours": 1 of 1 cells is not a number'):
        model.predict([{**records[0], "hours": cell}])
    few = [{**records[k % 50], "hours": cell if k == 7 else 30} for k in range(50)]
    with pytest.warns(UnreadCellsWarning, match="row 8"):
        model.predict(few)


def test_an_interval_needs_training_rows_that_lacked_the_value_too():
    rows = [
        {"x": k % 17, "city": "abc"[k % 3], "gap": None if k % 4 == 0 else k % 5, "y": 3.0 * (k % 17)}
        for k in range(200)
    ]
    model = TableModel("ridge", cv=2).fit(rows, "y")
    whole = {"x": 3, "city": "a", "gap": 1}
    wide = [{**whole, "x": None}, {**whole, "city": None}, {**whole, "city": "new"}]
    assert np.isinf(model.predict_interval(wide)).all()
    assert np.isfinite(model.predict_interval([whole, {**whole, "gap": None}])).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a"] * 40, "in every row"),
        ([None] * 40, "no values"),
        ([f"key{k}" for k in range(40)], "looks like an identifier"),
        ([f"some longer words {k}" for k in range(40)], "looks like text"),
        ([1e200 + k * 1e190 for k in range(40)], "beyond 1e150"),
    ],
)
def test_targets_that_nothing_can_be_learned_from_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        TableModel().fit({"x": list(range(0, 80, 2)), "y": values}, "y")


def test_a_column_that_determines_the_target_is_named():
    records = [{"code": k % 2, "x": (7 * k) % 50, "label": "ab"[k % 2]} for k in range(60)]
    notes = TableModel("logistic", cv=2).fit(records, "label").notes_
    assert any('"code" determines' in note for note in notes)
    records = [{"cents": 100.0 * k * k, "x": (7 * k) % 50, "euros": 1.0 * k * k} for k in range(60)]
    notes = TableModel("ridge", cv=2).fit(records, "euros").notes_
    assert any('"cents" is the target' in note for note in notes)


@pytest.mark.parametrize(
    ("column", "target", "how"),
    [
        ([None if k % 3 else k for k in range(60)], ["no" if k % 3 else "yes" for k in range(60)], "a value or none"),
        ([0.5 * k for k in range(60)], ["low" if k < 25 else "high" for k in range(60)], "a range"),
        ([float(k) ** 3 for k in range(60)], [1.5 * k for k in range(60)], "rises"),
        (["abc"[k % 3] for k in range(60)], [[1.5, 2.25, 7.0][k % 3] for k in range(60)], "one number"),
    ],
)
def test_columns_determine_a_target_by_values_order_or_absence(column, target, how):
    other = [(7 * k) % 50 for k in range(60)]
    model = TableModel("ridge" if how in ("rises", "one number") else "logistic", cv=2)
    (note,) = model.fit({"column": column, "x": other, "y": target}, "y").notes_
    assert note.startswith('"column" determines')
    assert how in note
    column[24], column[25] = column[25], column[24]
    assert not any(
        '"column" determines' in note for note in model.fit({"column": column, "x": other, "y": target}, "y").notes_
    )


def test_numbers_of_rows_are_no_target_unless_the_user_says_so():
    table = {"id": list(range(1, 81)), "x": [(7 * k) % 50 for k in range(80)]}
    with pytest.raises(ValueError, match="looks like an identifier"):
        TableModel("ridge", cv=2).fit(table, "id")
    assert TableModel("ridge", cv=2, task="numbers").fit(table, "id").task_ == "numbers"


def test_parameters_are_checked():
    rows = [{"x": k, "y": "ab"[k % 4 // 2]} for k in range(0, 80, 2)]
    for wrong, message in (
        ({"task": "words"}, "'task'"),
        ({"loss": "cubic"}, "'loss'"),
        ({"model": "tree"}, "no model"),
    ):
        with pytest.raises(ValueError, match=message):
            TableModel(**wrong).fit(rows, "x")
    with pytest.raises(ValueError, match="no column 'z'"):
        TableModel().fit(rows, "z")
    with pytest.raises(ValueError, match="does not take a target of numbers"):
        TableModel("logistic").fit(rows, "x")
    with pytest.raises(ValueError, match="as numbers: it holds"):
        TableModel(task="numbers").fit(rows, "y")


def test_frames_give_the_model_of_their_records():
    pandas = pytest.importorskip("pandas")
    records, target = task_data("numbers", texts=False, n=80)
    first = TableModel("ridge", cv=2).fit(records, target)
    frame = pandas.DataFrame(records)
    second = TableModel("ridge", cv=2).fit(frame, target)
    np.testing.assert_allclose(second.predict(frame), first.predict(records), rtol=1e-9)
    third = TableModel("ridge", cv=2).fit(frame.drop(columns=target), frame[target])
    np.testing.assert_allclose(third.predict(frame), first.predict(records), rtol=1e-9)


# --- intervals ---


def test_conformal_intervals_cover_what_they_promise():
    random = np.random.default_rng(0)
    z = random.uniform(0, 10, 4000)
    y = z + random.standard_t(3, 4000) * (0.2 + z)  # errors that grow, and have heavy tails
    found = Residuals.of(y[:2000], z[:2000])
    for coverage in (0.5, 0.8, 0.9, 0.99):
        half = found.half_width(z[2000:], coverage)
        assert np.mean(np.abs(y - z)[2000:] <= half) == pytest.approx(coverage, abs=0.03)
    low, high = found.half_width(np.array([1.0, 9.0]), 0.9)
    assert high > 2 * low
    assert np.isinf(Residuals.of(y[:5], z[:5]).half_width(z[:1], 0.9)).all()


@pytest.mark.parametrize(("which", "target"), [("abalone", "rings"), ("wine_red", "quality")])
def test_intervals_cover_real_numbers(which, target):
    names, rows = datasets.table(which)
    order = np.random.default_rng(0).permutation(len(rows))
    half = len(rows) // 2
    train, test = (from_rows(names, [rows[i] for i in part]) for part in (order[:half], order[half:]))
    model = TableModel("additive", task="numbers").fit(train, target)
    y = np.array([float(cell) for cell in test.columns[target].strings()])
    for coverage in (0.8, 0.9, 0.95):
        low, high = model.predict_interval(test, coverage).T
        assert np.mean((low <= y) & (y <= high)) == pytest.approx(coverage, abs=0.035)


# --- parts ---


@pytest.mark.parametrize("view", VIEWS)
def test_codes_match_a_slow_twin(view):
    x = np.array([0.0, 0.0, 1.0, 2.5, 7.0, np.nan, 40.0])
    code = NumberCode.fit(view, x, 4)
    X = Design([DesignPart(("x",), code)]).dense({"x": x}, len(x))
    assert X.shape == (len(x), code.width) == (len(x), len(code.labels()))
    knots = np.array(code.knots)
    for value, row in zip(x, X, strict=True):
        expected = np.zeros(code.width)
        if np.isnan(value):
            expected[-1] = 1
        elif view in ("bins", "steps"):
            expected[max(int((knots <= value).sum()) - 1, 0)] = 1
            if view == "steps":
                expected[-2] = (value - code.mean) / code.scale
        else:
            place = np.interp(value, knots, np.arange(len(knots))) if view == "ranks" else value
            z = (place - code.mean) / code.scale
            if view == "curve":
                for j in range(len(knots)):  # hat functions are 1 at their knot and 0 at all others
                    expected[j] = np.interp(value, knots, np.eye(len(knots))[j])
                expected[len(knots)] = z
            else:
                expected[0] = z
                expected[1:-1] = z * z
        np.testing.assert_allclose(row, expected, atol=1e-12)


def test_knots_are_not_all_at_a_value_that_most_rows_have():
    x = np.concatenate([np.zeros(920), np.arange(1, 81)])
    assert len(knots_of(x, 10)) >= 8
    np.testing.assert_array_equal(knots_of(np.array([3.0, 1.0, 3.0]), 10), [1, 3])


def test_rare_and_unknown_levels_share_a_feature():
    code = CategoryCode.fit(Categories.of(["a"] * 5 + ["b"] * 4 + ["rare"] + [None] * 3))
    assert code.levels == ("a", "b")
    assert code.codes(Categories.of(["a", "rare", "new", None, " b "])).tolist() == [0, 2, 2, 3, 1]


def test_memories_match_slow_twins():
    random = np.random.default_rng(0)
    M, X, A = random.normal(size=(30, 3)), random.normal(size=(7, 3)), random.normal(size=(30, 2))
    D = np.linalg.norm(X[:, None] - M[None], axis=2)
    np.testing.assert_allclose(StoredRows("gaussian", 0.7, M, A).scores(X), np.exp(-0.7 * D**2) @ A)
    for i, z in enumerate(StoredRows("nearest", 4, M, A).scores(X)):
        near = np.argsort(D[i])[:4]
        np.testing.assert_allclose(z, (A[near] / D[i, near, None]).sum(axis=0) / (1 / D[i, near]).sum())
    P = np.exp(X @ M.T)
    np.testing.assert_allclose(StoredRows("mixture", 1, M, A).scores(X), P @ A / P.sum(axis=1, keepdims=True))
    both = np.vstack([X[:2], M[[4, 9]]])
    np.testing.assert_array_equal(StoredRows("equal", 1, M, A).scores(both), [[0, 0], [0, 0], A[4], A[9]])
    distances, near = nearest_rows(X, M, 40)
    np.testing.assert_array_equal(near, np.argsort(D, axis=1))
    np.testing.assert_allclose(distances, np.sort(D, axis=1))
    np.testing.assert_allclose(
        StoredRows("nearest", 2, np.ones((4, 2)), np.arange(4.0)[:, None]).scores(np.ones((1, 2))).shape, (1, 1)
    )


def test_columns_that_say_nothing_are_said_to():
    seen = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        columns = {"x": random.normal(size=60), "y": random.normal(size=60), "kind": ["a", "b"] * 30}
        for model, target in (("ridge", "y"), ("logistic", "kind")):
            fitted = TableModel(model, cv=2).fit({"x": columns["x"], target: columns[target]}, target)
            seen.append(any("no better than always" in note for note in fitted.notes_))
            name = "rmse" if target == "y" else "error"
            assert seen[-1] == (fitted.figures_[name].value >= fitted.constant_)
    assert any(seen)


# --- files ---


@pytest.mark.parametrize("name", ["additive", "boosted"])
def test_damaged_contents_are_refused(name):
    records, target = task_data("numbers", texts=True)
    contents = TableModel(name, cv=2).fit(records, target).runtime_.contents
    meta, arrays = contents
    for key in meta:
        if key in ("rows", "notes", "description", "figures", "model", "title", "constant"):
            continue
        for wrong in (None, -3, "x", [], {}):
            if (key, wrong) in (
                ("target", "x"), ("classes", []), ("classes", {}), ("unread_columns", []), ("trees", None)
            ):  # fmt: skip
                continue
            with pytest.raises(ModelFileError):
                TableRuntime(model_file.Contents({**meta, key: wrong}, arrays))
    for key in arrays:
        with pytest.raises(ModelFileError):
            TableRuntime(model_file.Contents(meta, {name: a for name, a in arrays.items() if name != key}))
    for key in ("W", "b", "means", "places", "residuals"):
        with pytest.raises(ModelFileError):
            TableRuntime(model_file.Contents(meta, {**arrays, key: arrays[key] * np.nan}))


@pytest.mark.parametrize(("name", "task"), [("ordinal", "grades"), ("boosted", "grades"), ("additive", "classes")])
def test_arrays_of_another_type_and_numbers_beyond_all_bounds_are_refused_or_answered(name, task):
    records, target = task_data(task, texts=name != "boosted")
    meta, arrays = TableModel(name, cv=2, task=task).fit(records, target).runtime_.contents
    changed = [(meta, {**arrays, key: array.astype(kind)}) for key, array in arrays.items() for kind in "fdiq?"]
    for wrong in (np.inf, -np.inf, np.nan):
        changed += [({**meta, "link": {"scale": wrong, "shift": 0.0}}, arrays)]
    for contents in changed:
        try:
            found = TableRuntime(model_file.Contents(*contents))
        except ModelFileError:
            continue
        assert np.isfinite(found.predict_proba(records[:3])).all()
        assert found.explain(records[0]).columns
        found.flip(records[0])


def test_a_file_with_a_damaged_second_model_is_refused():
    meta, arrays = model_file.read(STORED / "0.2.0_table_blend.tally")
    for key, wrong in (("second", {}), ("second", meta), ("weights", [1.0]), ("weights", [0.0, float("inf")])):
        with pytest.raises(ModelFileError):
            TableRuntime(model_file.Contents({**meta, key: wrong}, arrays))


def test_the_serve_side_loads_neither_scikit_learn_nor_scipy_nor_pandas(tmp_path):
    records, target = task_data("classes", texts=True, two=True)
    TableModel("logistic", cv=2).fit(records, target).save(tmp_path / "m.tally")
    program = (
        "import sys, tallywise\n"
        f"model = tallywise.load({str(tmp_path / 'm.tally')!r})\n"
        "record = {'hours': 50, 'job': 'chef', 'note': 'kind and warm'}\n"
        "model.predict_proba([record]); model.explain(record); model.flip(record)\n"
        "assert not {'sklearn', 'scipy', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
