"""The command as a person meets it: output, JSON, errors of one line, exit codes."""

import csv
import json
import os
import subprocess
import sys
from importlib.resources import files

import click
import pytest

import tallywise
from tallywise.cli import main
from tallywise.cli._commands import COMMANDS
from tallywise.cli._option_values import class_costs, file_size

CORPUS = files("tallywise") / "demo_corpus"


def tally(*arguments, stdin="", **env):
    done = subprocess.run(
        [sys.executable, "-c", "from tallywise.cli import main; main()", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model trained by the command itself."""
    folder = tmp_path_factory.mktemp("tally")
    code, out, err = tally(
        "train",
        CORPUS / "messages.csv",
        "-o",
        folder / "m.tally",
        "--report",
        folder / "r.html",
        "--model",
        "multinomial_nb",
    )
    assert code == 0, err
    assert 'text = "text", label = "label"' in out
    assert 'majority class "ham"' in out
    assert "multinomial naive Bayes, alpha = 0.1 " in out
    assert "next: tally classify" in out
    return folder


def test_train_writes_a_model_and_a_report(folder):
    assert sorted(os.listdir(folder)) == ["m.tally", "r.html"]
    page = (folder / "r.html").read_text()
    assert "Worst mistakes" in page
    assert "Most indicative terms" in page


def test_train_keeps_to_the_size_that_is_asked_for(folder, tmp_path):
    wanted = os.path.getsize(folder / "m.tally") // 3
    code, out, err = tally(
        "train",
        CORPUS / "messages.csv",
        "-o",
        tmp_path / "small.tally",
        "--no-report",
        "--model",
        "multinomial_nb",
        "--size",
        f"{wanted}b",
    )
    assert code == 0, err
    assert os.path.getsize(tmp_path / "small.tally") <= wanted
    left_out = tallywise.load(tmp_path / "small.tally").meta["left_out"]
    assert 0 < left_out["terms"] < left_out["of"]
    assert f"{left_out['terms']:,}" in out


def test_classify_a_table_and_a_stream(folder):
    code, out, _ = tally("classify", folder / "m.tally", CORPUS / "messages.csv", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    with (CORPUS / "messages.csv").open() as stream:
        truth = [row["label"] for row in csv.DictReader(stream)]
    assert code == 0
    assert sum(row["label"] == label for row, label in zip(rows, truth, strict=True)) > 0.9 * len(truth)
    code, out, _ = tally(
        "classify", folder / "m.tally", "-", "--explain", stdin="claim your cash prize now\nsee you at lunch\n"
    )
    assert code == 0
    assert out.splitlines()[0].startswith("spam\t")
    assert '"prize" +' in out


def test_classify_says_when_texts_are_out_of_its_depth(folder, tmp_path):
    path = tmp_path / "strange.csv"
    path.write_text("text\nclaim your prize\nzorbl vrix quampf wibbled gronkle\n")
    code, out, err = tally("classify", folder / "m.tally", path)
    assert code == 0
    assert len(out.splitlines()) == 2
    assert err.startswith("note: 1 of 2 texts are out of its depth: more than ")
    _, out, err = tally("classify", folder / "m.tally", path, "--json")
    assert [json.loads(line)["unknown_words"] for line in out.splitlines()] == [0.0, 1.0]
    assert err == ""
    _, out, _ = tally("classify", folder / "m.tally", path, "--explain")
    assert "100 % of its words are unknown to the model" in out


def test_what_was_read_before_a_table_turned_out_to_be_damaged_is_answered(folder, tmp_path):
    path = tmp_path / "damaged.csv"
    path.write_bytes(b"text,id\n" + b"claim your prize,1\n" * 5000 + b"b\0d,2\n")
    code, out, err = tally("classify", folder / "m.tally", path)
    assert code != 0
    assert len(out.splitlines()) == 5000
    assert "NUL bytes" in err


def test_a_size_is_a_number_with_a_unit():
    assert [file_size(value) for value in ("10MB", "500 kB", "1.5g", "123", "7b")] == [
        10_000_000,
        500_000,
        1_500_000_000,
        123,
        7,
    ]
    for wrong in ("", "ten", "-1MB", "0", "1TB", "MB", "1e6"):
        with pytest.raises(click.UsageError, match="--size takes"):
            file_size(wrong)


def test_explain_adds_up(folder):
    code, out, _ = tally("explain", folder / "m.tally", "-", "--json", stdin="claim your cash prize now")
    found = json.loads(out)
    assert code == 0
    assert found["bias"] + sum(word["contribution"] for word in found["words"]) == pytest.approx(found["score"])
    code, out, _ = tally("explain", folder / "m.tally", "-", stdin="claim your cash prize now")
    assert code == 0
    assert "would be ham without" in out


def test_evaluate_inspect_and_compare(folder):
    code, out, _ = tally("evaluate", folder / "m.tally", CORPUS / "messages.csv", "--json")
    assert code == 0
    assert json.loads(out)["figures"]["accuracy"][0] > 0.9
    code, out, _ = tally("inspect", folder / "m.tally")
    assert code == 0
    assert "multinomial naive Bayes" in out
    code, out, _ = tally(
        "compare", CORPUS / "messages.csv", "--models", "multinomial_nb,bernoulli_nb", "--cv", "3", "--json"
    )
    assert code == 0
    assert {model["name"] for model in json.loads(out)["models"]} == {"multinomial_nb", "bernoulli_nb"}


def test_topics_of_the_reviews():
    code, out, err = tally("topics", CORPUS / "reviews.csv", "-k", "4", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert len(found["topics"]) == 4
    assert sum(topic["share"] for topic in found["topics"]) == pytest.approx(1)


def train(folder, *arguments):
    return tally("train", CORPUS / "messages.csv", "--model", "multinomial_nb", "-o", folder / "m.tally", *arguments)


def test_train_has_the_options_of_the_class(tmp_path):
    (tmp_path / "words.txt").write_text("the and\nof", encoding="utf-8")
    code, out, err = train(
        tmp_path,
        *("--no-report", "--cv", "3", "--class-weight", "balanced", "--stop-words", tmp_path / "words.txt"),
        *("--costs", "ham:spam=50", "--json"),
    )
    assert code == 0, err
    assert json.loads(out)["report"] is None
    assert sorted(os.listdir(tmp_path)) == ["m.tally", "words.txt"]
    _, out, _ = tally("inspect", tmp_path / "m.tally", "--json")
    meta = json.loads(out)
    assert meta["views"][0]["stop_words"] == ["and", "of", "the"]
    assert meta["rule"] == {"kind": "costs"}
    assert "3-fold" in meta["description"][0]
    weighted = train(tmp_path, "--no-report", "--class-weight", "spam=3", "--class-weight", "ham=0.5", "--json")
    assert weighted[0] == 0
    code, out, _ = train(tmp_path, "--no-report", "--max-flagged", "ham=0.01")
    assert "of ham flagged" in out


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["--max-flagged", "ham"], "--max-flagged takes CLASS=NUMBER. Got 'ham'."),
        (["--max-flagged", "ham=few"], "--max-flagged takes CLASS=NUMBER. Got 'ham=few'."),
        (["--max-flagged", "eggs=0.1"], "--max-flagged: there is no class 'eggs'. Classes: ham, spam."),
        (["--costs", "ham=3"], "--costs takes TRUE:CALLED=COST, such as ham:spam=10. Got 'ham=3'."),
        (["--costs", "ham:spam=-1"], "a cost must be a number >= 0"),
        (["--costs", "ham:eggs=1"], "--costs: there is no class 'eggs'"),
        (["--costs", "ham:spam=2", "--max-flagged", "ham=0.1"], "two rules of decision: give one"),
        (["--class-weight", "even"], "--class-weight takes CLASS=NUMBER. Got 'even'."),
        (["--class-weight", "ham=0"], "weights must be positive numbers. Got 0 for ham"),
        (
            ["--stop-words", "german"],
            "--stop-words takes english, none, or a file of words. There is no file 'german'.",
        ),
        (["--cv", "1"], "1 is not in the range 2<=x<=100"),
        (["--report", "no/such/folder/r.html"], "there is no folder"),
    ],
)
def test_bad_options_of_train_are_named_before_anything_is_learned(tmp_path, arguments, cause):
    code, out, err = train(tmp_path, *arguments)
    assert code == 2
    assert cause in err
    assert out == ""
    assert os.listdir(tmp_path) == []


def test_costs_of_classes_with_colons_in_their_names():
    labels = ["a:b", "c", "a"]
    assert class_costs(["a:b:c=2", "c:a:b=3"], labels) == {("a:b", "c"): 2.0, ("c", "a:b"): 3.0}


def test_a_failed_train_leaves_the_old_model_and_report(tmp_path, monkeypatch, capsys):
    model, report = tmp_path / "m.tally", tmp_path / "r.html"
    model.write_text("old model")
    report.write_text("old report")

    def fails(*arguments):
        raise OSError(28, "No space left on device")

    arguments = ["train", str(CORPUS / "messages.csv"), "--model", "multinomial_nb", "-o", str(model)]
    for place in ("tallywise.report.render", "tallywise.models.model_file.write"):
        with monkeypatch.context() as patch:
            patch.setattr(place, fails)
            with pytest.raises(SystemExit) as leave:
                main([*arguments, "--report", str(report)])
        assert leave.value.code == 1
        assert "No space left" in capsys.readouterr().err
        assert (model.read_text(), report.read_text()) == ("old model", "old report")
        assert sorted(os.listdir(tmp_path)) == ["m.tally", "r.html"]


def test_the_same_seed_and_any_threads_give_the_same_model(folder, tmp_path):
    for threads in ("1", "3"):
        tally(
            "train",
            CORPUS / "messages.csv",
            "-o",
            tmp_path / f"{threads}.tally",
            "--no-report",
            "--threads",
            threads,
            "--model",
            "multinomial_nb",
        )
    assert (
        (tmp_path / "1.tally").read_bytes() == (tmp_path / "3.tally").read_bytes() == (folder / "m.tally").read_bytes()
    )


def test_the_demo_shows_it_all_and_what_it_suggests_works(tmp_path):
    code, out, err = tally("demo", "-o", tmp_path)
    assert code == 0, err
    assert "637 messages (393 ham, 244 spam)" in out
    lines = out.splitlines()  # the majority class, naive Bayes as a reference, the model
    (first,) = (k for k, line in enumerate(lines) if 'majority class "ham"' in line)
    assert "multinomial naive Bayes, alpha = 0.1, for reference" in lines[first + 1]
    assert "linear SVM on words and characters, C = 1" in lines[first + 2]
    assert "so that at most 1 % of ham is flagged" in out
    assert "five topics in 210 reviews" in out
    assert sorted(os.listdir(tmp_path)) == ["messages.csv", "model.tally", "report.html"]
    page = (tmp_path / "report.html").read_text()
    assert "Predictions and colours are of models that were not trained on the text." in page
    assert "the comparison below uses 0.5" in page
    for line in out.splitlines():
        if line.startswith("  tally ") and "your.csv" not in line:
            assert tally(*line.split("|")[0].split()[1:])[0] == 0


def test_compare_in_words(folder):
    code, out, _ = tally("compare", CORPUS / "messages.csv", "--models", "multinomial_nb,bernoulli_nb", "--cv", "2")
    assert code == 0
    assert "always the most frequent class" in out
    assert out.count(" best") >= 1
    assert "(McNemar)" in out
    assert "Friedman" not in out  # a test of three models or more


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_helps_with_an_example_first(name):
    code, out, _ = tally(name, "--help")
    assert code == 0
    assert "tally " + name in out
    assert "\n  Example" in out
    assert "\\b" not in out
    assert "\n    tally " + name in out


@pytest.mark.parametrize(
    ("content", "arguments", "cause"),
    [
        (b"", [], "is empty"),
        (b"text,label\nhello there,a\ngood bye,a\n", [], "has one class only"),
        (b"text,label\n\x00\xff\x00,a\n", [], "binary file"),
        (b"text,label\nhello,a\nbye,b\n", ["--text", "body"], 'no column "body"'),
        (b"one\ntwo\n", ["--format", "csv"], "no column that looks like labels"),
        (b"text,label\nhello,a\nbye,b\n", ["--model", "oracle"], "There is no model 'oracle'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(tmp_path, content, arguments, cause):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    code, out, err = tally("train", path, "-o", tmp_path / "m.tally", "--report", tmp_path / "r.html", *arguments)
    assert code == 1
    assert cause in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""
    assert os.listdir(tmp_path) == ["a.csv"]


def test_exit_codes_and_suggestions(tmp_path):
    assert tally("classify", tmp_path / "none.tally", "-", stdin="x")[0] == 1
    code, _, err = tally("clasify")
    assert code == 2
    assert 'Did you mean "tally classify"?' in err
    assert tally("train")[0] == 2
    (tmp_path / "bad.tally").write_bytes(b"nonsense" * 20)
    code, _, err = tally("inspect", tmp_path / "bad.tally")
    assert code == 1
    assert "not a tallywise model" in err


def test_classifying_does_not_import_scikit_learn(folder):
    code = (
        "import sys; from tallywise.cli import main\n"
        "try: main()\n"
        "except SystemExit: print([n for n in ('sklearn', 'scipy', 'rich') if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "classify", folder / "m.tally", "-"],
        input="hello\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == "[]"


def test_a_reader_that_has_seen_enough_ends_it_quietly(folder):
    command = f"{sys.executable} -c 'from tallywise.cli import main; main()' classify {folder / 'm.tally'}"
    more = " ".join([str(CORPUS / "messages.csv")] * 40)  # than a pipe holds
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} {more} | head -1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + 13  # as `yes | head -1` does
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_doctor_finds_nothing_wrong_here(capsys):
    with pytest.raises(SystemExit) as leave:
        main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [finding for finding in found["findings"] if finding["problem"]] == []
    assert found["ok"]
    assert leave.value.code == 0


def test_doctor_exits_1_and_names_what_is_wrong(capsys, monkeypatch):
    monkeypatch.setenv("TALLYWISE_NUM_THREADS", "many")
    with pytest.raises(SystemExit) as leave:
        main(["doctor"])
    assert leave.value.code == 1
    assert "problem: threads: TALLYWISE_NUM_THREADS must be a whole number" in capsys.readouterr().out
