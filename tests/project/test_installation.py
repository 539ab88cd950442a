"""`tallywise.installation` notices what is off."""

import numpy as np
import pytest

from tallywise import MultinomialNB, installation


def problems():
    return {finding.name: finding.problem for finding in installation.examine() if finding.problem}


def test_this_installation_has_no_problem():
    assert problems() == {}


def test_an_old_dependency_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setattr(installation.importlib.metadata, "requires", lambda _: ["numpy>=99.0", "scipy>=1.0"])
    assert problems() == {"numpy": "99.0 or newer is needed: pip install 'numpy>=99.0'"}


def test_a_missing_dependency_is_named(monkeypatch):
    monkeypatch.setattr(installation.importlib.metadata, "requires", lambda _: ["no-such-package>=1.0"])
    assert "pip install" in problems()["no-such-package"]


def test_a_narrow_build_on_a_wide_processor_is_a_problem(monkeypatch):
    monkeypatch.delenv("TALLYWISE_LEVEL", raising=False)
    monkeypatch.setattr("tallywise._cpu.levels", lambda: ["v9", "baseline"])
    assert "'v9'" in problems()["native build"]


@pytest.mark.parametrize("threads", ["0", "two", "1000"])
def test_a_useless_number_of_threads_is_a_problem(monkeypatch, threads):
    monkeypatch.setenv("TALLYWISE_NUM_THREADS", threads)
    assert "threads" in problems()


def test_a_wrong_answer_is_a_problem(monkeypatch):
    monkeypatch.setattr(MultinomialNB, "predict_proba", lambda *_: np.array([[0.5, 0.5]]))
    assert set(problems()) == {"naive Bayes"}
