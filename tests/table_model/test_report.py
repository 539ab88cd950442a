"""The report of a model of a table: what it says is measured, and cells of the table are text and nothing else."""

import re

import numpy as np
import pytest

from tallywise import TableModel
from tallywise.report import NumberReportData, ReportData, render, svg
from tallywise.table_model import as_table, table_report_data
from tests.table_rows import HOSTILE, rows


def shown(target, model, ignore, n=240):
    table = as_table(rows(n))
    fitted = TableModel(model, ignore=ignore, cv=3, task=None).fit(table, target)
    return fitted, table_report_data(fitted, table, HOSTILE)


def test_the_page_of_numbers_shows_errors_intervals_and_columns():
    model, data = shown("rent", ["ridge", "additive"], ["kind", "grade"])
    assert isinstance(data, NumberReportData)
    page = render(data)
    for heading in ("Comparison", "Errors", "Intervals", "Columns", "Largest errors"):
        assert f"<h2>{heading}</h2>" in page
    assert HOSTILE not in page
    assert f"{model.figures_['rmse'].value:.4g}" in page
    assert data.columns[0].points
    assert {level for level, _ in data.columns[1].levels} == {HOSTILE, "Jena", "Ulm"}
    assert data.constant.value > 5 * data.figures["rmse"].value


def test_intervals_are_judged_on_rows_that_they_were_not_made_from():
    _, data = shown("rent", "ridge", ["kind", "grade"], n=600)
    for asked, found in data.coverage:
        assert found.low - 0.02 <= asked <= found.high + 0.02


@pytest.mark.parametrize("name", ["logistic", "additive", "boosted"])
def test_the_page_of_classes_shows_confusion_columns_and_mistakes(name):
    model, data = shown("kind", name, ["rent", "grade"])
    assert isinstance(data, ReportData)
    page = render(data)
    for heading in ("Confusion matrix", "Columns", "Worst mistakes", "Threshold"):
        assert f"<h2>{heading}</h2>" in page
    assert HOSTILE not in page
    assert "texts" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert max(data.columns, key=lambda column: column.size).name == "size"
    assert len(data.mistakes) == min(12, round(model.trials_[0].error * len(model.rows_)))


def test_columns_of_several_classes_have_sizes_alone():
    _, data = shown("grade", "logistic", ["rent", "kind"])
    assert all(column.size > 0 and not column.points and not column.levels for column in data.columns)
    assert "<h2>Columns</h2>" in render(data)


@pytest.mark.parametrize("name", ["logistic", "additive", "boosted"])
def test_contributions_of_many_rows_are_those_of_explanations(name):
    table = rows()
    model = TableModel(name, ignore=["rent", "grade"], cv=2).fit(table, "kind")
    names, added = model.runtime_.contributions(table[:5])
    for row, found in zip(table[:5], added, strict=True):
        reasons = {c.column: c.contribution for c in model.explain(row, "small").columns}
        assert [reasons[column] for column in names] == pytest.approx(found[:, 0].tolist())


def test_a_cloud_of_one_point_and_equal_errors_can_be_drawn():
    one = np.array([3.0])
    assert "<circle" in svg.scatter(one, one, ("x", "y"), "one", diagonal=True)
    assert "<rect" in svg.histogram(np.zeros(10), ("x", "y"))
