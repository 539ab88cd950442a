"""What a report says about the data, and how it looks at mistakes."""

import sys
import tracemalloc

import numpy as np

from tallywise.evaluation import duplicate_groups
from tallywise.text_model import TextClassifier
from tallywise.text_model.report_data import _training_data, bayes_error, data_warnings, report_data


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


def test_the_bayes_error_of_many_repeats_takes_little_memory():
    texts = ["the same words"] * 20_000 + [f"word{k} and {'cats' if k % 2 else 'dogs'}" for k in range(40)]
    labels = ["a"] * 20_000 + ["a", "b"] * 20
    model = TextClassifier("multinomial_nb", cv=2).fit(texts, labels)
    tracemalloc.start()
    low, high = bayes_error(model, _training_data(model, texts, np.searchsorted(model.classes_, labels)))
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    assert 0 <= low <= high <= 1


def test_the_bayes_error_is_left_out_where_the_model_is_already_better():
    # the nearest other text is of the other class, but a word tells the classes apart
    texts = [f"topic{k // 2} shared words of topic{k // 2} {'yes' if k % 2 else 'no'}" for k in range(200)]
    model = TextClassifier("linear_svm").fit(texts, ["a", "b"] * 100)
    assert model.trials_[0].error < 0.05
    assert report_data(model, texts, ["a", "b"] * 100, "here").bayes_error is None


def test_without_a_page_nothing_is_fitted_for_it_and_what_is_said_stays():
    texts = [f"topic{k // 2} words {'yes' if k % 2 else 'no'}" for k in range(60)]
    labels = ["a", "b"] * 30
    model = TextClassifier("multinomial_nb", cv=2).fit(texts, labels)
    whole, short = report_data(model, texts, labels, "here"), report_data(model, texts, labels, "here", page=False)
    assert whole.curve
    assert any(whole.words.values())
    assert (short.curve, short.mistakes) == ([], [])
    assert not any(short.words.values())
    assert (short.bayes_error, short.warnings) == (whole.bayes_error, whole.warnings)


def test_top_terms_are_the_same_by_any_number_of_rows_at_once(monkeypatch):
    texts = [f"topic{k % 3} words{k} {'yes no maybe'.split()[k % 3]}" for k in range(60)]
    model = TextClassifier("multinomial_nb", cv=2).fit(texts, ["a", "b", "c"] * 20).runtime_
    whole = model.top_terms("b")
    monkeypatch.setattr("tallywise.models.text_serving._ROWS_AT_ONCE", 7)
    assert model.top_terms("b") == whole


def test_several_scripts_are_named():
    texts = [f"latin {k}" for k in range(20)] + [f"слово {k}" for k in range(20)]
    assert "Cyrillic in 50 %" in warnings_of(texts, ["a", "b"] * 20)


def test_mistakes_are_coloured_by_a_model_that_had_not_learned_them():
    texts = [f"good fine nice letter {k}" for k in range(30)] + [f"cheap pills buy now {k}" for k in range(30)]
    labels = ["ham"] * 30 + ["spam"] * 30
    wrong = "cheap pills buy zanzibar"
    model = TextClassifier("multinomial_nb").fit([*texts, wrong], [*labels, "ham"])
    mistake = next(m for m in report_data(model, [*texts, wrong], [*labels, "ham"], "here").mistakes if m.text == wrong)
    assert (mistake.true, mistake.predicted) == ("ham", "spam")
    of_word = {wrong[begin:end]: value for begin, end, value in mistake.spans}
    # Nobody else has the word: only who learned this text can hold it against spam.
    learned = {word.term: word.contribution for word in model.explain(wrong, "spam").words}
    assert learned["zanzibar"] < -0.2
    assert abs(of_word.get("zanzibar", 0.0)) < 0.1 < of_word["pills"]


def test_the_page_of_many_texts_is_made_of_a_part_of_them(monkeypatch):
    random = np.random.default_rng(0)
    words = np.array([f"word{k}" for k in range(60)])
    labels = random.choice(["a", "b"], 400).tolist()
    texts = [" ".join(random.choice(words[:40] if label == "a" else words[20:], 4)) for label in labels]
    model = TextClassifier("multinomial_nb", cv=2).fit(texts, labels)
    whole = report_data(model, texts, labels, "here")
    counted = []
    module = sys.modules["tallywise.text_model.report_data"]  # the package has a function of that name
    monkeypatch.setattr(module, "_MOST_TEXTS", 100)
    monkeypatch.setattr(
        module,
        "_training_data",
        lambda model, texts, codes: counted.append(len(texts)) or _training_data(model, texts, codes),
    )
    part = report_data(model, texts, labels, "here")
    assert 100 <= counted[0] <= 112  # and the mistakes that are shown
    assert [mistake.text for mistake in part.mistakes] == [mistake.text for mistake in whole.mistakes]
    assert [n for n, _ in part.curve][-1] == [n for n, _ in whole.curve][-1] == 320
    assert [n for n, _ in part.curve][-2] < 50
    assert part.figures == whole.figures
