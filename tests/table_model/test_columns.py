"""Columns of tables: what they hold, and how their cells are read."""

import datetime
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import datasets
from tallywise.reading.date_formats import date_format, date_parts, dates
from tallywise.reading.number_formats import UnclearDecimalError, number_format, numbers
from tallywise.table_model import as_table, from_rows, recognise

WORDS = st.sampled_from(["red", "green", "blue", "", "7", "12.5", "1,5", "$3", "2024-01-31", "a b c d e f g h i j"])


def kinds(table, **overrule):
    return {column.name: column.kind for column in recognise(table, **overrule)}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_the_guess_does_not_depend_on_the_order_of_rows_or_columns_or_on_names(rows, random):
    first = recognise(from_rows(["a", "b", "c"], rows))
    shuffled = list(rows)
    random.shuffle(shuffled)
    second = recognise(from_rows(["z", "y", "x"], [row[::-1] for row in shuffled]))
    assert [(c.kind, c.note, c.number, c.date) for c in first] == [
        (c.kind, c.note, c.number, c.date) for c in second[::-1]
    ]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,234", "15", "2,000,000"], [1234, 15, 2000000]),
        (["1.234,50", "7"], [1234.5, 7]),
        (["3,5", "0,125"], [3.5, 0.125]),
        (["12 %", "7.5%"], [12, 7.5]),
        (["$1,200.50", "-$3"], [1200.5, -3]),
        (["12 €", "1.200 €", "3,5 €"], [12, 1200, 3.5]),
        (["€ 1.200", "€ 980"], [1200, 980]),
        (["€ 58.394", "€ 1.011"], [58394, 1011]),
        (["1.459 €", "1.509 €"], [1.459, 1.509]),
        (["1 234,5", "2"], [1234.5, 2]),
        (["1\u202f234", "2"], [1234, 2]),
        (["1e-3", ".5", "-2."], [0.001, 0.5, -2]),
        (["5", "NA", "", "?"], [5, math.nan, math.nan, math.nan]),
    ],
)
def test_numbers_are_read_as_people_write_them(cells, values):
    np.testing.assert_equal(numbers(cells, number_format(cells)), values)


@pytest.mark.parametrize(
    "cells",
    [["1,5", "1.5"], ["$5", "€5"], ["5 %", "5"], ["007", "123"], ["1,23,4"], ["inf"], ["", "NA"], ["1_000"], ["$5 €"]],
)
def test_cells_that_do_not_agree_are_no_numbers(cells):
    assert number_format(cells) is None


def test_a_comma_is_a_decimal_sign_where_a_group_would_not_have_three_digits():
    assert number_format(["1,234", "0,678"]).style == "1234,5"
    assert number_format(["1,234", "5,678,901"]).style == "1,234.5"
    with pytest.raises(UnclearDecimalError, match="1,234"):  # either, and nothing decides
        number_format(["1,234", "5,678"])


def test_dates_are_read_where_all_agree():
    assert date_format(["31/12/2023", "01/02/2024"]) == "day/month/year"
    assert date_format(["12/31/2023", "01/02/2024"]) == "month/day/year"
    assert date_format(["31/12/2023", "12/31/2023"]) is None
    assert date_format(["3 Feb 2024", "14 December 2023"]) == "day month year"
    (day,) = dates(["1970-01-02T12:00:00Z"], "year-month-day")
    assert day == 1.5


def test_dates_that_do_not_agree_are_text():
    cells = [f"2024-01-{k:02d}" for k in range(1, 20)] + [f"{k}.02.2024" for k in range(13, 20)]
    (column,) = recognise(as_table({"day": cells}))
    assert (column.kind, "several formats" in column.note) == ("text", True)


@given(st.datetimes(min_value=datetime.datetime(1, 1, 2), max_value=datetime.datetime(9999, 12, 30)))
def test_calendar_parts_are_those_of_the_calendar(moment):
    moment = moment.replace(microsecond=0)
    parts = date_parts(dates([moment.isoformat()], "year-month-day"))
    assert (parts.month[0] + 1, parts.weekday[0], parts.hour[0]) == (moment.month, moment.weekday(), moment.hour)


def test_kinds_of_the_columns_of_real_tables():
    found = kinds(from_rows(*datasets.table("clothing")))
    assert found.pop("number") == "identifier"
    assert {name for name, kind in found.items() if kind == "text"} == {"Title", "Review Text"}
    assert {name for name, kind in found.items() if kind == "category"} == {
        "Division Name",
        "Department Name",
        "Class Name",
    }
    assert set(kinds(from_rows(*datasets.table("wine_red"))).values()) == {"number"}
    assert set(kinds(from_rows(*datasets.table("mushroom"))).values()) == {"category", "constant"}


def test_identifiers_constants_and_codes():
    rows = [[str(k), f"id-{k:04}", f"{k % 5:05}", "same", str(1950 + k)] for k in range(50)]
    found = kinds(from_rows(["row", "key", "postcode", "constant", "year"], rows))
    assert found == {
        "row": "identifier",
        "key": "identifier",
        "postcode": "category",
        "constant": "constant",
        "year": "number",
    }


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (range(5), "number"),  # five different numbers are no surprise
        (range(40), "identifier"),
        (range(1, 41), "identifier"),
        (range(20, 60), "number"),  # ages, each of them once
        (range(1980, 2020), "number"),  # years
        (range(10_001, 10_101), "identifier"),
        ([7 * k for k in range(60)], "number"),  # in so wide a range they may differ by luck
        ([k for k in range(200) if k % 3], "identifier"),  # what a part of the rows has left of row numbers
        ([*range(39), 38], "number"),
        (range(-20, 20), "number"),
        ([2.0**60 + 2**40 * k for k in range(40)], "number"),
    ],
)
def test_numbers_of_rows_never_come_again_where_measurements_would(values, kind):
    listed = list(values)
    assert kinds(as_table({"x": listed})) == {"x": kind}
    assert kinds(as_table({"x": listed[::-1]})) == {"x": kind}
    if max(listed) < 2**53:
        assert kinds(from_rows(["x"], [[str(int(v))] for v in listed])) == {"x": kind}


def test_the_user_overrules_the_guess():
    table = from_rows(["a", "b", "c"], [["1", "x", "5"], ["2", "y", "oops"], ["3", "x", "6"]])
    assert kinds(table, category=["a"], number=["c"], ignore=["b"]) == {"a": "category", "b": "ignored", "c": "number"}
    with pytest.raises(ValueError, match="no column 'd'"):
        recognise(table, text=["d"])
    with pytest.raises(ValueError, match="cannot be text and number"):
        recognise(table, text=["a"], number=["a"])
    with pytest.raises(ValueError, match="none of its cells"):
        recognise(table, number=["b"])


def test_frames_and_records_make_the_same_table():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    moments = [datetime.datetime(2024, 1, 1, 6), None, datetime.datetime(2024, 3, 1)]
    columns = {
        "x": [1.5, None, 3.0],
        "k": [1, 2, 3],
        "word": ["a", "b", None],
        "when": moments,
        "yes": [True, False, True],
    }
    records = [{name: values[i] for name, values in columns.items()} for i in range(3)]
    tables = [columns, records, pandas.DataFrame(columns), polars.DataFrame(columns), arrow.table(columns)]
    first, *rest = map(as_table, tables)
    for other in rest:
        assert other.rows == 3
        assert kinds(other) == kinds(first)
        for name, cells in first.columns.items():
            assert other.columns[name].hint == cells.hint
            assert other.columns[name].strings() == cells.strings()


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_columns_of_floats_are_not_copied(package):
    module = pytest.importorskip(package)
    x = np.arange(50.0)
    frame = module.table({"x": module.array(x)}) if package == "pyarrow" else module.DataFrame({"x": x})
    own = frame.column("x").chunk(0).to_numpy() if package == "pyarrow" else frame["x"].to_numpy()
    found = as_table(frame).columns["x"].floats("number")
    assert np.shares_memory(found, own)
    np.testing.assert_array_equal(found, x)


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="A table is"):
        as_table("a,b")
    with pytest.raises(TypeError, match="mappings"):
        as_table([1, 2])
    with pytest.raises(ValueError, match="equal length"):
        as_table({"a": [1], "b": [1, 2]})
    with pytest.raises(ValueError, match="twice"):
        from_rows(["a", "a"], [])
