"""Models compared on the same held-out rows: figures, cost, significance of differences."""

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tallywise._arrays import Matrix
from tallywise.evaluation.baselines import constant_error
from tallywise.evaluation.intervals import Metric
from tallywise.evaluation.metrics import measure
from tallywise.evaluation.regression_metrics import measure_numbers
from tallywise.evaluation.significance import corrected_t_test, friedman, holm, mcnemar
from tallywise.evaluation.splits import Folds, make_folds


@dataclass(frozen=True)
class ModelResult:
    """One model in a comparison: its figures with intervals, its cost, and p-values of its difference to the best."""

    name: str
    figures: dict[str, Metric]
    fold_errors: list[float]
    fit_seconds: float
    predict_microseconds: float  # a row
    megabytes: float
    p_t: float = 1.0  # against the best, corrected t-test over folds, Holm-adjusted
    p_mcnemar: float | None = 1.0  # against the best, row by row, Holm-adjusted; None of numbers


@dataclass(frozen=True)
class Comparison:
    """Results of the models, best first, with the error of the constant answer and a bound on the Bayes error.

    Errors are shares of wrong classes, or root mean squared errors of numbers.
    """

    results: list[ModelResult]
    description: str
    constant_error: float
    p_friedman: float
    bayes_error: tuple[float, float] | None = None
    predictions: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    @property
    def best(self) -> ModelResult:
        """The model with the least error."""
        return self.results[0]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "description": self.description,
            "constant_error": self.constant_error,
            "bayes_error": self.bayes_error,
            "p_friedman": self.p_friedman,
            "models": [
                {
                    "name": s.name,
                    "figures": {name: [f.value, f.low, f.high] for name, f in s.figures.items()},
                    "fold_errors": s.fold_errors,
                    "fit_seconds": s.fit_seconds,
                    "predict_microseconds": s.predict_microseconds,
                    "megabytes": s.megabytes,
                    "p_t": s.p_t,
                    "p_mcnemar": s.p_mcnemar,
                }
                for s in self.results
            ],
        }


def compare(
    models: Mapping[str, Any],
    X: Matrix,
    y: ArrayLike,
    *,
    task: str = "classes",
    groups: ArrayLike | None = None,
    folds: Folds | None = None,
    n_splits: int = 5,
    bayes_error: tuple[float, float] | None = None,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare classifiers, or models of numbers, by cross-validation on the same folds.

    A model that chooses its own settings by cross-validation inside ``fit`` (`TextClassifier`, the ``*CV`` estimators,
    `GridSearchCV`) is thereby judged by nested cross-validation: rows that judge it take no part in its choices.

    Parameters
    ----------
    models : mapping of str to classifier or regressor
        Models by name; each is cloned for every fold.
    X : list of str, array, sparse matrix or table
        Rows.
    y : array
        Labels, or numbers.
    task : {'classes', 'numbers'}
        What is predicted. Numbers are compared by root mean squared error.
    groups : array, optional
        Rows that stay on one side of every split.
    folds : Folds, optional
        The splits; by default those of `make_folds`.
    n_splits, random_state
        Number of folds and their seed.
    bayes_error : (float, float), optional
        An interval for the Bayes error (`cover_hart_interval`), kept in the result.
    progress : callable, optional
        Called with a line of text before each fit.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.dummy import DummyClassifier
    >>> from tallywise.evaluation import compare
    >>> X = np.r_[np.random.default_rng(0).normal(0, 1, (50, 2)), np.random.default_rng(1).normal(3, 1, (50, 2))]
    >>> found = compare({"bayes": GaussianNB(), "constant": DummyClassifier()}, X, [0] * 50 + [1] * 50)
    >>> found.best.name
    'bayes'
    """
    if task not in ("classes", "numbers"):
        msg = f"The 'task' parameter of compare must be 'classes' or 'numbers'. Got {task!r}."
        raise ValueError(msg)
    numbers = task == "numbers"
    labels = np.asarray(y, dtype=float) if numbers else np.asarray(y)
    chosen = make_folds(labels, groups=groups, n_splits=n_splits, random_state=random_state) if folds is None else folds
    classes = None if numbers else np.unique(labels)
    tell = progress or (lambda line: None)
    judged = {}
    for name, model in models.items():
        judged[name] = _over_folds(name, model, X, labels, classes, chosen, tell)
    rows = np.concatenate([test for _, test in chosen])
    best = min(judged, key=lambda name: np.mean(judged[name]["wrong"]))
    results = []
    others = [name for name in judged if name != best]
    group_of_row = None if groups is None else np.asarray(groups)[rows]
    train_size = float(np.mean([len(train) for train, _ in chosen]))
    test_size = float(np.mean([len(test) for _, test in chosen]))
    fold_errors = {name: result["fold_errors"] for name, result in judged.items()}
    t = holm([_t(fold_errors[name], fold_errors[best], train_size, test_size) for name in others])
    p_t = dict(zip(others, t, strict=True))
    p_rows: dict[str, float] = {}
    if not numbers:
        m = holm([mcnemar(~judged[name]["wrong"], ~judged[best]["wrong"], group_of_row) for name in others])
        p_rows = dict(zip(others, m, strict=True))
    for name, result in judged.items():
        if classes is None:
            figures = measure_numbers(labels[rows], result["verdicts"], groups=group_of_row, random_state=random_state)
        else:
            figures = measure(
                labels[rows],
                result["P"],
                classes,
                predictions=result["verdicts"],
                groups=group_of_row,
                random_state=random_state,
            )
        p_row = None if numbers else p_rows.get(name, 1.0)
        fit, predict, size = result["cost"]
        results.append(ModelResult(name, figures, fold_errors[name], fit, predict, size, p_t.get(name, 1.0), p_row))
    first, second = ("rmse", "mae") if numbers else ("error", "log_loss")
    results.sort(key=lambda s: (s.figures[first].value, s.figures[second].value))
    overall = friedman(np.array(list(fold_errors.values())).T)
    verdicts = {name: result["verdicts"] for name, result in judged.items()}
    constant = float(labels.std()) if numbers else constant_error(labels)
    return Comparison(results, chosen.description, constant, overall, bayes_error, verdicts)


def _t(a: list[float], b: list[float], train_size: float, test_size: float) -> float:
    return corrected_t_test(np.array(a) - np.array(b), train_size, test_size)


def _over_folds(
    name: str,
    model: Any,
    X: Matrix,
    y: NDArray[Any],
    classes: NDArray[Any] | None,
    folds: Folds,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    P, verdicts, fold_errors = [], [], []
    fit_seconds = predict_seconds = megabytes = 0.0
    for number, (train, test) in enumerate(folds):
        tell(f"{name}: fold {number + 1} of {len(folds)}")
        began = time.perf_counter()
        fitted = clone(model).fit(rows_of(X, train), y[train])
        middle = time.perf_counter()
        part = rows_of(X, test)
        found = fitted.predict(part) if classes is None else _probabilities(fitted, part, classes)
        predict_seconds += time.perf_counter() - middle
        fit_seconds += middle - began
        verdict = np.asarray(found if classes is None else fitted.predict(part))
        P.append(found)
        verdicts.append(verdict)
        wrong = verdict != y[test] if classes is not None else (verdict - y[test]) ** 2
        fold_errors.append(float(wrong.mean() if classes is not None else np.sqrt(wrong.mean())))
        megabytes = len(pickle.dumps(fitted)) / 1e6
    whole = np.concatenate(verdicts)
    rows = np.concatenate([test for _, test in folds])
    cost = (fit_seconds / len(folds), 1e6 * predict_seconds / len(rows), megabytes)
    return {
        "P": np.concatenate(P),
        "verdicts": whole,
        "wrong": whole != y[rows] if classes is not None else (whole - y[rows]) ** 2,
        "fold_errors": fold_errors,
        "cost": cost,
    }


def rows_of(X: Matrix, rows: NDArray[np.intp]) -> Any:
    """Some rows of texts, an array, a sparse matrix or a table."""
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


def _probabilities(model: Any, X: Matrix, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Columns for all classes, also for those a fold lacks; a prediction without probabilities counts as certain."""
    P = np.zeros((len(X) if isinstance(X, list) else X.shape[0], len(classes)))
    if hasattr(model, "predict_proba"):
        P[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    else:
        P[np.arange(len(P)), np.searchsorted(classes, model.predict(X))] = 1.0
    return P
