"""What each model of texts costs and gives: ``python -m benchmarks.choosing [--keep]``.

Every model is fitted to the training part of three sets of texts and judged once on the test part, with settings that
its documentation recommends and none tuned; the default text model chooses its own. ``--keep`` writes
benchmarks/results/choosing/figures.json, the table of docs/choosing.md and its picture; ``--docs`` the last two alone.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.speed_tables import duration, write_between

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "choosing" / "figures.json"
PAGE = HERE.parent / "docs" / "choosing.md"
PICTURE = HERE.parent / "docs" / "images" / "choosing.png"
BEGIN, END = "<!-- figures: made by benchmarks/choosing.py -->", "<!-- end of figures -->"
SETS = {
    "sms_spam": "SMS, 2 classes, 4,100 texts",
    "banking77": "questions, 77 classes, 10,003 texts",
    "20newsgroups": "posts, 20 classes, 11,314 texts",
}


def parts(name: str) -> tuple[list[str], Any, list[str], Any]:
    """Training and test texts with their labels; no text is in both."""
    if name == "sms_spam":
        texts, labels = datasets.sms()
        first = {text: k for k, text in reversed(list(enumerate(texts)))}
        order = np.random.default_rng(0).permutation(sorted(first.values()))
        cut = len(order) * 4 // 5
        train, test = order[:cut], order[cut:]
        return [texts[k] for k in train], labels[train], [texts[k] for k in test], labels[test]
    read = datasets.banking if name == "banking77" else datasets.newsgroups
    return *read("train"), *read("test")


def models() -> dict[str, Callable[[], Any]]:
    """Makers of the models, by the name shown."""
    from sklearn.pipeline import make_pipeline

    import tallywise as tw

    def counts(model: Any) -> Any:
        return make_pipeline(tw.CountVectorizer(), model)

    def weighted(model: Any) -> Any:
        return make_pipeline(tw.TfidfVectorizer(sublinear_tf=True), model)

    return {
        "BernoulliNB": lambda: counts(tw.BernoulliNB(alpha=0.1)),
        "MultinomialNB": lambda: counts(tw.MultinomialNB(alpha=0.1)),
        "ComplementNB": lambda: weighted(tw.ComplementNB(alpha=0.3)),
        "Perceptron": lambda: weighted(tw.Perceptron(averaged=True)),
        "LogisticRegression": lambda: weighted(tw.LogisticRegression(C=30)),
        "LogisticRegression, L1": lambda: weighted(tw.LogisticRegression(C=30, l1_ratio=1, tol=1e-3)),
        "LinearSVC": lambda: weighted(tw.LinearSVC(C=1)),
        "SVC, Gaussian": lambda: weighted(tw.SVC(C=10)),
        "KNeighborsClassifier": lambda: weighted(tw.KNeighborsClassifier(10, metric="cosine", weights="distance")),
        "TextClassifier": tw.TextClassifier,
    }


def measure(make: Callable[[], Any], data: tuple[list[str], Any, list[str], Any]) -> dict[str, float]:
    """Error on the test part, seconds of the fit and microseconds of a prediction."""
    train, y, test, truth = data
    began = time.perf_counter()
    model = make().fit(train, y)
    fitted = time.perf_counter()
    found = model.predict(test)
    ended = time.perf_counter()
    return {
        "error": float(np.mean(np.asarray(found) != truth)),
        "fit": fitted - began,
        "verdict": (ended - fitted) / len(test),
    }


def table(figures: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """Lines of the table: a row a model, error and time of the fit for each set."""
    heads = [f"{title}: error, fit" for title in SETS.values()]
    lines = [f"| model | {' | '.join(heads)} | one prediction |", "|---|" + "---|" * (len(heads) + 1)]
    for name in next(iter(figures.values())):
        cells = [f"{100 * f[name]['error']:.1f} %, {duration(f[name]['fit'])}" for f in figures.values()]
        lines.append(f"| `{name}` | {' | '.join(cells)} | {1e6 * figures['sms_spam'][name]['verdict']:.1f} us |")
    return lines


def picture(figures: dict[str, dict[str, dict[str, float]]]) -> None:
    """Error against the time of the fit, a panel a set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(SETS), figsize=(12, 3.6), layout="constrained")
    for panel, (name, title) in zip(panels, SETS.items(), strict=True):
        for place, (model, f) in enumerate(figures[name].items()):
            marker, size = ("*", 13) if model == "TextClassifier" else ("o^sDvPXph"[place], 7)
            panel.plot(f["fit"], 100 * f["error"], marker, markersize=size, color=f"C{place}", label=model)
        panel.set(xscale="log", title=title, xlabel="seconds to fit", ylabel="error on the test part, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(PICTURE, dpi=110)
    pyplot.close(figure)


def main() -> None:
    """Measure, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--keep", action="store_true", help="write the results, the table and the picture")
    parser.add_argument("--docs", action="store_true", help="write the table and the picture from the results")
    options = parser.parse_args()
    if options.docs:
        figures = json.loads(RESULTS.read_text())
    else:
        figures = {}
        for name in SETS:
            data = parts(name)
            figures[name] = {model: measure(make, data) for model, make in models().items()}
            for model, f in figures[name].items():
                print(f"{name:14} {model:24} {100 * f['error']:5.2f} %  {duration(f['fit']):>8}", flush=True)
    if options.keep:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    if options.keep or options.docs:
        note = f"One run on {os.cpu_count()} cores, no setting tuned; `python -m benchmarks.choosing` makes it again."
        write_between(PAGE, BEGIN, END, [*table(figures), "", note])
        picture(figures)


if __name__ == "__main__":
    main()
