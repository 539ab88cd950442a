"""The documentation: pages can be found, links lead somewhere, the course says what the code computes."""

import importlib
import inspect
import re

import pytest

import tallywise
from tests.places import ROOT
from tools import reference, words

DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "api" not in path.relative_to(DOCS).parts)
TEXTS = [*sorted(ROOT.glob("*.md")), *PAGES, *sorted((ROOT / "examples").glob("*.md"))]
COURSE = sorted((DOCS / "course").glob("[1-9]-*.md"))
CODE = re.compile(r"^```.*?^```$", re.M | re.S)


def anchors(page):
    """Anchors of the headings of a page, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_found_from_the_first():
    found, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in found or not page.exists():
            continue
        found.add(page)
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(), re.M | re.S):
            waiting += [page.parent / f"{name}.md" for name in re.findall(r"^([\w/.-]+)$", block, re.M)]
    assert set(PAGES) - found == {DOCS / "README.md"}


def test_the_readme_of_the_folder_leads_to_every_page():
    linked = set(re.findall(r"\]\(([^)#]+)\)", (DOCS / "README.md").read_text()))
    leaves = {str(page.relative_to(DOCS)) for page in PAGES if page.parent.name not in ("course", "dev")}
    assert leaves - linked == {"README.md", "index.md"}


def test_the_reference_has_every_public_name_and_every_option():
    names = reference.public_names()
    assert {name for home in names for name in names[home]} >= set(tallywise.__all__)
    page = reference.commands_page()
    for command, option in (("train", "--max-flagged"), ("classify", "--explain"), ("spam serve", "--spamd")):
        assert f" tally {command}\n" in page
        assert option in page
    assert "`multinomial_nb`" in reference.models_page()


@pytest.mark.parametrize("page", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_are_there(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", page.read_text())):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        built = (DOCS / "api") in [file, *file.parents]  # written by `make docs`
        assert built or file.exists(), target
        assert not anchor or built or anchor in anchors(file), target


def test_the_course_has_all_examples_of_the_notes():
    said = " ".join(" ".join(page.read_text().split()) for page in COURSE)
    assert {int(number) for number in re.findall(r"\*\*Example (\d+)\*\*", said)} == set(range(1, 32))


@pytest.mark.parametrize("page", COURSE, ids=lambda path: path.stem)
def test_a_chapter_has_a_picture_code_to_play_with_and_answered_exercises(page):
    text = page.read_text()
    for heading in ("When it fails", "To play with", "Only here", "Exercises"):
        assert re.search(rf"^## {heading}", text, re.M), heading
    assert "](../images/course-" in text
    exercises = text.split("## Exercises")[1]
    assert len(re.findall(r"^\d\. ", exercises, re.M)) == 3
    assert all(f"# {number}" in exercises for number in (1, 2, 3))


def test_formulas_of_the_course_are_those_of_the_docstrings():
    checked = set()
    for page in COURSE:
        for name, formula in re.findall(r"<!-- formula: (\w+) -->\n\$\$\n(.*?)\n\$\$", page.read_text(), re.S):
            said = inspect.getdoc(getattr(importlib.import_module("tallywise"), name))
            assert "".join(formula.split()) in "".join(said.split()), name
            checked.add(name)
    assert len(checked) >= 6


def test_private_words_are_found_in_prose_and_not_in_code():
    text = "A verdict.\n\n```python\nverdict = 1\n```\nThe `verdict` of $verdict$: one row a text, 8.99e+03 ms.\n"
    assert [(line, word) for line, word, _ in words.private(text)] == [
        (1, "verdict"),
        (6, "one row a text"),
        (6, "8.99e+03 ms"),
    ]
    assert words.sentence_lengths("One two three. Four five six seven.\n\n| a table |\n") == [3, 4]
