"""A model of a table."""

from typing import Any

from tallywise import report
from tallywise.plain_text import percent, table
from tallywise.reading.labelled_data import LabelledTable, class_sizes
from tallywise.table_model import TableModel, table_report_data
from tallywise.training.trained import Trained, metrics_as_lists, trials_of
from tallywise.training.trained_texts import dropped_line, threshold_line

_MOST_COLUMNS = 40  # listed for people


class TrainedTable(Trained):
    """A fitted `TableModel` with the table that it was evaluated on."""

    example = "new.csv"

    def __init__(self, data: LabelledTable, model: str, progress: Any, settings: dict[str, Any]) -> None:
        self.data, self._progress = data, progress
        settings = {**vars(data.choices), **settings}
        self.model = TableModel(model, progress=progress, **settings).fit(data.table, data.target)
        self.notes = [*data.notes, *self.model.notes_]

    def report(self) -> str:
        """The report as one page of HTML."""
        if self._progress is not None:
            self._progress("writing the report")
        shown = table_report_data(self.model, self.data.table, self.data.name)
        return report.render(shown)

    def summary(self) -> str:
        """What was read, compared and kept."""
        model = self.model
        classes = f" ({class_sizes(model.class_counts_)})" if model.class_counts_ else ""
        lines = [f"read {self.data.table.rows - model.left_out_:,} {self.data.read}{classes}"]
        if model.left_out_:
            lines.append(f"{model.left_out_:,} rows without a label left out")
        lines += [self._columns(), self._trials(), *self._figures(), *(f"note: {note}" for note in self.notes)]
        return "\n".join(lines)

    def _columns(self) -> str:
        listed = self.model.columns_[:_MOST_COLUMNS]
        rows = [["column", "holds", "values"], *([column.name, column.kind, column.note] for column in listed)]
        more = len(self.model.columns_) - _MOST_COLUMNS
        return table(rows) + (f"\n  and {more} more columns" if more > 0 else "")

    def _trials(self) -> str:
        model = self.model
        numbers = model.task_ == "numbers"
        loss = "RMSE" if model.loss == "squared" else f"{model.loss} loss"
        rows = [
            [model.description_[0].split(", ")[0], *([loss, "MAE"] if numbers else ["error", "log loss"]), "time", ""]
        ]
        for trial in model.trials_:
            error = trial.error**0.5 if numbers and model.loss == "squared" else trial.error
            shown = f"{error:.4g}" if numbers else percent(error)
            kept = "<- kept" if trial is model.trials_[0] else ""
            rows.append([trial.title, shown, f"{trial.log_loss:.4g}", f"{trial.seconds:.2f} s", kept])
        constant = f"{model.constant_:.4g}" if numbers else percent(model.constant_)
        rows.append(["always the mean" if numbers else "majority class", constant, "", "", ""])
        return table(rows, right=(1, 2, 3)) + dropped_line(model.dropped_, "a simpler one made no error")

    def _figures(self) -> list[str]:
        model, figures = self.model, self.model.figures_
        if model.task_ == "numbers":
            shown = zip(("RMSE", "MAE", "R2"), (figures[name] for name in ("rmse", "mae", "r2")), strict=True)
            parts = [f"{n} {f.value:.4g} ({f.low:.4g} to {f.high:.4g})" for n, f in shown]
            return [", ".join(parts) + " on rows not seen"]
        error = figures["error"]
        lines = [f"error {percent(error.value)} ({percent(error.low)} to {percent(error.high)}) on rows not seen"]
        if len(model.trials_) > 1:
            lines.append(f"error corrected for model selection: {percent(model.corrected_error_)}")
        return lines if model.threshold_ is None else [*lines, threshold_line(model)]

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        model = self.model
        return {
            "read": self.data.name,
            "rows": len(model.groups_),
            "label": model.target_,
            "task": model.task_,
            "classes": [str(label) for label in model.classes_],
            "class_counts": model.class_counts_,
            "columns": [{"name": c.name, "kind": c.kind, "values": c.note} for c in model.columns_],
            "kept": model.trials_[0].title,
            "models": trials_of(model.trials_),
            "corrected_error": model.corrected_error_,
            "constant": model.constant_,
            "figures": metrics_as_lists(model.figures_),
            "threshold": None if model.threshold_ is None else model.threshold_.value,
            "notes": self.notes,
        }
