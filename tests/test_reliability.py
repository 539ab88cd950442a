"""The page of figures is the one that its generator writes, and measurements run in their short form."""

import json

from reliability import table
from reliability.results import Measured, kept, shown


def test_the_page_is_made_from_the_kept_results():
    text = table.PAGE.read_text()
    assert table.page(text, kept()) == text


def test_a_result_comes_back_as_it_was_kept(tmp_path):
    found = Measured("draws", "coins drawn", "heads or tails", {"draws": 2000}, ["an edge"])
    entry = json.loads(found.keep(tmp_path).read_text())
    assert kept(tmp_path) == [entry]
    assert entry["figures"] == {"draws": 2000}
    assert entry["wrong"] == ["an edge"]
    assert entry["command"] == "python -m reliability.run draws --full"
    (row,) = table.rows([entry])[2:]
    assert row.startswith("| coins drawn | heads or tails | 2,000 draws | 1 | ")


def test_figures_are_shown_as_numbers_of_things():
    assert shown({"calls": 1000000, "% of lines": 93.25, "oldest release read": "0.1.0"}) == (
        "1,000,000 calls, 93.2 % of lines, 0.1.0 oldest release read"
    )
