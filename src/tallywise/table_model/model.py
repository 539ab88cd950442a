"""`TableModel`: the fit side of a model of a table."""

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from tallywise._base import BaseEstimator
from tallywise.evaluation import Metric, Threshold, duplicate_groups, measure, measure_numbers
from tallywise.evaluation.selection_bias import corrected_error
from tallywise.models.conformal import Residuals
from tallywise.models.table_serving import TableExplanation, TableFlip, TableRuntime
from tallywise.reading.column_kinds import FEATURES, Column, column_of, decide_decimals, recognise
from tallywise.reading.frames import Cells, Table, as_table
from tallywise.reading.label_spellings import spelling_notes
from tallywise.reading.unreadable_cells import all_unread, refuse_many
from tallywise.selection import held_rows
from tallywise.table_model.contents import table_file_of
from tallywise.table_model.race import choose
from tallywise.table_model.recipes import RECIPES, Recipe, named
from tallywise.table_model.targets import TASKS, leaks, make_target, unread_target, usable
from tallywise.table_model.training_columns import Problem, TableData, TextColumn, values_of
from tallywise.text_model.rules import decision_rule, most_likely

Array = NDArray[np.float64]
LOSSES = ("squared", "absolute", "huber")


class TableModel(BaseEstimator):
    """A model of a table in one piece: text, categories, numbers and dates in; classes, grades or numbers out.

    The columns are recognised by their values. Texts are counted and weighted as `TextClassifier` does; a category has
    a feature for each level, rare ones folded; a number is standardised, ranked, put into bins or bent to a curve,
    whichever a model takes; a date is its calendar parts. With ``model='auto'`` models of every family are compared by
    cross-validation, what is learned from columns being learned from the training rows of each fold alone, and the best
    is kept, ties to the simpler.

    Parameters
    ----------
    model : str or list of str
        ``'auto'``, or names of recipes. Classes: ``gaussian_nb``, ``binned_nb``, ``joint_bayes``, ``logistic``,
        ``linear_svm``, ``curves``, ``curve_svm``, ``pairs``, ``nearest``, ``gaussian_svm``, ``gaussian_logistic``.
        Grades, beside these: ``ordinal``, ``ordinal_curves``. Numbers: ``bayes_numbers``, ``ridge``, ``lasso``,
        ``elastic_net``, ``linear_svr``, ``huber``, ``bins``, ``curves_ridge``, ``curve_svr``, ``pairs_ridge``,
        ``nearest_mean``, ``gaussian_svr``, ``gaussian_ridge``, ``kernel_ridge``.
    task : {'classes', 'grades', 'numbers'}, optional
        What the target is; recognised by default: numbers with a fraction or of more than ten values are numbers,
        three to ten whole numbers in a row are grades, everything else is classes.
    text, category, number, ignore : list of str
        Names of columns, to overrule what they were recognised as.
    decimal : {'.', ','}, optional
        The decimal sign of columns of strings that could be read with either, such as ``1.250`` beside ``950``; found
        from the other columns by default, and asked for where these do not say it.
    loss : {'squared', 'absolute', 'huber'}
        With numbers: the loss by which models are compared.
    class_weight : None, 'balanced' or dict
        With classes: their weight while learning, in linear models.
    costs : dict, optional
        ``{(true, called): cost}`` of classes; verdicts then have the least expected cost. Unnamed mistakes cost 1.
    max_flagged : dict, optional
        ``{'no': 0.01}``: with two classes, at most this share of that class is flagged as the other. The threshold is
        set on held-out rows.
    cv : int, optional
        Folds of the cross-validation; by default 5, or 3 with 3,000 rows or more.
    time_limit : float, optional
        Seconds after which no further model or setting is tried. Without, the same table gives the same model on any
        machine.
    random_state : int
        Seed of the folds and of the intervals.
    n_jobs : int, optional
        Threads; None for the default. Results do not depend on it.
    progress : callable, optional
        Called with a line of text now and then.

    Attributes
    ----------
    columns_ : list of Column
        What each column was recognised as.
    used_rows_ : array of int
        Rows that have a target.
    task_, target_ : str
        The task, and the name of the target.
    classes_ : array
        Labels, sorted; empty for numbers.
    class_counts_ : dict of str to int
        Rows of each class.
    recipe_, setting_ : Recipe, dict
        What was kept.
    trials_ : list of Trial
        Models tried on every fold, best first.
    dropped_ : list of str
        Models dropped before the last fold.
    figures_ : dict of str to Metric
        Quality on rows not seen, with intervals.
    threshold_ : Threshold or None
        With ``max_flagged``: the threshold, the share flagged and the share caught.
    constant_ : float
        Error of majority class, or root mean squared error of always the mean.
    corrected_error_ : float
        Error (with numbers: mean loss) corrected for model selection.
    notes_ : list of str
        What a careful person would ask about the columns.
    runtime_ : TableRuntime
        The serve side; `predict` and the rest go through it.

    Examples
    --------
    >>> from tallywise import TableModel
    >>> rows = [{"hours": h, "job": job, "rich": "yes" if h > 40 and job == "chef" else "no"}
    ...         for h in range(20, 60) for job in ("chef", "clerk")]
    >>> model = TableModel("logistic", cv=3).fit(rows, "rich")
    >>> model.predict([{"hours": 55, "job": "chef"}]).tolist()
    ['yes']
    >>> model.explain({"hours": 55, "job": "chef"}).columns[0].column in ("hours", "job")
    True
    """

    used_rows_: NDArray[Any]
    left_out_: int
    task_: str
    classes_: NDArray[Any]
    class_counts_: dict[str, int]
    groups_: NDArray[Any]
    notes_: list[str]
    trials_: Any
    dropped_: list[str]
    recipe_: Any
    setting_: Any
    calibration_: Any
    rows_: NDArray[Any]
    runtime_: TableRuntime
    target_: str
    columns_: list[Column]
    residuals_: Residuals
    constant_: float
    oof_probabilities_: Array
    rule_: dict[str, Any]
    cost_matrix_: NDArray[Any]
    threshold_: Threshold | None
    corrected_error_: float
    description_: list[str]

    def __init__(
        self,
        model: Any = "auto",
        *,
        task: str | None = None,
        text: Collection[str] = (),
        category: Collection[str] = (),
        number: Collection[str] = (),
        ignore: Collection[str] = (),
        decimal: str | None = None,
        loss: str = "squared",
        class_weight: Any = None,
        costs: Any = None,
        max_flagged: Any = None,
        cv: int | None = None,
        time_limit: float | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.model = model
        self.task = task
        self.text = text
        self.category = category
        self.number = number
        self.ignore = ignore
        self.decimal = decimal
        self.loss = loss
        self.class_weight = class_weight
        self.costs = costs
        self.max_flagged = max_flagged
        self.cv = cv
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, data: Any, target: Any, groups: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        data : data frame, list of records, or mapping of columns
            The rows: of pandas, polars or pyarrow, or of plain Python.
        target : str or sequence
            Name of the column to predict, or its values; rows without one are left out.
        groups : sequence, optional
            Rows that must stay on one side of a split; rows with the same texts always do.
        """
        if self.task is not None and self.task not in TASKS:
            msg = f"The 'task' parameter of TableModel must be one of {', '.join(map(repr, TASKS))}. Got {self.task!r}."
            raise ValueError(msg)
        if self.loss not in LOSSES:
            msg = (
                f"The 'loss' parameter of TableModel must be one of {', '.join(map(repr, LOSSES))}. Got {self.loss!r}."
            )
            raise ValueError(msg)
        if self.max_flagged is not None and self.costs is not None:
            msg = "max_flagged and costs are two rules of decision: give one of them."
            raise ValueError(msg)
        # Products here are small, and threads that wait for the next one cost more than they bring.
        with threadpool_limits(1, user_api="blas"):
            return self._fit(data, target, groups)

    def _fit(self, data: Any, target: Any, groups: Any) -> Self:
        tell = self.progress or (lambda line: None)
        whole = as_table(data)
        decide_decimals(whole, self.decimal)
        table, cells = self.split(whole, target)
        lost = unread_target(cells, self.target_, table) if self.task in (None, *TASKS[1:]) else None
        self.used_rows_ = rows = usable(cells)
        self.left_out_ = table.rows - len(rows)
        if self.left_out_:
            table, cells = table.take(rows), cells.take(rows)
        found = make_target(cells, self.task, self.target_)
        self.task_, self.classes_, self.class_counts_ = found.task, found.classes, found.counts
        if self.task_ == "numbers" and (self.costs is not None or self.max_flagged is not None):
            msg = f"costs and max_flagged are of classes, and {self.target_!r} holds numbers: use task='classes'."
            raise ValueError(msg)
        used = self.used_columns(table)
        tell("counting words")
        texts = [TextColumn.of(c.name, table.columns[c.name].strings(), self.n_jobs) for c in used if c.kind == "text"]
        values = values_of(used, table)
        odd = all_unread(used, table)
        refuse_many(odd)
        weight = self._by_class(self.class_weight)
        data = TableData(used, values, [text for text in texts if text.X.shape[1]], found, self.n_jobs, weight)
        self.groups_ = self.groups_of(table, used, None if groups is None else np.asarray(groups)[rows])
        if self.groups_.max() == 0:
            msg = "At least two different rows (or groups) are needed to learn from and to test on. Got 1."
            raise ValueError(msg)
        self.notes_ = [] if lost is None else [f"{lost}; these rows were left out"]
        self.notes_ += [f"{one}; read as missing" for one in odd]
        self.notes_ += spelling_notes(found.counts) + leaks([column.name for column in data.columns], values, found)
        outcome = choose(
            data,
            self.groups_,
            self._candidates(data),
            loss=self.loss,
            cv=self.cv,
            random_state=self.random_state,
            tell=tell,
            time_limit=self.time_limit,
        )
        self.trials_, self.dropped_ = outcome.trials, outcome.dropped
        best: Any = self.trials_[0]
        self.recipe_, self.setting_ = best.recipe, best.setting
        tell(f"fitting {best.title} on everything")
        fitted = self.recipe_.fit(Problem(data, np.arange(data.n)), **self.setting_)
        if self.task_ != "numbers" and not fitted.form.thresholds.size:
            fitted = fitted.shifted(best.offsets)
        self.calibration_ = best.calibration
        self.rows_ = held_rows(outcome.folds)
        self._judge(data, outcome.folds.description, outcome.description)
        self.runtime_ = TableRuntime(table_file_of(self, data, fitted))
        return self

    def split(self, table: Table, target: Any) -> tuple[Table, Cells]:
        """The table without its target, and the target's cells."""
        columns = dict(table.columns)
        if isinstance(target, str):
            if target not in columns:
                msg = f"The table has no column {target!r}. It has: {', '.join(columns)}."
                raise ValueError(msg)
            self.target_ = target
            return replace(table, columns={n: c for n, c in columns.items() if n != target}), columns[target]
        self.target_ = str(getattr(target, "name", None) or "target")
        given = as_table({"target": target})
        decide_decimals(given, self.decimal)
        cells = given.columns["target"]
        if len(cells) != table.rows:
            msg = f"There must be one target a row. Got {table.rows} rows and {len(cells)} targets."
            raise ValueError(msg)
        return table, cells

    def used_columns(self, table: Table) -> list[Column]:
        """Columns that are features; numbers of rows only where there is nothing else to learn from."""
        how = {"text": self.text, "category": self.category, "number": self.number, "ignore": self.ignore}
        self.columns_ = recognise(table, **how, decimal=self.decimal)
        if not any(column.kind in FEATURES for column in self.columns_):
            self.columns_ = [
                column_of(column.name, table.columns[column.name], "number") if column.numbered else column
                for column in self.columns_
            ]
        used = [column for column in self.columns_ if column.kind in FEATURES]
        if not used:
            kinds = ", ".join(f"{column.name} ({column.kind})" for column in self.columns_) or "none"
            msg = f"At least one column of text, categories, numbers or dates is needed. Got: {kinds}."
            raise ValueError(msg)
        return used

    def groups_of(self, table: Table, used: list[Column], given: Any = None) -> NDArray[np.intp]:
        """Rows with the same texts are kept together; rows of numbers and categories may well come again."""
        names = [column.name for column in used if column.kind == "text"]
        numbers = np.arange(table.rows)
        if names:
            joined = list(zip(*(table.columns[name].strings() for name in names), strict=True))
            empty = np.array([not any(row) for row in joined])
            numbers = duplicate_groups(["\n".join(text or "" for text in row) for row in joined])
            numbers = np.where(empty, numbers.max() + 1 + np.arange(table.rows), numbers)
        if given is not None:
            numbers = np.unique(given, return_inverse=True)[1]
        return np.unique(numbers, return_inverse=True)[1]

    def _candidates(self, data: TableData) -> list[Recipe]:
        if self.model == "auto":
            kinds = {column.kind for column in data.columns} | ({"text"} if data.texts else set())
            return [recipe for recipe in RECIPES if recipe.suits(self.task_, data.n, kinds, len(self.classes_))]
        found = [named(name) for name in ([self.model] if isinstance(self.model, str) else self.model)]
        for recipe in found:
            if self.task_ not in recipe.tasks or (data.texts and not recipe.text):
                what = "columns of text" if self.task_ in recipe.tasks else f"a target of {self.task_}"
                msg = f"The model {recipe.name!r} does not take {what}. Use 'auto', or another."
                raise ValueError(msg)
        return found

    def _judge(self, data: TableData, split: str, how: list[str]) -> None:
        """Figures on rows not seen."""
        best, rows, groups = self.trials_[0], self.rows_, self.groups_[self.rows_]
        decided = most_likely()
        if self.task_ == "numbers":
            y = data.target.y[rows]
            self.oof_predictions_: Array = best.scores[rows, 0]
            self.residuals_ = Residuals.of(y, self.oof_predictions_)
            self.figures_: dict[str, Metric] = measure_numbers(
                y, self.oof_predictions_, groups=groups, random_state=self.random_state
            )
            self.constant_ = float(np.sqrt(np.mean((data.target.y - data.target.y.mean()) ** 2)))
            kept = f"kept {best.title}: least {self.loss} error on rows not seen, ties to the simpler model"
        else:
            self.oof_probabilities_ = best.probabilities
            codes = data.target.codes[rows]
            decided = decision_rule(
                self.classes_,
                codes,
                best.probabilities,
                groups,
                max_flagged=self._by_class(self.max_flagged),
                costs=self._by_class(self.costs),
                random_state=self.random_state,
            )
            self.figures_ = measure(
                self.classes_[codes],
                best.probabilities,
                self.classes_,
                predictions=None if decided.verdicts is None else self.classes_[decided.verdicts],
                groups=groups,
                random_state=self.random_state,
            )
            self.constant_ = float(1 - np.bincount(data.target.codes).max() / data.n)
            kept = f"kept {best.title}: least error on rows not seen, ties to the simpler model and then by log loss"
        self.rule_, self.cost_matrix_, self.threshold_ = decided.rule, decided.costs, decided.threshold
        self.corrected_error_ = corrected_error(
            [trial.wrong for trial in self.trials_], groups, random_state=self.random_state
        )
        self.description_ = [f"compared by {split}", *how, kept]
        numbers = self.task_ == "numbers"
        if (
            self.figures_["rmse" if numbers else "error"].value >= self.constant_
            and decided.rule["kind"] == "most likely"
        ):
            always = "the mean" if numbers else "the commonest class"
            self.notes_.append(f"no better than always {always}: the columns may say nothing about {self.target_!r}")

    def _by_class(self, given: Any) -> Any:
        """A dict by classes, or pairs of them, in which grades may be written as strings."""
        if not isinstance(given, dict):
            return given
        place = {str(label): label for label in self.classes_.tolist()}

        def label_of(name: Any) -> Any:
            return tuple(map(label_of, name)) if isinstance(name, tuple) else place.get(str(name), name)

        return {label_of(name): value for name, value in given.items()}

    # --- the serve side ---

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "runtime_": state["runtime_"].contents} if "runtime_" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "runtime_" in self.__dict__:
            self.runtime_ = TableRuntime(self.__dict__["runtime_"])

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model to one safe file for `tallywise.load` and ``tally classify``; returns its size in bytes."""
        check_is_fitted(self)
        return self.runtime_.save(path)

    def predict(self, data: Any) -> NDArray[Any]:
        """Predicted classes, or numbers."""
        check_is_fitted(self)
        return self.runtime_.predict(data)

    def predict_proba(self, data: Any) -> Array:
        """Calibrated probabilities of the classes."""
        check_is_fitted(self)
        return self.runtime_.predict_proba(data)

    def predict_interval(self, data: Any, coverage: float = 0.9) -> Array:
        """Lower and upper end of an interval that holds the true number with probability `coverage`."""
        check_is_fitted(self)
        return self.runtime_.predict_interval(data, coverage)

    def explain(self, record: Any, label: Any = None) -> TableExplanation:
        """What each column of a row adds; see `TableRuntime.explain`."""
        check_is_fitted(self)
        return self.runtime_.explain(record, label)

    def flip(self, record: Any) -> TableFlip | None:
        """The fewest columns found whose change makes the verdict another; see `TableRuntime.flip`."""
        check_is_fitted(self)
        return self.runtime_.flip(record)
