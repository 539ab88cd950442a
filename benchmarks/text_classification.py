"""The default text model against six pipelines, each tuned by 3-fold grid search, on texts that neither saw.

``python -m benchmarks.text_classification`` runs all data sets, or those named as arguments. ``--only tallywise`` or
``--only rivals`` runs one side, ``--rivals LinearSVC`` some rivals (`benchmarks/text_classification_rivals.py`).
``--keep`` writes ``benchmarks/results/text_classification/figures.json`` and the table of docs/text_model.md. Costs are
CPU seconds of the fit, the search included, seconds by the clock beside them; log loss and calibration error are those
of the test texts. The time for one text is the median of seven passes over the test texts; that of the first pass, just
after the fit and with nothing of the model in the caches, is beside it.

``python -m benchmarks.text_classification --texts 1000000`` trains ``tally train`` on so many texts of 38 words put
together from sentences of newsgroup posts, and classifies them again from the table: seconds, memory, size of the file.
"""

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.speed_tables import duration, write_between

RESULTS = Path(__file__).parent / "results" / "text_classification" / "figures.json"
PAGE = Path(__file__).parent.parent / "docs" / "text_model.md"
BEGIN, END = (
    "<!-- text classification: made by benchmarks/text_classification.py -->",
    "<!-- end of text classification -->",
)
SETS = ("sms", "banking77", "20newsgroups", "clothing")
WORDS = 38
BINS = 15

Split = tuple[list[str], np.ndarray, list[str], np.ndarray]


def split(name: str) -> Split:
    """Training and test texts: as the set gives them, or a fifth of the distinct texts to test on."""
    if name == "banking77":
        return *datasets.banking("train"), *datasets.banking("test")
    if name == "20newsgroups":
        return *datasets.newsgroups("train"), *datasets.newsgroups("test")
    texts, labels = datasets.sms() if name == "sms" else datasets.clothing()
    first = {text: row for row, text in reversed(list(enumerate(texts)))}
    rows = np.random.default_rng(0).permutation(sorted(first.values()))
    train, test = np.split(rows, [len(rows) * 4 // 5])
    return [texts[i] for i in train], labels[train], [texts[i] for i in test], labels[test]


def calibration_error(P: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error of the predictions: |confidence - accuracy| over bins of equal width."""
    confidence = P.max(axis=1)
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, confidence - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(right))


def figures(model: Any, texts: list[str], labels: np.ndarray) -> dict[str, Any]:
    """Accuracy of a fitted model in percent, and where it gives probabilities, log loss and calibration error."""
    predictions = model.predict(texts)
    right = predictions == labels
    found: dict[str, Any] = {"accuracy": 100 * float(right.mean())}
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(texts)
        own = P[np.arange(len(labels)), np.searchsorted(model.classes_, labels)]
        found["log_loss"] = float(-np.log(np.maximum(own, 1e-15)).mean())
        found["calibration_error"] = 100 * calibration_error(P, right)
    return found


def microseconds(model: Any, texts: list[str]) -> float:
    """CPU time of a text, one call each. A pass over 1,000 short texts is 10 ms, which any disturbance can double."""
    cpu = time.process_time()
    for text in texts:
        model.predict_proba([text], 1)
    return 1e6 * (time.process_time() - cpu) / len(texts)


def ours(name: str) -> dict[str, Any]:
    """What `TextClassifier()` reaches on one set."""
    from tallywise import TextClassifier

    texts, labels, new, truth = split(name)
    clock, cpu = time.perf_counter(), time.process_time()
    model = TextClassifier().fit(texts, labels)
    cost = {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - clock}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tally"
        model.save(path)
        cost["megabytes"] = path.stat().st_size / 1e6
    one = new[: 2000 if name != "20newsgroups" else 200]
    cost["microseconds_first"], *others = (microseconds(model.runtime_, one) for _ in range(8))
    cost["microseconds_a_text"] = statistics.median(others)
    return {"tallywise": figures(model, new, truth) | cost | {"kept": model.trials_[0].title}}


def theirs(name: str, wanted: Sequence[str] = ()) -> dict[str, Any]:
    """What the rivals reach on one set, or those of them that are wanted."""
    from benchmarks.text_classification_rivals import searches

    texts, labels, new, truth = split(name)
    found = {}
    for title, search in searches():
        if wanted and title not in wanted:
            continue
        clock, cpu = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(texts, labels)
        cost = {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - clock}
        found[title] = figures(search.best_estimator_, new, truth) | cost | {"kept": str(search.best_params_)}
        print(f"   {title}: {shown(found[title])}", flush=True)
    return {"rivals": found}


def shown(row: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" for key, value in row.items())


def table(results: dict[str, Any]) -> list[str]:
    """The results as lines of a table in Markdown; columns that nothing was measured for are left out."""
    titles = ["data", "accuracy", "best rival's", "log loss", "least of the rivals'", "calibration error", "CPU"]
    titles += ["CPU of LinearSVC's search", "file"]
    filled = []
    for name, row in results.items():
        own, others = row.get("tallywise"), row.get("rivals", {})
        if own is None:
            continue
        best = max(others, key=lambda title: others[title]["accuracy"], default=None)
        losses = [other["log_loss"] for other in others.values() if "log_loss" in other]
        machine = others.get("LinearSVC")
        cells = [
            name,
            f"{own['accuracy']:.2f} %",
            "" if best is None else f"{others[best]['accuracy']:.2f} % ({best})",
            f"{own['log_loss']:.3f}",
            f"{min(losses):.3f}" if losses else "",
            f"{own['calibration_error']:.1f} %",
            duration(own["cpu"]),
            "" if machine is None else duration(machine["cpu"]),
            f"{own['megabytes']:.1f} MB",
        ]
        filled.append(cells)
    kept = [k for k in range(len(titles)) if any(cells[k] for cells in filled)]
    lines = [titles, ["---"] * len(titles), *filled]
    return [f"| {' | '.join(line[k] for k in kept)} |" for line in lines]


def merged(name: str, row: dict[str, Any]) -> dict[str, Any]:
    """All results on file, with those of a set added, each rival in its place."""
    known: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    old = known.get(name, {})
    if "rivals" in row:
        row = row | {"rivals": old.get("rivals", {}) | row["rivals"]}
    return known | {name: old | row}


def keep(name: str, row: dict[str, Any]) -> None:
    """Write results of a set, and the table of the page."""
    known = merged(name, row)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")
    write_between(PAGE, BEGIN, END, table(known))


def sampled(texts: list[str], labels: np.ndarray, count: int) -> Iterator[tuple[str, str]]:
    """So many texts of 38 words, each of sentences drawn from the posts of one group."""
    random = np.random.default_rng(0)
    sentences: dict[str, list[list[str]]] = {}
    for text, label in zip(texts, labels.tolist(), strict=True):
        cut = (part.split() for part in re.split(r"(?<=[.!?])\s+|\n\n", text))
        sentences.setdefault(label, []).extend(words for words in cut if words)
    groups = list(sentences)
    for _ in range(count):
        group = groups[random.integers(len(groups))]
        pool, words = sentences[group], []
        while len(words) < WORDS:
            words += pool[random.integers(len(pool))]
        yield " ".join(words[:WORDS]), group


def many(count: int) -> None:
    """Time, memory and file of the command on many texts."""
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "texts.csv", Path(folder) / "model.tally"
        with data.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            writer.writerows(sampled(*datasets.newsgroups("train"), count))
        tally = str(Path(sys.executable).with_name("tally"))
        columns = ["--text", "text", "--label", "label"]
        run("train", [tally, "train", str(data), *columns, "-o", str(model), "--no-report"])
        print(f"file {model.stat().st_size / 1e6:.1f} MB")
        with (Path(folder) / "predictions.csv").open("wb") as predictions:
            seconds = run("classify", [tally, "classify", str(model), str(data), "--text", "text"], predictions)
        print(f"{count / seconds:,.0f} texts a second of CPU")


def run(what: str, command: list[str], output: Any = None) -> float:
    """Run a command and print its cost; returns CPU seconds."""
    clock = time.perf_counter()
    child = subprocess.Popen(command, stdout=output)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    cpu = used.ru_utime + used.ru_stime
    print(f"{what}: {time.perf_counter() - clock:.1f} s, CPU {cpu:.1f} s, at most {used.ru_maxrss / 1e6:.2f} GB")
    return cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(SETS)}")
    parser.add_argument("--keep", action="store_true", help="write results and the table of docs/text_model.md")
    parser.add_argument("--only", choices=["tallywise", "rivals"], help="run one side, keep what is known of the other")
    parser.add_argument("--rivals", nargs="+", default=(), metavar="rival", help="run these of the rivals")
    parser.add_argument("--texts", type=int, metavar="N", help="only measure the command on so many texts")
    arguments = parser.parse_args()
    if arguments.texts:
        many(arguments.texts)
        return
    results: dict[str, Any] = {}
    for name in arguments.names or SETS:
        row: dict[str, Any] = {}
        if arguments.only != "rivals":
            row |= ours(name)
            print(f"{name}: {shown(row['tallywise'])}", flush=True)
            if arguments.keep:
                keep(name, row)
        if arguments.only != "tallywise":
            print(f"{name}:", flush=True)
            row |= theirs(name, arguments.rivals)
            if arguments.keep:
                keep(name, {"rivals": row["rivals"]})
        results[name] = merged(name, row)[name]
    print("\n".join(table(results)))


if __name__ == "__main__":
    main()
