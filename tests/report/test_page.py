"""The page: complete, self-contained, and safe against the texts it shows."""

import json
import re

import numpy as np
import pytest

from tallywise import evaluation
from tallywise.report import Mistake, ReportData, Rival, render, svg
from tallywise.report.page import highlight

HOSTILE = "</script><script>alert(1)</script> <img src=x onerror=alert(2)> \x00\ud800 win"


def report(classes=("ham", "spam"), n=200):
    random = np.random.default_rng(0)
    K = len(classes)
    codes = random.integers(0, K, n)
    P = random.dirichlet(np.ones(K), n) + 1.5 * np.eye(K)[codes]
    P /= P.sum(axis=1, keepdims=True)
    found = evaluation.measure(codes, P, np.arange(K), resamples=20)
    return ReportData(
        title="A model <of> mail",
        source="inbox.csv",
        classes=list(classes),
        codes=codes,
        probabilities=P,
        verdicts=P.argmax(axis=1),
        figures=found,
        split="5-fold cross-validation",
        model="naive Bayes",
        rivals=[
            Rival("naive Bayes", found["error"], 0.2, 0.1, True),
            Rival("logistic", found["error"], 0.3, 0.2, False),
        ],
        constant_error=0.4,
        bayes_error=(0.01, 0.03),
        words={name: [("prize", 2.0), ("<b>claim", 1.0)] for name in classes},
        mistakes=[Mistake(HOSTILE, classes[0], classes[1], 0.97, [(0, 9, 1.0), (5, 12, -0.5), (500, 600, 3.0)])],
        curve=[(50, found["error"]), (100, found["error"]), (200, found["error"])],
        warnings=["12 texts occur in two classes"],
        by_class=evaluation.class_metrics(codes, P.argmax(axis=1), np.arange(K), names=list(classes)),
    )


@pytest.mark.parametrize("K", [2, 3, 40])
def test_the_page_has_every_section_and_reaches_for_nothing_outside(K):
    page = render(report([f"class {k}" for k in range(K)]))
    for section in (
        "Comparison",
        "Curves",
        "Most indicative terms",
        "Worst mistakes",
        "Learning curve",
        "About the data",
        "Intended use and limits",
    ):
        assert section in page
    assert ("Threshold</h2>" in page) == (K == 2)
    assert ("Most confused pairs" in page) == (K == 40)
    assert not re.search(
        r"(?:src|href)\s*=(?!\"#)|@import|https?://", re.sub(r"<mark.*?</div>", "", page, flags=re.DOTALL)
    )
    assert page.count("<svg") == page.count("</svg>") > 2


@pytest.mark.parametrize(("K", "folded"), [(3, 0), (20, 0), (21, 2), (77, 2)])
def test_many_classes_fold_up_and_none_is_missing(K, folded):
    names = [f"a_rather_long_name_of_a_class_{k:02}" for k in range(K)]
    page = render(report(names, n=500))
    assert page.count("<details>") == page.count("</details>") == folded
    table = re.search(r"<h2[^>]*>Classes</h2>(.*?)<h2", page, re.DOTALL)[1]
    assert sorted(re.findall(r"<td class=name>(.*?)</td>", table)) == names
    terms = re.search(r"<h2[^>]*>Most indicative terms</h2>(.*?)<h2", page, re.DOTALL)[1]
    assert sorted(re.findall(r"<b>(.*?)</b>", terms)) == names


def test_one_figure_leads_and_figures_of_mail_filters_are_shown_for_spam_alone():
    page = render(report())
    assert page.count('class="card lead"') == 1
    assert "classified correctly" in re.search(r'class="card lead">(.*?)</div>', page)[1]
    assert "lam %" in page
    assert "lam %" not in render(report(("cats", "dogs")))
    asked = report(("cats", "dogs"))
    asked.threshold = 0.9
    assert "lam %" in render(asked)


def test_bars_use_the_room_beside_the_longest_term():
    for words in ([("a", 2.0), ("b", 1.0)], [("x" * 60, 3.0), ("y", 1.5)]):
        picture = svg.bars(words)
        rects = re.findall(r'<rect class="for" x="([\d.]+)" y="\d+" width="([\d.]+)"', picture)
        ends = [float(x) + float(width) for x, width in rects]
        assert ends[0] == pytest.approx(380, abs=0.2)
        assert float(rects[1][1]) == pytest.approx(float(rects[0][1]) / 2, abs=0.1)
    assert "…" in picture


def test_the_slider_starts_at_the_threshold_of_the_model():
    data = report()
    data.threshold = 0.123456
    page = render(data)
    points = json.loads(re.search(r'id="thresholds">(.*?)</script>', page)[1])
    start = int(re.search(r'id="slider"[^>]* value="(\d+)"', page)[1])
    assert points[start][0] == 0.123456
    assert points[start][3] == (data.probabilities[:, 1] >= 0.123456).mean()
    assert points == sorted(points)


def test_texts_cannot_smuggle_in_markup():
    page = render(report())
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<b>claim" not in page
    assert "A model &lt;of&gt; mail" in page


def test_highlighting_keeps_every_character_once():
    text = "win a prize & <more>"
    plain = re.sub(r"<[^>]*>", "", highlight(text, [(0, 3, 1.0), (2, 8, -0.5), (6, 30, 0.2)]))
    assert plain == "win a prize &amp; &lt;more&gt;"


def test_the_page_says_when_by_what_and_of_which_data_it_was_made_and_lists_its_sections():
    import datetime

    import tallywise

    data = report(["ham", "spam"])
    data.fingerprint = "0123456789abcdef"
    page = render(data)
    assert f"{datetime.date.today()}, by tallywise {tallywise.__version__}" in page
    assert "fingerprint 0123456789abcdef" in page
    listed = re.findall(r'<a href="#(part-\d+)">', page)
    assert len(listed) == page.count("<h2>") > 5
    assert all(f'id="{part}"' in page for part in listed)
    assert "@media print" in page


def test_numbers_of_the_page_have_no_powers_of_ten():
    from tallywise.evaluation import Metric

    data = report(["ham", "spam"])
    data.figures = {"mae": Metric("mae", 53_671.4, 51_000.0, 56_000.0, "bootstrap")}
    assert "53,670" in render(data)
    assert "e+0" not in render(data)
