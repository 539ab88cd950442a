"""Models of tables against pipelines of scikit-learn, each tuned by 3-fold grid search, on rows that neither saw.

``python -m benchmarks.table_models --keep`` runs all data sets, about 7 minutes on a quiet machine, and writes
``benchmarks/results/tables/figures.json`` and the table in ``docs/tables.md`` that is made of it; names as arguments
run some of them, ``--minutes 12`` begins none after that time, ``--docs`` writes the table of what is known. Costs are
CPU seconds of one thread.
"""

import argparse
import json
import time
import warnings
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
    figure: str  # error, mae or rmse
    text: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


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
    "clothing": Task("clothing", "Recommended IND", "error", ("Title", "Review Text"), ("number", "Rating")),
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
        if name not in task.text and numbers.notna().all():
            whole[name] = numbers
    whole = whole.drop(columns=list(task.ignore))
    if len(frames) == 2:
        return whole.iloc[: len(frames[0])], whole.iloc[len(frames[0]) :]
    order = np.random.default_rng(0).permutation(len(whole))
    cut = 3 * len(whole) // 4
    return whole.iloc[order[:cut]], whole.iloc[order[cut:]]


def judge(figure: str, truth: Any, found: Any) -> float:
    if figure == "error":
        return float(np.mean(np.asarray(truth).astype(str) != np.asarray(found).astype(str)))
    e = np.asarray(truth, dtype=float) - np.asarray(found, dtype=float)
    return float(np.abs(e).mean() if figure == "mae" else np.sqrt((e**2).mean()))


def rivals(task: Task, train: Any) -> dict[str, Any]:
    """Pipelines of scikit-learn with their grids."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVR, LinearSVC

    X = train.drop(columns=task.target)
    numbers = [name for name in X if X[name].dtype.kind in "if"]
    words = [name for name in X if name not in numbers and name not in task.text]

    def columns(dense: bool) -> Any:
        parts: list[Any] = [("numbers", StandardScaler(), numbers)] if numbers else []
        if words:
            parts.append(("words", OneHotEncoder(handle_unknown="ignore", sparse_output=not dense), words))
        parts += [(name, TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2), name) for name in task.text]
        return ColumnTransformer(parts, sparse_threshold=0.0 if dense else 0.3)

    costs = [0.01, 0.1, 1, 10, 100]
    near = {"n_neighbors": [3, 5, 10, 20, 40], "weights": ["uniform", "distance"]}
    if task.figure == "error":
        grids: list[tuple[str, Any, dict[str, Any], bool]] = [
            ("LogisticRegression", LogisticRegression(max_iter=1000), {"C": costs}, False),
            ("LinearSVC", LinearSVC(), {"C": costs}, False),
        ]
        if not task.text:
            grids += [("GaussianNB", GaussianNB(), {"var_smoothing": [1e-9, 1e-5, 1e-2]}, True)]
            grids += [("KNeighbors", KNeighborsClassifier(), near, True)]
    else:
        grids = [
            ("Ridge", Ridge(), {"alpha": [0.1, 1, 10, 100]}, False),
            ("SVR", SVR(), {"C": [0.1, 1, 10, 100], "gamma": ["scale", 0.03, 0.3]}, True),
            ("KNeighbors", KNeighborsRegressor(), near, True),
        ]
    scoring = {"error": "accuracy", "mae": "neg_mean_absolute_error", "rmse": "neg_root_mean_squared_error"}[
        task.figure
    ]
    found = {}
    for name, model, grid, dense in grids:
        step = type(model).__name__.lower()
        pipe = make_pipeline(columns(dense), model)
        found[name] = GridSearchCV(pipe, {f"{step}__{key}": v for key, v in grid.items()}, cv=3, scoring=scoring)
    return found


def ours(name: str) -> dict[str, Any]:
    """Metric and cost of our model of one data set, and what it kept."""
    from tallywise import TableModel

    task = TASKS[name]
    train, test = split(task)
    began = time.process_time()
    model = TableModel(task="numbers" if task.figure != "error" else None, n_jobs=1).fit(train, task.target)
    cost = time.process_time() - began
    found = judge(task.figure, test[task.target], model.predict(test))
    kept = model.trials_[0].title
    print(f"{name}: tallywise {found:.4f} in {cost:.1f} s CPU, {kept}", flush=True)
    for trial in model.trials_:
        print(f"      {trial.error:.4f} {trial.log_loss:.4f} {trial.seconds:.1f} s  {trial.title}", flush=True)
    return {"rows": len(train), "test": len(test), "figure": task.figure, "kept": kept, "tallywise": [found, cost]}


def theirs(name: str) -> dict[str, Any]:
    """Figures and costs of the others on one data set."""
    task = TASKS[name]
    train, test = split(task)
    X = train.drop(columns=task.target)
    others = rivals(task, train)
    if name == "adult":
        others[BOOSTING] = boosting()
    found = {}
    for title, pipe in others.items():
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipe.fit(X, train[task.target])
        cost = time.process_time() - began
        found[title] = [judge(task.figure, test[task.target], pipe.predict(test)), cost]
        print(f"   {title} {found[title][0]:.4f} in {cost:.1f} s CPU", flush=True)
    return {"rivals": found}


BOOSTING = "HistGradientBoosting"  # no family of ours: printed beside the others, not one of them


def boosting() -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    coded = make_column_transformer(
        (OrdinalEncoder(**unknown), make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    return make_pipeline(coded, HistGradientBoostingClassifier())


def measured(results: dict[str, Any]) -> str:
    """The results as a table in Markdown; data sets of which one side is missing are left out."""
    lines = [
        "| data | rows | figure | tallywise | best of scikit-learn's | CPU | of the searches | share | kept |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in results.items():
        if "tallywise" not in row or "rivals" not in row:
            continue
        others = {title: pair for title, pair in row["rivals"].items() if title != BOOSTING}
        best = min(others, key=lambda title: others[title][0])
        cost = sum(seconds for _, seconds in others.values())
        (found, own), theirs = row["tallywise"], others[best][0]
        shown = [f"{100 * x:.1f} %" if row["figure"] == "error" else f"{x:.3f}" for x in (found, theirs)]
        lines.append(
            f"| {name} | {row['rows']:,} | {row['figure']} | {shown[0]} | {shown[1]} ({best}) | {own:.1f} s "
            f"| {cost:.1f} s | {own / cost:.2f} | {row['kept']} |"
        )
        if BOOSTING in row["rivals"]:
            boosted = row["rivals"][BOOSTING][0]
            gap = 100 * (found - boosted)
            lines[-1] += (
                f"\n| | | | {gap:+.1f} points | {100 * boosted:.1f} % ({BOOSTING}, no family of ours) | | | | |"
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
    parser.add_argument("--minutes", type=float, help="begin no further data set after so many minutes")
    arguments = parser.parse_args()
    if arguments.docs:
        write_docs()
        return
    from threadpoolctl import threadpool_limits

    sides = {"tallywise": ours, "rivals": theirs}
    began = time.perf_counter()
    for name in arguments.names or TASKS:
        if arguments.minutes is not None and time.perf_counter() - began > 60 * arguments.minutes:
            print(f"{name} and what comes after it: no time left", flush=True)
            break
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
