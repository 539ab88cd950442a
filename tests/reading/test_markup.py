"""Texts with HTML in them: what a reader sees is what is counted."""

import pytest

from tallywise import TextClassifier
from tallywise._native import strip_markup


def test_tags_and_entities_of_html_are_no_words():
    texts = [
        "<p>good &amp; <b>cheap</b><br />r&eacute;sum&eacute;</p>",
        'see <A href="http://a.org/x">this</A>, a < b',
    ] * 20
    model = TextClassifier("multinomial_nb", cv=2).fit(texts, ["a", "b"] * 20)
    known = set(model.vectorizer_.get_feature_names_out())
    assert {"good", "&", "cheap", "résumé", "good &", "http", "this", "< b"} <= known
    assert not {"br", "p", "amp", "eacute", "href"} & known
    assert model.runtime_.meta["views"][0]["strip_markup"]
    assert (model.predict_proba(["<i>good</i>&nbsp;"]) == model.predict_proba(["good"])).all()
    word = next(word for word in model.explain(texts[0]).words if word.term == "cheap")
    assert [texts[0][begin:end] for begin, end in word.spans] == ["cheap"]
    plain = TextClassifier("multinomial_nb", cv=2).fit(["x <me@here.org> AT&T;", "a <b c> d"] * 20, ["a", "b"] * 20)
    assert "me" in plain.vectorizer_.vocabulary_


@pytest.mark.parametrize(
    "text",
    ["<a <a <a", "<!-- never ends", "a < b & c", "<nothing known>", "&;&#xFFFFFFF;&#55555;", "<a href=", "&#931;"],
)
def test_what_is_no_markup_stays(text):
    assert strip_markup(text) == text
