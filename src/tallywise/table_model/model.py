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
from tallywise.models.conformal import Residuals
from tallywise.models.table_serving import TableExplanation, TableFlip, TableRuntime
from tallywise.reading.column_kinds import FEATURES, Column, column_of, decide_decimals, recognise
from tallywise.reading.frames import Cells, Table, as_table
from tallywise.reading.label_spellings import spelling_notes
from tallywise.reading.unreadable_cells import all_unread, refuse_many
from tallywise.selection import Deadline, held_rows
from tallywise.table_model.contents import table_file_of
from tallywise.table_model.names import named_models
from tallywise.table_model.procedure import Procedure
from tallywise.table_model.targets import TASKS, leaks, make_target, unread_target, usable
from tallywise.table_model.training_columns import TableData, TextColumn, values_of
from tallywise.table_model.trials import evaluate, evaluation_folds
from tallywise.text_model.rules import decision_rule, most_likely

Array = NDArray[np.float64]
LOSSES = ("squared", "absolute", "huber")


class TableModel(BaseEstimator):
    """A model of a table in one piece: text, categories, numbers and dates in; classes, grades or numbers out.

    The columns are recognised by their values. A line (ridge or logistic regression on numbers, levels, calendar parts
    and words) is mixed with boosted trees of two splits, which are written out as a table per column and per pair of
    columns; trees of 31 leaves take their place only where they are clearly better. See
    `tallywise.table_model.procedure`.

    Parameters
    ----------
    model : str or list of str
        ``'auto'``, or names of models to compare. ``logistic`` (with numbers ``ridge``, with grades also ``ordinal``):
        the line alone. ``additive``: the line and trees of two splits. ``boosted``: the line and trees of 31 leaves.
    task : {'classes', 'grades', 'numbers'}, optional
        What the target is; recognised by default: numbers with a fraction or of more than ten values are numbers,
        three to ten whole numbers in a row are grades, everything else is classes.
    text, category, number, ignore : list of str
        Names of columns, to overrule what they were recognised as.
    decimal : {'.', ','}, optional
        The decimal sign of columns of strings that could be read with either, such as ``1.250`` beside ``950``; found
        from the other columns by default, and asked for where these do not say it.
    additive : bool
        Keep the sum of columns and pairs even where trees of 31 leaves are clearly better. `trials_` says what it
        costs.
    loss : {'squared', 'absolute', 'huber'}
        With numbers: the loss by which models are compared.
    class_weight : None, 'balanced' or dict
        With classes: their weight while learning; the probabilities are those of the classes as they are.
    costs : dict, optional
        ``{(true, called): cost}`` of classes; verdicts then have the least expected cost. Unnamed mistakes cost 1.
    max_flagged : dict, optional
        ``{'no': 0.01}``: with two classes, at most this share of that class is flagged as the other. The threshold is
        set on held-out rows.
    cv : int, optional
        Outer folds, on which the whole procedure is evaluated; by default 5, or 3 with 3,000 rows or more, or one of 5
        with 20,000 or more.
    time_limit : float, optional
        Seconds after which no further model is tried. Without, the same table gives the same model on any
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
    kept_ : str
        Name of the model that was kept.
    trials_ : list of TableTrial
        What was kept, on rows of outer folds that had no part in learning, choosing or stopping; then the other models
        that were tried.
    dropped_ : list of str
        Models that were clearly behind on the first fold, or for which there was no time.
    figures_ : dict of str to Metric
        Quality on rows not seen, with intervals.
    threshold_ : Threshold or None
        With ``max_flagged``: the threshold, the share flagged and the share caught.
    constant_ : float
        Error of majority class, or root mean squared error of always the mean.
    corrected_error_ : float
        Error (with numbers: mean loss) corrected for model selection: that of the outer folds.
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
    kept_: str
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
        additive: bool = False,
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
        self.additive = additive
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
        clock = Deadline(self.time_limit)
        names = named_models(self.model, self.task_)
        how = Procedure(names, self.additive, self.loss, self.random_state, clock, tell)
        final = how.learn(data, np.arange(data.n), self.groups_)
        folds = evaluation_folds(data, self.groups_, self.cv, self.random_state)
        self.rows_ = held_rows(folds)
        self.trials_ = evaluate(how, data, self.groups_, folds, final)
        self.kept_, self.dropped_ = final.kept, final.dropped
        late = [f"the time limit of {clock.seconds or 0:g} s ended the comparison: another run may choose otherwise"]
        self._judge(data, folds.description, late if clock.late else [])
        self.runtime_ = TableRuntime(table_file_of(self, data, final.models[final.kept]))
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

    def _judge(self, data: TableData, split: str, how: list[str]) -> None:
        """Figures on rows not seen."""
        best, rows, groups = self.trials_[0], self.rows_, self.groups_[self.rows_]
        decided = most_likely()
        if self.task_ == "numbers":
            y = data.target.y[rows]
            self.oof_predictions_: Array = best.predictions[:, 0]
            self.residuals_ = Residuals.of(y, self.oof_predictions_)
            self.figures_: dict[str, Metric] = measure_numbers(
                y, self.oof_predictions_, groups=groups, random_state=self.random_state
            )
            self.constant_ = float(np.sqrt(np.mean((data.target.y - data.target.y.mean()) ** 2)))
        else:
            self.oof_probabilities_ = best.predictions
            codes = data.target.codes[rows]
            decided = decision_rule(
                self.classes_,
                codes,
                best.predictions,
                groups,
                max_flagged=self._by_class(self.max_flagged),
                costs=self._by_class(self.costs),
                random_state=self.random_state,
            )
            self.figures_ = measure(
                self.classes_[codes],
                best.predictions,
                self.classes_,
                predictions=None if decided.verdicts is None else self.classes_[decided.verdicts],
                groups=groups,
                random_state=self.random_state,
            )
            self.constant_ = float(1 - np.bincount(data.target.codes).max() / data.n)
        self.rule_, self.cost_matrix_, self.threshold_ = decided.rule, decided.costs, decided.threshold
        self.corrected_error_ = best.error
        loss = "log loss" if self.task_ != "numbers" else f"{self.loss} error"
        why = f"kept {best.title}: least {loss} on inner folds"
        self.description_ = [f"compared by {split}", *how, why]
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
