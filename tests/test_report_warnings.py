"""What a report says about the data before anyone believes its figures."""

import numpy as np

from tallywise.classifier.facts import data_warnings
from tallywise.evaluation import duplicate_groups


def warnings_of(texts, labels):
    return "; ".join(data_warnings(texts, labels, duplicate_groups(texts)))


def test_clean_data_are_left_alone():
    assert warnings_of([f"text number {k}" for k in range(40)], ["a", "b"] * 20) == ""


def test_tiny_classes_repeats_and_texts_with_two_labels_are_named():
    texts = [f"text number {k}" for k in range(30)] + ["the same words"] * 6
    said = warnings_of(texts, ["a", "b"] * 15 + ["a"] * 5 + ["rare"])
    assert "1 classes have fewer than 10 texts: rare (1)" in said
    assert "1 texts occur with two labels" in said
    assert "5 of 36 texts are repeats" in said


def test_labels_that_stand_in_their_own_texts_are_found_in_any_number_of_classes():
    names = [f"topic{chr(97 + k // 26)}{chr(97 + k % 26)}" for k in range(60)]
    labels = [name for name in names for _ in range(12)]
    random = np.random.default_rng(0)
    texts = [f"words {random.integers(10**9)}" + (f" [{label}]" if label == names[40] else "") for label in labels]
    said = warnings_of(texts, labels)
    assert f'labels stand in their own texts: "{names[40]}"' in said


def test_several_scripts_are_named():
    texts = [f"latin {k}" for k in range(20)] + [f"слово {k}" for k in range(20)]
    assert "Cyrillic in 50 %" in warnings_of(texts, ["a", "b"] * 20)
