"""Models of tables against gradient boosting with its defaults, on rows that neither saw.

``python -m benchmarks.table_models --keep`` runs all data sets, about 3 minutes on a quiet machine, and writes
``benchmarks/results/tables/figures.json`` and the table in ``docs/tables.md`` that is made of it; names as arguments
run some of them, ``--docs`` writes the table of what is known. Costs are CPU seconds of one thread; ours is that of
learning and of evaluating on outer folds.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import datasets

RESULTS = Path(__file__).parent / "results" / "tables" / "figures.json"
DOCS = Path(__file__).parent.parent / "docs" / "tables.md"
BEGIN, END = "<!-- begin measured -->\n", "<!-- end measured -->\n"


class Task(NamedTuple):
    """A data set, what is predicted, and the figure that models are compared by."""

    which: str
    target: str
    figure: str  # error or rmse


TASKS = {
    "car": Task("car", "class", "error"),
    "wine_red": Task("wine_red", "quality", "error"),
    "wine_white": Task("wine_white", "quality", "error"),
    "abalone": Task("abalone", "rings", "rmse"),
    "wine_red_numbers": Task("wine_red", "quality", "rmse"),
    "wine_white_numbers": Task("wine_white", "quality", "rmse"),
    "spambase": Task("spambase", "class", "error"),
    "mushroom": Task("mushroom", "class", "error"),
    "nursery": Task("nursery", "class", "error"),
    "adult": Task("adult", "income", "error"),
}


def split(task: Task) -> tuple[Any, Any]:
    """Training and test rows as data frames of strings and numbers: a quarter to test on, or the given test set."""
    import pandas as pd

    names, rows = datasets.table(task.which)
    frames = [pd.DataFrame(rows, columns=names)]
    if task.which == "adult":
        frames.append(pd.DataFrame(datasets.table("adult_test")[1], columns=names))
    whole = pd.concat(frames, ignore_index=True)
    for name in names:
        numbers = pd.to_numeric(whole[name], errors="coerce")
        if numbers.notna().all():
            whole[name] = numbers
    if len(frames) == 2:
        return whole.iloc[: len(frames[0])], whole.iloc[len(frames[0]) :]
    order = np.random.default_rng(0).permutation(len(whole))
    cut = 3 * len(whole) // 4
    return whole.iloc[order[:cut]], whole.iloc[order[cut:]]


def judge(task: Task, truth: Any, found: Any, P: Any, classes: list[str]) -> dict[str, float]:
    """Error and log loss, or root mean squared error."""
    if task.figure == "rmse":
        return {"rmse": float(np.sqrt(np.mean((np.asarray(truth, dtype=float) - found) ** 2)))}
    named = np.asarray(truth).astype(str)
    codes = np.array([classes.index(label) for label in named])
    loss = -np.log(np.maximum(P[np.arange(len(P)), codes], 1e-15))
    return {"error": float(np.mean(named != np.asarray(found).astype(str))), "log loss": float(loss.mean())}


def ours(name: str) -> dict[str, Any]:
    """Metrics and cost of our model of one data set, and what it kept."""
    from tallywise import TableModel

    task = TASKS[name]
    train, test = split(task)
    began = time.process_time()
    model = TableModel(task="numbers" if task.figure == "rmse" else None, n_jobs=1).fit(train, task.target)
    cost = time.process_time() - began
    P = None if task.figure == "rmse" else model.predict_proba(test)
    found = judge(task, test[task.target], model.predict(test), P, [str(label) for label in model.classes_])
    kept = model.trials_[0].title
    print(f"{name}: tallywise {found} in {cost:.1f} s CPU, {kept}", flush=True)
    return {"rows": len(train), "test": len(test), "figure": task.figure, "kept": kept, "tallywise": [found, cost]}


def theirs(name: str) -> dict[str, Any]:
    """Metrics and cost of scikit-learn's gradient boosting, told which columns are categories."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    task = TASKS[name]
    train, test = split(task)
    X = train.drop(columns=task.target)
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    words = make_column_selector(dtype_exclude="number")
    coded = make_column_transformer((OrdinalEncoder(**unknown), words), remainder="passthrough")
    model = HistGradientBoostingRegressor if task.figure == "rmse" else HistGradientBoostingClassifier
    pipe = make_pipeline(coded, model(categorical_features=list(range(len(words(X)))), random_state=0))
    began = time.process_time()
    pipe.fit(X, train[task.target])
    cost = time.process_time() - began
    P = None if task.figure == "rmse" else pipe.predict_proba(test)
    classes = [] if P is None else [str(label) for label in pipe[-1].classes_]
    found = judge(task, test[task.target], pipe.predict(test), P, classes)
    print(f"   HistGradientBoosting {found} in {cost:.1f} s CPU", flush=True)
    return {"rivals": {"HistGradientBoosting": [found, cost]}}


def measured(results: dict[str, Any]) -> str:
    """The results as a table in Markdown; data sets of which one side is missing are left out."""
    lines = [
        "| data | rows | metric | tallywise | HistGradientBoosting | CPU | its CPU | kept |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in results.items():
        if "tallywise" not in row or "rivals" not in row:
            continue
        (found, own), (theirs, cost) = row["tallywise"], row["rivals"]["HistGradientBoosting"]
        shown = [
            ", ".join(f"{100 * x:.2f} %" if metric == "error" else f"{x:.4g}" for metric, x in side.items())
            for side in (found, theirs)
        ]
        lines.append(
            f"| {name} | {row['rows']:,} | {', '.join(found)} | {shown[0]} | {shown[1]} | {own:.1f} s | {cost:.1f} s "
            f"| {row['kept']} |"
        )
    return "\n".join(lines) + "\n"


def write_docs() -> None:
    """Put the table into its place in the documentation."""
    text = DOCS.read_text()
    before, rest = text.split(BEGIN)
    DOCS.write_text(before + BEGIN + measured(json.loads(RESULTS.read_text())) + END + rest.split(END)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TASKS))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument(
        "--only", choices=["tallywise", "rivals"], help="run one side and keep what is known of the other"
    )
    parser.add_argument("--docs", action="store_true", help="write the table of what is known, and run nothing")
    arguments = parser.parse_args()
    if arguments.docs:
        write_docs()
        return
    from threadpoolctl import threadpool_limits

    sides = {"tallywise": ours, "rivals": theirs}
    for name in arguments.names or TASKS:
        for side, run in sides.items():
            if arguments.only not in (None, side):
                continue
            with threadpool_limits(1):  # threads that wait count as CPU time
                row = run(name)
            if arguments.keep:
                known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
                merged = {**known, name: {**known.get(name, {}), **row}}
                RESULTS.write_text(json.dumps(merged, indent=1) + "\n")
                write_docs()


if __name__ == "__main__":
    main()
