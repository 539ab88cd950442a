"""A model card says what the file knows, and asks for what it does not."""

import os

import pytest

from tallywise import MultiLabelTextClassifier, TableModel, TextClassifier, load
from tallywise.models.model_card import model_card

TEXTS = ["win a prize now", "claim your prize", "meeting at noon", "lunch at noon?"] * 5
LABELS = ["spam", "spam", "ham", "ham"] * 5
SECTIONS = ["Model", "Intended use", "Training data", "Evaluation", "What it looks at", "Limits", "Contact"]


def text_model():
    return TextClassifier("multinomial_nb", cv=2).fit(TEXTS, LABELS)


def label_sets():
    return MultiLabelTextClassifier(cv=2).fit(TEXTS, [[label] for label in LABELS])


def table():
    rows = [{"size": 20.0 + k % 60, "city": ["Bonn", "Jena"][k % 2], "rent": 300 + 9.0 * (k % 60)} for k in range(80)]
    return TableModel("ridge").fit(rows, "rent")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (text_model, ["2 classes: ham, spam", "- 20 texts", "| error |", "`prize`", "multinomial naive Bayes"]),
        (label_sets, ["2 classes: ham, spam", "| micro f1 |", "**spam**"]),
        (table, ['the number "rent"', "- 80 rows", "| rmse |", "| city | category |", "extrapolations"]),
    ],
)
def test_a_card_has_what_the_file_knows(tmp_path, make, said):
    path = tmp_path / "model.tally"
    make().save(path)
    card = model_card(load(path), path.name, os.path.getsize(path))
    assert [line[3:] for line in card.splitlines() if line.startswith("## ")] == SECTIONS
    assert card.startswith("# Model card: model.tally\n")
    for part in said:
        assert part in card
    assert card.count("to be filled in") == 4
