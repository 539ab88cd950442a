"""The report of a model from shards: the figures of one process on any number of workers, and where it was made."""

import numpy as np
import pytest

from tallywise.cli import main
from tallywise.report import render
from tallywise.scale import report_data, train
from tallywise.scale.jobs import Features, Job
from tests.scale.corpus import corpus, write_shards

TEXTS, LABELS = corpus(3, 900)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_shards(tmp_path_factory.mktemp("report") / "parts", TEXTS, LABELS, shards=5)


def test_the_report_is_the_same_for_any_number_of_workers_but_for_saying_how_many(folder):
    pages, made = [], []
    for workers in (1, 3):
        made.append(train(folder, model=["multinomial_nb", "complement_nb"], workers=workers, held_out=0.2))
        data = report_data(made[-1], "parts")
        for k, rival in enumerate(data.rivals):
            data.rivals[k] = rival._replace(seconds=0.0)
        pages.append(render(data))
    assert "1 thread of one process, 5 shards" in pages[0]
    assert pages[1] == pages[0].replace("1 thread of one process", "3 threads of one process")


def test_the_figures_are_of_the_texts_held_out_by_their_hash(folder):
    made = train(folder, model="multinomial_nb", workers=2, held_out=0.2)
    job = Job((), None, Features(), held_out=0.2)
    held = [(text, label) for text, label in zip(TEXTS, LABELS, strict=True) if job.is_held_out(text)]
    data = report_data(made, "parts")
    assert [data.classes[k] for k in data.codes] == [label for _, label in held]
    assert data.figures["error"].value == pytest.approx(float((data.verdicts != data.codes).mean()))
    assert data.rivals[0].error.value == pytest.approx(data.figures["error"].value)
    learned = [(text, label) for text, label in zip(TEXTS, LABELS, strict=True) if not job.is_held_out(text)]
    assert len(learned) + len(held) == made.rows


def test_mistakes_are_held_out_texts_with_their_own_labels_and_reasons(folder):
    made = train(folder, model="multinomial_nb", workers=2, held_out=0.2)
    mistakes = report_data(made, "parts").mistakes
    assert len(mistakes) == min(12, int((made.judged.verdicts != made.judged.codes).sum()))
    own = dict(zip(TEXTS, LABELS, strict=True))
    for mistake in mistakes:
        assert own[mistake.text] == mistake.true != mistake.predicted
        assert mistake.spans
    assert np.all(np.diff([mistake.probability for mistake in mistakes]) <= 0)


def test_hashed_columns_and_thresholds_have_a_report_and_no_held_out_texts_none(tmp_path):
    folder = write_shards(tmp_path / "parts", *corpus(2, 600), shards=3)
    made = train(folder, model="multinomial_nb", workers=1, n_features=512, held_out=0.3, max_flagged={"1": 0.05})
    assert "A text is called 2 from probability" in render(report_data(made, "parts"))
    assert report_data(train(folder, model="multinomial_nb", workers=1, held_out=0.0), "parts") is None


def test_the_command_writes_the_report_beside_the_model(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(*options):
        with pytest.raises(SystemExit) as left:
            main(["train", folder, "--model", "multinomial_nb", "--workers", "2", *options])
        assert left.value.code == 0
        return capsys.readouterr().out

    assert "B) and report.html" in run()
    page = (tmp_path / "report.html").read_text()
    assert "2 threads of one process, 5 shards" in page
    assert "Worst mistakes" in page
    (tmp_path / "report.html").unlink()
    assert "report.html" not in run("--no-report")
    assert not (tmp_path / "report.html").exists()
